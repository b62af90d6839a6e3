//! The book is whole: every chapter is listed, has its form, is run, and every link in the repository's prose leads somewhere.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Prose outside of the book whose links are followed, too.
const PROSE: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benches/README.md",
    "examples/README.md",
    "crates/ropewalk/src/sched/README.md",
];
/// Chapters about figures or the book itself: nothing in them can be called, so they have no pitfalls.
const WITHOUT_PITFALLS: &[&str] = &["introduction.md", "measured.md"];
/// What a fenced block may say it is. rustdoc runs what begins with `rust`, and takes a block without a word for Rust.
const LANGUAGES: &[&str] = &["rust", "rust,compile_fail", "rust,should_panic", "sh", "text", "toml"];

#[test]
fn the_summary_lists_every_chapter_once() {
    let summary = Page::read(&book().join("SUMMARY.md"));
    let listed: BTreeSet<_> = summary.links.iter().cloned().collect();
    assert_eq!(listed.len(), summary.links.len(), "a chapter is listed twice");
    assert_eq!(listed, chapters());
}

#[test]
fn the_snippets_of_every_chapter_are_run() {
    let tested: BTreeSet<_> = ropewalk_book::TESTED.iter().map(|path| path.to_string()).collect();
    let mut expected: BTreeSet<_> = chapters().into_iter().map(|name| format!("src/{name}")).collect();
    expected.insert("../README.md".to_owned());
    assert_eq!(tested, expected, "lib.rs names every chapter");
}

#[test]
fn no_snippet_gets_around_being_run() {
    let pages = chapters().into_iter().map(|name| book().join(name)).chain([root().join("README.md")]);
    let mut rust = 0;
    for path in pages {
        for language in Page::read(&path).blocks {
            let known = LANGUAGES.contains(&&*language);
            assert!(known, "{}: a block of {language:?}; accepted: {LANGUAGES:?}", path.display());
            rust += usize::from(language == "rust");
        }
    }
    assert!(rust > 30, "{rust} snippets are few: were they found?");
}

#[test]
fn chapters_say_what_they_are_for_and_where_to_look_next() {
    for name in chapters() {
        let page = Page::read(&book().join(&name));
        let sections = &page.sections;
        assert_eq!(page.titles, 1, "{name}: one title");
        if name != "introduction.md" {
            assert!(page.first.starts_with("You will be able to: "), "{name} begins with {:?}", page.first);
            assert_eq!(sections.last().map(String::as_str), Some("Where to look next"), "{name}: its end");
        }
        if !WITHOUT_PITFALLS.contains(&&*name) {
            assert!(sections.iter().any(|section| section == "Pitfalls"), "{name}: its pitfalls");
        }
    }
}

/// Who measures again changes both, or this fails.
#[test]
fn the_readme_shows_rows_as_they_were_measured() {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let (readme, measured) = (read(root().join("README.md")), read(book().join("measured.md")));
    let rows: BTreeSet<_> = measured.lines().collect();
    // A row of figures has ten columns; the header is one, too.
    let shown: Vec<_> = readme.lines().filter(|line| line.matches('|').count() == 11).collect();
    assert!(shown.len() > 10, "{} rows are few: were they found?", shown.len());
    for row in shown {
        assert!(rows.contains(row), "not in measured.md: {row}");
    }
}

#[test]
fn every_link_leads_somewhere() {
    let of_the_book = chapters().into_iter().chain(["SUMMARY.md".to_owned()]).map(|name| book().join(name));
    let pages: Vec<_> = PROSE.iter().map(|path| root().join(path)).chain(of_the_book).collect();
    let (mut broken, mut count) = (Vec::new(), 0);
    for path in pages {
        let page = Page::read(&path);
        count += page.links.len();
        broken.extend(page.broken(&path));
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(count > 100, "{count} links are few: were they found?");
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let text = "# A page\n\n## `spawn`, or not?\n\n## Twice\n\n## Twice\n\n[a](tasks.md) [b](tasks.md#pitfalls) [c](../../README.md#limits) \
                [d](#spawn-or-not) [e](#twice-1) [f](../../benches/) [g](https://example.org/x) `[h](code.md)`\n\n```text\n[i](code.md)\n```\n";
    let here = book().join("page.md");
    assert_eq!(Page::parse(text).broken(&here), Vec::<String>::new());

    let text = "# A page\n\n[a](nowhere.md) [b](tasks.md#nothing) [c](#nothing) [d][x] [e](../../nowhere/)\n\n[x]: ../nowhere.rs\n";
    let broken = Page::parse(text).broken(&here);
    assert_eq!(broken.len(), 5, "{broken:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is around it").to_owned()
}

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The names of all files of the book but the summary.
fn chapters() -> BTreeSet<String> {
    let names = fs::read_dir(book()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<_> = names.filter(|name| name != "SUMMARY.md").collect();
    assert!(names.iter().all(|name| name.ends_with(".md")), "the book is Markdown: {names:?}");
    names
}

/// What a page of Markdown has.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    /// By which its headings can be linked to.
    anchors: BTreeSet<String>,
    titles: usize,
    /// The headings of the second level.
    sections: Vec<String>,
    /// The first paragraph.
    first: String,
    /// What fenced blocks say they are.
    blocks: Vec<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    fn parse(text: &str) -> Self {
        let (mut page, mut seen) = (Self::default(), BTreeMap::<String, usize>::new());
        // The text of the heading, or of the first paragraph, that is being read.
        let mut gathered: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push(dest_url.into_string()),
                Event::Start(Tag::CodeBlock(kind)) => page.blocks.push(match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => "indented".to_owned(),
                }),
                Event::Start(Tag::Heading { .. }) => gathered = Some(String::new()),
                Event::Start(Tag::Paragraph) if page.first.is_empty() => gathered = Some(String::new()),
                Event::End(TagEnd::Heading(level)) => {
                    page.heading(level, gathered.take().unwrap_or_default(), &mut seen)
                }
                Event::End(TagEnd::Paragraph) => page.first.extend(gathered.take()),
                Event::Text(text) | Event::Code(text) => {
                    gathered.iter_mut().for_each(|gathered| gathered.push_str(&text))
                }
                Event::SoftBreak => gathered.iter_mut().for_each(|gathered| gathered.push(' ')),
                _ => {}
            }
        }
        page
    }

    fn heading(&mut self, level: HeadingLevel, text: String, seen: &mut BTreeMap<String, usize>) {
        let anchor = anchor(&text);
        let before = seen.entry(anchor.clone()).or_default();
        self.anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
        match level {
            HeadingLevel::H1 => self.titles += 1,
            HeadingLevel::H2 => self.sections.push(text),
            _ => {}
        }
    }

    /// The links of this page, which is at `path`, that lead nowhere.
    fn broken(&self, path: &Path) -> Vec<String> {
        let relative = self.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
        let broken = relative.filter(|link| {
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let target = normal(&path.parent().expect("it is in a folder").join(file));
            match anchor {
                None => !target.exists(),
                Some(anchor) if file.is_empty() => !self.anchors.contains(anchor),
                Some(anchor) => !target.is_file() || !Self::read(&target).anchors.contains(anchor),
            }
        });
        broken.map(|link| format!("{}: {link}", path.display())).collect()
    }
}

/// How GitHub and mdBook make an anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Without `..`, whether or not what it goes through exists.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
