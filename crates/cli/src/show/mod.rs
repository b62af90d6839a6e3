//! How things look: with colours and drawn boxes for a person at a terminal, as plain text for everybody else.

mod fit;
mod progress;
mod style;
mod table;
mod timeline;

pub(crate) use fit::{clip, columns, cut, fitting, plain, redraws, width};
pub(crate) use progress::{Bar, Progress};
pub(crate) use style::{Hue, Style, counted, grouped};
pub(crate) use table::{fitted, table};
pub(crate) use timeline::timeline;
