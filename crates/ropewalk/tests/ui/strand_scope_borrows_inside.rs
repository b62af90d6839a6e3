//! What strands of a scope borrow lives outside of it.

fn main() {
    ropewalk::strand::scope(|s| {
        let text = String::from("inside");
        let _strand = s.spawn(|| text.len());
    });
}
