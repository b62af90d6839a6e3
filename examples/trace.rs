//! A flight recorder: what the workers did last, as a file for https://ui.perfetto.dev and for `ropewalk trace`.
//!
//! ```text
//! cargo run -p ropewalk-examples --bin trace -- trace.json
//! ropewalk trace trace.json
//! ```

use ropewalk::trace::{Trace, span};
use ropewalk::{Runtime, channel, spawn, task, time, yield_now};
use std::io::{BufWriter, Write};
use std::time::Duration;

/// Three stages, each a task with a name; the middle one is slow once.
async fn pipeline() -> u64 {
    let (send, numbers) = channel::bounded(8);
    let (squared, squares) = channel::bounded(8);
    let source = task::Builder::new().name("source").spawn(async move {
        for number in 0..200_u64 {
            send.send(number).await.unwrap();
        }
    });
    let middle = task::Builder::new().name("square").spawn(async move {
        while let Ok(number) = numbers.recv().await {
            let _span = span("square one"); // in the trace, with this task, wherever it goes on
            if number == 120 {
                std::thread::sleep(Duration::from_millis(30)); // a mistake: it holds a worker
            }
            yield_now().await;
            squared.send(number * number).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Ok(square) = squares.recv().await {
        sum += square;
    }
    source.await.unwrap();
    middle.await.unwrap();
    time::sleep(Duration::from_millis(3)).await;
    sum
}

fn main() {
    let runtime = Runtime::builder().worker_threads(2).record(65_536).build().unwrap();
    let sum = runtime.block_on(async { spawn(pipeline()).await.unwrap() });
    assert_eq!(sum, (0..200).map(|number| number * number).sum());

    // While all goes on, or when something went wrong: what was recorded last.
    let trace: Trace = runtime.trace();
    let (_, at, longest) = trace.polls().max_by_key(|(_, _, poll)| poll.took).unwrap();
    println!("the longest poll took {:?}, at {at:?}", longest.took.unwrap_or_default());
    assert_eq!(trace.name(longest.task), Some("square"), "the one that holds a worker is found");
    let slowest = trace.wakes().into_iter().filter_map(|wake| wake.waited()).max().unwrap();
    println!("{} wake-ups; the slowest took {slowest:?} from the call to the poll", trace.wakes().len());
    assert_eq!(trace.spans.iter().filter(|span| span.name == "square one").count(), 200);

    match std::env::args().nth(1) {
        Some(file) => {
            let mut out = BufWriter::new(std::fs::File::create(&file).unwrap());
            trace.write_chrome(&mut out).unwrap();
            out.flush().unwrap();
            println!("{file}: open it in https://ui.perfetto.dev, or: ropewalk trace {file}");
        }
        None => {
            println!("{} bytes as JSON; with the name of a file it is written there", trace.to_chrome().len())
        }
    }
}
