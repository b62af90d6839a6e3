//! The bounds in time, with a fake clock: a worker that is nothing but its two lanes and an agenda.

use super::*;
use std::collections::VecDeque;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const MOST: u32 = 61;

/// A worker whose ready tasks yield for ever, and whose due ones sleep for a while and are due again.
struct Model {
    agenda: Agenda,
    now: u64,
    polls: u64,
    glance_at: u64,
    /// How long each poll takes; `turns`: from when on, and how long then.
    ready: VecDeque<u64>,
    turns: Option<(u64, u64)>,
    sleepers: Vec<Sleeper>,
    due: VecDeque<usize>,
    looks: u64,
    /// The longest that a ready task waited while others ran, in nanoseconds of due polls.
    due_in_a_row: u64,
    longest_due: u64,
}

struct Sleeper {
    period: u64,
    takes: u64,
    deadline: u64,
    is_due: bool,
    late: Vec<u64>,
}

impl Model {
    fn new(ready: &[u64], sleepers: &[(u64, u64)]) -> Self {
        let sleeper = |&(period, takes): &(u64, u64)| Sleeper {
            period,
            takes,
            deadline: period,
            is_due: false,
            late: Vec::new(),
        };
        Self {
            agenda: Agenda::new(MOST),
            now: 0,
            polls: 0,
            glance_at: 0,
            ready: ready.iter().copied().collect(),
            turns: None,
            sleepers: sleepers.iter().map(sleeper).collect(),
            due: VecDeque::new(),
            looks: 0,
            due_in_a_row: 0,
            longest_due: 0,
        }
    }

    fn mark(&self) -> Mark {
        Mark { at: self.now, polls: self.polls }
    }

    fn glance(&mut self) {
        let now = self.mark();
        self.agenda.close(now);
        let looks = self.agenda.is_time_to_look(now);
        if looks {
            self.agenda.look(now);
            self.looks += 1;
            for (index, sleeper) in self.sleepers.iter_mut().enumerate() {
                if !sleeper.is_due && sleeper.deadline <= self.now {
                    sleeper.is_due = true;
                    self.due.push_back(index);
                }
            }
        }
        let turn = self.agenda.choose(!self.due.is_empty(), !self.ready.is_empty(), looks);
        self.agenda.serve(turn);
        self.glance_at = self.agenda.window_ends(now);
    }

    /// One poll.
    fn step(&mut self) {
        if self.polls >= self.glance_at {
            self.glance();
        }
        if self.agenda.serves_due() && self.due.is_empty() && !self.ready.is_empty() {
            let now = self.mark();
            self.agenda.close(now);
            self.agenda.settle();
            self.agenda.serve(Turn::Ready);
            self.glance_at = self.agenda.window_ends(now);
        }
        self.polls += 1;
        if self.agenda.serves_due() || self.ready.is_empty() {
            let Some(sleeper) = self.due.pop_front().map(|index| &mut self.sleepers[index]) else {
                return self.now += US; // it rests
            };
            sleeper.late.push(self.now - sleeper.deadline);
            self.now += sleeper.takes;
            (sleeper.deadline, sleeper.is_due) = (self.now + sleeper.period, false);
            self.due_in_a_row += sleeper.takes;
            self.longest_due = self.longest_due.max(self.due_in_a_row);
        } else if let Some(takes) = self.ready.pop_front() {
            self.ready.push_back(takes);
            self.now += self.turns.filter(|(from, _)| self.now >= *from).map_or(takes, |(_, takes)| takes);
            self.due_in_a_row = 0;
        }
    }

    fn run_until(&mut self, end: u64) {
        while self.now < end {
            self.step();
        }
    }

    /// The latest of all, but for those of the first tenth.
    fn latest(&self) -> u64 {
        let late = self.sleepers.iter().flat_map(|sleeper| &sleeper.late[sleeper.late.len() / 10..]);
        late.copied().max().expect("there are some")
    }
}

/// Found in time, whatever polls take: nothing is later than `OFTEN`, two polls, and the others that are due.
#[test]
fn what_is_due_waits_for_no_number_of_polls() {
    for poll in [20, US, 100 * US, 500 * US, MS, 19 * MS / 10, 5 * MS, 50 * MS] {
        for hogs in 1..=3 {
            for sleepers in [1, 20] {
                let takes = 2 * US;
                let mut model = Model::new(&vec![poll; hogs], &vec![(MS, takes); sleepers]);
                model.run_until((200_000 * poll).clamp(20 * MS, 100_000 * MS));
                let bound = OFTEN + poll.max(100) * 2 + takes * sleepers as u64;
                assert!(
                    model.latest() <= bound,
                    "{poll} ns x {hogs}, {sleepers}: {} ns late",
                    model.latest()
                );
            }
        }
    }
}

/// Polls that turn long are late once, by a window.
#[test]
fn polls_that_turn_long_are_late_once() {
    let (short, long) = (US, 19 * MS / 10);
    let mut model = Model::new(&[short; 2], &[(MS, US)]);
    model.turns = Some((500 * MS, long));
    model.run_until(3_000 * MS);
    let late = &model.sleepers[0].late;
    let bound = OFTEN + 2 * long + US;
    assert!(late.iter().filter(|late| **late > bound).count() <= 1, "{:?}", late.iter().max());
    assert!(late.iter().all(|late| *late <= u64::from(MOST) * long + bound), "{:?}", late.iter().max());
}

/// A few long polls among many short ones do not go by the pace of the short ones.
#[test]
fn a_long_poll_among_short_ones_delays_by_itself_only() {
    let mut tasks = vec![US; 100];
    tasks.extend([50 * MS; 2]);
    let mut model = Model::new(&tasks, &[(MS, US); 20]);
    model.run_until(20_000 * MS);
    assert!(model.latest() <= 2 * 50 * MS + 2 * OFTEN + 200 * US, "{} ns late", model.latest());
}

/// However much is due, the ready lane has as much time, and no longer to wait than that takes.
#[test]
fn a_flood_of_what_is_due_leaves_half_of_the_time() {
    for (ready, takes) in [(US, US), (US, MS), (MS, US), (50 * MS, 2 * MS)] {
        let mut model = Model::new(&[ready; 2], &vec![(1, takes); 500]);
        model.run_until(200 * MS);
        let (ran, start) = (model.polls, model.now);
        model.longest_due = 0;
        model.run_until(start + 500 * MS.max(ready));
        let due: u64 = model.sleepers.iter().map(|sleeper| sleeper.late.len() as u64 * takes).sum();
        let share = due as f64 / model.now as f64;
        assert!(
            (0.3..0.7).contains(&share),
            "{ready}, {takes}: {share} of the time in {} polls",
            model.polls - ran
        );
        let bound = 2 * OFTEN.max(ready) + 2 * takes;
        assert!(model.longest_due <= bound, "{ready}, {takes}: {} ns without a ready one", model.longest_due);
    }
}

/// An idle look costs some hundred nanoseconds: no more of them than once in `OFTEN`, or in `MOST` polls, or for each poll.
#[test]
fn looks_are_no_more_often_than_they_need_be() {
    for poll in [20, US, 5 * US, 100 * US, MS] {
        let mut model = Model::new(&[poll; 2], &[]);
        model.run_until(1_000 * poll.max(US));
        let (looks, polls, now) = (model.looks, model.polls, model.now);
        model.run_until(now + 20_000 * poll);
        let most = (20_000 * poll / OFTEN).max(20_000 / u64::from(MOST)).min(20_000);
        assert!(
            model.looks - looks <= most + 2,
            "{poll} ns: {} looks for {} polls",
            model.looks - looks,
            model.polls - polls
        );
    }
}

/// Where polls stand for time, a window is `MOST` polls, whatever they take.
#[test]
fn polls_stand_for_time_where_no_clock_is_read() {
    let agenda = Agenda::new(MOST);
    let mark = |polls| Mark { at: agenda.time_by_polls(polls), polls };
    let (mut at, mut looks) = (0, Vec::new());
    while at < 1_000 {
        let now = mark(at);
        agenda.close(now);
        if at == 0 || agenda.is_time_to_look(now) {
            let are_short = agenda.look(now);
            assert_eq!(are_short, at > 0, "so many polls, in no time");
            looks.push(at);
        }
        agenda.serve(agenda.choose(false, true, true));
        at = agenda.window_ends(now);
    }
    assert!(looks.windows(2).all(|looks| looks[1] - looks[0] == u64::from(MOST)), "{looks:?}");
}

/// A rest ends all that was measured.
#[test]
fn windows_begin_anew_after_a_rest() {
    let mut model = Model::new(&[20; 2], &[]);
    model.run_until(100 * US);
    assert_eq!(model.agenda.window().get(), MOST);
    model.agenda.begin_anew();
    model.now += MS;
    model.glance();
    assert_eq!((model.agenda.window().get(), model.glance_at), (1, model.polls + 1));
}

/// A process that was stopped for an hour, while something due ran, does not owe that hour to what is ready.
#[test]
fn a_stop_is_not_owed() {
    let mut model = Model::new(&[MS; 2], &[(MS, MS); 20]);
    model.run_until(100 * MS);
    for _ in 0..100 {
        model.step();
        if model.agenda.serves_due() {
            break;
        }
    }
    assert!(model.agenda.serves_due());
    model.now += 3_600_000 * MS;
    let (served, now) =
        (|model: &Model| model.sleepers.iter().map(|sleeper| sleeper.late.len()).sum::<usize>(), model.now);
    let before = served(&model);
    model.run_until(now + 100 * MS);
    assert!(served(&model) > before + 10, "{} were served in a tenth of a second", served(&model) - before);
}
