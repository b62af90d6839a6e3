//! The tokens of one group, from left to right. What is read is also written, so that whatever nobody understands stays as it
//! was.

use crate::tokens::{braced, is_punct};
use proc_macro::{Delimiter, Spacing, TokenStream, TokenTree};

/// Operators of several characters, longer ones first.
const OPERATORS: [&str; 24] = [
    "<<=", ">>=", "...", "..=", "=>", "->", "==", "!=", "<=", ">=", "&&", "||", "::", "..", "<<", ">>", "+=",
    "-=", "*=", "/=", "%=", "^=", "&=", "|=",
];

pub(crate) struct Cursor {
    tokens: Vec<TokenTree>,
    read: usize,
    pub(crate) written: Vec<TokenTree>,
}

/// Where an item ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemEnd {
    Semicolon,
    /// Behind the first braces, or at a semicolon before them.
    Braces,
}

impl Cursor {
    pub(crate) fn new(stream: TokenStream) -> Self {
        Self { tokens: stream.into_iter().collect(), read: 0, written: Vec::new() }
    }

    pub(crate) fn peek(&self, ahead: usize) -> Option<&TokenTree> {
        self.tokens.get(self.read + ahead)
    }

    /// How far it is.
    pub(crate) fn position(&self) -> usize {
        self.read
    }

    /// The word there, if it is one.
    pub(crate) fn word(&self, ahead: usize) -> Option<String> {
        match self.peek(ahead)? {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word(0).is_some_and(|it| it == word)
    }

    pub(crate) fn is_punct(&self, ahead: usize, char: char) -> bool {
        self.peek(ahead).is_some_and(|token| is_punct(token, char))
    }

    pub(crate) fn is_group(&self, delimiter: Delimiter) -> bool {
        matches!(self.peek(0), Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
    }

    pub(crate) fn is_block(&self) -> bool {
        self.peek(0).and_then(braced).is_some()
    }

    /// The operator there: the longest that the characters without a space between them make. Empty if there is none.
    pub(crate) fn operator(&self, ahead: usize) -> String {
        let mut text = String::new();
        while let Some(TokenTree::Punct(punct)) = self.peek(ahead + text.len()) {
            text.push(punct.as_char());
            if text.len() == 3 || punct.spacing() == Spacing::Alone {
                break;
            }
        }
        let long = OPERATORS.iter().find(|operator| text.starts_with(**operator));
        long.map_or_else(|| text.chars().take(1).collect(), |operator| (*operator).to_owned())
    }

    pub(crate) fn is_operator(&self, operator: &str) -> bool {
        self.operator(0) == operator
    }

    /// Whether what stands before this goes on: `{ .. }.method()` and `{ .. }?`.
    pub(crate) fn is_continued(&self) -> bool {
        self.is_operator(".") || self.is_operator("?")
    }

    /// Reads a token without writing it.
    pub(crate) fn take(&mut self) -> Option<TokenTree> {
        let token = self.peek(0).cloned();
        self.read += usize::from(token.is_some());
        token
    }

    pub(crate) fn copy(&mut self, count: usize) {
        for _ in 0..count {
            let token = self.take();
            self.written.extend(token);
        }
    }

    /// One operator, or one other token.
    pub(crate) fn copy_one(&mut self) {
        self.copy(self.operator(0).len().max(1));
    }

    /// Types and patterns: what is in angles belongs together.
    pub(crate) fn copy_until(&mut self, is_there: impl Fn(&Self) -> bool) {
        while self.peek(0).is_some() && !is_there(self) {
            if self.is_punct(0, '<') { self.copy_angles() } else { self.copy_one() }
        }
    }

    pub(crate) fn copy_to_semicolon(&mut self) {
        while self.peek(0).is_some() && !self.is_operator(";") {
            self.copy_one();
        }
    }

    pub(crate) fn copy_rest(&mut self) {
        self.copy(self.tokens.len() - self.read);
    }

    /// Those of the code that follows, and those of the code around it.
    pub(crate) fn copy_attributes(&mut self) {
        while self.is_punct(0, '#') {
            self.copy(if self.is_punct(1, '!') { 3 } else { 2 });
        }
    }

    /// `#![..]`, at the start of a group.
    pub(crate) fn copy_inner_attributes(&mut self) {
        while self.is_punct(0, '#') && self.is_punct(1, '!') {
            self.copy(3);
        }
    }

    /// `'label`, with a colon or without.
    pub(crate) fn copy_label(&mut self) {
        if self.is_punct(0, '\'') {
            self.copy(2);
            self.copy(usize::from(self.is_operator(":")));
        }
    }

    /// From `<` to the `>` that belongs to it.
    pub(crate) fn copy_angles(&mut self) {
        let mut depth = 0;
        while self.peek(0).is_some() {
            if self.is_operator("->") {
                self.copy(2);
                continue;
            }
            depth += i32::from(self.is_punct(0, '<')) - i32::from(self.is_punct(0, '>'));
            self.copy(1);
            if depth == 0 {
                return;
            }
        }
    }

    /// A pattern and a type, as they stand behind `let`.
    pub(crate) fn copy_binding(&mut self) {
        let is_over = |cursor: &Self| cursor.is_punct(0, '=') || cursor.is_operator(";");
        self.copy_until(|cursor| is_over(cursor) || cursor.is_operator(":"));
        if self.is_operator(":") {
            self.copy_until(is_over);
        }
    }

    /// A type, as it stands behind `as`.
    pub(crate) fn copy_type(&mut self) {
        while let Some(token) = self.peek(0) {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                TokenTree::Group(_) => return self.copy_type_end(),
                TokenTree::Punct(punct) => match punct.as_char() {
                    '<' => return self.copy_type_end(),
                    '!' => return self.copy(1),
                    '\'' => self.copy(2),
                    '&' | '*' | ':' => self.copy(1),
                    _ => return,
                },
                TokenTree::Literal(_) => self.copy(1), // `extern "C"`
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "mut" | "const" | "dyn" | "impl" | "unsafe" | "extern" => self.copy(1),
                    "for" => {
                        self.copy(1);
                        self.copy_angles();
                    }
                    _ => return self.copy_type_end(),
                },
            }
        }
    }

    /// The rest of a type, from the first name, parenthesis or bracket on.
    fn copy_type_end(&mut self) {
        if self.is_punct(0, '<') {
            self.copy_angles()
        } else {
            self.copy(1)
        }
        loop {
            if self.is_punct(0, '<') && !self.is_operator("<=") && !self.is_operator("<<=") {
                self.copy_angles();
            } else if self.is_operator("::") {
                self.copy(2);
                self.copy(usize::from(self.word(0).is_some()));
            } else if self.is_operator("->") {
                self.copy(2);
                return self.copy_type();
            } else if self.is_group(Delimiter::Parenthesis) {
                self.copy(1); // `fn(A)` and `Fn(A)`
            } else {
                return;
            }
        }
    }

    /// Where the item ends that starts here; nothing if it is no item but a statement.
    pub(crate) fn item(&self) -> Option<ItemEnd> {
        self.item_at(0)
    }

    fn item_at(&self, ahead: usize) -> Option<ItemEnd> {
        let next = self.word(ahead + 1);
        let next = next.as_deref();
        match self.word(ahead)?.as_str() {
            "use" | "type" => Some(ItemEnd::Semicolon),
            "static" => (next? != "move").then_some(ItemEnd::Semicolon),
            "const" => match next? {
                "fn" | "unsafe" | "async" | "extern" => Some(ItemEnd::Braces),
                "move" | "static" => None,
                _ => Some(ItemEnd::Semicolon),
            },
            "fn" | "struct" | "enum" | "impl" | "trait" | "mod" => Some(ItemEnd::Braces),
            "extern" if next == Some("crate") => Some(ItemEnd::Semicolon),
            "extern" => Some(ItemEnd::Braces),
            "unsafe" => {
                matches!(next?, "fn" | "impl" | "trait" | "extern" | "mod").then_some(ItemEnd::Braces)
            }
            "async" => matches!(next?, "fn" | "unsafe" | "extern").then_some(ItemEnd::Braces),
            "union" | "auto" => (next? != "as").then_some(ItemEnd::Braces),
            "macro" => next.map(|_| ItemEnd::Braces),
            "macro_rules" => self.is_punct(ahead + 1, '!').then_some(ItemEnd::Braces),
            "pub" => match self.peek(ahead + 1) {
                Some(TokenTree::Group(_)) => self.item_at(ahead + 2),
                _ => self.item_at(ahead + 1),
            },
            _ => None,
        }
    }

    pub(crate) fn copy_item(&mut self, end: ItemEnd) {
        match end {
            // Before it there may be anything, also a `<` that compares.
            ItemEnd::Semicolon => self.copy_to_semicolon(),
            ItemEnd::Braces => {
                self.copy_until(|cursor| cursor.is_operator(";") || cursor.is_group(Delimiter::Brace));
            }
        }
        self.copy(1);
    }
}
