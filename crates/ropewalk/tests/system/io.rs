//! Reading and writing: the utilities against a model and dropped at every poll, pipes in memory, copying, and the standard
//! streams of real processes.

mod cancel;
mod choppy;
mod model;
mod standard;
mod together;
