//! Sleep, give up after a while, tick. And test all of it without waiting: a paused clock jumps from deadline to deadline.

use ropewalk::time::{Instant, MissedTick, interval, sleep, timeout};
use ropewalk::{Runtime, RuntimeError};
use std::time::Duration;

/// Asks a server that answers slowly, up to three times, with a longer patience each time.
async fn ask(server_takes: Duration) -> Option<&'static str> {
    for attempt in 1..=3 {
        let answer = async {
            sleep(server_takes).await;
            "an answer"
        };
        match timeout(attempt * Duration::from_secs(2), answer).await {
            Ok(answer) => return Some(answer),
            Err(too_late) => println!("attempt {attempt}: {too_late}"),
        }
        sleep(Duration::from_secs(30)).await; // before the next attempt
    }
    None
}

fn main() -> Result<(), RuntimeError> {
    ropewalk::block_on(async {
        let from = std::time::Instant::now();
        sleep(Duration::from_micros(300)).await; // sub-millisecond, and never early
        assert!(from.elapsed() >= Duration::from_micros(300));
    });
    let runtime = Runtime::builder().paused(true).build()?;
    let real = std::time::Instant::now();
    runtime.block_on(async {
        let from = Instant::now();
        let answer = ask(Duration::from_secs(5)).await;
        println!(
            "{} after {:?} on the clock",
            answer.expect("the third attempt is patient enough"),
            from.elapsed()
        );
        let mut ticks = interval(Duration::from_secs(60)).with_missed_tick(MissedTick::Skip);
        ticks.tick().await;
        sleep(Duration::from_secs(150)).await; // two ticks are missed
        ticks.tick().await;
        let next = ticks.tick().await;
        println!("and the next tick is on the beat: {:?}", (next - from) - Duration::from_secs(71));
    });
    println!("all in less than a minute of real time: {}", real.elapsed() < Duration::from_secs(60));
    Ok(())
}
