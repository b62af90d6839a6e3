//! Fork-join: halves of a computation that others may take over.
#![allow(dead_code)] // nobody forks yet

mod deque;
