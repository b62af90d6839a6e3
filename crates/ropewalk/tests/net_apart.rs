//! The suite of `system/net.rs` once more: its two ends are in two network namespaces, and packets between them wait and get lost.
//! It needs the right to make namespaces (root), and `ip`, `tc` and `nft`; else it says what is missing and is skipped.
//! A program of its own: what a process has one of, as the default runtime, must not be made by a thread that is elsewhere.
#![cfg(target_os = "linux")]

#[path = "system/net/attack.rs"]
mod attack;
#[path = "system/net/basics.rs"]
mod basics;
#[path = "system/net/cancel.rs"]
mod cancel;
#[path = "kit/mod.rs"]
mod common;
#[path = "system/net/connecting.rs"]
mod connecting;
#[path = "system/net/datagrams.rs"]
mod datagrams;
#[path = "system/net/ends.rs"]
mod ends;
#[path = "system/net/kit.rs"]
mod kit;
#[path = "kit/limits.rs"]
mod limits;
#[path = "system/net/apart.rs"]
mod link;
#[path = "system/net/lossy.rs"]
mod lossy;
#[path = "system/net/namespaces.rs"]
mod namespaces;
#[path = "system/net/pressure.rs"]
mod pressure;
#[path = "system/net/proxy.rs"]
mod proxy;
