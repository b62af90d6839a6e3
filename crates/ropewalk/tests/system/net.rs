//! Sockets on the real loopback, the same suite on every driver of this system. Most of it is also in `tests/net_apart.rs`.
#![cfg(unix)]

mod attack;
mod basics;
mod cancel;
mod cancel_here;
mod connecting;
mod datagrams;
mod driver;
mod edges;
mod ends;
mod exhausted;
mod kit;
mod lent;
#[path = "net/loopback.rs"]
mod link;
mod machine;
mod pressure;
mod proxy;
mod surface;
mod unix;

use crate::{kit as common, limits};
