//! The options of the attributes.

use crate::error::Error;
use crate::tokens::is_punct;
use proc_macro::{Delimiter, Literal, Span, TokenStream, TokenTree};

/// What stood in the parentheses of `main` or `test`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) threads: Option<Literal>,
    pub(crate) single: bool,
    pub(crate) paused: bool,
    pub(crate) seed: Option<Literal>,
    /// The tokens of a path.
    pub(crate) krate: Option<Vec<TokenTree>>,
}

impl Options {
    const KNOWN: &str = "threads = N, single, seed = N, paused, crate = path";

    /// Reads all of them; says all that is wrong.
    pub(crate) fn parse(tokens: TokenStream) -> (Self, Vec<Error>) {
        let mut options = Self::default();
        let mut errors = each(tokens, Self::KNOWN, |name, value| options.take(name, value));
        if let (Some(threads), true) = (&options.threads, options.single) {
            errors.push(Error::new(threads.span(), "`threads` and `single` exclude each other: choose one"));
        }
        if let Some(threads) = options.threads.as_ref().filter(|threads| threads.to_string() != "0")
            && options.paused
        {
            let what =
                "`paused` and `threads` exclude each other: with threads nobody can tell that nothing runs";
            errors.push(Error::new(threads.span(), what));
        }
        (options, errors)
    }

    /// Whether a runtime of its own is wanted.
    pub(crate) fn any(&self) -> bool {
        self.threads.is_some() || self.single || self.paused || self.seed.is_some()
    }

    fn take(&mut self, name: &TokenTree, value: &[TokenTree]) -> Result<bool, Error> {
        match name.to_string().as_str() {
            "threads" => self.threads = Some(number(name, value, u64::from(u16::MAX))?),
            "seed" => self.seed = Some(number(name, value, u64::MAX)?),
            "single" => self.single = flag(name, value)?,
            "paused" => self.paused = flag(name, value)?,
            "crate" => self.krate = Some(path(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What stood in the parentheses of `preemptible`.
#[derive(Debug, Default)]
pub(crate) struct PreemptibleOptions {
    pub(crate) calls: bool,
    pub(crate) krate: Option<Vec<TokenTree>>,
}

impl PreemptibleOptions {
    const KNOWN: &str = "calls, crate = path";

    pub(crate) fn parse(tokens: TokenStream) -> (Self, Vec<Error>) {
        let mut options = Self::default();
        let errors = each(tokens, Self::KNOWN, |name, value| options.take(name, value));
        (options, errors)
    }

    fn take(&mut self, name: &TokenTree, value: &[TokenTree]) -> Result<bool, Error> {
        match name.to_string().as_str() {
            "calls" => self.calls = flag(name, value)?,
            "crate" => self.krate = Some(path(name, value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Hands out the name of each option with what stands behind it. Whoever takes them says whether there is such an option.
fn each(
    tokens: TokenStream,
    known: &str,
    mut take: impl FnMut(&TokenTree, &[TokenTree]) -> Result<bool, Error>,
) -> Vec<Error> {
    let (mut errors, mut seen) = (Vec::new(), Vec::new());
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for option in tokens.split(|token| is_punct(token, ',')) {
        let Some((first, value)) = option.split_first() else {
            continue; // nothing at all, or a comma at the end
        };
        let name = first.to_string();
        if seen.contains(&name) {
            errors.push(Error::new(first.span(), format!("`{name}` is given twice")));
            continue;
        }
        match take(first, value) {
            Ok(true) => seen.push(name),
            Ok(false) => {
                let what = format!("unknown option `{name}`; there are: {known}");
                errors.push(Error::new(first.span(), what));
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// What stands behind `name =`.
fn value_of<'a>(name: &TokenTree, value: &'a [TokenTree], form: &str) -> Result<&'a [TokenTree], Error> {
    match value.split_first() {
        Some((equals, value)) if is_punct(equals, '=') && !value.is_empty() => Ok(value),
        _ => Err(Error::new(name.span(), format!("`{name}` wants a value: `{name} = {form}`"))),
    }
}

/// A whole number that fits.
fn number(name: &TokenTree, value: &[TokenTree], most: u64) -> Result<Literal, Error> {
    let value = value_of(name, value, "N")?;
    let refused = || not_a_number(name, value[0].span(), most);
    let [token] = value else { return Err(refused()) };
    let written = literal(token).ok_or_else(refused)?;
    let text = written.to_string().replace('_', "");
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = parsed.ok().filter(|number| *number <= most).ok_or_else(refused)?;
    let mut plain = Literal::u64_unsuffixed(number);
    plain.set_span(written.span());
    Ok(plain)
}

/// What came through a variable of `macro_rules!` is in an invisible group.
fn literal(token: &TokenTree) -> Option<Literal> {
    match token {
        TokenTree::Literal(literal) => Some(literal.clone()),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let mut inner = group.stream().into_iter();
            inner.next().filter(|_| inner.next().is_none()).as_ref().and_then(literal)
        }
        _ => None,
    }
}

fn not_a_number(name: &TokenTree, at: Span, most: u64) -> Error {
    Error::new(at, format!("`{name}` wants a whole number from 0 to {most}"))
}

fn flag(name: &TokenTree, value: &[TokenTree]) -> Result<bool, Error> {
    match value.first() {
        None => Ok(true),
        Some(unwanted) => Err(Error::new(unwanted.span(), format!("`{name}` stands alone, without a value"))),
    }
}

fn path(name: &TokenTree, value: &[TokenTree]) -> Result<Vec<TokenTree>, Error> {
    let value = value_of(name, value, "path::to::ropewalk")?;
    let fits = |token: &TokenTree| matches!(token, TokenTree::Ident(_)) || is_punct(token, ':');
    match value.iter().find(|token| !fits(token)) {
        None => Ok(value.to_vec()),
        Some(unwanted) => Err(Error::new(unwanted.span(), "`crate` wants a path, such as `::my::ropewalk`")),
    }
}
