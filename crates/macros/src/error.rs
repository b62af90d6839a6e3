//! Errors that the compiler shows at the right place.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) at: Span,
    pub(crate) what: String,
}

impl Error {
    pub(crate) fn new(at: Span, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// `::core::compile_error! { "what" }`, with every token at the place.
    pub(crate) fn tokens(&self) -> TokenStream {
        let colons = [(':', Spacing::Joint), (':', Spacing::Alone)];
        let path = |name| {
            let colons = colons.map(|(char, spacing)| TokenTree::Punct(Punct::new(char, spacing)));
            colons.into_iter().chain([TokenTree::Ident(Ident::new(name, self.at))])
        };
        let message = TokenStream::from(TokenTree::Literal(Literal::string(&self.what)));
        let call = [
            TokenTree::Punct(Punct::new('!', Spacing::Alone)),
            TokenTree::Group(Group::new(Delimiter::Brace, message)),
        ];
        let mut tokens: Vec<TokenTree> = path("core").chain(path("compile_error")).chain(call).collect();
        tokens.iter_mut().for_each(|token| token.set_span(self.at));
        tokens.into_iter().collect()
    }
}
