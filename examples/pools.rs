//! Pools: each subsystem has its own workers, so that none can starve another, and as many as it needs at the moment.

use ropewalk::{Pool, Runtime, RuntimeError};
use std::thread;

fn main() -> Result<(), RuntimeError> {
    let runtime = Runtime::builder().worker_threads(1).thread_name("yard").build()?;
    let render = Pool::builder().name("render").workers(1).build(&runtime.handle())?;

    runtime.block_on(async {
        // Handing work to another subsystem is a word, not an accident.
        let frame = render.spawn(async { thread::current().name().map(str::to_owned) });
        println!("rendered on {:?}", frame.await.expect("it does not panic"));

        // More workers while there is more to do. Nothing has to stop for it.
        let frames: Vec<_> = (0..200).map(|frame| render.spawn(draw(frame))).collect();
        render.resize(4)?.await;
        println!("{render:?}");

        // Fewer again: those too many hand over what they have and leave. `await` to know that they are gone.
        let left = render.resize(1)?;
        let mut drawn = 0;
        for frame in frames {
            drawn += frame.await.expect("it neither panics nor is it cancelled");
        }
        left.await;
        println!("{drawn} frames drawn, {render:?}");
        assert_eq!((drawn, render.metrics().active, render.metrics().retiring), (200, 1, 0));

        // What cannot work is an error that says what would.
        let error = render.resize(0).err().expect("a pool has at least one worker");
        println!("{error}");

        // Cancels what is left in it and completes when its workers have gone.
        render.shutdown().await
    })
}

async fn draw(_frame: usize) -> usize {
    for _ in 0..10 {
        ropewalk::yield_now().await;
    }
    1
}
