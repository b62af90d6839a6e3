//! What needs no interleaving to be seen, and one run of real threads.

use super::*;

fn asleep(idle: &Idle, worker: usize) -> Sleeping {
    idle.sleep(worker, None, || false).expect("no work")
}

#[test]
fn counters_print_their_fields() {
    let idle = Idle::new();
    let searching = idle.try_search(2).unwrap();
    let sleeping = asleep(&idle, 9);
    assert_eq!(format!("{:?}", idle.counters()), "Counters { searching: 1, sleeping: 1 }");
    assert!(matches!(idle.leave_sleep(sleeping), Woken::Itself(None)));
    assert_ne!(idle.found_work(searching, 1), Owed::Nothing);
    assert_eq!(idle.counters(), Counters(0));
}

#[test]
fn the_warmest_is_woken_and_one_at_a_time() {
    let idle = Idle::new();
    let [_, second, third] = [7, 8, 9].map(|worker| asleep(&idle, worker));
    assert_eq!(idle.worker_to_wake(), Some(9));
    assert_eq!(idle.worker_to_wake(), None, "9 is searching and sees to it");
    let Woken::Chosen(searching) = idle.leave_sleep(third) else { panic!("9 was chosen") };
    assert_ne!(idle.found_work(searching, 1), Owed::Nothing);
    assert!(matches!(idle.leave_sleep(second), Woken::Itself(None)), "8 was woken for something of its own");
    assert_eq!(idle.worker_to_wake(), Some(7));
}

#[test]
fn half_of_the_workers_search_and_always_one_may() {
    for (active, limit) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (9, 4), (MAX_WORKERS, 32_767)] {
        let idle = Idle::new();
        let searches: Vec<_> =
            (0..limit).map(|_| idle.try_search(active).expect("below the limit")).collect();
        assert!(idle.try_search(active).is_none(), "{active} workers");
        assert_eq!(idle.counters().searching(), limit);
        let last: Vec<_> = searches.into_iter().map(|searching| idle.found_work(searching, 1)).collect();
        assert_eq!(
            last.iter().position(|owed| *owed != Owed::Nothing),
            Some(limit - 1),
            "only the last one is told to hand on"
        );
    }
}

/// Every way to take four sleepers off the list, in every order, beside a plain list.
#[test]
fn the_list_is_that_of_a_plain_one() {
    for steps in 0..6_usize.pow(5) {
        let (mut list, mut plain) = (Sleepers::new(), vec![]);
        for at in 0..4_u16 {
            list.push(at);
            plain.push(at);
        }
        for step in (0..5).map(|digit| steps / 6_usize.pow(digit) % 6) {
            match step as u16 {
                worker @ 0..4 => {
                    let at = plain.iter().position(|other| *other == worker);
                    assert_eq!(list.remove(worker), at.map(|at| plain.remove(at)).is_some(), "{steps}");
                }
                rest => {
                    // Rather one with an even number; or anyone.
                    let rather = |worker: usize| rest == 5 || worker.is_multiple_of(2);
                    let at = plain.iter().rposition(|other| rather(usize::from(*other)));
                    let expected = at.map(|at| plain.remove(at)).or_else(|| plain.pop());
                    assert_eq!(list.pop(rather), expected, "{steps}");
                }
            }
            assert_eq!(list.is_empty(), plain.is_empty());
        }
    }
}

#[test]
fn one_worker_spins() {
    let idle = Idle::new();
    let spinner = idle.try_spin(1);
    assert!(spinner.is_some() && idle.try_spin(2).is_none());
    drop(spinner);
    assert!(idle.try_spin(2).is_some());
}

#[test]
fn a_spinner_that_has_something_to_do_does_not_keep_another_from_spinning() {
    let idle = Idle::new();
    let first = idle.try_spin(1);
    idle.end_spin(2);
    assert!(idle.try_spin(2).is_none(), "it is not the second one that spins");
    idle.end_spin(1);
    let second = idle.try_spin(2);
    drop(first);
    assert!(
        second.is_some() && idle.try_spin(1).is_none(),
        "the first one does not give back what it has lost"
    );
}

#[test]
#[should_panic(expected = "at most 65535")]
fn a_worker_that_does_not_fit_is_refused() {
    let _ = Idle::new().sleep(MAX_WORKERS, None, || false);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a search ended without")]
fn a_search_that_is_dropped_is_reported() {
    drop(Idle::new().try_search(1));
}

/// Bursts with pauses in between, so that workers fall asleep over and over while items come in. A lost wake-up
/// shows as a hang.
#[test]
fn many_bursts_are_served() {
    const BURSTS: usize = 2_000;
    let (pool, done) = (Pool::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for me in [0, 1] {
            let (pool, done) = (&pool, &done);
            scope.spawn(move || {
                while done.load(Ordering::Relaxed) < 2 * BURSTS {
                    pool.worker(me, pool.idle.try_search(2));
                    done.fetch_add(1, Ordering::Relaxed);
                }
                pool.submit(); // for the other one to leave with
            });
        }
        for burst in 0..BURSTS {
            pool.submit();
            pool.submit();
            while done.load(Ordering::Relaxed) < 2 * burst {
                thread::yield_now();
            }
        }
    });
}
