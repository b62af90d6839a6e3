//! Threads for work that computes: started and awaited by a task, settled by a builder, borrowing in a scope.

use ropewalk::thread::{self, Mutex, SettingError};

#[ropewalk::main]
async fn main() -> std::io::Result<()> {
    // A thread's handle is a future: the worker goes on while the thread computes.
    let primes = thread::Builder::new().name("sieve").nice(5).spawn(|| count_primes(0..20_000))?;
    println!("primes below 20,000: {}", primes.await.expect("it does not panic"));

    // Threads of a scope borrow; all of them have ended when it returns. In a poll this parks the stack, not the worker.
    let (words, longest) = (["hemp", "manila", "sisal", "coir"], Mutex::new(""));
    thread::scope(|s| -> std::io::Result<()> {
        for word in words {
            drop(s.spawn(|| {
                let mut longest = longest.lock();
                if word.len() > longest.len() {
                    *longest = word;
                }
            })?);
        }
        Ok(())
    })?;
    println!("longest word: {}", longest.into_inner());

    // A panic is a value; what cannot be had is an error that says what would do.
    let crash = thread::spawn(|| -> u32 { "no number".parse().expect("digits") })?;
    println!("the handle says: {}", crash.await.expect_err("it panics"));
    let error = thread::Builder::new().affinity([1000]).spawn(|| ()).expect_err("no machine has that core");
    println!("the builder says: {error}");
    assert!(error.get_ref().is_some_and(|inner| inner.is::<SettingError>()));
    Ok(())
}

fn count_primes(range: std::ops::Range<u32>) -> usize {
    range.filter(|n| *n > 1 && (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0)).count()
}
