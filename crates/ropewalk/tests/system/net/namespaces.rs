//! Two network namespaces, joined by a cable with a rate limit that loses packets.
//!
//! 1. A socket is in the namespace where the thread was that made it, and so are the threads that a thread starts.
//! 2. The namespaces have no names. They live as long as a thread, a descriptor or a socket of this process is in them, so there
//!    is nothing to clean up, however the process ends, and nothing that two processes could share by mistake.
//! 3. A packet is lost where it arrives. (To lose it where it leaves would be an error of who sends.)

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What is done in one namespace or asked about it.
pub struct Namespace {
    file: File,
    /// The name of its end of the cable.
    end: &'static str,
}

/// What has happened to the packets of one namespace.
#[derive(Debug)]
pub struct Count {
    /// How many arrived that could be lost, and how many of them were.
    pub arrived: u64,
    pub lost: u64,
    /// How many went to the deaf address, and how many were the first ones of a connection to the late one.
    pub unheard: u64,
    pub late: u64,
    /// How often one had to wait because of the rate limit.
    pub held: u64,
}

impl Namespace {
    /// A new one, where the calling thread is then.
    pub fn new(end: &'static str) -> Result<Self, String> {
        // SAFETY: descriptors stay shared; what is new is the network, of this thread only.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
            .map_err(|error| format!("no network namespace can be made (are you root?): {error}"))?;
        let file = File::open("/proc/thread-self/ns/net")
            .map_err(|error| format!("the network namespace cannot be opened: {error}"))?;
        Ok(Self { file, end })
    }

    /// The calling thread is there from now on.
    pub fn enter(&self) {
        let entered = move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network));
        entered.expect("this namespace is ours");
    }

    /// Where others find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// What it has counted. The calling thread is there then.
    pub fn count(&self) -> Count {
        self.enter();
        let rules = run("nft", &["list", "ruleset"], "").expect("it worked before");
        let named = |name: &str| after(&rules, &[&format!("counter {name} {{"), "packets"]);
        let shaping = run("tc", &["-s", "qdisc", "show", "dev", self.end], "").expect("it worked before");
        Count {
            arrived: named("arrived"),
            lost: named("lost"),
            unheard: named("unheard"),
            late: named("late"),
            held: after(&shaping, &["tbf", "overlimits"]),
        }
    }
}

/// The number after these words, one after the other.
fn after(text: &str, words: &[&str]) -> u64 {
    let rest = words.iter().try_fold(text, |rest, word| Some(rest.split_once(word)?.1));
    let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no number after {words:?}: {text}"))
}

/// Runs a program where the calling thread is; gives what it says, or what went wrong.
pub fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no `{program}` on the PATH"),
        _ => format!("`{program}` does not run: {error}"),
    })?;
    let _it_says_why_it_does_not_read = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().map_err(|error| format!("`{program}`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{program} {}`: {}", arguments.join(" "), said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the cable is like.
pub struct Cable {
    /// The first bytes of all addresses, IPv4 and IPv6; and the last ones.
    pub net: &'static str,
    pub net6: &'static str,
    pub near: u8,
    pub far: u8,
    /// Nothing that comes to this one is answered.
    pub deaf: u8,
    /// The first packet of a connection to this one is lost, and no other.
    pub late: u8,
    /// Of a hundred packets.
    pub loss: u8,
    /// As `tc` understands it.
    pub rate: &'static str,
}

/// Makes both ends: near first, far second. What is missing otherwise.
///
/// The calling thread ends up far.
pub fn join(cable: &Cable) -> Result<[Namespace; 2], String> {
    for (program, version) in [("ip", "-V"), ("tc", "-V"), ("nft", "-v")] {
        run(program, &[version], "")?;
    }
    let (near, far) = (Namespace::new("near")?, Namespace::new("far")?);
    let link = format!("link add far type veth peer name near netns {}\n", near.path());
    run("ip", &["-batch", "-"], &link)?;
    let ends = [(&near, &[cable.near][..]), (&far, &[cable.far, cable.deaf, cable.late])];
    for (namespace, addresses) in ends {
        namespace.enter();
        plug_in(namespace.end, cable, addresses)?;
    }
    for (namespace, _) in ends {
        namespace.enter();
        restrain(namespace.end, cable)?;
        wait_for_the_other(namespace.end)?;
    }
    Ok([near, far])
}

/// Addresses, at one end.
fn plug_in(end: &str, Cable { net, net6, .. }: &Cable, addresses: &[u8]) -> Result<(), String> {
    // Packets are as small as on a real cable.
    let mut script = format!("link set lo up\nlink set {end} gso_max_segs 1\nlink set {end} up\n");
    for last in addresses {
        script += &format!("addr add {net}.{last}/24 dev {end}\n");
    }
    // What is lost is sent again soon: there is nobody far away.
    let own = addresses[0];
    script += &format!("route replace {net}.0/24 dev {end} src {net}.{own} rto_min 20ms\n");
    run("ip", &["-batch", "-"], &script)?;
    for last in addresses {
        let address = format!("{net6}::{last}/64");
        let _without_ipv6_it_has_to_do = run("ip", &["addr", "add", &address, "dev", end, "nodad"], "");
    }
    Ok(())
}

/// Little room in sockets, a rate limit and the loss, at one end.
fn restrain(end: &str, cable: &Cable) -> Result<(), String> {
    for (name, value) in [
        ("tcp_rmem", "4096 16384 32768"),
        ("tcp_wmem", "4096 16384 32768"),
        ("tcp_congestion_control", "reno"),
        ("tcp_orphan_retries", "1"),
        ("icmp_ratelimit", "0"),
    ] {
        let path = format!("/proc/sys/net/ipv4/{name}");
        std::fs::write(&path, value).map_err(|error| format!("{path} cannot be written: {error}"))?;
    }
    let shape = ["root", "tbf", "rate", cable.rate, "burst", "16kb", "latency", "50ms"];
    run("tc", &[&["qdisc", "add", "dev", end], &shape[..]].concat(), "")?;
    run("nft", &["-f", "-"], &rules(end, cable)).map(drop)
}

/// What makes a connection comes through, or it is made a second later; and what breaks it off, which is not said again.
fn rules(end: &str, Cable { net, net6, deaf, late, loss, .. }: &Cable) -> String {
    format!(
        "table inet cable {{
            counter arrived {{ }}
            counter lost {{ }}
            counter unheard {{ }}
            counter late {{ }}
            set asked {{ type inet_service . inet_service; flags dynamic; size 65535; }}
            set joined {{ type inet_service . inet_service; flags dynamic; size 65535; }}
            chain input {{
                type filter hook input priority 0;
                iifname != {end} accept
                ip daddr {net}.{deaf} counter name unheard drop
                ip6 daddr {net6}::{deaf} counter name unheard drop
                ip daddr {net}.{late} tcp flags & (syn | ack) == syn tcp sport . tcp dport != @asked \
                    add @asked {{ tcp sport . tcp dport }} counter name late drop
                ip daddr {net}.{late} accept
                ip saddr {net}.{late} accept
                meta l4proto != {{ tcp, udp }} accept
                tcp flags & (syn | rst) != 0 accept
                tcp sport . tcp dport != @joined add @joined {{ tcp sport . tcp dport }} accept
                counter name arrived
                numgen random mod 100 < {loss} counter name lost drop
            }}
        }}"
    )
}

/// The system takes its time until it believes that there is somebody at the other end.
fn wait_for_the_other(end: &str) -> Result<(), String> {
    for _ in 0..1000 {
        if run("ip", &["link", "show", end], "")?.contains("state UP") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the two ends of a veth pair do not find each other".to_owned())
}
