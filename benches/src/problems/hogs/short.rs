//! The problems about tasks that compute for a moment and give way.

use crate::fair_short_hogs::{self, DIR, Due, Poll, Shape, Way};
use crate::problems::Problem;

macro_rules! problems {
    ($($name:literal: $about:literal => $shape:expr;)*) => {
        pub const PROBLEMS: &[Problem] = &[$(Problem {
            name: concat!("fair_short_hogs_", $name),
            dir: DIR,
            about: $about,
            workers: $shape.workers,
            peers: $shape.peers(),
            run: |peer, meter| fair_short_hogs::run(peer, $shape, meter.speed),
        },)*];

        /// What each of them measures.
        pub const SHAPES: &[Shape] = &[$($shape,)*];
    };
}

crate::short_hogs_table!(problems);

/// What one of them measures.
pub fn shape(problem: &Problem) -> Shape {
    let at = PROBLEMS.iter().position(|other| other.name == problem.name);
    SHAPES[at.expect("it is one of them")]
}
