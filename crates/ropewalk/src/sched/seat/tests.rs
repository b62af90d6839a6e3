use super::{Line, Origin, Turn};
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{self, Arc, Ordering, UnsafeCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Workers of which a thread would notice that another one uses them, too; and how often they were driven.
struct Crew(UnsafeCell<u32>);
// SAFETY: loom, and ThreadSanitizer, say whether it is used by one thread at a time.
unsafe impl Send for Crew {}

impl Crew {
    fn drive(&self) {
        // SAFETY: as above: that is what is tested.
        self.0.with_mut(|times| unsafe { *times += 1 });
    }
}

type Seat = Line<Crew, usize>;

/// A plain thread.
fn thread(here: usize) -> Origin<usize> {
    Origin { thread: here, by_itself: true, stays: false }
}

/// A strand that somebody runs on that thread, or nobody.
fn strand(here: usize) -> Origin<usize> {
    Origin { by_itself: false, ..thread(here) }
}

fn patient(from: Origin<usize>) -> Origin<usize> {
    Origin { stays: true, ..from }
}

fn driven(seat: &Seat, here: usize) -> Crew {
    match seat.take(here) {
        Turn::Yours(crew) => crew,
        Turn::NotYet | Turn::BoundTo(_) | Turn::Away | Turn::Over => panic!("it is not free"),
    }
}

/// A candidate that waits until it drives: steps 1, 3 and 4. False: the workers are bound elsewhere.
fn drive_when_handed(seat: &Seat, from: Origin<usize>) -> bool {
    let mut number = None;
    let crew = block_on_simple(poll_fn(|cx| {
        if let Some(crew) = number.and_then(|number| seat.leave(number, from.thread)) {
            return Poll::Ready(Some(crew));
        }
        match seat.ask(&mut number, from, cx.waker()) {
            Turn::Yours(crew) => Poll::Ready(Some(crew)),
            Turn::NotYet => Poll::Pending,
            Turn::BoundTo(_) | Turn::Away | Turn::Over => Poll::Ready(None),
        }
    }));
    let Some(crew) = crew else { return false };
    crew.drive();
    assert!(seat.give_back(Some(crew), None, || false).is_none());
    true
}

/// A candidate that asks once, and does not want it any more: its own wait is over, or it unwinds.
fn ask_and_leave(seat: &Seat, here: usize) {
    let mut number = None;
    let crew = match seat.ask(&mut number, thread(here), Waker::noop()) {
        Turn::Yours(crew) => Some(crew),
        _ => seat.leave(number.expect("it was drawn"), here),
    };
    if let Some(crew) = crew {
        assert!(seat.give_back(Some(crew), None, || false).is_none());
    }
}

// mutation: seat-is-handed-to-nobody
// - in crates/ropewalk/src/sched/seat.rs: `woken.into_iter().for_each(|candidate| wake_safely(candidate.waker)); // SQ5`
// + `drop(woken);`
#[test]
fn model_the_seat_goes_from_candidate_to_candidate() {
    prim::model(|| {
        let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
        let crew = driven(&seat, 0);
        let threads = [1, 2].map(|here| {
            let seat = seat.clone();
            prim::thread::spawn(move || assert!(drive_when_handed(&seat, thread(here))))
        });
        crew.drive();
        assert!(seat.give_back(Some(crew), None, || false).is_none());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        driven(&seat, 0).0.with(|times| {
            // SAFETY: the others have ended.
            assert_eq!(unsafe { *times }, 3);
        });
    });
}

// mutation: candidate-that-leaves-keeps-the-seat
// - in crates/ropewalk/src/sched/seat.rs: `if state.handed != Some(number) {`
// + `if state.handed != Some(u64::MAX) {`
// mutation: candidate-stands-in-line-after-looking
// - in crates/ropewalk/src/sched/seat.rs: `let turn = state.take(here);`
// + `let turn = state.take(here); drop(state); let mut state = self.0.lock();`
#[test]
fn model_a_candidate_that_leaves_passes_the_seat_on() {
    prim::model(|| {
        let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
        let crew = driven(&seat, 0);
        let (leaving, waiting) = (seat.clone(), seat.clone());
        let threads = [
            prim::thread::spawn(move || ask_and_leave(&leaving, 1)),
            prim::thread::spawn(move || assert!(drive_when_handed(&waiting, thread(2)))),
        ];
        assert!(seat.give_back(Some(crew), None, || false).is_none());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

// mutation: bound-workers-are-handed-to-any-thread
// - in crates/ropewalk/src/sched/seat.rs: `self.crew.is_some() && self.home.is_none_or(|home| home == thread)`
// + `self.crew.is_some()`
// mutation: those-who-cannot-have-it-are-not-told
// - in crates/ropewalk/src/sched/seat.rs: `None => state.told(),`
// + `None => VecDeque::new(),`
#[test]
fn model_bound_workers_go_home_and_the_others_are_told() {
    prim::model(|| {
        let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
        let crew = driven(&seat, 0);
        let stranger = seat.clone();
        let told = Arc::new(prim::AtomicUsize::new(0));
        let tell = told.clone();
        let thread = prim::thread::spawn(move || {
            assert!(!drive_when_handed(&stranger, thread(1)), "it is bound to another one");
            tell.store(1, Ordering::Relaxed);
        });
        assert!(seat.give_back(Some(crew), Some(0), || false).is_none());
        thread.join().unwrap();
        assert_eq!(told.load(Ordering::Relaxed), 1);
        driven(&seat, 0).drive();
    });
}

// mutation: seat-is-handed-to-one-that-does-not-come
// - in crates/ropewalk/src/sched/seat.rs: `let comes = |from: Origin<K>| from.by_itself && self.may_have(from.thread);`
// + `let comes = |from: Origin<K>| self.may_have(from.thread);`
// mutation: only-the-first-is-told-that-the-seat-is-free
// - in crates/ropewalk/src/sched/seat.rs: `None => state.told(),`
// + `None => state.told().into_iter().take(1).collect(),`
#[test]
fn model_nobody_waits_for_one_that_does_not_come() {
    for by_itself in [false, true] {
        prim::model(move || {
            let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
            let crew = driven(&seat, 0);
            let (idle, waiting) = (seat.clone(), seat.clone());
            let threads = [
                prim::thread::spawn(move || {
                    // Nobody runs it again.
                    if let Turn::Yours(crew) = idle.ask(&mut None, strand(1), Waker::noop()) {
                        assert!(idle.give_back(Some(crew), None, || false).is_none());
                    }
                }),
                prim::thread::spawn(move || {
                    assert!(drive_when_handed(&waiting, Origin { by_itself, ..thread(2) }));
                }),
            ];
            assert!(seat.give_back(Some(crew), None, || false).is_none());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            driven(&seat, 0).drive();
        });
    }
}

/// Each has something queued there that it takes back, once it is told that nobody drives.
// mutation: those-who-asked-during-a-look-are-not-told
// - in crates/ropewalk/src/sched/seat.rs: `knows: nobody_drives };`
// + `knows: true };`
// mutation: who-could-not-look-is-not-told-again
// - in crates/ropewalk/src/sched/seat.rs: `state.forget_that_it_knows(number);`
// + `;`
#[test]
fn model_all_that_are_patient_look_after_unused_workers() {
    prim::model(|| {
        let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
        let crew = driven(&seat, 0);
        assert!(seat.give_back(Some(crew), Some(0), || false).is_none());
        let threads = [1, 2].map(|here| {
            let seat = seat.clone();
            prim::thread::spawn(move || {
                look_or_drive(&seat, here);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The driver sleeps as a guest where nobody drives; it comes back, and gives up the seat, while others look.
// mutation: nobody-is-told-that-the-driver-is-away
// - in crates/ropewalk/src/sched/seat.rs: `state.away = true;`
// + `state.away = true; return;`
// mutation: seat-that-is-given-up-during-a-look-is-handed-to-nobody
// - in crates/ropewalk/src/sched/seat.rs: `state.looked_at = false;`
// + `state.looked_at = false; return;`
#[test]
fn model_the_driver_goes_away_and_comes_back() {
    for (is_waited_for, bound) in [(true, false), (false, false), (false, true)] {
        prim::model(move || {
            let seat = Arc::new(Seat::new(Crew(UnsafeCell::new(0))));
            let crew = driven(&seat, 0);
            let (open, patient) = (seat.clone(), seat.clone());
            let mut threads = vec![
                prim::thread::spawn(move || _ = drive_when_handed(&open, thread(1))),
                prim::thread::spawn(move || look_or_drive(&patient, 2)),
            ];
            seat.away();
            if is_waited_for {
                threads.drain(..).for_each(|thread| thread.join().unwrap());
            }
            seat.back();
            crew.drive();
            assert!(seat.give_back(Some(crew), bound.then_some(0), || false).is_none());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            driven(&seat, 0).drive();
        });
    }
}

/// A candidate that waits until it drives, or nobody else may.
fn look_or_drive(seat: &Seat, here: usize) {
    let mut number = None;
    let handed = block_on_simple(poll_fn(|cx| {
        if let Some(crew) = number.and_then(|number| seat.leave(number, here)) {
            return Poll::Ready(Some(crew));
        }
        let turn = seat.ask(&mut number, patient(thread(here)), cx.waker());
        let number = number.expect("it was drawn");
        match turn {
            Turn::Yours(crew) => Poll::Ready(Some(crew)),
            Turn::BoundTo(_) | Turn::Away if seat.while_unused(number, here, || ()).is_some() => {
                Poll::Ready(seat.leave(number, here))
            }
            Turn::BoundTo(_) | Turn::Away | Turn::NotYet => Poll::Pending,
            Turn::Over => unreachable!("there are workers"),
        }
    }));
    if let Some(crew) = handed {
        crew.drive();
        assert!(seat.give_back(Some(crew), None, || false).is_none());
    }
}

#[test]
fn while_the_driver_is_away_nobody_drives() {
    let seat: Line<(), usize> = Line::new(());
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free") };
    let (mut open, mut stays) = (None, None);
    assert!(matches!(seat.ask(&mut open, thread(1), Waker::noop()), Turn::NotYet));
    seat.away();
    assert!(matches!(seat.ask(&mut open, thread(1), Waker::noop()), Turn::Away));
    assert!(matches!(seat.ask(&mut stays, patient(thread(2)), Waker::noop()), Turn::Away));
    for here in [0, 1] {
        assert!(matches!(seat.take(here), Turn::Away), "also on the thread that it is on");
    }
    assert!(seat.while_unused(stays.unwrap(), 2, || ()).is_some());
    seat.back();
    assert!(matches!(seat.ask(&mut open, thread(1), Waker::noop()), Turn::NotYet));
    assert!(seat.while_unused(stays.unwrap(), 2, || ()).is_none());
    seat.give_back(Some(()), None, || false);
    assert!(seat.leave(open.unwrap(), 1).is_some(), "it asked first, and kept its place");
}

#[test]
fn whoever_comes_takes_what_strands_are_told_of() {
    let seat: Line<(), usize> = Line::new(());
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free") };
    let (mut idle, mut behind) = (None, None);
    assert!(matches!(seat.ask(&mut idle, strand(1), Waker::noop()), Turn::NotYet));
    assert!(matches!(seat.ask(&mut behind, thread(2), Waker::noop()), Turn::NotYet));
    seat.give_back(Some(()), None, || false);
    assert!(seat.leave(idle.unwrap(), 1).is_none(), "it was first, but who runs by itself goes before");
    assert!(matches!(seat.ask(&mut idle, strand(1), Waker::noop()), Turn::NotYet));
    assert!(seat.leave(behind.unwrap(), 2).is_some());
    seat.give_back(Some(()), None, || false);
    let Turn::Yours(()) = seat.take(3) else { panic!("it is free for whoever comes") };
    assert!(seat.leave(idle.unwrap(), 1).is_none());
}

/// Also by one that looked after bound workers meanwhile, and though it has been told that they are bound.
#[test]
fn a_patient_strand_at_home_is_told_that_the_seat_is_free() {
    let seat: Line<(), usize> = Line::new(());
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free") };
    seat.give_back(Some(()), Some(0), || false);
    let (woken, mut number) = (std::sync::Arc::new(CountWakes::default()), None);
    let waker = Waker::from(woken.clone());
    seat.while_unused(0, 1, || {
        assert!(matches!(seat.ask(&mut number, patient(strand(0)), &waker), Turn::NotYet))
    });
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(matches!(seat.ask(&mut number, patient(strand(0)), &waker), Turn::Yours(())));
}

#[derive(Default)]
struct CountWakes(std::sync::atomic::AtomicUsize);

impl std::task::Wake for CountWakes {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn candidates_keep_their_place() {
    let seat: Line<(), usize> = Line::new(());
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free") };
    let (mut first, mut second) = (None, None);
    assert!(matches!(seat.ask(&mut first, thread(1), Waker::noop()), Turn::NotYet));
    assert!(matches!(seat.ask(&mut second, thread(2), Waker::noop()), Turn::NotYet));
    // The first one looks after what is inside it, and comes back.
    assert!(seat.leave(first.unwrap(), 1).is_none());
    assert!(matches!(seat.ask(&mut first, thread(1), Waker::noop()), Turn::NotYet));
    seat.give_back(Some(()), None, || false);
    assert!(matches!(seat.take(3), Turn::NotYet), "handed, and not taken yet");
    assert_eq!(seat.holder(), Some(1));
    assert!(seat.leave(second.unwrap(), 2).is_none());
    assert!(seat.leave(first.unwrap(), 1).is_some());
}

#[test]
fn candidates_of_the_home_thread_come_first_and_patient_ones_stay() {
    let seat: Line<(), usize> = Line::new(());
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free") };
    let (mut stranger, mut home) = (None, None);
    assert!(matches!(seat.ask(&mut stranger, patient(thread(1)), Waker::noop()), Turn::NotYet));
    assert!(matches!(seat.ask(&mut home, thread(0), Waker::noop()), Turn::NotYet));
    seat.give_back(Some(()), Some(0), || false);
    assert!(matches!(seat.take(1), Turn::NotYet));
    assert_eq!(seat.holder(), Some(0));
    assert!(seat.leave(home.unwrap(), 0).is_some());
    seat.give_back(Some(()), Some(0), || false);
    assert!(
        matches!(seat.ask(&mut stranger, patient(thread(1)), Waker::noop()), Turn::BoundTo(0)),
        "it left the line"
    );
    let Turn::Yours(()) = seat.take(0) else { panic!("it is free, there") };
    seat.give_back(Some(()), None, || false);
    assert!(seat.leave(stranger.unwrap(), 1).is_some(), "it stayed in line, and was handed the seat");
    seat.give_back(None, None, || false);
    assert!(matches!(seat.ask(&mut stranger, patient(thread(1)), Waker::noop()), Turn::Over));
}
