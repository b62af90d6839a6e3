//! Applies one textual change to the part of a Rust file that ships.
//!
//! Invariant: a change is made in exactly one place, and never inside an item that only tests compile. So the text to be
//! replaced must occur exactly once outside the items marked `#[cfg(test)]` (or `cfg(all(test, ...))`).

use std::ops::Range;

/// `text` with `from` replaced by `to`, or why that is not possible.
pub fn replace_once(text: &str, from: &str, to: &str) -> Result<String, String> {
    let tests = test_items(text);
    let places: Vec<usize> = text
        .match_indices(from)
        .map(|(at, _)| at)
        .filter(|at| !tests.iter().any(|range| range.contains(at)))
        .collect();
    match places[..] {
        [at] => Ok(format!("{}{to}{}", &text[..at], &text[at + from.len()..])),
        [] => Err(format!("`{from}` does not occur outside the tests")),
        _ => Err(format!("`{from}` occurs {} times outside the tests, not once", places.len())),
    }
}

/// The byte ranges of the items that only `cfg(test)` compiles, attribute included.
fn test_items(text: &str) -> Vec<Range<usize>> {
    let code = blank_text(text);
    let mut items: Vec<Range<usize>> = Vec::new();
    for (at, _) in code.match_indices("#[cfg(") {
        let condition = code[at + "#[cfg(".len()..].split(")]").next().unwrap_or_default();
        if needs_test(condition) && !items.last().is_some_and(|last| last.contains(&at)) {
            items.push(at..item_end(&code, at));
        }
    }
    items
}

/// Whether nothing but a test satisfies `condition`: it is `test`, or `all(...)` with `test` among its parts.
fn needs_test(condition: &str) -> bool {
    let all = condition.strip_prefix("all(").and_then(|parts| parts.strip_suffix(')'));
    condition == "test" || all.is_some_and(|parts| parts.split(',').any(|part| part.trim() == "test"))
}

/// The end of the item that starts at `from`: behind its closing brace or its semicolon, whichever comes first.
fn item_end(code: &str, from: usize) -> usize {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => others += 1,
            b')' | b']' => others = others.saturating_sub(1),
            b'{' => braces += 1,
            b'}' if braces <= 1 => return offset + 1,
            b'}' => braces -= 1,
            b';' if braces == 0 && others == 0 => return offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// `text` with comments, strings and character literals overwritten by blanks, so that only code is left; every byte
/// keeps its place.
fn blank_text(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        for byte in &mut code[at..end] {
            *byte = if *byte == b'\n' { b'\n' } else { b' ' };
        }
        at = end.max(at + 1);
    }
    // Multi-byte characters outside of literals are left whole, inside of them all their bytes become blanks.
    String::from_utf8(code).expect("blanks replace whole literals")
}

/// Where the comment or literal that starts at `at` ends; `at` itself if none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => at + block_comment(rest),
        [b'"', ..] => at + quoted(rest, b'"'),
        [b'\'', ..] if is_char(rest) => at + quoted(rest, b'\''),
        [b'r', b'"' | b'#', ..] if !after_word => at + raw_string(rest),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !after_word => at + 1 + raw_string(&rest[1..]),
        _ => at,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at + 1 < rest.len() {
        match &rest[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a string or character literal with escapes.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Tells `'x'` and `'\n'` from the lifetime `'x`.
fn is_char(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(byte) if byte.is_ascii() => rest.get(2) == Some(&b'\''),
        Some(_) => rest[1..].iter().take(5).any(|&b| b == b'\''),
        None => false,
    }
}

/// The length of `r"..."` or `r#"..."#`; 0 for a raw identifier.
fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = 2 + hashes;
    rest[body..]
        .windows(end.len())
        .position(|w| w == end)
        .map_or(rest.len(), |found| body + found + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"
fn push(&self) { self.head.store(node, Release); } // } not a brace
fn name<'a>() -> &'a str { let brace = '}'; "{ #[cfg(test)] }" }
#[cfg(test)]
use std::vec;
/* a { comment /* nested { */ */
fn pop(&self) { self.head.load(Acquire) }
#[cfg(all(test, not(loom)))]
mod plain { const X: &str = r#"}"#; fn t() { self.head.store(node, Release); } }
#[cfg(test)]
#[allow(unused)]
mod tests { fn t() { { self.head.load(Acquire); } self.tail.load(Acquire); } }
fn last(&self) { self.tail.store(1, Release) }
"##;

    #[test]
    fn a_text_that_occurs_once_is_replaced() {
        let changed = replace_once(FILE, "store(node, Release)", "store(node, Relaxed)").unwrap();
        assert!(changed.contains("fn push(&self) { self.head.store(node, Relaxed); }"));
        assert!(changed.contains("mod plain"));
        assert_eq!(changed.matches("Relaxed").count(), 1);
    }

    #[test]
    fn occurrences_inside_test_items_do_not_count() {
        assert!(replace_once(FILE, "self.head.load(Acquire)", "0").is_ok());
        let error = replace_once(FILE, "self.tail.load(Acquire)", "0").unwrap_err();
        assert!(error.contains("does not occur"), "{error}");
    }

    #[test]
    fn code_behind_test_items_counts() {
        assert!(replace_once(FILE, "self.tail.store(1, Release)", "()").is_ok());
    }

    #[test]
    fn two_occurrences_are_an_error_that_says_how_many() {
        let error = replace_once(FILE, "Release)", "Relaxed)").unwrap_err();
        assert!(error.contains("2 times"), "{error}");
    }

    #[test]
    fn an_empty_replacement_removes() {
        assert_eq!(replace_once("a; b;", " b;", "").unwrap(), "a;");
    }

    #[test]
    fn a_use_marked_as_test_ends_at_its_semicolon() {
        assert!(replace_once("#[cfg(test)]\nuse a::{b, c};\nfn x() { y }\n", "y", "z").is_ok());
    }

    #[test]
    fn only_what_needs_a_test_is_left_out() {
        assert!(["test", "all(test, loom)", "all(not(loom), test)"].into_iter().all(needs_test));
        let others =
            ["any(test, loom)", "not(test)", "all(loom, not(test))", "all(loom, any(x, test))", "loom"];
        assert!(!others.into_iter().any(needs_test));
    }

    #[test]
    fn literals_hide_braces() {
        for hidden in
            ["\"{\"", "'{'", "b'{'", "'\\''", "r#\"{\"\"#", "br\"{\"", "\"\\\"{\"", "/* { */", "'ä'"]
        {
            let text = format!("#[cfg(test)] mod t {{ let x = {hidden}; }} fn after() {{ y }}");
            assert!(replace_once(&text, "y", "z").is_ok(), "{hidden}");
        }
    }
}
