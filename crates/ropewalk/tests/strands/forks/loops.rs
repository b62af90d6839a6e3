//! `par_for` and `par_map_reduce`: each item once, in order where there is one, whoever runs them.

use super::super::kit::on_every_kind;
use super::{Place, strand, text, thrown};
use ropewalk::{par_for, par_map_reduce};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn each_item_is_given_once() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for count in [0usize, 1, 2, 3, 7, 64, 1000] {
            for place in [Place::Thread, Place::Task, Place::Strand, Place::Half] {
                place.call(&runtime, move || {
                    let seen: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
                    par_for(0..count, |at| {
                        seen[at].fetch_add(1, Relaxed);
                    });
                    par_for(&seen[..], |seen| {
                        seen.fetch_add(10, Relaxed);
                    });
                    let mut seen: Vec<u32> = seen.into_iter().map(AtomicU32::into_inner).collect();
                    par_for(&mut seen[..], |seen| *seen += 100);
                    assert!(seen.iter().all(|seen| *seen == 111), "{count} at {place:?}");
                });
            }
        }
    });
}

#[test]
fn what_is_reduced_stays_in_order() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for count in [0u32, 1, 2, 5, 100] {
            let text = runtime.run(|| {
                par_map_reduce(
                    0..count,
                    String::new,
                    |n| {
                        if n % 7 == 0 {
                            strand::yield_now(); // so that pieces are stolen
                        }
                        n.to_string()
                    },
                    |left, right| left + &right,
                )
            });
            assert_eq!(text, (0..count).map(|n| n.to_string()).collect::<String>());
        }
    });
}

/// Where there are thieves, pieces become smaller: one long item does not keep the others back.
#[test]
fn a_long_item_does_not_hold_up_the_others() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let done = AtomicU32::new(0);
        runtime.run(|| {
            par_for(0..64, |at| {
                if at == 0 {
                    // The first piece is as long as the others take: it ends when most of them are done.
                    while done.load(Relaxed) < 32 {
                        strand::yield_now();
                    }
                }
                done.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(done.into_inner(), 64);
    });
}

#[test]
fn the_first_panic_in_order_is_thrown() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let payload = thrown(|| {
            runtime.run(|| {
                par_for(0..100, |at| {
                    strand::yield_now();
                    assert!(at != 20 && at != 80, "on purpose: item {at}");
                })
            })
        });
        assert_eq!(text(payload), "on purpose: item 20");
    });
}
