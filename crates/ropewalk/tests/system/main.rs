//! The system around the runtime: sockets, files, processes, standard streams, io_uring. See `tasks/main.rs`.

#[cfg(target_os = "linux")]
#[path = "../kit/answers.rs"]
mod answers;
#[path = "../kit/mod.rs"]
mod kit;
#[path = "../kit/limits.rs"]
mod limits;

mod crowd;
mod files;
mod io;
mod net;
mod process;
mod uring;
