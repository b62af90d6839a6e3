//! The mutations that stand in comments above a model test:
//!
//! ```text
//! // mutation: push-publishes-relaxed
//! // - in crates/core/src/stack.rs: `Ordering::Release`
//! // + `Ordering::Relaxed`
//! #[test]
//! fn model_push_against_take_all() {
//! ```
//!
//! Invariants of the form, each of which is an error when broken (a mutation that is quietly ignored would be a check
//! that never runs):
//!
//! 1. The three lines follow one another.
//! 2. Between a mutation and its test stand only comments, attributes and blank lines.
//! 3. The test is a function whose name starts with `model_`.
//! 4. No test lists two mutations of one name, and no mutation replaces a text by itself.
//! 5. Every model test lists at least one: nobody knows what the others would notice.

use std::path::{Path, PathBuf};

/// One textual change that the named test must notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    pub name: String,
    /// The function that must fail, without its module path.
    pub test: String,
    /// Where the test stands, from the root of the repository.
    pub test_file: PathBuf,
    /// The line of the `// mutation:` comment, from 1.
    pub line: usize,
    /// The file to change, from the root of the repository.
    pub file: PathBuf,
    pub from: String,
    pub to: String,
}

impl Mutation {
    /// `test/name`: unique in the repository unless two tests share a name.
    pub fn id(&self) -> String {
        format!("{}/{}", self.test, self.name)
    }

    /// Where it is written down, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", self.test_file.display(), self.line)
    }
}

/// What one source file says: its mutations, and what is wrong with them.
#[derive(Debug, Default)]
pub struct Found {
    pub mutations: Vec<Mutation>,
    pub errors: Vec<String>,
}

/// Reads the mutations out of `text`, the contents of `path`.
pub fn parse(path: &Path, text: &str) -> Found {
    let mut found = Found::default();
    let mut waiting: Vec<Mutation> = Vec::new();
    let mut refused = false; // a malformed block stands above: one error is enough
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(name) = line.strip_prefix("// mutation:") {
            match block(name.trim(), &lines[at + 1..]) {
                Ok((file, from, to)) => {
                    let name = name.trim().to_string();
                    let (test_file, test) = (path.to_path_buf(), String::new());
                    waiting.push(Mutation { name, test, test_file, line: at + 1, file, from, to });
                    at += 2;
                }
                Err(why) => {
                    refused = true;
                    found.errors.push(format!("{}:{}: {why}", path.display(), at + 1));
                }
            }
        } else if let Some(name) = test_name(line) {
            if waiting.is_empty() && !refused {
                found.errors.push(format!("{}:{}: {name} lists no mutation", path.display(), at + 1));
            }
            attach(&mut found, &mut waiting, name);
            refused = false;
        } else if !may_stand_between(line) {
            orphan(&mut found, &mut waiting);
        }
        at += 1;
    }
    orphan(&mut found, &mut waiting);
    found
}

/// The two lines after `// mutation: name`.
fn block(name: &str, rest: &[&str]) -> Result<(PathBuf, String, String), String> {
    let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(kebab) {
        return Err(format!("the name of a mutation is kebab-case, not `{name}`"));
    }
    let removed = rest.first().and_then(|l| l.strip_prefix("// - in ")).and_then(|l| l.split_once(": "));
    let Some((file, from)) = removed.and_then(|(file, text)| Some((file, quoted(text)?))) else {
        return Err(format!("mutation `{name}`: the second line is // - in <path>: `<text>`"));
    };
    let Some(to) = rest.get(1).and_then(|l| l.strip_prefix("// + ")).and_then(quoted) else {
        return Err(format!("mutation `{name}`: the third line is // + `<text>`"));
    };
    if from.is_empty() || from == to {
        return Err(format!("mutation `{name}` changes nothing"));
    }
    Ok((PathBuf::from(file.trim()), from.to_string(), to.to_string()))
}

fn quoted(text: &str) -> Option<&str> {
    text.trim().strip_prefix('`')?.strip_suffix('`')
}

/// The name in `fn model_something(` or `pub fn model_something(`.
fn test_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("fn ")?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    rest.starts_with("model_").then(|| &rest[..end])
}

fn may_stand_between(line: &str) -> bool {
    line.is_empty() || line.starts_with("//") || line.starts_with("#[")
}

fn attach(found: &mut Found, waiting: &mut Vec<Mutation>, test: &str) {
    let mut names: Vec<String> = Vec::new();
    for mut mutation in waiting.drain(..) {
        mutation.test = test.to_string();
        if names.contains(&mutation.name) {
            found.errors.push(format!("{}: {test} lists `{}` twice", mutation.place(), mutation.name));
            continue;
        }
        names.push(mutation.name.clone());
        found.mutations.push(mutation);
    }
}

fn orphan(found: &mut Found, waiting: &mut Vec<Mutation>) {
    for mutation in waiting.drain(..) {
        found.errors.push(format!(
            "{}: mutation `{}` is not directly above a `fn model_...`",
            mutation.place(),
            mutation.name
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUSH: &str = "// mutation: push-relaxed\n// - in crates/core/src/stack.rs: `head, Release`\n// + `head, Relaxed`\n";

    fn read(text: &str) -> Found {
        parse(Path::new("crates/core/src/stack.rs"), text)
    }

    #[test]
    fn a_block_is_attached_to_the_test_below_it() {
        let found = read(&format!("mod tests {{\n{PUSH}#[test]\n// why\nfn model_push() {{}}\n}}"));
        assert_eq!(found.errors, Vec::<String>::new());
        let [mutation] = &found.mutations[..] else { panic!("{found:?}") };
        assert_eq!(mutation.id(), "model_push/push-relaxed");
        assert_eq!((mutation.from.as_str(), mutation.to.as_str()), ("head, Release", "head, Relaxed"));
        assert_eq!(mutation.file, Path::new("crates/core/src/stack.rs"));
        assert_eq!(mutation.place(), "crates/core/src/stack.rs:2");
    }

    #[test]
    fn several_blocks_share_a_test_and_indentation_does_not_matter() {
        let second = "    // mutation: drop-recheck\n    // - in a/b.rs: `if x: y`\n    // + ``\n";
        let found = read(&format!("{PUSH}\n{second}    #[test]\n    fn model_two() {{\n"));
        assert_eq!(found.errors, Vec::<String>::new());
        assert_eq!(found.mutations.len(), 2);
        assert!(found.mutations.iter().all(|m| m.test == "model_two"));
        assert_eq!((found.mutations[1].from.as_str(), found.mutations[1].to.as_str()), ("if x: y", ""));
    }

    #[test]
    fn a_model_without_a_mutation_is_an_error() {
        let found = read("#[test]\nfn model_alone() {}\nfn other() {}\n");
        assert_eq!(found.errors, ["crates/core/src/stack.rs:2: model_alone lists no mutation"]);
        assert!(read("#[test]\nfn other() {}\n").errors.is_empty());
    }

    #[test]
    fn a_mutation_above_anything_else_is_an_error() {
        for below in ["fn other() {}\nfn model_x() {}\n", "let x = 1;\n", ""] {
            let found = read(&format!("{PUSH}{below}"));
            assert!(found.mutations.is_empty());
            assert!(found.errors[0].contains("`push-relaxed` is not directly above"), "{:?}", found.errors);
        }
    }

    #[test]
    fn a_malformed_block_is_an_error() {
        let bad = [
            "// mutation: Not Kebab\n// - in a.rs: `x`\n// + `y`\n",
            "// mutation: no-minus\n// + `y`\n",
            "// mutation: no-plus\n// - in a.rs: `x`\n",
            "// mutation: no-quotes\n// - in a.rs: x\n// + y\n",
            "// mutation: same\n// - in a.rs: `x`\n// + `x`\n",
        ];
        for text in bad {
            let found = read(&format!("{text}fn model_x() {{}}\n"));
            assert_eq!((found.errors.len(), found.mutations.len()), (1, 0), "{text}");
        }
    }

    #[test]
    fn one_test_cannot_list_a_name_twice() {
        let found = read(&format!("{PUSH}{PUSH}fn model_x() {{}}\n"));
        assert_eq!((found.errors.len(), found.mutations.len()), (1, 1));
    }
}
