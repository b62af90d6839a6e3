//! A load that keeps a pace: each connection sends once in a period, the connections evenly spread over it.

use super::{Load, by_latency};
use crate::latency::Latencies;
use crate::meter::Sample;
use crate::service::Service;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::thread::set_current_timer_slack;
use std::num::NonZero;
use std::time::{Duration, Instant};

/// How often, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    pub period: Duration,
    pub warm: Duration,
    pub measured: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Paced {
    /// The median latency, the tail beside it.
    pub sample: Sample,
    /// Messages that were due while the last one of their connection was not answered, and were not sent.
    pub skipped: u64,
}

impl Load {
    /// Sends at the given pace. An error if any connection is lost or answers wrongly.
    pub fn paced(&mut self, service: &Service, pulse: Pulse) -> Result<Paced, String> {
        set_current_timer_slack(NonZero::new(1)).map_err(|error| format!("timer slack: {error}"))?;
        let mut clock = Beat::new(pulse.period / self.links.len() as u32);
        self.beat(&mut clock, pulse.warm, |_| {})?;
        let skipped = clock.skipped;
        let rate = self.links.len() as f64 / pulse.period.as_secs_f64();
        let mut latencies = Latencies::start((rate * pulse.measured.as_secs_f64() * 1.1) as usize);
        let cpu = service.cpu();
        self.beat(&mut clock, pulse.measured, |latency| latencies.note(latency))?;
        let sample = by_latency(latencies, service.cpu() - cpu);
        self.settle()?;
        Ok(Paced { sample, skipped: clock.skipped - skipped })
    }

    fn beat(
        &mut self,
        clock: &mut Beat,
        span: Duration,
        mut note: impl FnMut(Duration),
    ) -> Result<(), String> {
        let until = Instant::now() + span;
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            while let Some(number) = clock.due(now, self.links.len()) {
                if self.links[number].missing == 0 {
                    self.send(number)?;
                } else {
                    clock.skipped += 1;
                }
            }
            self.wait(clock.next.saturating_duration_since(Instant::now()))?;
            for at in 0..self.events.len() {
                if let Some(sent) = self.receive(self.events[at].data.u64() as usize)? {
                    note(sent.elapsed());
                }
            }
        }
    }

    /// What has come, or nothing after that time, to the nanosecond.
    fn wait(&mut self, limit: Duration) -> Result<(), String> {
        self.events.clear();
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&limit))
            .map(drop)
            .map_err(|error| format!("epoll: {error}"))
    }
}

/// Whose turn it is.
struct Beat {
    gap: Duration,
    next: Instant,
    number: usize,
    skipped: u64,
}

impl Beat {
    fn new(gap: Duration) -> Self {
        Self { gap, next: Instant::now(), number: 0, skipped: 0 }
    }

    /// The next connection of `count` whose time has come.
    fn due(&mut self, now: Instant, count: usize) -> Option<usize> {
        if self.next > now {
            return None;
        }
        self.next += self.gap;
        let number = self.number;
        self.number = (number + 1) % count;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_a_turn_and_nobody_two() {
        let mut beat = Beat::new(Duration::from_micros(10));
        let start = beat.next;
        let due: Vec<usize> = std::iter::from_fn(|| beat.due(start + Duration::from_micros(45), 3)).collect();
        assert_eq!(due, [0, 1, 2, 0, 1]);
        assert_eq!(beat.next - start, Duration::from_micros(50));
    }
}
