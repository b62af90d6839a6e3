//! Children on other threads share an inherited value.

ropewalk::task_local! {
    #[inherit]
    static CELL: std::cell::Cell<u32>;
}

fn main() {
    CELL.sync_scope(std::cell::Cell::new(1), || ());
}
