//! Channels against a simple model: random operations, futures dropped at any moment, and after each step everything
//! accounted for: values, places, and who must have been woken. One thread, so that the model knows all; the races have
//! model tests beside the code, and `ropewalk/tests/sync/channels.rs` has the threads.

mod player;
pub mod rules;

use crate::account;
use player::Player;
use rules::{Kind, Rules};

/// Plays `games` games of `steps` steps each; a failure names the seed.
fn play(kind: Kind, games: u64, steps: u32) {
    for seed in 0..games {
        let mut player = Player::new(kind, seed);
        for _ in 0..steps {
            player.step();
        }
        player.end();
    }
}

/// The number of games with each kind of channel, more in an optimised build.
fn games() -> u64 {
    account::steps(if cfg!(debug_assertions) { 75_000 } else { 1_500_000 }) as u64 / 250
}

#[test]
fn bounded_by_the_rules() {
    for capacity in [1, 2, 3, 4, 7] {
        play(Kind::Bounded(capacity), games(), 250);
    }
    account::report("bounded", "values");
}

#[test]
fn unbounded_by_the_rules() {
    play(Kind::Unbounded, games() * 2, 400);
    account::report("unbounded", "values");
}

#[test]
fn rendezvous_by_the_rules() {
    play(Kind::Bounded(0), games() * 3, 250);
    account::report("rendezvous", "values");
}

/// The rules themselves: a walk through each that is checked by hand.
#[test]
fn the_rules_are_what_they_should_be() {
    let mut rules = Rules::new(Kind::Bounded(1));
    assert!(rules.try_send(1) && !rules.try_send(2));
    assert_eq!((rules.try_recv(), rules.try_recv()), (Some(1), None));
    assert!(rules.try_reserve() && !rules.try_send(3));
    rules.close();
    assert!(!rules.redeem(4));
    let mut rules = Rules::new(Kind::Bounded(0));
    assert!(!rules.try_send(1));
    rules.come();
    assert!(rules.try_reserve() && !rules.try_send(2));
    assert!(rules.redeem(3));
    assert_eq!(rules.try_recv(), Some(3));
}
