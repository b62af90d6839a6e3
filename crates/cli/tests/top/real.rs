//! Against a console of this very library.

use crate::seat::Seat;
use ropewalk::Runtime;
use ropewalk::console::Console;
use ropewalk::sync::Mutex;
use std::sync::Arc;

#[test]
fn a_real_program_is_understood() {
    let runtime = Runtime::builder().worker_threads(2).observe(true).build().unwrap();
    let token = "0123456789abcdef";
    let console = Console::builder().token(token).serve(&runtime.handle()).unwrap();
    let lock = Arc::new(Mutex::new(()));
    let held = runtime.block_on(lock.clone().lock_owned());
    let waiting = lock.clone();
    let waiter = runtime.spawn(async move { drop(waiting.lock().await) });
    let ticker = runtime.spawn(async {
        loop {
            ropewalk::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    });
    let seat = Seat::start(&[&console.url(), "--interval", "100ms"], (120, 30), &[]);
    let (waits, ticks) = (format!(" {} ", waiter.id().unwrap()), format!(" {} ", ticker.id().unwrap()));
    let screen =
        seat.until_shows(&["2 alive", "2 workers", "a mutex", "a moment", "tests/top/real.rs:", "live"]);
    assert!(screen.contains(&format!("pid {}", std::process::id())), "{screen}");
    let polls = |screen: &str, id: &str| {
        let line = screen.lines().find(|line| line.contains("real.rs") && line.contains(id))?;
        line.split_whitespace().rev().nth(1).map(str::to_owned)
    };
    seat.until("that it is polled", |screen| {
        let rate = polls(&screen.contents(), &ticks).unwrap_or_default();
        rate.ends_with('k') || rate.parse::<f64>().is_ok_and(|rate| rate >= 1.0)
    });
    // Of who was seen once it is not known how often that is.
    seat.until("that it is not", |screen| polls(&screen.contents(), &waits).as_deref() == Some("0"));
    drop(held);
    seat.until_gone("a mutex");
    drop(console);
    seat.until_shows(&["lost", "nobody listens"]);
    seat.press("q");
    assert_eq!(seat.end_restored().0.code(), Some(0));
    ticker.cancel();
}
