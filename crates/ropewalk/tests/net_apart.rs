//! The suite of `net.rs` once more: its two ends are in two network namespaces, and packets between them wait and get lost.
//! It needs the right to make namespaces (root), and `ip`, `tc` and `nft`; else it says what is missing and is skipped.
#![cfg(target_os = "linux")]

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
#[path = "net/ends.rs"]
mod ends;
#[path = "net/kit.rs"]
mod kit;
#[path = "net/apart.rs"]
mod link;
#[path = "net/lossy.rs"]
mod lossy;
#[path = "net/namespaces.rs"]
mod namespaces;
#[path = "net/pressure.rs"]
mod pressure;
#[path = "net/proxy.rs"]
mod proxy;
