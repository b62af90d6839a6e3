//! A thread may outlive who started it; those of a scope do not.

fn main() {
    let text = String::from("on the stack");
    let _thread = ropewalk::thread::spawn(|| text.len());
}
