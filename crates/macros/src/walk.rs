//! Through the body of a function, to every place that gets a point.
//!
//! Not a parser of the whole language. Of the code it has to know: where a statement begins, which words are the heads of loops,
//! which braces are the body of one, and what runs elsewhere or at compile time. So it reads expressions as operands with
//! operators between them (`expression.rs`), and copies types, patterns, items and the arguments of macros. A statement that does
//! not end as it should is new syntax, and copied as well: better without points than with wrong ones.

use crate::cursor::Cursor;
use crate::expression::Place;
use crate::function::name_of;
use crate::options::PreemptibleOptions;
use crate::tokens::{at_place, parse, ropewalk};
use proc_macro::{Delimiter, Group, Span, TokenTree};

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Of an `async fn` or an `async` block.
    Async,
    /// Of a plain function.
    Plain,
    /// Of a closure or a constant: it is left alone.
    Foreign,
}

/// The body of a function with its points; how many there are.
pub(crate) fn body(body: &Group, context: Context, options: &PreemptibleOptions) -> (Group, usize) {
    Walk::through(body, Inside::Block(None), context, options).finish(body)
}

/// What the tokens of a group are.
#[derive(Clone, Copy)]
pub(crate) enum Inside {
    /// Statements; for those of a loop, where its head is.
    Block(Option<Span>),
    /// Of a `match`.
    Arms,
    /// Of a literal of a struct.
    Fields,
    /// In parentheses or brackets.
    List,
    /// What came through a variable of `macro_rules!`, in an invisible group.
    Fragment,
}

pub(crate) struct Walk<'a> {
    pub(crate) cursor: Cursor,
    pub(crate) context: Context,
    options: &'a PreemptibleOptions,
    /// How many were put in.
    count: usize,
    /// Whether the statement that is being read calls something.
    pub(crate) calls: bool,
}

impl<'a> Walk<'a> {
    fn through(group: &Group, inside: Inside, context: Context, options: &'a PreemptibleOptions) -> Self {
        let cursor = Cursor::new(group.stream());
        let mut walk = Self { cursor, context, options, count: 0, calls: false };
        match inside {
            _ if group.delimiter() == Delimiter::None && !matches!(inside, Inside::Fragment) => {
                walk.group(inside)
            }
            Inside::Block(head) => walk.block(head),
            Inside::Arms => walk.arms(),
            Inside::Fields => walk.fields(),
            Inside::List => walk.list(),
            Inside::Fragment if walk.cursor.item().is_some() => {}
            Inside::Fragment => {
                walk.expression(Place::Value);
            }
        }
        walk.cursor.copy_rest();
        walk
    }

    /// A group without points remains the one that it was: with the places of both its delimiters, which a new one has not.
    fn finish(self, group: &Group) -> (Group, usize) {
        if self.count == 0 {
            return (group.clone(), 0);
        }
        let mut with_points = Group::new(group.delimiter(), self.cursor.written.into_iter().collect());
        with_points.set_span(group.span());
        (with_points, self.count)
    }

    /// The group that comes next.
    pub(crate) fn group(&mut self, inside: Inside) {
        let Some(TokenTree::Group(group)) = self.cursor.peek(0).cloned() else { return };
        let walk = Walk::through(&group, inside, self.context, self.options);
        self.calls |= walk.calls;
        let (group, count) = walk.finish(&group);
        self.count += count;
        self.cursor.take();
        self.cursor.written.push(TokenTree::Group(group));
    }

    pub(crate) fn group_in(&mut self, context: Context, inside: Inside) {
        let around = std::mem::replace(&mut self.context, context);
        self.group(inside);
        self.context = around;
    }

    /// The block that comes next, if it is one.
    pub(crate) fn braces(&mut self, head: Option<Span>) {
        if self.cursor.is_block() {
            self.group(Inside::Block(head));
        }
    }

    /// Puts one in, before what was written since, under these conditions. Errors about it are shown at that place.
    fn point(&mut self, before: usize, conditions: Vec<TokenTree>, at: Span) {
        let call = match self.context {
            Context::Async => "::preempt().await;",
            Context::Plain => "::preempt_point();",
            Context::Foreign => return,
        };
        let (path, call) = (ropewalk(self.options.krate.as_deref(), at), at_place(parse(call), at));
        self.cursor.written.splice(before..before, conditions.into_iter().chain(path).chain(call));
        self.count += 1;
    }

    /// Takes a step, however little it understands, until there is nothing left.
    fn each(&mut self, mut step: impl FnMut(&mut Self)) {
        while self.cursor.peek(0).is_some() {
            let before = self.cursor.position();
            step(self);
            if self.cursor.position() == before {
                self.cursor.copy_one();
            }
        }
    }

    fn block(&mut self, head: Option<Span>) {
        self.cursor.copy_inner_attributes();
        if let Some(at) = head {
            self.point(self.cursor.written.len(), Vec::new(), at);
        }
        let mut is_led = head.is_some();
        self.each(|walk| {
            let Some(at) = walk.cursor.peek(0).map(TokenTree::span) else { return };
            let before = walk.cursor.written.len();
            walk.cursor.copy_attributes();
            let conditions = conditions(&walk.cursor.written[before..]);
            let does_something = walk.statement();
            if std::mem::take(&mut walk.calls)
                && walk.options.calls
                && !is_led
                && let Some(conditions) = conditions
            {
                walk.point(before, conditions, at);
            }
            is_led &= !does_something;
        });
    }

    /// Whether it is one that runs.
    fn statement(&mut self) -> bool {
        if let Some(end) = self.cursor.item() {
            self.cursor.copy_item(end);
            return false;
        }
        let is_empty = self.cursor.is_operator(";");
        let mut is_over = self.cursor.is_group(Delimiter::None); // which may hold a whole statement
        if self.cursor.is_word("let") {
            self.binding();
            self.expression(Place::Value);
            if self.cursor.is_word("else") {
                self.cursor.copy(1);
                self.braces(None);
            }
        } else {
            is_over |= self.expression(Place::Statement);
        }
        if !is_over && self.cursor.peek(0).is_some() && !self.cursor.is_operator(";") {
            self.cursor.copy_to_semicolon();
            self.calls = false;
        }
        self.cursor.copy(usize::from(self.cursor.is_operator(";")));
        !is_empty
    }

    /// `let pattern: Type =`
    pub(crate) fn binding(&mut self) {
        self.cursor.copy(1);
        self.cursor.copy_binding();
        self.cursor.copy(usize::from(self.cursor.is_punct(0, '=')));
    }

    fn arms(&mut self) {
        self.cursor.copy_inner_attributes();
        self.each(|walk| {
            walk.cursor.copy_attributes();
            walk.cursor.copy_until(|cursor| cursor.is_operator("=>") || cursor.is_word("if"));
            if walk.cursor.is_word("if") {
                walk.cursor.copy(1);
                walk.expression(Place::Value);
            }
            if walk.cursor.is_operator("=>") {
                walk.cursor.copy(2);
                walk.expression(Place::Statement);
                walk.cursor.copy(usize::from(walk.cursor.is_operator(",")));
            }
        });
    }

    fn fields(&mut self) {
        self.each(|walk| {
            walk.cursor.copy_attributes();
            if walk.cursor.operator(1) == ":" {
                walk.cursor.copy(2);
            }
            walk.expression(Place::Value);
        });
    }

    fn list(&mut self) {
        self.each(|walk| {
            if walk.cursor.is_operator(";") {
                walk.context = Context::Foreign; // the length of an array
            }
            walk.expression(Place::Value);
        });
    }
}

/// Those among the attributes of a statement that say whether it is there; nothing if they cannot be told.
fn conditions(attributes: &[TokenTree]) -> Option<Vec<TokenTree>> {
    let mut conditions = Vec::new();
    for attribute in attributes.chunks(2) {
        match attribute.last().and_then(name_of).map(|name| name.to_string()).as_deref() {
            Some("cfg") => conditions.extend_from_slice(attribute),
            Some("cfg_attr") => return None,
            _ => {}
        }
    }
    Some(conditions)
}
