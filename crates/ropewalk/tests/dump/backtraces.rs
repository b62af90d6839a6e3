//! Where strands wait. With the feature `backtraces` on Linux; without it, that is said.

use crate::{LONG, kit, named};
use ropewalk::dump::{Backtrace, Dump};
use ropewalk::{Runtime, Wait, strand};

/// A runtime, and a strand of that name in it that runs `body`.
fn with_strand<T: Send + 'static>(
    builder: ropewalk::Builder,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> (Runtime, strand::Strand<'static, T>) {
    let runtime = builder.build().unwrap();
    let strand = strand::Builder::new().name(name).pool(&runtime.pool("main").unwrap()).spawn(body);
    (runtime, strand)
}

#[cfg(not(all(feature = "backtraces", target_os = "linux")))]
#[test]
fn without_the_feature_it_is_said_how_to_get_them() {
    let gate = kit::Gate::new();
    let waits = gate.clone();
    let (runtime, strand) = with_strand(Runtime::builder().worker_threads(1), "strand", move || {
        waits.passed().wait();
    });
    kit::until("it waits", || {
        gate.waiting() == 1 && named(&runtime.dump(), "strand").info.state == "waiting"
    });
    let dump = runtime.dump();
    assert!(matches!(named(&dump, "strand").backtrace, Backtrace::Missing(_)), "{dump}");
    let note = "note: where strands wait is shown with the feature `backtraces`, on Linux\n";
    assert_eq!(dump.to_string().matches(note).count(), 1, "{dump}");
    gate.open();
    strand.join();
    let _tells = (LONG, Dump::to_json);
}

#[cfg(all(feature = "backtraces", target_os = "linux"))]
mod asked {
    use super::*;
    use ropewalk::dump::DumpedTask;
    use ropewalk::{DumpOptions, channel, spawn, task};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
    use std::time::{Duration, Instant};

    /// All that answer are waited for, however slow this machine is.
    fn dump(runtime: &Runtime) -> Dump {
        runtime.dump_with(&DumpOptions::new().time_limit(LONG))
    }

    /// Nobody waits for an answer of a strand that has no stack any more.
    #[test]
    fn a_strand_that_is_over_but_for_its_children_is_not_asked() {
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let (runtime, strand) = with_strand(Runtime::builder().worker_threads(1), "parent", move || {
            let (begin, begun) = channel::bounded(1);
            let mut group = ropewalk::TaskGroup::new();
            group.spawn_blocking(move || {
                begin.send(()).wait().unwrap(); // from here on it cannot be cancelled
                assert!(held.recv().is_err());
            });
            begun.recv().wait().unwrap();
        });
        kit::until("it ends", || named(&runtime.dump(), "parent").info.state == "ending");
        let dump = dump(&runtime);
        assert!(matches!(named(&dump, "parent").backtrace, Backtrace::None), "{dump}");
        drop(let_go);
        strand.join();
    }

    fn functions(task: &DumpedTask) -> Vec<&str> {
        match &task.backtrace {
            Backtrace::Frames(frames) => frames.iter().map(|frame| frame.function.as_str()).collect(),
            other => panic!("no frames, but {other:?}: {}", task.info),
        }
    }

    #[track_caller]
    fn is_missing(dump: &Dump, name: &str) -> &'static str {
        match named(dump, name).backtrace {
            Backtrace::Missing(why) => why,
            _ => panic!("it is not missing:\n{dump}"),
        }
    }

    #[inline(never)]
    fn outer_function(gate: &kit::Gate) {
        inner_function(gate);
        std::hint::black_box(gate);
    }

    #[inline(never)]
    fn inner_function(gate: &kit::Gate) {
        gate.passed().wait();
        std::hint::black_box(gate);
    }

    #[test]
    fn a_strand_says_in_which_function_it_waits() {
        kit::guarded("a strand", || {
            let gate = kit::Gate::new();
            let waits = gate.clone();
            let (runtime, strand) =
                with_strand(Runtime::builder().worker_threads(2), "strand", move || outer_function(&waits));
            kit::until("it waits", || gate.waiting() == 1);
            let dump = dump(&runtime);
            let functions = functions(named(&dump, "strand"));
            assert!(functions[0].ends_with("inner_function"), "the innermost is the user's: {functions:?}");
            assert!(functions[1].ends_with("outer_function"), "{functions:?}");
            let ours = ["ropewalk::", "ropewalk_core::", "corosensei::", "std::", "core::", "backtrace::"];
            let is_ours =
                |name: &&&str| ours.iter().any(|ours| name.trim_start_matches('<').starts_with(ours));
            assert!(
                functions.last().is_some_and(|last| !is_ours(&last)),
                "and so is the outermost: {functions:?}"
            );
            let text = dump.to_string();
            let file = "tests/dump/backtraces.rs:";
            // Where a wait was inlined, a program with nothing but line tables tells the last part of the name only.
            assert!(
                text.contains("inner_function at ")
                    && text.contains("\n    at dump::backtraces::asked::outer_function at ")
                    && text.contains(file),
                "{text}"
            );
            gate.open();
            strand.join();
        });
    }

    #[test]
    fn json_has_it_too() {
        kit::guarded("json", || {
            let gate = kit::Gate::new();
            let waits = gate.clone();
            let (runtime, strand) =
                with_strand(Runtime::builder().worker_threads(1), "strand", move || inner_function(&waits));
            kit::until("it waits", || gate.waiting() == 1);
            let dump = dump(&runtime);
            let all: serde_json::Value = serde_json::from_str(&dump.to_json()).unwrap();
            let first = &all["tasks"][0]["backtrace"][0];
            assert!(first["function"].as_str().unwrap().ends_with("inner_function"), "{first}");
            assert!(
                first["file"].as_str().unwrap().ends_with("backtraces.rs") && first["line"].is_u64(),
                "{first}"
            );
            gate.open();
            strand.join();
        });
    }

    #[test]
    fn it_goes_on_waiting_and_then_it_goes_on() {
        kit::guarded("it goes on", || {
            let (send, receive) = channel::bounded::<u32>(1);
            let builder = Runtime::builder().worker_threads(1).observe(true);
            let (runtime, strand) = with_strand(builder, "strand", move || receive.recv().wait().unwrap());
            // Who was asked runs for a moment, also after its answer: another dump would find it there, and say so. This one asks nobody.
            let look = || runtime.dump_with(&DumpOptions::new().backtraces(0));
            let settle = || kit::until("it waits", || named(&look(), "strand").info.state == "waiting");
            let since =
                |dump: &Dump| named(dump, "strand").info.observed.as_ref().unwrap().blocked.unwrap().since;
            settle();
            let first = dump(&runtime);
            for _ in 0..10 {
                settle();
                functions(named(&dump(&runtime), "strand"));
            }
            settle();
            let last = dump(&runtime);
            let elapsed = last.at.duration_since(first.at).unwrap();
            assert!(
                since(&last) >= elapsed.saturating_sub(Duration::from_millis(1)),
                "since it began, not since it was asked"
            );
            send.try_send(7).unwrap();
            assert_eq!(strand.join(), 7);
        });
    }

    /// Who has just answered one dump runs for a moment: another one, right behind it, finds it there, and then where it waits again.
    #[test]
    fn dumps_in_a_row_all_say_where_it_waits() {
        kit::guarded("in a row", || {
            let (send, receive) = channel::bounded::<u32>(1);
            let builder = Runtime::builder().worker_threads(1);
            let (runtime, strand) = with_strand(builder, "strand", move || receive.recv().wait().unwrap());
            kit::until("it waits", || named(&runtime.dump(), "strand").info.state == "waiting");
            for _ in 0..300 {
                let dump = dump(&runtime);
                let said = &named(&dump, "strand").backtrace;
                assert!(!matches!(said, Backtrace::Missing(why) if why.contains("moved on")), "{dump}");
            }
            send.try_send(7).unwrap();
            assert_eq!(strand.join(), 7);
        });
    }

    #[test]
    fn strands_in_different_places_are_not_alike() {
        kit::guarded("places", || {
            let runtime = Runtime::builder().worker_threads(2).build().unwrap();
            let (gate, pool) = (kit::Gate::new(), runtime.pool("main").unwrap());
            let strands: Vec<_> = (0..10)
                .map(|number| {
                    let gate = gate.clone();
                    strand::Builder::new().pool(&pool).spawn(move || match number % 2 {
                        0 => inner_function(&gate),
                        _ => outer_function(&gate),
                    })
                })
                .collect();
            kit::until("all wait", || gate.waiting() == 10);
            let dump = dump(&runtime);
            assert_eq!(dump.to_string().matches("... and 2 more like this\n").count(), 2, "{dump}");
            gate.open();
            strands.into_iter().for_each(|strand| strand.join());
        });
    }

    #[inline(never)]
    fn burn(begun: &AtomicBool, over: &AtomicBool) {
        begun.store(true, Relaxed);
        while !over.load(Relaxed) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_runs_is_shown_where_its_thread_is_and_who_waits_behind_it_is_missing() {
        kit::guarded("a hog", || {
            let (begun, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let gate = kit::Gate::new();
            let waits = gate.clone();
            let builder = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO);
            let (runtime, strand) = with_strand(builder, "behind", move || inner_function(&waits));
            kit::until("it waits", || gate.waiting() == 1);
            let (begins, ends) = (begun.clone(), over.clone());
            let hog = task::Builder::new().name("hog");
            let hog = hog.spawn_on(&runtime.handle(), async move { burn(&begins, &ends) });
            kit::until("it burns", || begun.load(Relaxed));
            drop(runtime.dump_with(&DumpOptions::new().time_limit(Duration::from_secs(3)))); // names take long once
            let (from, limit) = (Instant::now(), Duration::from_millis(900));
            let dump = runtime.dump_with(&DumpOptions::new().time_limit(limit));
            assert!(from.elapsed() >= limit / 3, "so long it waits for an answer");
            assert!(from.elapsed() < 20 * limit, "{:?}", from.elapsed());
            let seen = functions(named(&dump, "hog"));
            assert!(seen.iter().any(|name| name.ends_with("burn")), "{seen:?}");
            assert_eq!(is_missing(&dump, "behind"), "its worker did not get to it in time");
            over.store(true, Relaxed);
            hog.wait().unwrap();
            gate.open();
            strand.join();
        });
    }

    #[test]
    fn who_takes_the_dump_shows_where_it_is_and_its_neighbours_cannot_answer() {
        kit::guarded("from inside", || {
            let gate = kit::Gate::new();
            let waits = gate.clone();
            let (runtime, strand) =
                with_strand(Runtime::builder().worker_threads(1), "neighbour", move || {
                    inner_function(&waits)
                });
            kit::until("it waits", || gate.waiting() == 1);
            #[inline(never)]
            fn takes_it(handle: &ropewalk::Handle) -> Dump {
                std::hint::black_box(handle.dump_with(&DumpOptions::new().time_limit(LONG)))
            }
            let handle = runtime.handle();
            let own = strand::Builder::new().name("own").pool(&runtime.pool("main").unwrap());
            let dump = own.spawn(move || takes_it(&handle)).join();
            let seen = functions(named(&dump, "own"));
            assert!(seen[0].ends_with("takes_it"), "{seen:?}");
            assert!(is_missing(&dump, "neighbour").starts_with("its worker takes this dump"), "{dump}");
            let handle = runtime.handle();
            let options = DumpOptions::new().time_limit(LONG);
            let dump = runtime.spawn_blocking(move || handle.dump_with(&options)).wait().unwrap();
            assert!(functions(named(&dump, "neighbour"))[0].ends_with("inner_function"), "{dump}");
            gate.open();
            strand.join();
        });
    }

    #[test]
    fn one_that_nobody_drives_is_not_waited_for_and_one_that_somebody_drives_answers() {
        kit::guarded("hosted", || {
            let gate = kit::Gate::new();
            let waits = gate.clone();
            let (runtime, strand) =
                with_strand(Runtime::builder().worker_threads(0), "strand", move || inner_function(&waits));
            runtime.run_until_stalled().unwrap();
            let dump = runtime.dump_with(&DumpOptions::new().time_limit(LONG));
            assert_eq!(is_missing(&dump, "strand"), "no other thread drives its runtime just now");
            let handle = runtime.handle();
            let options = DumpOptions::new().time_limit(LONG);
            let dump = async { ropewalk::spawn_blocking(move || handle.dump_with(&options)).await };
            let dump = runtime.block_on(dump).unwrap(); // which drives it already when the job comes
            assert!(functions(named(&dump, "strand"))[0].ends_with("inner_function"), "{dump}");
            gate.open();
            runtime.block_on(strand).unwrap();
        });
    }

    #[test]
    fn few_are_asked_if_few_are_wanted() {
        kit::guarded("few", || {
            let runtime = Runtime::builder().worker_threads(1).build().unwrap();
            let (gate, pool) = (kit::Gate::new(), runtime.pool("main").unwrap());
            let strands: Vec<_> = (0..5)
                .map(|_| {
                    let gate = gate.clone();
                    strand::Builder::new().pool(&pool).spawn(move || inner_function(&gate))
                })
                .collect();
            kit::until("all wait", || gate.waiting() == 5);
            let count = |most| {
                let dump = runtime.dump_with(&DumpOptions::new().backtraces(most).time_limit(LONG));
                dump.tasks.iter().filter(|task| matches!(task.backtrace, Backtrace::Frames(_))).count()
            };
            assert_eq!([count(0), count(2), count(5)], [0, 2, 5]);
            gate.open();
            strands.into_iter().for_each(|strand| strand.join());
        });
    }

    /// Looking back along a stack takes more of it than this one has left.
    #[test]
    fn a_strand_with_hardly_any_stack_left_answers() {
        const STACK: usize = 64 << 10;
        const LEFT: usize = if cfg!(debug_assertions) { 7 << 10 } else { 3 << 10 };
        #[inline(never)]
        fn deeper(top: usize, gate: &kit::Gate) -> usize {
            let room = std::hint::black_box([1_u8; 100]);
            if top - room.as_ptr().addr() < STACK - LEFT {
                std::hint::black_box(deeper(top, gate));
            } else {
                gate.passed().wait();
            }
            room.len()
        }
        kit::guarded("deep", || {
            let runtime = Runtime::builder().worker_threads(1).build().unwrap();
            let (gate, pool) = (kit::Gate::new(), runtime.pool("main").unwrap());
            let waits = gate.clone();
            let strand = strand::Builder::new().name("deep").pool(&pool).stack_size(STACK);
            let strand = strand.spawn(move || {
                let top = 0_u8;
                deeper((&raw const top).addr(), &waits)
            });
            kit::until("it waits", || gate.waiting() == 1);
            let dump = dump(&runtime);
            let seen = functions(named(&dump, "deep"));
            assert!(seen.iter().filter(|name| name.ends_with("deeper")).count() > 50, "{seen:?}");
            gate.open();
            strand.join();
        });
    }

    #[test]
    fn one_that_is_cancelled_meanwhile_ends() {
        kit::guarded("cancelled", || {
            let runtime = Runtime::builder().worker_threads(2).build().unwrap();
            let pool = runtime.pool("main").unwrap();
            let over = AtomicBool::new(false);
            std::thread::scope(|s| {
                s.spawn(|| {
                    while !over.load(Relaxed) {
                        drop(runtime.dump());
                    }
                });
                for _ in 0..500 {
                    let strand = strand::Builder::new().pool(&pool).spawn(|| strand::sleep(LONG));
                    strand.cancel();
                    assert!(strand.try_join().is_err());
                }
                over.store(true, Relaxed);
            });
        });
    }

    /// Nobody notices that others are asked all the time: not those who yield, wait in a wait, pass things on, or unwind.
    #[test]
    fn strands_do_what_they_do_while_they_are_asked() {
        kit::guarded("asked all the time", || {
            let runtime = Runtime::builder().worker_threads(2).build().unwrap();
            let (pool, rounds) = (runtime.pool("main").unwrap(), 2000);
            let (over, yields) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
            let (there, here) = channel::bounded::<u64>(1);
            let (back, again) = channel::bounded::<u64>(1);
            let spawn_in =
                |body: Box<dyn FnOnce() -> u64 + Send>| strand::Builder::new().pool(&pool).spawn(body);
            let echo = spawn_in(Box::new(move || {
                (0..rounds).map(|_| back.send(here.recv().wait().unwrap()).wait().map_or(0, |()| 1)).sum()
            }));
            let asks = spawn_in(Box::new(move || {
                let round = |number| {
                    there.send(number).wait().unwrap();
                    u64::from(again.recv().wait() == Ok(number))
                };
                (0..rounds).map(round).sum()
            }));
            let counted = yields.clone();
            let yielder = spawn_in(Box::new(move || {
                (0..rounds * 10).for_each(|_| {
                    counted.fetch_add(1, Relaxed);
                    strand::yield_now();
                });
                rounds
            }));
            let nested = spawn_in(Box::new(move || {
                let inside = |number| {
                    // A wait in the poll of another one.
                    async move { spawn(async move { number }).wait().unwrap() }.wait()
                };
                (0..rounds).map(inside).map(|number: u64| u64::from(number < rounds)).sum()
            }));
            let unwinds = spawn_in(Box::new(move || {
                let round = |_| {
                    strand::scope(|s| {
                        let child = s.spawn(|| strand::sleep(LONG));
                        strand::yield_now();
                        child.cancel();
                        u64::from(child.try_join().is_err())
                    })
                };
                (0..rounds / 10).map(round).sum()
            }));
            std::thread::scope(|s| {
                s.spawn(|| {
                    while !over.load(Relaxed) {
                        drop(runtime.dump());
                    }
                });
                let sums = [echo, asks, yielder, nested, unwinds].map(|strand| strand.join());
                over.store(true, Relaxed);
                assert_eq!(sums, [rounds, rounds, rounds, rounds, rounds / 10]);
            });
            assert_eq!(yields.load(Relaxed), rounds * 10);
        });
    }

    #[test]
    fn strands_of_spawn_local_are_strands() {
        kit::guarded("local", || {
            for observe in [false, true] {
                let runtime = Runtime::builder().worker_threads(1).observe(observe).build().unwrap();
                let gate = kit::Gate::new();
                let waits = gate.clone();
                let strand = kit::strand_in(&runtime, move || inner_function(&waits));
                kit::until("it waits", || gate.waiting() == 1);
                let dump = dump(&runtime);
                assert_eq!(dump.tasks[0].info.kind, "strand", "{dump}");
                assert!(functions(&dump.tasks[0])[0].ends_with("inner_function"), "{dump}");
                gate.open();
                strand.wait().unwrap();
            }
        });
    }
}
