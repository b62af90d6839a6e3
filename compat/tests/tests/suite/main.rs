//! hyper, rustls and tokio's traits on Ropewalk, as users of them see it.

#[path = "../../../../crates/ropewalk/tests/kit/mod.rs"]
mod kit;

mod curl;
mod hyper;
mod rustls;
mod tokio_io;
