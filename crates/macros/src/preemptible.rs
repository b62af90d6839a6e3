//! Points at which a function lets others have a turn.
//!
//! ```text
//! #[ropewalk::preemptible]        async fn name() {
//! async fn name() {                   'all: while condition {
//!     'all: while condition {             ::ropewalk::preempt().await;
//!         for item in items {             for item in items {
//!             continue 'all;      ->          ::ropewalk::preempt().await;
//!         }                                   continue 'all;
//!     }                                   }
//! }                                   }
//!                                 }
//! ```
//!
//! **In loops** the point is the first statement of the body. However an iteration ends, by running through, by `continue` or by
//! a `continue 'label` in a loop inside, the next one begins there: each way back passes the point exactly once. One at the end
//! would be passed by, and the condition is no place for one: temporaries of `while let` would live for another time.
//!
//! **At calls** (`calls`) the point is a statement before the statement, or before the last expression of a block, that contains
//! one. Blocks inside it, the bodies of loops too, have statements of their own. A statement before another one changes neither
//! the order in which the other's parts are evaluated, nor how long its temporaries live, nor what it borrows, nor its type. Any
//! block around the call itself would: `{ point; f() }.field` is a value where `f().field` is a place, and temporaries of a
//! block's last expression are dropped at its end. The price: several calls in one statement have one point, before all of them.
//! Directly behind the point of a loop there is no other one. What looks like a call is one: `Some(value)`. The point has the `cfg` of
//! its statement: of several that end a block, each under its own condition, the others must remain the end where it is not
//! there. For the same reason a statement with a `cfg_attr` has none.
//!
//! **Left alone** is what runs elsewhere (closures, `async` ones too, and all that is in them; items inside, functions among them),
//! what runs at compile time (`const {}`, lengths of arrays, generic arguments), and what nobody can read before it is expanded:
//! the arguments of macros. A block that is `async` is never left alone, except in one of these: it is awaited somewhere, and its
//! points can be.

use crate::error::Error;
use crate::function::Function;
use crate::options::PreemptibleOptions;
use crate::tokens::is_punct;
use crate::walk::{self, Context};
use proc_macro::{TokenStream, TokenTree};

const NAME: &str = "#[ropewalk::preemptible]";

/// The function with its points; or as it was, behind what is wrong with it.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let (options, mut errors) = PreemptibleOptions::parse(options);
    // With other options there might be something to do: one thing after the other.
    if errors.is_empty() {
        match with_points(&options, item.clone()) {
            Ok(function) => return function,
            Err(error) => errors.push(error),
        }
    }
    errors.iter().map(Error::tokens).chain([item]).collect()
}

fn with_points(options: &PreemptibleOptions, item: TokenStream) -> Result<TokenStream, Error> {
    let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let function = Function::parse(item).map_err(|error| no_function(&tokens, &error))?;
    if let Some(word) = function.before.iter().find(|token| token.to_string() == "const") {
        let what = format!(
            "a `const fn` cannot give way: nothing else runs at compile time; `{NAME}` wants a `fn` or an `async fn`"
        );
        return Err(Error::new(word.span(), what));
    }
    let context = if function.is_async.is_some() { Context::Async } else { Context::Plain };
    let (body, points) = walk::body(&function.body, context, options);
    if points == 0 {
        return Err(nothing_to_do(options, &function));
    }
    tokens.pop();
    tokens.push(TokenTree::Group(body));
    Ok(tokens.into_iter().collect())
}

/// A function that a trait only declares, or something else.
fn no_function(item: &[TokenTree], error: &Error) -> Error {
    let word = item.iter().position(|token| token.to_string() == "fn");
    let is_declared = item.last().is_some_and(|token| is_punct(token, ';'));
    match word.and_then(|word| item.get(word + 1)) {
        Some(TokenTree::Ident(name)) if is_declared => {
            let what =
                format!("a function without a body has no loops; put `{NAME}` before those that have one");
            Error::new(name.span(), what)
        }
        _ => {
            let what =
                format!("`{NAME}` stands before a function with a body: a `fn`, an `async fn`, a method");
            Error::new(error.at, what)
        }
    }
}

/// Doing nothing without a word would be worse: its author would count on it.
fn nothing_to_do(options: &PreemptibleOptions, function: &Function) -> Error {
    let what = if options.calls {
        format!(
            "`{NAME}` finds neither a loop nor a call here; those in closures, macros and items inside do not count"
        )
    } else {
        format!(
            "`{NAME}` finds no loop here; those in closures, macros and items inside do not count, \
             calls do with `#[ropewalk::preemptible(calls)]`"
        )
    };
    Error::new(function.name.span(), what)
}
