//! The link of the suite: two network namespaces, joined by a slow cable that loses packets. All tests of a process share them.

use super::common::guarded;
use super::namespaces::{Cable, Count, Namespace, join};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::OnceLock;

const CABLE: Cable =
    Cable { net: "10.77.7", net6: "fd77", near: 1, far: 2, deaf: 3, late: 4, loss: 5, rate: "40mbit" };

const fn v4(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 77, 7, last))
}

const fn v6(last: u8) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, last as u16))
}

pub const HERE: IpAddr = v4(CABLE.near);
pub const THERE: IpAddr = v4(CABLE.far);
pub const LOSES: bool = true;
pub const AT_ONCE: bool = true;
pub const LOTS: usize = 256 << 10;
pub const MANY: usize = 30;
pub const CROWD: usize = 8;
pub const ATTACKERS: usize = 6;

/// The other place again, by IPv6.
pub const THERE6: IpAddr = v6(CABLE.far);
/// It does not answer.
pub const DEAF6: IpAddr = v6(CABLE.deaf);
/// It does not hear the first packet of a connection.
pub const LATE: IpAddr = v4(CABLE.late);

/// Both ends, or `None` and the reason was printed.
fn link() -> Option<&'static [Namespace; 2]> {
    static LINK: OnceLock<Option<[Namespace; 2]>> = OnceLock::new();
    let made = || match std::thread::spawn(|| join(&CABLE)).join().expect("it does not panic") {
        Ok(ends) => Some(ends),
        Err(reason) => {
            eprintln!("skipped: the network suite across two namespaces: {reason}");
            None
        }
    };
    LINK.get_or_init(made).as_ref()
}

fn ends() -> &'static [Namespace; 2] {
    link().expect("it was asked for inside of `linked`")
}

pub fn linked(test: impl FnOnce() + Send) {
    let Some(ends) = link() else { return };
    let run = || {
        ends[0].enter();
        guarded("a test across two namespaces", test);
        for count in counts() {
            // Six hundred packets all get through once in 10^13 times.
            assert!(count.arrived < 600 || count.lost > 0, "nothing gets lost: {count:?}");
        }
    };
    // A thread of its own, since it does not come back.
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// What happened to the packets so far, here and there.
pub fn counts() -> [Count; 2] {
    let count = |end: &'static Namespace| std::thread::spawn(|| end.count()).join().expect("it can be read");
    ends().each_ref().map(count)
}

pub async fn there<F: Future>(future: F) -> F::Output {
    /// Brings the thread back, also by a panic.
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            ends()[0].enter();
        }
    }
    let mut future = pin!(future);
    poll_fn(|cx| {
        let _back = Back;
        ends()[1].enter();
        future.as_mut().poll(cx)
    })
    .await
}

/// Nobody hears what is sent to it.
pub fn deaf() -> io::Result<((), SocketAddr)> {
    Ok(((), SocketAddr::new(v4(CABLE.deaf), 7)))
}
