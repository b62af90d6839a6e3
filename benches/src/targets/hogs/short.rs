//! The rows about tasks that compute for a moment and give way. The bar is a figure: something may be late by an interval at which is
//! looked (p50: one, p99: two milliseconds) and by the polls of the hogs ahead. Beside tokio `bench short-hogs` judges.

use super::{p50, tail};
use crate::fair_short_hogs::{Due, Poll, Shape, Way};
use crate::peers::Peer::{self, Ropewalk, RopewalkCt};
use crate::targets::Row;

/// Without workers it is the form that has none.
const fn ours(shape: Shape) -> Peer {
    if shape.workers == 0 { RopewalkCt } else { Ropewalk }
}

macro_rules! rows {
    ($($name:literal: $about:literal => $shape:expr;)*) => {
        pub const ROWS: &[Row] = &[$(
            Row {
                target: Some($shape.bar().p50),
                absolute: true,
                ours: ours($shape),
                ..p50(concat!("fair_short_hogs_", $name, "_p50"), concat!("fair_short_hogs_", $name))
            },
            Row {
                target: Some($shape.bar().p99),
                absolute: true,
                ours: ours($shape),
                ..tail(concat!("fair_short_hogs_", $name, "_p99"), concat!("fair_short_hogs_", $name), "p99")
            },
            Row {
                ours: ours($shape),
                ..tail(concat!("fair_short_hogs_", $name, "_max"), concat!("fair_short_hogs_", $name), "max")
            },
        )*];
    };
}

crate::short_hogs_table!(rows);
