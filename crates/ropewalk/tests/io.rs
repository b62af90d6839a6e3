//! Reading and writing: the utilities against a model and dropped at every poll, pipes in memory, copying, and the standard
//! streams of real processes.

mod kit;

#[path = "io/cancel.rs"]
mod cancel;
#[path = "io/choppy.rs"]
mod choppy;
#[path = "io/model.rs"]
mod model;
#[path = "io/standard.rs"]
mod standard;
#[path = "io/together.rs"]
mod together;
