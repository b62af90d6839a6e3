//! What fits into a terminal, and what may go there.

use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether `output` is a terminal on which a line can be drawn anew.
pub(crate) fn redraws(output: &impl IsTerminal) -> bool {
    output.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// How many columns it has, if it is a terminal that says so.
pub(crate) fn columns(output: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = output.is_terminal().then(|| tcgetwinsize(output).ok()).flatten();
    size.map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

/// How many columns it takes: some letters take two, some none.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Text that others have chosen, as it is. What would move the cursor, change colours, or turn the text around is written as its number.
pub(crate) fn plain(text: &str) -> String {
    let moves = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if moves(letter) { safe.extend(letter.escape_default()) } else { safe.push(letter) }
    }
    safe
}

/// At most `room` columns of it: if it is longer, some of its beginning and more of its end, with `sign` in between. Of a place in the sources
/// that leaves the file and the line.
pub(crate) fn cut(text: &str, room: usize, sign: &str) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let left = room.saturating_sub(width(sign));
    let start = fitting(text.chars(), left / 3);
    let end = fitting(text.chars().rev(), left - left / 3);
    let sign = if room < width(sign) { "" } else { sign };
    start.into_iter().chain(sign.chars()).chain(end.into_iter().rev()).collect()
}

/// At most `room` columns of its beginning.
pub(crate) fn clip(text: &str, room: usize) -> String {
    fitting(text.chars(), room).into_iter().collect()
}

/// As many of them as fit.
pub(crate) fn fitting(letters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= room
    };
    letters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_move_the_cursor() {
        let nasty = "a\u{1b}[2J\nb\rc\u{9b}1m\u{202e}d\u{7f} µ 木";
        assert_eq!(plain(nasty), "a\\u{1b}[2J\\nb\\rc\\u{9b}1m\\u{202e}d\\u{7f} µ 木");
    }

    #[test]
    fn what_is_cut_fits_and_has_both_ends() {
        assert_eq!(cut("short", 5, "…"), "short");
        assert_eq!(cut("crates/cli/src/main.rs:12:5", 12, "…"), "cra….rs:12:5");
        assert_eq!(cut("abcdef", 5, ".."), "a..ef");
        assert_eq!(cut("木木木木", 7, "…"), "木…木木", "each takes two columns");
        assert_eq!([0, 1, 2].map(|room| cut("abc", room, "..")), ["", "", ".."]);
        assert_eq!([0, 3, 9].map(|room| clip("木a木", room)), ["", "木a", "木a木"]);
        assert!((0..9).all(|room| width(&cut("木a木b木c", room, "…")) <= room));
    }
}
