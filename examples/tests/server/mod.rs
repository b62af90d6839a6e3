//! An example that is a server, as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

pub struct Server {
    child: Child,
    pub said: BufReader<ChildStdout>,
    pub address: String,
}

impl Server {
    pub fn start(program: &str, args: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_remove("ROPEWALK_THREADS")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, said, address }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("it listens")
    }

    /// Presses ctrl-c; what it said since it listened.
    pub fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("it says UTF-8");
        let status = self.child.wait().expect("it is our child");
        assert!(status.success(), "{status}: {rest}");
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
