//! Unix sockets: who is there.

use ropewalk::net::UnixStream;

/// A process that cannot be seen from here has no number, and that is said.
#[cfg(target_os = "linux")]
#[test]
fn a_peer_without_a_number() {
    use crate::common::{is_child, stderr_of};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    const NAME: &str = "ROPEWALK_TEST_LISTENER";
    if is_child() {
        let name = std::env::var(NAME).unwrap();
        let runtime = crate::kit::builder(0).build().unwrap();
        let who = runtime.block_on(async {
            let address = SocketAddr::from_abstract_name(name)?;
            UnixStream::connect_addr(&address).await?.peer_cred()
        });
        assert_eq!(who.unwrap().pid, None);
        return;
    }
    let name = format!("ropewalk {} without a number", std::process::id());
    let _listener =
        std::os::unix::net::UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    // Processes there have numbers of their own, and see no others.
    let elsewhere = || {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork"]);
        command
    };
    if !elsewhere().arg("true").status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no process can be started that does not see this one");
    }
    let output = elsewhere()
        .arg(std::env::current_exe().unwrap())
        .args(["unix::a_peer_without_a_number", "--exact", "--nocapture"])
        .env("ROPEWALK_TEST_CHILD", "1")
        .env(NAME, &name)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
}
