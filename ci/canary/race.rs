//! A data race. `ci/tsan` runs it first and goes on only if ThreadSanitizer reports it.

static mut SHARED: u64 = 0;

fn write(value: u64) {
    for _ in 0..1_000 {
        // SAFETY: none. Two threads write this word at once, which is what must be reported.
        unsafe { (&raw mut SHARED).write_volatile(value) };
    }
}

fn main() {
    let other = std::thread::spawn(|| write(1));
    write(2);
    other.join().unwrap();
}
