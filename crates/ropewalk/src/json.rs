//! JSON as text: a value and how it is written. Not part of the public interface: the `ropewalk` command uses it, too.

#![allow(missing_docs)]

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    /// In the order in which it was built.
    Map(Vec<(String, Json)>),
}

impl Json {
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Json)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    pub fn list(items: impl IntoIterator<Item = Json>) -> Self {
        Self::List(items.into_iter().collect())
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Whole(value) => value.fmt(f),
            // JSON has no word for what is not a number.
            Self::Real(value) if !value.is_finite() => f.write_str("null"),
            Self::Real(value) => value.fmt(f),
            Self::Text(text) => quote(f, text),
            Self::List(items) => separated(f, ['[', ']'], items, |f, item| item.fmt(f)),
            Self::Map(entries) => separated(f, ['{', '}'], entries, |f, (key, value)| {
                quote(f, key)?;
                write!(f, ":{value}")
            }),
        }
    }
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: &[T],
    write_one: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{open}")?;
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(",")?;
        }
        write_one(f, item)?;
    }
    write!(f, "{close}")
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for symbol in text.chars() {
        match symbol {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            control if control < ' ' => write!(f, "\\u{:04x}", control as u32)?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn what_is_written_is_what_a_parser_reads() {
        let nasty = "a \"quoted\" \\ line\nwith \u{1} and µ";
        let json = Json::map([
            ("text", Json::text(nasty)),
            ("numbers", Json::list([Json::Whole(u64::MAX), Json::Real(0.5), Json::Real(1e300)])),
            ("nothing", Json::list([Json::Null, Json::Real(f64::NAN), Json::Real(f64::INFINITY)])),
            ("flag", Json::Bool(true)),
            ("empty", Json::map::<String>([])),
        ]);
        let read: serde_json::Value = serde_json::from_str(&json.to_string()).unwrap();
        let wanted = serde_json::json!({
            "text": nasty, "numbers": [u64::MAX, 0.5, 1e300], "nothing": [null, null, null], "flag": true, "empty": {}
        });
        assert_eq!(read, wanted);
    }
}
