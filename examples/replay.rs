//! The same interleaving again: several logical workers on one thread, whose order is drawn from a seed.
//!
//! A bug that needs a certain order of events is found by trying seeds, and stays found: its seed plays it back.

use ropewalk::{Runtime, RuntimeError};
use std::sync::{Arc, Mutex};

/// The order in which three tasks got their turns, as a word.
fn trace(seed: u64) -> Result<String, RuntimeError> {
    let runtime = Runtime::builder().hosted_workers(3).seed(seed).build()?;
    let trace = Arc::new(Mutex::new(String::new()));
    for name in ['a', 'b', 'c'] {
        let trace = trace.clone();
        drop(runtime.spawn(async move {
            for _ in 0..6 {
                trace.lock().expect("writing does not panic").push(name);
                ropewalk::yield_now().await;
            }
        }));
    }
    runtime.run_until_stalled()?;
    let order = trace.lock().expect("writing does not panic").clone();
    Ok(order)
}

fn main() -> Result<(), RuntimeError> {
    for seed in 1..=4 {
        let (first, again) = (trace(seed)?, trace(seed)?);
        println!("seed {seed}: {first}, again: {again}");
        assert_eq!(first, again);
        assert_eq!(first.len(), 18, "everybody got all of his turns");
    }
    let different: std::collections::BTreeSet<_> = (1..=20).map(trace).collect::<Result<_, _>>()?;
    println!("20 seeds gave {} different orders", different.len());
    assert!(different.len() > 1);
    Ok(())
}
