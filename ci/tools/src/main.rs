//! Tools of the checks.
fn main() {}
