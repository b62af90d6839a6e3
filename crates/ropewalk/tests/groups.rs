//! Groups, and the rule that a task ends after its children, on every kind of runtime.

#[path = "groups/ancestors.rs"]
mod ancestors;
#[path = "groups/jobs.rs"]
mod jobs;
#[path = "groups/joining.rs"]
mod joining;
mod kit;
#[path = "groups/panics.rs"]
mod panics;
#[path = "groups/subtree.rs"]
mod subtree;
