#[ropewalk::main]
fn main() {}
