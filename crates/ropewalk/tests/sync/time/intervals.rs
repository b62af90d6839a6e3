//! Intervals and what they do about ticks that were missed; by a clock that is moved by hand.

use crate::kit::panic_of;
use ropewalk::time::{Instant, Interval, MissedTick, advance, interval, interval_at};
use ropewalk::{ManualClock, Runtime};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Ticks at 0 and 10 ms, is then away until 37 ms, and ticks four more times: when each was due and seen, in milliseconds.
fn ticks(policy: MissedTick) -> Vec<(u128, u128)> {
    let runtime = Runtime::builder().paused(true).build().unwrap();
    runtime.block_on(async {
        let from = Instant::now();
        let mut ticks = interval(10 * MS).with_missed_tick(policy);
        assert_eq!((ticks.period(), ticks.missed_tick()), (10 * MS, policy));
        let mut seen = Vec::new();
        let mut tick = async |ticks: &mut Interval| {
            let due = ticks.tick().await;
            seen.push(((due - from).as_millis(), from.elapsed().as_millis()));
        };
        tick(&mut ticks).await;
        tick(&mut ticks).await;
        advance(27 * MS).await.unwrap();
        for _ in 0..4 {
            tick(&mut ticks).await;
        }
        seen
    })
}

#[test]
fn a_burst_makes_up_for_what_was_missed() {
    assert_eq!(ticks(MissedTick::Burst), [(0, 0), (10, 10), (20, 37), (30, 37), (40, 40), (50, 50)]);
}

#[test]
fn a_delay_keeps_the_distance() {
    assert_eq!(ticks(MissedTick::Delay), [(0, 0), (10, 10), (20, 37), (47, 47), (57, 57), (67, 67)]);
}

#[test]
fn skipping_keeps_the_beat() {
    assert_eq!(ticks(MissedTick::Skip), [(0, 0), (10, 10), (20, 37), (40, 40), (50, 50), (60, 60)]);
}

#[test]
fn the_first_tick_may_be_later_and_a_reset_begins_anew() {
    let runtime = Runtime::builder().clock(ManualClock::skipping()).worker_threads(0).build().unwrap();
    runtime.block_on(async {
        let from = Instant::now();
        let mut ticks = interval_at(from + 3 * MS, 10 * MS);
        assert_eq!(ticks.tick().await, from + 3 * MS);
        advance(4 * MS).await.unwrap();
        ticks.reset();
        assert_eq!(ticks.tick().await, from + 17 * MS);
        let mut never = interval(Duration::MAX);
        never.tick().await;
        assert_eq!(ropewalk::time::timeout(100 * MS, never.tick()).await, Err(ropewalk::time::Elapsed));
        assert!(format!("{never:?}").contains("never"));
    });
}

#[test]
fn a_tick_that_nobody_waited_for_to_the_end_is_not_lost() {
    let runtime = Runtime::builder().paused(true).build().unwrap();
    runtime.block_on(async {
        let from = Instant::now();
        let mut ticks = interval_at(from + 10 * MS, 10 * MS);
        assert!(ropewalk::time::timeout(5 * MS, ticks.tick()).await.is_err());
        assert_eq!(ticks.tick().await, from + 10 * MS);
    });
}

#[test]
fn a_period_of_zero_is_refused() {
    let text = panic_of(|| interval(Duration::ZERO)).unwrap();
    assert!(text.contains("period above zero"), "{text}");
}
