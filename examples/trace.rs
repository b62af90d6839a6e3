//! A flight recorder: what the workers did last, as a file for https://ui.perfetto.dev and for `ropewalk trace`.
//!
//! ```text
//! cargo run -p ropewalk-examples --bin trace -- trace.json
//! ropewalk trace trace.json
//! ```

use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::sync::Mutex;
use ropewalk::trace::{Trace, WokenBy, span};
use ropewalk::{Runtime, Wait, channel, spawn, strand, task, yield_now};
use std::io::{self, BufWriter, Write as _};
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
                std::thread::sleep(Duration::from_millis(100)); // a mistake: it holds a worker, as is reported
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
    sum
}

/// Two ends of a socket: a byte goes forth and back. What wakes them are events.
async fn ping_pong() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut ping = TcpStream::connect(listener.local_addr()?).await?;
    let (pong, _) = listener.accept().await?;
    let pong = task::Builder::new().name("pong").spawn(async move {
        let mut byte = [0];
        while pong.read(&mut byte).await? > 0 {
            pong.write_all(&byte).await?;
        }
        io::Result::Ok(())
    });
    for byte in 0..20 {
        ping.write_all(&[byte]).await?;
        let mut back = [0];
        ping.read_exact(&mut back).await?;
        assert_eq!(back, [byte]);
    }
    drop(ping);
    pong.await.unwrap()
}

/// Strands that fight for a lock: who has it sleeps, so the others come and wait. What wakes them are timers, and each other.
fn splice() -> u32 {
    let rope = Mutex::new(0);
    strand::scope(|s| {
        for number in 1..=3 {
            let splicer = strand::Builder::new().name(format!("splicer {number}"));
            drop(splicer.spawn_in(s, || {
                for _ in 0..5 {
                    let mut length = rope.lock().wait();
                    strand::sleep(Duration::from_micros(500));
                    *length += 1;
                }
            }));
        }
        s.join_all();
    });
    rope.into_inner()
}

fn main() {
    let runtime = Runtime::builder().worker_threads(2).record(65_536).build().unwrap();
    let (sum, length) = runtime.run(|| {
        let sum = spawn(pipeline());
        let echo = task::Builder::new().name("ping").spawn(ping_pong());
        let length = splice();
        echo.wait().unwrap().unwrap();
        (sum.wait().unwrap(), length)
    });
    assert_eq!((sum, length), ((0..200).map(|number| number * number).sum(), 15));

    // While all goes on, or when something went wrong: what was recorded last.
    let trace: Trace = runtime.trace();
    let (_, at, longest) = trace.polls().max_by_key(|(_, _, poll)| poll.took).unwrap();
    println!("the longest poll took {:?}, at {at:?}", longest.took.unwrap_or_default());
    assert_eq!(trace.name(longest.task), Some("square"), "the one that holds a worker is found");

    let wakes = trace.wakes();
    let slowest = wakes.iter().filter_map(|wake| wake.waited()).max().unwrap();
    println!("{} wake-ups; the slowest took {slowest:?} from the call to the poll", wakes.len());
    let count = |by| wakes.iter().filter(|wake| wake.by == by).count();
    println!("{} of them by timers, {} by sockets", count(WokenBy::Timer), count(WokenBy::Io));
    assert!(count(WokenBy::Timer) > 0 && count(WokenBy::Io) > 0);

    let splices = |task| trace.name(task).is_some_and(|name| name.starts_with("splicer"));
    let handed = |by| matches!(by, WokenBy::Task(task) if splices(task));
    let handed = wakes.iter().filter(|wake| splices(wake.task) && handed(wake.by)).count();
    println!("{handed} times a splicer let another one have the lock");
    assert!(handed > 0);
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
