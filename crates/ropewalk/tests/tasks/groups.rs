//! Groups, and the rule that a task ends after its children, on every kind of runtime.

mod ancestors;
mod jobs;
mod joining;
mod panics;
mod subtree;
