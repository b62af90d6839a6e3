//! Jobs race with threads that come, time out and leave, with their withdrawal, and with the end.

use super::super::super::entry::ledger::{Ledger, Token};
use super::*;
use ropewalk_core::prim::{self, UnsafeCell, thread};

/// A job: a token that is redeemed by whoever runs it, or gets it back.
struct Parcel(UnsafeCell<Option<Token>>);

// SAFETY: touched by whoever makes it and then by the one who gets it from the desk; loom watches.
unsafe impl Sync for Parcel {}

/// A desk, its jobs and their account.
struct Office {
    desk: Desk<Parcel>,
    ledger: Arc<Ledger>,
    slips: Vec<Slip<Parcel>>,
    /// For jobs that wait for one another.
    bell: ThreadParker,
}

impl Office {
    fn new(least: usize, most: usize, jobs: usize) -> Arc<Self> {
        let ledger = Ledger::new(jobs);
        let slips = (0..jobs).map(|_| Slip::new(Parcel(UnsafeCell::new(None)))).collect();
        Arc::new(Self { desk: Desk::new(least, most), ledger, slips, bell: ThreadParker::new() })
    }

    fn slip(&self, number: usize) -> NonNull<Slip<Parcel>> {
        NonNull::from(&self.slips[number - 1])
    }

    /// Brings job `number`.
    fn submit(&self, number: usize) -> Submitted {
        let token = self.ledger.issue(number);
        // SAFETY: nobody else has the slip yet.
        self.slips[number - 1].job.0.with_mut(|parcel| unsafe { *parcel = Some(token) });
        // SAFETY: slips live as long as the office.
        unsafe { self.desk.submit(self.slip(number)) }
    }

    /// Whoever has the job ends it; which one it was.
    fn redeem(&self, slip: NonNull<Slip<Parcel>>) -> usize {
        // SAFETY: the job is the caller's.
        let token = unsafe { slip.as_ref() }.job.0.with_mut(|parcel| unsafe { (*parcel).take() });
        self.ledger.redeem(token.expect("a job is given out once"))
    }

    /// Jobs are back with their owners.
    fn told(&self, unrun: Unrun<Parcel>) {
        unrun.for_each(|slip| {
            self.redeem(slip);
        });
    }

    /// A thread that runs what it gets until it leaves; `patient` ones sleep, others run out of time at once.
    fn serve(self: &Arc<Self>, patient: bool, run: impl Fn(NonNull<Slip<Parcel>>)) {
        let seat = Seat::new();
        let mut next = self.desk.arrive(&seat);
        loop {
            next = match next {
                Next::Run(slip, start) => {
                    assert!(start.map(Start::succeeded).is_none(), "one thread is enough here");
                    run(slip);
                    self.desk.next(&seat)
                }
                Next::Wait(_) => self.wait(&seat, patient),
                Next::Leave => return,
            }
        }
    }

    fn wait(&self, seat: &Arc<Seat<Parcel>>, patient: bool) -> Next<Parcel> {
        loop {
            if patient && !seat.is_called() {
                seat.parker.park(None);
            }
            if let Some(next) = self.desk.look_again(seat, !patient) {
                return next;
            }
        }
    }

    fn settle(&self) {
        self.ledger.settle();
        let (tally, idle) = self.desk.tally();
        assert_eq!((tally.threads, tally.coming, idle), (0, 0, 0), "threads that left are not counted");
        assert_eq!((tally.queued, tally.assigned), (0, 0), "jobs that are over are not at the desk");
    }
}

/// Starts a thread that was counted.
fn start(office: &Arc<Office>, patient: bool) -> thread::JoinHandle<()> {
    let there = office.clone();
    thread::spawn(move || {
        there.serve(patient, |slip| {
            there.redeem(slip);
        })
    })
}

// A thread runs out of time while a job comes: it takes the job, or another thread is started for it.
//
// mutation: a-thread-whose-time-is-up-leaves-a-job-behind
// - in crates/ropewalk/src/sched/blocking/desk.rs: `let leaves = may_leave && state.tally.queued == 0;`
// + `let leaves = may_leave;`
//
// mutation: a-thread-that-was-called-stays-in-the-list
// - in crates/ropewalk/src/sched/blocking/desk.rs: `if let Some(seat) = state.idle.pop() {`
// + `if let Some(seat) = state.idle.last().cloned() {`
//
// mutation: a-thread-leaves-and-stays-in-the-list
// - in crates/ropewalk/src/sched/blocking/desk.rs: `Some(at) => drop(state.idle.remove(at)),`
// + `Some(_) => {}`
//
// mutation: a-thread-that-came-counts-as-coming
// - in crates/ropewalk/src/sched/blocking/desk.rs: `None if seat.called.swap(false, Relaxed) => state.tally.coming -= 1,`
// + `None if seat.called.swap(false, Relaxed) => {}`
#[test]
fn model_a_job_comes_when_the_time_of_a_thread_is_up() {
    prim::model(|| {
        let office = Office::new(0, 1, 1);
        office.desk.start_ahead().succeeded();
        let thread = start(&office, false);
        let Submitted::Accepted(another) = office.submit(1) else { panic!("it is open") };
        if let Some(another) = another {
            another.succeeded();
            start(&office, false).join().unwrap();
        }
        thread.join().unwrap();
        office.settle();
    });
}

// A job comes while a thread falls asleep; then the desk is closed. Nobody sleeps on.
//
// mutation: the-thread-that-was-called-is-not-woken
// - in crates/ropewalk/src/sched/blocking/desk.rs: `seat.parker.unpark();`
// + `drop(seat);`
//
// mutation: idle-threads-are-not-told-of-the-end
// - in crates/ropewalk/src/sched/blocking/desk.rs: `idle.iter().for_each(|seat| seat.parker.unpark());`
// + `drop(idle);`
//
// mutation: queued-jobs-are-forgotten-at-the-end
// - in crates/ropewalk/src/sched/blocking/desk.rs: `let unrun = state.hand_back(); // the caller tells their owners`
// + `let unrun = Unrun(List::new());`
#[test]
fn model_a_job_comes_while_a_thread_falls_asleep() {
    prim::model(|| {
        let office = Office::new(1, 1, 1);
        office.desk.start_ahead().succeeded();
        let thread = start(&office, true);
        assert!(matches!(office.submit(1), Submitted::Accepted(None)), "there is a thread");
        let back = office.desk.close();
        office.told(back);
        thread.join().unwrap();
        office.settle();
    });
}

// A queued job is withdrawn while a thread takes it: one of them has it.
//
// mutation: withdrawn-from-the-hands-of-a-thread
// - in crates/ropewalk/src/sched/blocking/desk.rs: `unsafe { slip.as_ref() }.queued.store(false, Relaxed);`
// + `let _ = slip;`
//
// mutation: withdrawn-but-left-in-the-queue
// - in crates/ropewalk/src/sched/blocking/desk.rs: `let was_there = unsafe { state.queue.remove(slip) };`
// + `let was_there = true;`
#[test]
fn model_a_job_is_withdrawn_while_it_is_taken() {
    prim::model(|| {
        let office = Office::new(0, 1, 2);
        let Submitted::Accepted(Some(first)) = office.submit(1) else { panic!("there is no thread") };
        first.succeeded();
        assert!(matches!(office.submit(2), Submitted::Accepted(None)), "one is starting");
        let thread = start(&office, false);
        for number in [2, 1] {
            // SAFETY: slips live as long as the office.
            if unsafe { office.desk.withdraw(office.slip(number)) } {
                office.redeem(office.slip(number));
            }
        }
        thread.join().unwrap();
        office.settle();
    });
}

// A job comes while the desk is closed: it is refused, handed back, or run.
//
// mutation: the-end-is-not-the-end
// - in crates/ropewalk/src/sched/blocking/desk.rs: `state.open = false;`
// + `state.open = true;`
#[test]
fn model_a_job_comes_while_the_desk_is_closed() {
    prim::model(|| {
        let office = Office::new(1, 1, 2);
        office.desk.start_ahead().succeeded();
        let thread = start(&office, true);
        let there = office.clone();
        let submitter = thread::spawn(move || match there.submit(1) {
            Submitted::Accepted(start) => assert!(start.is_none(), "there is a thread, or nobody is told"),
            Submitted::Refused => drop(there.redeem(there.slip(1))),
        });
        let back = office.desk.close();
        office.told(back);
        assert!(matches!(office.submit(2), Submitted::Refused), "closed is closed");
        office.redeem(office.slip(2));
        submitter.join().unwrap();
        thread.join().unwrap();
        office.settle();
    });
}

// The system gives no thread: whoever brought a job is told, once, also if he relied on a start that was under way.
//
// mutation: nobody-is-told-that-there-is-no-thread
// - in crates/ropewalk/src/sched/blocking/desk.rs: `if state.tally.threads == 0 {`
// + `if false {`
#[test]
fn model_a_thread_cannot_be_started_while_another_job_comes() {
    fn bring(office: &Office, number: usize) {
        match office.submit(number) {
            Submitted::Accepted(None) => {}
            Submitted::Accepted(Some(start)) => {
                let back = office.desk.failed(start);
                office.told(back);
            }
            Submitted::Refused => panic!("it is open"),
        }
    }
    prim::model(|| {
        let office = Office::new(0, 4, 2);
        let there = office.clone();
        let other = thread::spawn(move || bring(&there, 2));
        bring(&office, 1);
        other.join().unwrap();
        office.settle();
    });
}

// The first job ends only after the second has run. There may be two threads, so it does end.
//
// mutation: a-thread-leaves-jobs-behind-and-starts-nobody
// - in crates/ropewalk/src/sched/blocking/desk.rs: `return Next::Run(slip, self.call(state));`
// + `return Next::Run(slip, None);`
#[test]
fn model_a_job_waits_for_one_that_came_later() {
    fn work(office: &Arc<Office>) {
        let seat = Seat::new();
        let mut next = office.desk.arrive(&seat);
        while let Next::Run(slip, start) = next {
            let another = start.map(|start| {
                start.succeeded();
                let there = office.clone();
                thread::spawn(move || work(&there))
            });
            match office.redeem(slip) {
                1 => while !office.bell.park(None) {},
                _ => office.bell.unpark(),
            }
            next = office.desk.next(&seat);
            another.map(thread::JoinHandle::join).transpose().unwrap();
        }
        if let Next::Wait(_) = next {
            assert!(office.desk.look_again(&seat, true).is_some(), "nothing keeps it");
        }
    }
    prim::model(|| {
        let office = Office::new(0, 2, 2);
        let there = office.clone();
        let Submitted::Accepted(Some(first)) = office.submit(1) else { panic!("there is no thread") };
        first.succeeded();
        assert!(matches!(office.submit(2), Submitted::Accepted(None)), "one is starting");
        thread::spawn(move || work(&there)).join().unwrap();
        office.settle();
    });
}

// While a thread is being started, another becomes idle and a job comes that relies on the start. The start fails: the
// idle thread is called.
//
// mutation: a-failed-start-calls-nobody
// - in crates/ropewalk/src/sched/blocking/desk.rs: `self.wake_one(state); // jobs may have come that relied on the start`
// + `drop(state);`
#[test]
fn model_a_start_fails_on_which_a_job_relied() {
    prim::model(|| {
        let office = Office::new(1, 2, 1);
        office.desk.start_ahead().succeeded();
        let under_way = office.desk.start_ahead();
        let thread = start(&office, true);
        assert!(matches!(office.submit(1), Submitted::Accepted(None)), "one is coming");
        assert_eq!(office.desk.failed(under_way).count(), 0, "there is a thread left");
        // The thread is not told of the end before it has the job, or it would be handed back.
        while office.desk.tally().0.done == 0 {
            thread::yield_now();
        }
        assert_eq!(office.desk.close().count(), 0);
        thread.join().unwrap();
        office.settle();
    });
}

// Jobs wait, and so do threads: whoever takes a job calls the next.
//
// mutation: a-thread-leaves-jobs-behind-and-wakes-nobody
// - in crates/ropewalk/src/sched/blocking/desk.rs: `return Next::Run(slip, self.call(state));`
// + `return Next::Run(slip, None);`
#[test]
fn model_the_one_who_is_called_calls_the_next() {
    prim::model(|| {
        let office = Office::new(2, 2, 2);
        let (idle, there) = (Seat::new(), office.clone());
        for seat in [&Seat::new(), &idle] {
            office.desk.start_ahead().succeeded();
            assert!(matches!(office.desk.arrive(seat), Next::Wait(_)), "there is nothing to do");
        }
        for number in [1, 2] {
            assert!(matches!(office.submit(number), Submitted::Accepted(None)), "there are threads");
        }
        // The one that became idle last was called; it takes the first job, and thereby calls the other.
        assert!(idle.is_called());
        let Some(Next::Run(slip, None)) = there.desk.look_again(&idle, false) else {
            panic!("it was called")
        };
        assert_eq!(office.redeem(slip), 1);
        let (tally, waiting) = office.desk.tally();
        assert_eq!((tally.coming, tally.queued, waiting), (1, 1, 0), "the other one is on its way");
        office.told(office.desk.close());
    });
}
