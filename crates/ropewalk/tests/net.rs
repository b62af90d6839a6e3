//! Sockets on the real loopback, the same suite on every driver of this system. Most of it is also `net_apart.rs`.
#![cfg(unix)]

#[path = "net/attack.rs"]
mod attack;
#[path = "net/basics.rs"]
mod basics;
#[path = "net/cancel.rs"]
mod cancel;
#[path = "kit/mod.rs"]
mod common;
#[path = "net/connecting.rs"]
mod connecting;
#[path = "net/datagrams.rs"]
mod datagrams;
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
#[path = "net/loopback.rs"]
mod link;
#[path = "net/machine.rs"]
mod machine;
#[path = "net/pressure.rs"]
mod pressure;
#[path = "net/proxy.rs"]
mod proxy;
#[path = "net/surface.rs"]
mod surface;
#[path = "net/unix.rs"]
mod unix;
