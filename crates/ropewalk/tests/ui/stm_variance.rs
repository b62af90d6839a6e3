//! A variable is written through every handle: a handle of another type of function would be a way to keep what is gone.

use ropewalk::stm::TVar;

fn narrow(general: TVar<for<'a> fn(&'a str)>) -> TVar<fn(&'static str)> {
    general
}

fn main() {
    let _narrow = narrow;
}
