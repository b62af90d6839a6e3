//! When a busy worker looks around, and whose turn it is: that of what a look found due, or that of what was ready before.
//!
//! How long a poll takes is not known, and a clock read costs as much as a small poll. So the worker counts polls, and reads the
//! clock at the end of a *window*, which is as many polls as fit into [`OFTEN`] at the pace of the last window of the same lane.
//!
//! ```text
//!   rest ──▶ look ──▶ window (1 poll) ──▶ glance ──▶ window (2) ──▶ glance ──▶ window (4) … ──▶ look
//! ```
//!
//! * **AG1** A *glance* reads the clock. A *look* looks at timers, driver, inbox and injection queue. Of the glances, that one is a look
//!   which comes [`OFTEN`] or `most` polls (`global_queue_interval`) after the last look, and each to which the watchdog calls.
//! * **AG2** A window has 1 poll after a rest; then at most twice as many as the last one of its lane, at most `most`, and at most as many
//!   as took [`OFTEN`]. So polls that turn long are late once, by one window, or by a tick of the watchdog and a poll.
//! * **AG3** What a look finds goes to the *due lane*. It is served before the ready lane until its polls took as long as those of the ready
//!   lane since the last look; then each lane has a window in turn, and the due lane more if it took less. With the lane empty, all is settled;
//!   and nothing is owed for more than 50 ms.
//! * **AG4** While the watchdog guards the worker, and `most` polls take less than [`OFTEN`], no clock is read: polls stand for time
//!   ([`Agenda::is_calm`]). The same with a clock that is moved by hand, or with a seed: real time steers nothing then.
//!
//! Found within `OFTEN` and a poll, what is due waits for what was found before it, and for as long again. In polls of 1 us a window is
//! 61 polls, 64 us; of 1 ms or 50 ms it is one poll.
//!
//! Rejected: a look every so many polls alone (61 polls of 1 ms are 61 ms); a clock read for each poll (29 ns where a yield takes 20);
//! windows that all tasks share (twenty short tickers would make the next window of two hogs one of sixteen polls).

use std::cell::Cell;

/// How many nanoseconds a busy worker lets pass from look to look: a hundred and fifty times what an idle look costs.
pub(super) const OFTEN: u64 = 64_000;

/// How many nanoseconds a lane may owe to the other, however long it took: a process may be stopped, and a host drive the worker now and then.
const MOST_OWED: i64 = 50_000_000;

/// A moment of the worker: the time, and how many polls it had made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) polls: u64,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Ready,
    Due,
}

/// See the head of this file. It knows neither clock nor queues: both are told to it. What every turn of the loop reads comes first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Agenda {
    turn: Cell<Turn>,
    /// The worker slept since the last glance: what was measured before says nothing.
    fresh: Cell<bool>,
    calm: Cell<bool>,
    most: u32,
    /// How many polls a window of each lane has.
    windows: [Cell<u32>; 2],
    /// Where the window under way began.
    begun: Cell<Mark>,
    looked: Cell<Mark>,
    /// How much longer the ready lane was served than the due one since both were even.
    credit: Cell<i64>,
    /// How many tasks the last look has left outside that are this worker's share.
    outside: Cell<usize>,
}

impl Agenda {
    pub(super) fn new(most: u32) -> Self {
        Self {
            turn: Cell::new(Turn::Ready),
            fresh: Cell::new(true),
            calm: Cell::new(false),
            most,
            windows: [Cell::new(1), Cell::new(1)],
            begun: Cell::default(),
            looked: Cell::default(),
            credit: Cell::new(0),
            outside: Cell::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn serves_due(&self) -> bool {
        self.turn.get() == Turn::Due
    }

    pub(super) fn serve(&self, turn: Turn) {
        self.turn.set(turn);
    }

    /// The worker has slept: windows begin anew.
    pub(super) fn begin_anew(&self) {
        self.fresh.set(true);
        self.calm.set(false);
    }

    /// Polls stand for time.
    pub(super) fn is_calm(&self) -> bool {
        self.calm.get()
    }

    /// Somebody else looks from now on how long polls take.
    pub(super) fn calm_down(&self) {
        self.calm.set(true);
    }

    /// The time after so many polls, if `most` of them take [`OFTEN`].
    pub(super) fn time_by_polls(&self, polls: u64) -> u64 {
        let begun = self.begun.get();
        begun.at + (polls.wrapping_sub(begun.polls)) * OFTEN / u64::from(self.most)
    }

    fn window(&self) -> &Cell<u32> {
        &self.windows[usize::from(self.serves_due())]
    }

    /// How many due polls fit into a window.
    pub(super) fn due_window(&self) -> usize {
        self.windows[1].get() as usize
    }

    /// A window is over: what it took is booked, and the next one of its lane follows (AG2).
    pub(super) fn close(&self, now: Mark) {
        let begun = self.begun.replace(now);
        if self.fresh.replace(false) {
            self.windows.iter().for_each(|window| window.set(1));
            self.credit.set(0);
            return;
        }
        let (took, made) = (now.at.saturating_sub(begun.at), now.polls.wrapping_sub(begun.polls));
        if made > 0 {
            self.window().set(self.next_window(took, made));
        }
        let took = took.min(i64::MAX as u64) as i64;
        let booked = if self.serves_due() { took.wrapping_neg() } else { took };
        self.credit.set(self.credit.get().saturating_add(booked).clamp(-MOST_OWED, MOST_OWED));
    }

    /// `made` polls of a window took so long: how many the next one has.
    fn next_window(&self, took: u64, made: u64) -> u32 {
        let twice = self.window().get().saturating_mul(2).min(self.most);
        if took <= OFTEN && took * u64::from(twice) <= OFTEN * made {
            return twice; // mostly, and without a division
        }
        (made.saturating_mul(OFTEN) / took.max(1)).clamp(1, u64::from(twice)) as u32
    }

    /// Whether this glance is a look (AG1).
    pub(super) fn is_time_to_look(&self, now: Mark) -> bool {
        let looked = self.looked.get();
        let polls = now.polls.wrapping_sub(looked.polls);
        polls >= u64::from(self.most) || now.at.saturating_sub(looked.at) >= OFTEN
    }

    /// The worker looks. True: `most` polls took no longer than [`OFTEN`] since the last time, so polls may stand for time.
    pub(super) fn look(&self, now: Mark) -> bool {
        let last = self.looked.replace(now);
        let polls = now.polls.wrapping_sub(last.polls);
        polls >= u64::from(self.most) && now.at.saturating_sub(last.at) <= OFTEN
    }

    /// Whose turn it is after a glance (AG3); `looked`: it was a look.
    pub(super) fn choose(&self, due_waits: bool, ready_waits: bool, looked: bool) -> Turn {
        if !ready_waits || !due_waits && looked {
            self.credit.set(0);
        }
        match due_waits && (!ready_waits || self.credit.get() > 0) {
            true => Turn::Due,
            false => Turn::Ready,
        }
    }

    /// The last look has left so many outside, which are due, too.
    pub(super) fn leave_outside(&self, count: usize) {
        self.outside.set(count);
    }

    /// The due lane is empty, but it may have more of what the last look saw outside: so many.
    pub(super) fn may_have_more(&self) -> Option<usize> {
        Some(self.outside.get()).filter(|left| *left > 0 && self.credit.get() > 0)
    }

    /// Nothing is owed to either lane.
    pub(super) fn settle(&self) {
        self.credit.set(0);
    }

    /// Until how many polls the window that begins now goes on: no further than to the next look, at the pace of the last window.
    pub(super) fn window_ends(&self, now: Mark) -> u64 {
        let looked = self.looked.get();
        let left = u64::from(self.most).saturating_sub(now.polls.wrapping_sub(looked.polls)).max(1);
        let time_left = OFTEN.saturating_sub(now.at.saturating_sub(looked.at));
        let window = u64::from(self.window().get());
        // The window is what fits into all of `OFTEN`.
        let fits = if time_left == OFTEN { window } else { (window * time_left).div_ceil(OFTEN) };
        now.polls.wrapping_add(fits.clamp(1, left))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
