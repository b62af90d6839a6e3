//! A function item, cut into the parts that matter here.

use crate::error::Error;
use crate::tokens::braced;
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// `#[attributes] pub async fn name(parameters) -> Output { body }`
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) attributes: Vec<TokenTree>,
    /// Visibility and the words before `fn`, without `async`.
    pub(crate) before: Vec<TokenTree>,
    pub(crate) is_async: Option<Span>,
    /// The word `fn`.
    pub(crate) word: Ident,
    pub(crate) name: Ident,
    pub(crate) generics: Option<Span>,
    pub(crate) parameters: Group,
    /// From behind the parameters to the body: the type it returns, and a where clause.
    pub(crate) output: Vec<TokenTree>,
    pub(crate) body: Group,
}

impl Function {
    pub(crate) fn parse(item: TokenStream) -> Result<Self, Error> {
        let mut tokens = item.into_iter().peekable();
        let mut attributes = Vec::new();
        while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
            attributes.extend(tokens.by_ref().take(2));
        }
        let (mut before, mut is_async) = (Vec::new(), None);
        let word = loop {
            match tokens.next() {
                Some(TokenTree::Ident(word)) if word.to_string() == "fn" => break word,
                Some(TokenTree::Ident(word)) if word.to_string() == "async" => is_async = Some(word.span()),
                Some(other) => before.push(other),
                None => return Err(not_a_function(before.first())),
            }
        };
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            return Err(not_a_function(Some(&TokenTree::Ident(word))));
        };
        let mut generics = None;
        let parameters = loop {
            match tokens.next() {
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => break group,
                Some(other) => generics = generics.or(Some(other.span())),
                None => return Err(not_a_function(Some(&TokenTree::Ident(name)))),
            }
        };
        let mut output: Vec<TokenTree> = tokens.collect();
        match output.pop().as_ref().and_then(braced) {
            Some(body) => {
                Ok(Self { attributes, before, is_async, word, name, generics, parameters, output, body })
            }
            None => Err(Error::new(name.span(), "a function without a body cannot be run")),
        }
    }

    /// The attribute of that name, if there is one: `#[test]` for `test`, `#[a::test]` too.
    pub(crate) fn attribute(&self, name: &str) -> Option<Span> {
        self.attributes
            .iter()
            .filter_map(name_of)
            .find(|last| last.to_string() == name)
            .map(|last| last.span())
    }
}

/// The last word of an attribute's path, given what is in its brackets.
pub(crate) fn name_of(attribute: &TokenTree) -> Option<TokenTree> {
    let TokenTree::Group(group) = attribute else { return None };
    let is_path = |token: &TokenTree| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    };
    group.stream().into_iter().take_while(is_path).last()
}

fn not_a_function(at: Option<&TokenTree>) -> Error {
    let at = at.map_or_else(Span::call_site, TokenTree::span);
    Error::new(at, "this attribute stands before a function")
}
