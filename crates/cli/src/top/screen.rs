//! From ratatui's cells to what a terminal understands. The bytes are gathered; who draws sends them.

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use rustix::termios::tcgetwinsize;
use std::fs::File;
use std::io::{self, Write};

/// What a terminal has that does not say how large it is.
const USUAL: Size = Size { width: 80, height: 24 };

/// Nothing is shown between these ("synchronized output"); who does not know them ignores them.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

pub(super) struct Screen {
    terminal: File,
    coloured: bool,
    bytes: Vec<u8>,
    cursor: Position,
}

impl Screen {
    pub(super) fn new(terminal: File, coloured: bool) -> Self {
        Self { terminal, coloured, bytes: Vec::new(), cursor: Position::ORIGIN }
    }

    /// What was drawn since the last call, to be shown at once by terminals that can.
    pub(super) fn take(&mut self) -> Vec<u8> {
        if self.bytes.is_empty() {
            return Vec::new();
        }
        [BEGIN, &std::mem::take(&mut self.bytes), END].concat()
    }

    fn go(&mut self, to: Position) -> io::Result<()> {
        write!(self.bytes, "\x1b[{};{}H", to.y + 1, to.x + 1)
    }

    fn style(&mut self, cell: &Cell) -> io::Result<()> {
        const ATTRIBUTES: [(Modifier, &str); 4] = [
            (Modifier::BOLD, ";1"),
            (Modifier::DIM, ";2"),
            (Modifier::UNDERLINED, ";4"),
            (Modifier::REVERSED, ";7"),
        ];
        self.bytes.extend_from_slice(b"\x1b[0");
        for (attribute, code) in ATTRIBUTES {
            if cell.modifier.contains(attribute) {
                self.bytes.extend_from_slice(code.as_bytes());
            }
        }
        if self.coloured {
            for (colour, base) in [(cell.fg, 30), (cell.bg, 40)] {
                if let Some(number) = number(colour) {
                    write!(self.bytes, ";{}", base + number)?;
                }
            }
        }
        self.bytes.push(b'm');
        Ok(())
    }
}

/// One of the eight colours that every terminal has in its owner's taste; no others are used.
fn number(colour: Color) -> Option<u8> {
    let colours = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    colours.iter().position(|known| *known == colour).map(|at| at as u8)
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, cells: I) -> io::Result<()> {
        let (mut next, mut style) = (None, None);
        for (x, y, cell) in cells {
            let at = Position { x, y };
            if next != Some(at) {
                self.go(at)?;
            }
            let new = (cell.fg, cell.bg, cell.modifier);
            if style != Some(new) {
                self.style(cell)?;
                style = Some(new);
            }
            self.bytes.extend_from_slice(cell.symbol().as_bytes());
            next = Some(Position { x: x + 1, y });
        }
        if style.is_some() {
            self.bytes.extend_from_slice(b"\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.bytes.write_all(b"\x1b[?25l")
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.bytes.write_all(b"\x1b[?25h")
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.go(self.cursor)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, which: ClearType) -> io::Result<()> {
        self.bytes.write_all(match which {
            ClearType::All => b"\x1b[2J",
            ClearType::AfterCursor => b"\x1b[0J",
            ClearType::BeforeCursor => b"\x1b[1J",
            ClearType::CurrentLine => b"\x1b[2K",
            ClearType::UntilNewLine => b"\x1b[0K",
        })
    }

    fn size(&self) -> io::Result<Size> {
        let found = tcgetwinsize(&self.terminal)?;
        let size = Size { width: found.ws_col, height: found.ws_row };
        Ok(if size.width == 0 || size.height == 0 { USUAL } else { size })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
