//! A use after free. `ci/asan` runs it first and goes on only if AddressSanitizer reports it.

fn main() {
    let pointer = Box::into_raw(Box::new(7_u64));
    // SAFETY: none for the second of the two. It reads what the first has freed, which is what must be reported.
    unsafe {
        drop(Box::from_raw(pointer));
        std::process::exit(pointer.read_volatile() as i32 & 1);
    }
}
