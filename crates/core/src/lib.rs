//! The parts of Ropewalk that need no operating system.
#![cfg_attr(not(any(feature = "std", test, loom, shuttle)), no_std)]
#[cfg(feature = "alloc")]
extern crate alloc;

#[doc(hidden)]
pub mod prim;
pub mod budget;
#[cfg(feature = "alloc")]
pub mod task;
