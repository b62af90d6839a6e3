//! Nor can a task that may move to another thread hold such a handle while it waits.

use std::rc::Rc;

fn main() {
    let _task = ropewalk::spawn(async {
        let local = ropewalk::spawn_local(async { Rc::new(5) }).unwrap();
        *local.await.unwrap()
    });
}
