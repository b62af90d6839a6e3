//! Children on other threads share an inherited value.

/// Not by one of std's types: of those the compiler shows the source, but only where that is installed.
struct Count(*const u32);

// SAFETY: nobody looks at what it points to.
unsafe impl Send for Count {}

ropewalk::task_local! {
    #[inherit]
    static COUNT: Count;
}

fn main() {
    COUNT.sync_scope(Count(std::ptr::null()), || ());
}
