//! Cancelled anywhere, nothing is lost: futures of one subject are started, polled, woken and dropped in random order, and
//! every lock and permit is accounted for.
//!
//! `driver.rs` is the same for all; a subject says what may be started, what counts as held, and what must be true. The
//! seed of a failure is in its message: `ROPEWALK_FUZZ_SEED=.. ROPEWALK_FUZZ_STEPS=..` repeat it and make it longer.

mod driver;
mod locks;
