//! What the attributes make of a function.
//!
//! ```text
//! #[ropewalk::test(threads = 2)]          #[::core::prelude::v1::test]
//! #[ignore]                               #[ignore]
//! async fn name() -> Output { body }  ->  fn name() -> Output {
//!                                             async fn name() -> Output { body }
//!                                             ::ropewalk::Runtime::builder().worker_threads(2)
//!                                                 .build().unwrap_or_else(..).block_on(name())
//!                                         }
//! ```

use crate::error::Error;
use crate::function::{Function, name_of};
use crate::options::Options;
use crate::tokens::{at_place, parse, ropewalk};
use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

/// Which attribute it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Main,
    Test,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Entry::Main => "#[ropewalk::main]",
            Entry::Test => "#[ropewalk::test]",
        }
    }
}

pub(crate) fn expand(entry: Entry, options: TokenStream, item: TokenStream) -> TokenStream {
    let (options, mut errors) = Options::parse(options);
    let function = match Function::parse(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            errors.push(error);
            return errors.iter().map(Error::tokens).chain([item]).collect();
        }
    };
    errors.extend(objections(entry, &function));
    if errors.is_empty() { wrap(entry, &options, &function) } else { refuse(&function, &errors) }
}

fn objections(entry: Entry, function: &Function) -> Vec<Error> {
    let mut errors = Vec::new();
    if entry == Entry::Main && function.is_async.is_none() {
        let what =
            "`#[ropewalk::main]` wants an `async fn`; in a plain `fn main` call `.wait()` where you need it";
        errors.push(Error::new(function.word.span(), what));
    }
    if let Some(first) = function.parameters.stream().into_iter().next() {
        let what = format!("a function with `{}` has no parameters: nobody could pass them", entry.name());
        errors.push(Error::new(first.span(), what));
    }
    if let Some(generics) = function.generics {
        errors.push(Error::new(generics, format!("a function with `{}` is not generic", entry.name())));
    }
    if let Some(again) = function.attribute(if entry == Entry::Main { "main" } else { "test" }) {
        let what = format!("`{}` is enough: a second attribute would run the function twice", entry.name());
        errors.push(Error::new(again, what));
    }
    errors
}

/// The errors, and a function of that name, so that nobody complains that there is none.
fn refuse(function: &Function, errors: &[Error]) -> TokenStream {
    let errors: TokenStream = errors.iter().map(Error::tokens).collect();
    let Function { before, word, name, output, .. } = function;
    let before: TokenStream = before.iter().cloned().collect();
    let output: TokenStream = output.iter().cloned().collect();
    let mut tokens = errors;
    tokens.extend(before);
    tokens.extend([TokenTree::Ident(word.clone()), TokenTree::Ident(name.clone())]);
    tokens
        .extend(TokenStream::from(TokenTree::Group(Group::new(Delimiter::Parenthesis, TokenStream::new()))));
    tokens.extend(output);
    tokens.extend(parse("{ loop {} }"));
    tokens
}

/// `#[preemptible]` is about the body, which is in the function inside; all other attributes are about the one outside.
fn wrap(entry: Entry, options: &Options, function: &Function) -> TokenStream {
    let Function { attributes, before, is_async, word, name, parameters, output, body, .. } = function;
    let (of_the_body, attributes): (Vec<_>, Vec<_>) = attributes.chunks(2).partition(|attribute| {
        attribute.last().and_then(name_of).is_some_and(|name| name.to_string() == "preemptible")
    });
    let mut inner: TokenStream = of_the_body.concat().into_iter().collect();
    if is_async.is_some() {
        inner.extend(parse("async"));
    }
    inner.extend([TokenTree::Ident(word.clone()), TokenTree::Ident(name.clone())]);
    inner.extend([TokenTree::Group(parameters.clone())]);
    inner.extend(output.iter().cloned());
    inner.extend([TokenTree::Group(body.clone())]);
    inner.extend(call(entry, options, &name.to_string(), is_async.is_some(), body.span()));

    let mut tokens = TokenStream::new();
    if entry == Entry::Test {
        tokens.extend(parse("#[::core::prelude::v1::test]"));
    }
    tokens.extend(attributes.concat());
    tokens.extend(before.iter().cloned());
    tokens.extend([TokenTree::Ident(word.clone()), TokenTree::Ident(name.clone())]);
    tokens.extend([TokenTree::Group(parameters.clone())]);
    tokens.extend(output.iter().cloned());
    let mut outer = Group::new(Delimiter::Brace, inner);
    outer.set_span(body.span());
    tokens.extend([TokenTree::Group(outer)]);
    tokens
}

/// Runs the inner function.
fn call(entry: Entry, options: &Options, name: &str, is_async: bool, at: Span) -> TokenStream {
    let future = if is_async { format!("{name}()") } else { format!("async {{ {name}() }}") };
    let text = if entry == Entry::Main && !options.any() {
        format!("::block_on({future})")
    } else {
        let (knobs, attribute) = (knobs(entry, options), entry.name());
        format!(
            "::Runtime::builder(){knobs}.build()\
             .unwrap_or_else(|error| ::core::panic!(\"{attribute}: {{error}}\"))\
             .block_on({future})"
        )
    };
    [ropewalk(options.krate.as_deref(), at), at_place(parse(&text), at)].into_iter().collect()
}

/// The options as calls of the builder's.
fn knobs(entry: Entry, options: &Options) -> String {
    let mut knobs = String::new();
    match &options.threads {
        Some(threads) => knobs += &format!(".worker_threads({threads})"),
        None if options.single || options.paused || entry == Entry::Test => knobs += ".worker_threads(0)",
        None => {}
    }
    if let Some(seed) = &options.seed {
        knobs += &format!(".seed({seed})");
    }
    if options.paused {
        knobs += ".paused(true)";
    }
    knobs
}
