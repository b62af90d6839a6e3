//! A rate limiter in front of a service that allows so many calls a second, and so many at a time. On a paused clock, so
//! minutes pass at once and the figures are exact.

use ropewalk::sync::{RateLimiter, Semaphore};
use ropewalk::time::{Instant, sleep};
use ropewalk::{Runtime, task_group};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

const CALLS: usize = 1_000;
const PER_SECOND: u32 = 50;
const BURST: u32 = 10;
const AT_A_TIME: usize = 8;

/// A service that takes a while and counts what it is asked. Whoever asks too often is sent away.
struct Service {
    per_second: RateLimiter,
    at_a_time: Semaphore,
}

impl Service {
    async fn call(&self, number: usize) -> Result<usize, &'static str> {
        self.per_second.try_acquire().map_err(|_| "too many a second")?;
        let _under_way = self.at_a_time.try_acquire().map_err(|_| "too many at a time")?;
        sleep(Duration::from_millis(100 + number as u64 % 50)).await;
        Ok(number * number)
    }
}

/// What a client knows of the service's limits, and keeps to.
struct Client {
    service: Arc<Service>,
    per_second: RateLimiter,
    at_a_time: Semaphore,
}

impl Client {
    /// Waits for its turn, then calls. First the permit to be under way: who waits for it must not hold up the rate.
    async fn call(&self, number: usize) -> Result<usize, &'static str> {
        let _under_way = self.at_a_time.acquire().await.expect("it is never closed");
        self.per_second.acquire().await;
        self.service.call(number).await
    }
}

fn limits() -> Result<(RateLimiter, Semaphore), Box<dyn Error>> {
    let per_second = RateLimiter::new(PER_SECOND, Duration::from_secs(1))?.with_burst(BURST)?;
    Ok((per_second, Semaphore::new(AT_A_TIME)))
}

fn service() -> Result<Arc<Service>, Box<dyn Error>> {
    let (per_second, at_a_time) = limits()?;
    Ok(Arc::new(Service { per_second, at_a_time }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::builder().paused(true).build()?;
    let rude = service()?;
    let answered = runtime.block_on(async {
        let calls = task_group(|group| {
            for number in 0..CALLS {
                let service = rude.clone();
                group.spawn(async move { service.call(number).await });
            }
        });
        calls.await.into_iter().filter(|answer| matches!(answer, Ok(Ok(_)))).count()
    });
    println!("all at once: {answered} of {CALLS} calls answered");
    assert_eq!(answered, AT_A_TIME);

    let (per_second, at_a_time) = limits()?;
    let client = Arc::new(Client { service: service()?, per_second, at_a_time });
    let (answered, took) = runtime.block_on(async {
        let from = Instant::now();
        let calls = task_group(|group| {
            for number in 0..CALLS {
                let client = client.clone();
                group.spawn(async move { client.call(number).await });
            }
        });
        let answers = calls.await;
        (answers.iter().filter(|answer| matches!(answer, Ok(Ok(_)))).count(), from.elapsed())
    });
    println!("in good order: {answered} of {CALLS} calls answered in {:.1} s", took.as_secs_f64());
    assert_eq!(answered, CALLS);
    let rate = (CALLS - BURST as usize) as f64 / took.as_secs_f64();
    println!("that is {rate:.1} a second, {PER_SECOND} are allowed");
    assert!(rate <= f64::from(PER_SECOND));
    Ok(())
}
