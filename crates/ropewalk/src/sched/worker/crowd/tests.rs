use super::*;
use ropewalk_core::prim::{self, Arc, thread};

/// However many want to leave at once, one stays; and who came back may leave again.
//
// mutation: the-last-one-leaves-too
// - in crates/ropewalk/src/sched/worker/crowd.rs: `(now.count_ones() as usize) + 1 < active`
// + `(now.count_ones() as usize) < active`
//
// mutation: who-comes-back-takes-others-along
// - in crates/ropewalk/src/sched/worker/crowd.rs: `self.who.fetch_and(!(1 << worker), Relaxed);`
// + `self.who.store(0, Relaxed);`
#[test]
fn model_one_stays() {
    prim::model(|| {
        let aside = Arc::new(Aside::new());
        let here = Arc::new(prim::AtomicUsize::new(3));
        let others = [1, 2].map(|worker| {
            let (aside, here) = (aside.clone(), here.clone());
            thread::spawn(move || come_and_go(&aside, &here, worker))
        });
        come_and_go(&aside, &here, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(aside.who.load(Relaxed), 0, "all are back");
        assert!(aside.leave(0, 3) && aside.leave(1, 3));
        aside.come_back(0);
        assert!(aside.leave(2, 3) && !aside.leave(0, 3), "who comes back speaks for itself alone");
    });
}

fn come_and_go(aside: &Aside, here: &prim::AtomicUsize, worker: usize) {
    if aside.leave(worker, 3) {
        assert!(here.fetch_sub(1, AcqRel) > 1, "somebody stays");
        here.fetch_add(1, AcqRel);
        aside.come_back(worker);
    }
}

#[test]
fn those_beyond_the_last_bit_stay() {
    assert!(!Aside::new().leave(64, 100));
    assert!(!Aside::new().leave(usize::MAX, 100));
}

#[test]
fn those_who_are_on_call_are_called_once() {
    let aside = Aside::new();
    assert!(aside.leave(0, 4) && aside.leave(63, 4) && aside.leave(5, 4));
    assert!(!aside.leave(6, 4), "one stays");
    aside.be_on_call(63);
    aside.be_on_call(5);
    assert!(aside.any_on_call());
    assert!(aside.call().eq([5, 63]), "not who has no core");
    assert!(!aside.any_on_call());
    aside.be_on_call(5);
    aside.on_call_no_more(5);
    assert_eq!(aside.call().count(), 0);
}

/// A crowd whose worker was away for `took`, while the others did `without` operations a second, and has been back for
/// `since`, in which all of them did `with` a second.
fn verdict(took: Duration, without: f64, since: Duration, with: f64) -> Option<Duration> {
    let start = Instant::now();
    let back = Milestone { at: start, operations: 1_000 };
    let crowd = Crowd::default();
    crowd.last.set(Some(Absence { took, rate: without, back }));
    let operations = 1_000 + (with * since.as_secs_f64()) as u64;
    crowd.verdict(Milestone { at: start + since, operations })
}

#[test]
fn the_first_suspicion_is_put_to_the_test() {
    let now = Milestone { at: Instant::now(), operations: 0 };
    assert_eq!(Crowd::default().verdict(now), Some(FIRST));
}

#[test]
fn it_stays_away_longer_as_long_as_the_others_do_as_much_alone() {
    let since = Duration::from_micros(100);
    assert_eq!(verdict(FIRST, 30e6, since, 15e6), Some(2 * FIRST));
    assert_eq!(verdict(FIRST, 30e6, since, 36e6), Some(2 * FIRST), "a sixth more is not worth a worker");
    assert_eq!(verdict(LONGEST, 30e6, since, 15e6), Some(LONGEST));
}

#[test]
fn it_stays_where_two_do_more_than_one_and_asks_again_later() {
    assert_eq!(verdict(FIRST, 1e6, Duration::from_millis(1), 1.9e6), None);
    assert_eq!(verdict(LONGEST, 1e6, PATIENCE, 1.9e6), Some(FIRST));
}
