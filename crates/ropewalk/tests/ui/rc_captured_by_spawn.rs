//! A task may run on any worker, so what it captures must be `Send`.

use std::rc::Rc;

fn main() {
    let shared = Rc::new(5);
    let _task = ropewalk::spawn(async move { *shared });
}
