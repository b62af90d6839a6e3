//! I/O drivers: what tells a runtime which sockets and files are ready.
//!
//! Which one a runtime uses is said by [`Builder::io_driver`](crate::Builder::io_driver), or one's own is given by
//! [`Builder::io_driver_with`](crate::Builder::io_driver_with); [`Metrics::io`](crate::Metrics::io) shows which one runs, and why.
//! Programs that use [`net`](crate::net) need nothing of this.

pub use crate::drive::io::{Event, Events, Interest, IoDriver, IoDriverKind, IoSource, Ready, Token};
