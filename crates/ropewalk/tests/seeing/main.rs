//! Seeing inside: what is measured is what happened.

mod histograms;
mod prometheus;
mod snapshot;
mod trace;
