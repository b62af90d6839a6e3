//! `select!`, `select_wait!`, `join!`, `try_join!`.

#[path = "select/budget.rs"]
mod budget;
#[path = "select/fair.rs"]
mod fair;
#[path = "select/futurelock.rs"]
mod futurelock;
#[path = "select/joined.rs"]
mod joined;
mod kit;
#[path = "select/shapes.rs"]
mod shapes;
