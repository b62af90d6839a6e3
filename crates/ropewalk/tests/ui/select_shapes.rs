use ropewalk::{select, select_wait};
use std::future::ready;


async fn no_branch() {
    select! {}
}

async fn no_future() {
    select! {
        x => x,
    }
}

async fn no_arm() {
    select! {
        x = ready(1),
    }
}

async fn no_comma() {
    select! {
        x = ready(1) => drop(x)
        y = ready(2) => drop(y),
    }
}

async fn biased_late() {
    select! {
        x = ready(1) => drop(x),
        biased;
    }
}

async fn two_limits() {
    select! {
        x = ready(1) => drop(x),
        default => (),
        timeout(std::time::Duration::ZERO) => (),
    }
}

async fn two_elses() {
    select! {
        x = ready(1) => drop(x),
        else => (),
        else => (),
    }
}

async fn condition_misplaced() {
    select! {
        x = ready(1) => drop(x), if true
    }
}

fn not_async() {
    select! {
        x = ready(1) => drop(x),
    }
}

fn not_a_future() {
    select_wait! {
        x = 5 => drop(x),
    }
}

async fn too_many() {
    macro_rules! times {
        ($($n:literal)*) => { select! { $($n = ready($n) => {})* } };
    }
    times!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
        40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

fn main() {}
