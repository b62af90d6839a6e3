//! Sockets on the real loopback, the same suite on every driver of this system.
#![cfg(unix)]

#[path = "net/basics.rs"]
mod basics;
#[path = "net/cancel.rs"]
mod cancel;
#[path = "kit/mod.rs"]
mod common;
#[path = "net/connecting.rs"]
mod connecting;
#[path = "net/driver.rs"]
mod driver;
#[path = "net/edges.rs"]
mod edges;
#[path = "net/ends.rs"]
mod ends;
#[path = "net/exhausted.rs"]
mod exhausted;
#[path = "net/kit.rs"]
mod kit;
#[path = "net/lent.rs"]
mod lent;
#[path = "net/others.rs"]
mod others;
#[path = "net/pressure.rs"]
mod pressure;
#[path = "net/surface.rs"]
mod surface;
#[path = "net/unix.rs"]
mod unix;
