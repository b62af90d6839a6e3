//! Channels against a simple model: random operations, futures dropped at any moment, and after each step everything
//! accounted for: values, places, and who must have been woken. One thread, so that the model knows all; the races have
//! model tests beside the code, and `ropewalk/tests/channels.rs` has the threads.
#![cfg(not(any(loom, shuttle)))]

#[path = "channels/player.rs"]
mod player;
#[path = "channels/rules.rs"]
mod rules;

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

/// The number of games, more in an optimised build.
const GAMES: u64 = if cfg!(debug_assertions) { 300 } else { 6_000 };

#[test]
fn bounded_by_the_rules() {
    for capacity in [1, 2, 3, 4, 7] {
        play(Kind::Bounded(capacity), GAMES, 250);
    }
}

#[test]
fn unbounded_by_the_rules() {
    play(Kind::Unbounded, GAMES * 2, 400);
}

#[test]
fn rendezvous_by_the_rules() {
    play(Kind::Bounded(0), GAMES * 3, 250);
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
