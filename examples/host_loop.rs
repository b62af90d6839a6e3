//! A loop that belongs to somebody else (a game, a user interface, a device): the runtime has no thread of its own and
//! runs a few tasks when the loop calls it.

use ropewalk::{Runtime, RuntimeError};
use std::sync::mpsc;

/// How many tasks may run in a frame.
const SHARE: usize = 4;

fn main() -> Result<(), RuntimeError> {
    let runtime = Runtime::builder().worker_threads(0).build()?;
    let (events, seen) = mpsc::channel();
    for actor in 0..3 {
        let events = events.clone();
        drop(runtime.spawn(async move {
            for step in 0..5 {
                events.send((actor, step)).expect("the loop listens");
                ropewalk::yield_now().await; // go on in a later turn
            }
        }));
    }

    let mut turns = 0;
    for frame in 1.. {
        // The host's own work would be here; then the tasks get their share of the frame.
        let mut ran = 0;
        while ran < SHARE && runtime.try_tick()? {
            ran += 1;
        }
        println!("frame {frame}: {ran} turns, {:?}", seen.try_iter().collect::<Vec<_>>());
        turns += ran;
        if ran == 0 {
            break; // everybody is done, or waits for something
        }
    }
    assert_eq!(turns, 3 * 6, "five steps each, and one turn to end");

    // Or all that is ready at once. What waits then has been waiting for something outside.
    let task = runtime.spawn(async { "done" });
    runtime.run_until_stalled()?;
    assert!(task.is_finished());
    println!("{}", runtime.block_on(task).expect("it does not panic"));
    Ok(())
}
