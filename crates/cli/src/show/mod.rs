//! How things look: with colours and drawn boxes for a person at a terminal, as plain text for everybody else.

mod progress;
mod style;
mod table;
mod timeline;

pub(crate) use progress::{Bar, Progress};
pub(crate) use style::{Hue, Style, counted, grouped};
pub(crate) use table::table;
pub(crate) use timeline::timeline;
