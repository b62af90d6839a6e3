//! The handle of a child does not leave its scope: with it would go what the child has borrowed.

fn main() {
    let text = String::from("outside");
    let strand = ropewalk::strand::scope(|s| s.spawn(|| text.as_str()));
    drop(text);
    println!("{}", strand.join());
}
