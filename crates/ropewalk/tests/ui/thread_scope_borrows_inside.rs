//! What threads of a scope borrow lives outside of it.

fn main() {
    ropewalk::thread::scope(|s| {
        let text = String::from("inside");
        let _thread = s.spawn(|| text.len());
    });
}
