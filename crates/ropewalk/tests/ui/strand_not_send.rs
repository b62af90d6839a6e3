//! A strand starts wherever there is room: what it takes along must be `Send`, and so must its value.

use std::rc::Rc;

fn main() {
    let shared = Rc::new(String::from("here"));
    ropewalk::strand::scope(|s| {
        s.spawn(move || shared.len()).join();
        s.spawn(|| Rc::new(5)).join();
    });
}
