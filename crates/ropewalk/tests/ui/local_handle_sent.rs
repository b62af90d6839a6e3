//! The output of a local task stays on its thread if it is not `Send`, and so does the handle that gives it.

use std::rc::Rc;

fn to_another_thread<T: Send + 'static>(value: T) {
    std::thread::spawn(move || drop(value));
}

fn main() {
    let local = ropewalk::spawn_local(async { Rc::new(5) }).unwrap();
    to_another_thread(local);
}
