//! Two namespaces and the cable between them, with what can be done to it. It asks for less than the one in `system/net/apart.rs`:
//! there is no filter that loses packets, it is the cable itself that fails.

use crate::namespaces::{Namespace, run};
use std::net::{IpAddr, Ipv4Addr};

pub const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 8, 1));
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 8, 2));
/// An address beyond the cable that routes may refuse.
pub const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 9, 1));

pub struct Cable {
    near: Namespace,
    far: Namespace,
}

/// What the system believes for minutes, here it gives up in seconds.
const IMPATIENCE: [(&str, &str); 6] = [
    ("ipv4/tcp_syn_retries", "1"),
    ("ipv4/tcp_retries2", "3"),
    ("ipv4/tcp_orphan_retries", "1"),
    ("ipv4/tcp_keepalive_intvl", "1"),
    ("ipv4/tcp_keepalive_probes", "1"),
    ("ipv4/icmp_ratelimit", "0"),
];

/// Of the namespace where the calling thread is.
fn set(name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/net/{name}");
    std::fs::write(&path, value).map_err(|error| format!("{path} cannot be written: {error}"))
}

impl Cable {
    /// `Err`: what this machine lacks. The calling thread stays where it is.
    pub fn new() -> Result<Self, String> {
        std::thread::spawn(Self::make).join().expect("it does not panic")
    }

    fn make() -> Result<Self, String> {
        let (near, far) = (Namespace::new("near")?, Namespace::new("far")?);
        let cable = Self { near, far };
        for namespace in [&cable.near, &cable.far] {
            namespace.enter();
            IMPATIENCE.iter().try_for_each(|(name, value)| set(name, value))?;
        }
        cable.far.enter();
        let link = format!("link add far type veth peer name near netns {}\n", cable.near.path());
        run("ip", &["-batch", "-"], &format!("{link}link set far up\naddr add {FAR}/24 dev far\n"))?;
        cable.near.enter();
        run("ip", &["-batch", "-"], &format!("link set near up\naddr add {NEAR}/24 dev near\n"))?;
        set("ipv4/neigh/near/retrans_time_ms", "100")?;
        Ok(cable)
    }

    /// The calling thread, and all that it starts, is there from now on.
    pub fn go_near(&self) {
        self.near.enter();
    }

    pub fn go_far(&self) {
        self.far.enter();
    }

    fn at(namespace: &Namespace, program: &str, arguments: &str) {
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        let run = || {
            namespace.enter();
            run(program, &arguments, "").unwrap();
        };
        std::thread::scope(|scope| scope.spawn(run).join()).unwrap();
    }

    pub fn ip_near(&self, arguments: &str) {
        Self::at(&self.near, "ip", arguments);
    }

    /// Out of this end, or out of the other one: here the system knows of it, there packets vanish.
    pub fn pull(&self, end: End) {
        match end {
            End::Near => Self::at(&self.near, "ip", "link set near down"),
            End::Far => Self::at(&self.far, "ip", "link set far down"),
        }
    }

    pub fn put_back(&self, end: End) {
        match end {
            End::Near => Self::at(&self.near, "ip", "link set near up"),
            End::Far => Self::at(&self.far, "ip", "link set far up"),
        }
    }

    /// So narrow, with so little room to wait in, that packets get lost.
    pub fn narrow(&self) {
        Self::at(&self.near, "tc", "qdisc replace dev near root tbf rate 2mbit burst 3kb limit 3kb");
    }

    pub fn widen(&self) {
        Self::at(&self.near, "tc", "qdisc del dev near root");
    }

    /// For good: there is no such interface any more.
    pub fn cut(&self) {
        Self::at(&self.near, "ip", "link del near");
    }
}

#[derive(Clone, Copy, Debug)]
pub enum End {
    Near,
    Far,
}
