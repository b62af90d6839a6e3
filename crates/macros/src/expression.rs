//! Expressions, as far as loops in them have to be found: operands with operators between them. How these bind does not matter;
//! where an expression ends does, and which braces belong to it.

use crate::cursor::Cursor;
use crate::walk::{Context, Inside, Walk};
use proc_macro::{Delimiter, Span, TokenTree};

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Alone, or as an arm of a `match`: behind the braces of `if`, `match`, a loop or a block it is over.
    Statement,
    Value,
    /// Before the braces of `if`, `match` or a loop: no literals of structs.
    Head,
}

/// What an operand is, for what follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// `if`, `match`, a loop or a block, with nothing before it.
    Block,
    /// The name of a struct, of a macro or of anything else.
    Path,
    Value,
}

/// What comes after an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// After an operator.
    Operand,
    /// Of this expression.
    Nothing,
    /// The next one: braces of a macro have ended this one.
    Statement,
}

impl Walk<'_> {
    /// Whether it is a statement without a semicolon.
    pub(crate) fn expression(&mut self, place: Place) -> bool {
        let mut is_first = place == Place::Statement;
        while let Some(operand) = self.operand(place) {
            if is_first && operand == Operand::Block && !self.cursor.is_continued() {
                return true;
            }
            match self.follow(operand, place, is_first) {
                Follow::Operand => is_first = false,
                Follow::Nothing => return false,
                Follow::Statement => return true,
            }
        }
        false
    }

    /// What stands between two operators, and before the first of them. Nothing if the expression is over before.
    fn operand(&mut self, place: Place) -> Option<Operand> {
        let start = self.cursor.position();
        self.cursor.copy_attributes();
        self.cursor.copy_label();
        let mut is_bare = true;
        loop {
            let operand = match self.cursor.peek(0)? {
                TokenTree::Literal(_) => {
                    self.cursor.copy(1);
                    Some(Operand::Value)
                }
                TokenTree::Group(group) => Some(self.enclosed(group.delimiter())),
                TokenTree::Punct(_) => self.prefix(place)?,
                TokenTree::Ident(word) => {
                    let (word, at) = (word.to_string(), word.span());
                    if word == "else" {
                        return None;
                    }
                    self.word(&word, at, place)
                }
            };
            match operand {
                Some(Operand::Block) if !is_bare => return Some(Operand::Value),
                Some(operand) => return Some(operand),
                None => is_bare = false,
            }
            debug_assert!(self.cursor.position() > start);
        }
    }

    fn enclosed(&mut self, delimiter: Delimiter) -> Operand {
        match delimiter {
            Delimiter::Parenthesis | Delimiter::Bracket => {
                self.group(Inside::List);
                Operand::Value
            }
            _ if self.cursor.is_block() => {
                self.group(Inside::Block(None));
                Operand::Block
            }
            _ => {
                self.group(Inside::Fragment);
                Operand::Path
            }
        }
    }

    /// An operator before an operand: `Some(None)`. A closure is an operand. Nothing if the expression is over.
    fn prefix(&mut self, place: Place) -> Option<Option<Operand>> {
        match self.cursor.operator(0).as_str() {
            ";" | "," | "=>" => return None,
            "|" | "||" => {
                self.closure(place);
                return Some(Some(Operand::Value));
            }
            ".." | "..=" | "..." => {
                self.cursor.copy_one();
                let is_over = place == Place::Head && self.cursor.is_block(); // `for _ in .. {}`
                return Some(is_over.then_some(Operand::Value));
            }
            "'" => self.cursor.copy_label(),
            "#" => self.cursor.copy_attributes(),
            _ if self.cursor.is_punct(0, '<') => {
                self.cursor.copy_angles();
                return Some(Some(Operand::Path));
            }
            _ => self.cursor.copy(1),
        }
        Some(None)
    }

    /// A word that begins an operand. Nothing if it stands before one, as `return` does.
    fn word(&mut self, word: &str, at: Span, place: Place) -> Option<Operand> {
        match word {
            "if" => self.choice(),
            "for" if self.cursor.is_punct(1, '<') => {
                self.cursor.copy(1);
                self.cursor.copy_angles(); // of a closure
                return None;
            }
            "raw" if matches!(self.cursor.word(1).as_deref(), Some("const" | "mut")) => {
                self.cursor.copy(2); // `&raw const place`
                return None;
            }
            "let" => {
                self.binding();
                return None;
            }
            "loop" | "while" | "for" | "match" => self.with_head(word, at),
            "unsafe" | "try" | "const" | "async" | "break" | "continue" => {
                return self.with_more(word, place);
            }
            "return" | "yield" | "move" | "static" | "mut" => {
                self.cursor.copy(1);
                return None;
            }
            _ => {
                self.cursor.copy(1);
                return Some(Operand::Path);
            }
        }
        Some(Operand::Block)
    }

    fn with_head(&mut self, word: &str, at: Span) {
        self.cursor.copy(1);
        if word == "for" {
            self.cursor.copy_until(|cursor| cursor.is_word("in"));
            self.cursor.copy(1);
        }
        if word != "loop" {
            self.expression(Place::Head);
        }
        match word {
            "match" if self.cursor.is_block() => self.group(Inside::Arms),
            "match" => {}
            _ => self.braces(Some(at)),
        }
    }

    fn with_more(&mut self, word: &str, place: Place) -> Option<Operand> {
        self.cursor.copy(1);
        match word {
            "async" => {
                self.cursor.copy(usize::from(self.cursor.is_word("move")));
                let is_ours = self.context != Context::Foreign;
                let context = if is_ours { Context::Async } else { Context::Foreign };
                // Otherwise it is a closure.
                self.cursor.is_block().then(|| self.group_in(context, Inside::Block(None)))?;
                Some(Operand::Value)
            }
            "break" => {
                self.cursor.copy_label();
                (place == Place::Head && self.cursor.is_block()).then_some(Operand::Value)
            }
            "continue" => {
                self.cursor.copy_label();
                Some(Operand::Value)
            }
            "try" if !self.cursor.is_block() => Some(Operand::Path), // before it was a word of the language
            _ if !self.cursor.is_block() => None,
            "const" => {
                self.group_in(Context::Foreign, Inside::Block(None));
                Some(Operand::Block)
            }
            _ => {
                self.group(Inside::Block(None));
                Some(Operand::Block)
            }
        }
    }

    /// `if .. {} else if .. {} else {}`
    fn choice(&mut self) {
        self.cursor.copy(1);
        self.expression(Place::Head);
        self.braces(None);
        if self.cursor.is_word("else") {
            self.cursor.copy(1);
            if self.cursor.is_word("if") { self.choice() } else { self.braces(None) }
        }
    }

    /// From its parameters on. It runs who knows where, and cannot await.
    fn closure(&mut self, place: Place) {
        if self.cursor.is_operator("||") {
            self.cursor.copy(2);
        } else {
            self.cursor.copy(1);
            self.cursor.copy_until(|cursor| cursor.is_punct(0, '|'));
            self.cursor.copy(1);
        }
        let around = std::mem::replace(&mut self.context, Context::Foreign);
        if self.cursor.is_operator("->") {
            self.cursor.copy_until(Cursor::is_block);
            self.braces(None);
        } else {
            self.expression(if place == Place::Head { Place::Head } else { Place::Value });
        }
        self.context = around;
    }

    /// What follows an operand, up to the next one.
    fn follow(&mut self, operand: Operand, place: Place, is_first: bool) -> Follow {
        let mut is_path = operand == Operand::Path;
        loop {
            match self.cursor.peek(0) {
                Some(TokenTree::Group(group)) => match group.delimiter() {
                    Delimiter::Parenthesis => {
                        self.calls |= self.context != Context::Foreign;
                        self.group(Inside::List);
                        is_path = false;
                    }
                    Delimiter::Bracket => {
                        self.group(Inside::List);
                        is_path = false;
                    }
                    Delimiter::Brace if is_path && place != Place::Head => {
                        self.group(Inside::Fields);
                        is_path = false;
                    }
                    _ => return Follow::Nothing,
                },
                Some(TokenTree::Ident(word)) if word.to_string() == "as" => {
                    self.cursor.copy(1);
                    self.cursor.copy_type();
                    is_path = false;
                }
                Some(TokenTree::Punct(_)) => {
                    if let Some(follow) = self.operator(&mut is_path, place, is_first) {
                        return follow;
                    }
                }
                _ => return Follow::Nothing,
            }
        }
    }

    /// One that stands behind an operand. Nothing if more of them may.
    fn operator(&mut self, is_path: &mut bool, place: Place, is_first: bool) -> Option<Follow> {
        match self.cursor.operator(0).as_str() {
            "." => {
                self.cursor.copy(2);
                *is_path = false;
            }
            "?" => {
                self.cursor.copy(1);
                *is_path = false;
            }
            "::" => {
                self.cursor.copy(2);
                if self.cursor.is_punct(0, '<') { self.cursor.copy_angles() } else { self.cursor.copy(1) }
            }
            "!" if *is_path && matches!(self.cursor.peek(1), Some(TokenTree::Group(_))) => {
                self.cursor.copy(1);
                let is_block = self.cursor.is_group(Delimiter::Brace);
                self.cursor.copy(1); // nobody knows what that is
                *is_path = false;
                let is_over = is_first && is_block && !self.cursor.is_continued();
                return is_over.then_some(Follow::Statement);
            }
            ".." | "..=" | "..." => {
                self.cursor.copy_one();
                let is_over = place == Place::Head && self.cursor.is_block(); // `for _ in 0.. {}`
                return Some(if is_over { Follow::Nothing } else { Follow::Operand });
            }
            ";" | "," | "=>" | ":" | "'" | "#" | "->" | "!" => return Some(Follow::Nothing),
            _ => {
                self.cursor.copy_one();
                return Some(Follow::Operand);
            }
        }
        None
    }
}
