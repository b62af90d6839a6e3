//! Where datagrams may go, and which ones are received.

use super::UdpSocket;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The options, each as a pair of functions.
macro_rules! options {
    ($($(#[$about:meta])* $set:ident, $get:ident: $type:ty;)*) => {
        impl UdpSocket {$(
            $(#[$about])*
            ///
            /// # Errors
            /// What the system says.
            pub fn $set(&self, value: $type) -> io::Result<()> {
                self.io.file().$set(value)
            }

            #[doc = concat!("See [`", stringify!($set), "`](Self::", stringify!($set), ").")]
            ///
            /// # Errors
            /// What the system says.
            pub fn $get(&self) -> io::Result<$type> {
                self.io.file().$get()
            }
        )*}
    };
}

options! {
    /// Whether datagrams may go to broadcast addresses.
    set_broadcast, broadcast: bool;
    /// How many hops a datagram may make.
    set_ttl, ttl: u32;
    /// Whether datagrams to a multicast group of IPv4 come back to this machine.
    set_multicast_loop_v4, multicast_loop_v4: bool;
    /// How many hops a datagram to a multicast group of IPv4 may make.
    set_multicast_ttl_v4, multicast_ttl_v4: u32;
    /// Whether datagrams to a multicast group of IPv6 come back to this machine.
    set_multicast_loop_v6, multicast_loop_v6: bool;
}

impl UdpSocket {
    /// Joins a multicast group at the interface of that address.
    ///
    /// # Errors
    /// What the system says.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.file().join_multicast_v4(&group, &interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// What the system says.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.file().leave_multicast_v4(&group, &interface)
    }

    /// Joins a multicast group at the interface of that number.
    ///
    /// # Errors
    /// What the system says.
    pub fn join_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.file().join_multicast_v6(&group, interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// What the system says.
    pub fn leave_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.file().leave_multicast_v6(&group, interface)
    }
}
