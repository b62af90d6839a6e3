//! An example that is a server, as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

pub struct Server {
    pub child: Child,
    pub said: BufReader<ChildStdout>,
    pub address: String,
}

impl Server {
    pub fn start(program: &str, args: &[&str]) -> Self {
        Self::run(Command::new(program).args(args))
    }

    /// One that may have so many descriptors; what it says on standard error is to be read.
    #[allow(dead_code, reason = "not every suite starts such a server")]
    pub fn start_with(descriptors: usize, program: &str, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {descriptors} && exec \"$@\""), "sh", program]);
        Self::run(shell.args(args).stderr(Stdio::piped()))
    }

    fn run(command: &mut Command) -> Self {
        let command = command.env_remove("ROPEWALK_THREADS").stdout(Stdio::piped());
        let mut child = command.spawn().expect("the example runs");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(['/', ' ']).find(|part| part.parse::<SocketAddr>().is_ok());
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
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
