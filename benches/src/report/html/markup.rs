//! Elements of a page. All text and all attributes are escaped when they are written, so no name can break out. What comes
//! out is HTML that is well-formed XML too.

use std::fmt::Display;

/// An element and what is in it.
#[derive(Clone, Debug)]
pub struct Element {
    tag: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Element(Element),
    Text(String),
    /// Our own style sheet.
    Style(&'static str),
}

/// Elements that have no content: without an end in HTML, and with a slash in XML.
const EMPTY: [&str; 7] = ["meta", "link", "line", "rect", "circle", "path", "br"];

/// Elements after which a line ends, so that the file can be read.
const BLOCKS: [&str; 16] = [
    "head", "title", "meta", "style", "header", "main", "section", "figure", "svg", "tr", "table", "p", "li",
    "h2", "dd", "footer",
];

/// An element without anything.
pub fn el(tag: &'static str) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    pub fn attr(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub fn class(self, name: impl Display) -> Self {
        self.attr("class", name)
    }

    pub fn text(mut self, text: impl Display) -> Self {
        self.children.push(Node::Text(text.to_string()));
        self
    }

    pub fn style(mut self, sheet: &'static str) -> Self {
        self.children.push(Node::Style(sheet));
        self
    }

    pub fn child(mut self, child: Self) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    pub fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children.into_iter().map(Node::Element));
        self
    }

    pub fn render(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        *text += "<";
        *text += self.tag;
        for (name, value) in &self.attributes {
            *text += &format!(" {name}=\"{}\"", escaped(value));
        }
        if EMPTY.contains(&self.tag) {
            *text += "/>";
        } else {
            *text += ">";
            for child in &self.children {
                match child {
                    Node::Element(element) => element.write(text),
                    Node::Text(words) => *text += &escaped(words),
                    Node::Style(sheet) => *text += sheet,
                }
            }
            *text += &format!("</{}>", self.tag);
        }
        if BLOCKS.contains(&self.tag) {
            *text += "\n";
        }
    }
}

/// What XML does not allow at all, control characters, becomes a sign that something was there.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\n' | '\t' => safe.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_escaped() {
        let element = el("p").attr("title", "a \"b\" <c>").text("1 < 2 & 3 \u{1b}[2K").child(el("br"));
        assert_eq!(
            element.render(),
            "<p title=\"a &quot;b&quot; &lt;c&gt;\">1 &lt; 2 &amp; 3 \u{fffd}[2K<br/></p>\n"
        );
        assert_eq!(el("td").render(), "<td></td>", "in HTML a slash would not end it");
    }
}
