//! Looking at tokens, and making them up.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

pub(crate) fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

/// The group in braces that this is. What came through a variable of `macro_rules!` is in an invisible group.
pub(crate) fn braced(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else { return None };
    match group.delimiter() {
        Delimiter::Brace => Some(group.clone()),
        Delimiter::None => {
            let mut inner = group.stream().into_iter();
            inner.next().filter(|_| inner.next().is_none()).as_ref().and_then(braced)
        }
        _ => None,
    }
}

/// The path to Ropewalk: what the option `crate` says, or where it usually is.
pub(crate) fn ropewalk(krate: Option<&[TokenTree]>, at: Span) -> TokenStream {
    match krate {
        Some(path) => path.iter().cloned().collect(),
        None => at_place(parse("::ropewalk"), at),
    }
}

/// Made-up tokens that belong, for error messages, to a place in the source.
pub(crate) fn at_place(tokens: TokenStream, at: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        token.set_span(token.span().located_at(at));
        token
    };
    tokens.into_iter().map(place).collect()
}

pub(crate) fn parse(text: &str) -> TokenStream {
    text.parse().expect("text written here is in the language")
}
