//! From what a terminal sends to keys.

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    /// With ctrl: `Ctrl('c')`.
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What has come and is not a whole key yet.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
}

/// The first bytes are this, and so many.
enum Found {
    Key(Key, usize),
    /// Something that means nothing here.
    Nothing(usize),
    /// More must come to know.
    Part,
}

impl Keys {
    /// What has come is whole keys, but for what is kept.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while at < self.bytes.len() {
            match first(&self.bytes[at..]) {
                Found::Key(key, length) => {
                    keys.push(key);
                    at += length;
                }
                Found::Nothing(length) => at += length,
                Found::Part => break,
            }
        }
        self.bytes.drain(..at);
        keys
    }

    /// Whether something is kept that may be the beginning of a key.
    pub(super) fn is_waiting(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Nothing more came: the escape key alone, if it began with that.
    pub(super) fn give_up(&mut self) -> Option<Key> {
        let bytes = std::mem::take(&mut self.bytes);
        (bytes == b"\x1b").then_some(Key::Escape)
    }
}

fn first(bytes: &[u8]) -> Found {
    match *bytes {
        [0x1b, b'[', ..] => sequence(bytes),
        [0x1b, b'O'] | [0x1b] => Found::Part,
        [0x1b, b'O', last, ..] => named(&[], last).map_or(Found::Nothing(3), |key| Found::Key(key, 3)),
        [0x1b, ..] => Found::Key(Key::Escape, 1),
        [b'\r' | b'\n', ..] => Found::Key(Key::Enter, 1),
        [0x7f | 0x08, ..] => Found::Key(Key::Backspace, 1),
        [byte @ 1..0x1b, ..] => Found::Key(Key::Ctrl(char::from(byte - 1 + b'a')), 1),
        [byte, ..] if byte.is_ascii() => match byte.is_ascii_control() {
            true => Found::Nothing(1),
            false => Found::Key(Key::Char(char::from(byte)), 1),
        },
        _ => letter(bytes),
    }
}

/// `ESC [`, numbers, and a last byte that says what it is.
fn sequence(bytes: &[u8]) -> Found {
    let numbers = bytes[2..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
    match bytes.get(2 + numbers) {
        None => Found::Part,
        Some(last) => {
            let length = numbers + 3;
            named(&bytes[2..2 + numbers], *last).map_or(Found::Nothing(length), |key| Found::Key(key, length))
        }
    }
}

fn named(numbers: &[u8], last: u8) -> Option<Key> {
    Some(match (numbers.split(|byte| *byte == b';').next().unwrap_or_default(), last) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        (_, b'M') => Key::Enter, // of the number pad
        _ => return None,
    })
}

/// One of UTF-8.
fn letter(bytes: &[u8]) -> Found {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Found::Nothing(1),
    };
    let there = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(there) {
        Ok(text) => text.chars().next().map_or(Found::Nothing(1), |c| Found::Key(Key::Char(c), length)),
        Err(error) if error.error_len().is_none() && there.len() < length => Found::Part,
        Err(_) => Found::Nothing(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Keys::default().add(bytes)
    }

    #[test]
    fn what_terminals_send_for_a_key() {
        let cases: [(&[u8], &[Key]); 8] = [
            (b"aq/?", &[Key::Char('a'), Key::Char('q'), Key::Char('/'), Key::Char('?')]),
            (b"\x1b[A\x1bOA\x1b[1;5A", &[Key::Up, Key::Up, Key::Up]),
            (b"\x1b[B\x1b[5~\x1b[6~", &[Key::Down, Key::PageUp, Key::PageDown]),
            (b"\x1b[H\x1b[1~\x1b[F\x1b[4~", &[Key::Home, Key::Home, Key::End, Key::End]),
            (b"\r\n\x7f\x08", &[Key::Enter, Key::Enter, Key::Backspace, Key::Backspace]),
            (b"\x03\x1a", &[Key::Ctrl('c'), Key::Ctrl('z')]),
            ("é木".as_bytes(), &[Key::Char('é'), Key::Char('木')]),
            (b"\x1b[200~\x1b[99Xz\xff\xc3z\0", &[Key::Char('z'), Key::Char('z')]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_key_may_come_in_parts() {
        let mut parts = Keys::default();
        for byte in "\x1b[1;5".bytes().chain([0xe6, 0x9c]).take(5) {
            assert!(parts.add(&[byte]).is_empty());
        }
        assert_eq!(parts.add(b"A"), [Key::Up]);
        assert!(!parts.is_waiting());
        assert!(parts.add(&[0xe6]).is_empty() && parts.add(&[0x9c]).is_empty() && parts.is_waiting());
        assert_eq!(parts.add(&[0xa8]), [Key::Char('木')]);
    }

    #[test]
    fn escape_alone_is_known_when_nothing_follows() {
        let mut parts = Keys::default();
        assert!(parts.add(b"\x1b").is_empty());
        assert_eq!(
            (parts.is_waiting(), parts.give_up(), parts.is_waiting()),
            (true, Some(Key::Escape), false)
        );
        assert_eq!(keys(b"\x1bq"), [Key::Escape, Key::Char('q')]);
        assert_eq!(keys(b"\x1b\x1b[A"), [Key::Escape, Key::Up]);
    }
}
