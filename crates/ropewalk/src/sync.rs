//! Synchronisation: one implementation each, for tasks (`.await`) and for threads and strands (`.wait()`), which contend
//! with each other. They come from `ropewalk-core`. Which one to take, and what each operation loses when it is cancelled:
//! [`choosing`](crate::choosing).
//!
//! ```
//! use ropewalk::{Wait, sync::Mutex};
//!
//! static TOTAL: Mutex<u32> = Mutex::new(0);
//!
//! let task = ropewalk::spawn(async { *TOTAL.lock().await += 1 });
//! *TOTAL.lock().wait() += 1; // on this thread
//! task.wait().unwrap();
//! assert_eq!(*TOTAL.lock().wait(), 2);
//! ```

pub use ropewalk_core::sync::*;

mod rate;

pub use rate::{RateError, RateLimited, RateLimiter, TooMany};
