//! Attribute macros of Ropewalk (`#[main]`, `#[test]`, `#[preemptible]`); they arrive with the issues that need them.
