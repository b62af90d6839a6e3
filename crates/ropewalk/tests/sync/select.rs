//! `select!`, `select_wait!`, `join!`, `try_join!`.

mod budget;
mod fair;
mod futurelock;
mod joined;
mod shapes;
