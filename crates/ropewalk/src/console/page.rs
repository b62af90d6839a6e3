//! The files of the page: a browser loads them from the program, and nothing from anywhere else.

/// A file's address, what it is, and its text.
type File = (&'static str, &'static str, &'static str);

macro_rules! files {
    ($($kind:literal: $($name:literal)*;)*) => {
        &[$($((concat!("/", $name), $kind, include_str!(concat!("page/", $name)))),*),*]
    };
}

const FILES: &[File] = files! {
    "text/html; charset=utf-8": "index.html";
    "text/css; charset=utf-8": "style.css";
    "text/javascript; charset=utf-8":
        "api.js" "app.js" "chart.js" "details.js" "dialogs.js" "dom.js" "histogram.js" "history.js" "live.js" "pool.js"
        "process.js" "rows.js" "text.js" "tree.js" "workers.js";
};

/// The file at an address, and what it is.
pub(super) fn file(path: &str) -> Option<(&'static str, &'static str)> {
    let name = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, text)| (*kind, *text))
}

/// Styles and scripts have nothing of the program in them. The page names them without the token, and it cannot do otherwise: they are
/// for everybody.
pub(super) fn is_public(path: &str) -> bool {
    file(path).is_some_and(|(kind, _)| !kind.starts_with("text/html"))
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_there() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/console/page");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("/{}", entry.unwrap().file_name().to_string_lossy()))
            .collect();
        names.sort();
        let mut known: Vec<_> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        known.sort();
        assert_eq!(names, known);
    }

    #[test]
    fn whatever_a_file_loads_is_there() {
        for (name, _, text) in FILES {
            let loads = text.split(['\'', '"']).filter_map(|part| part.strip_prefix("./"));
            for other in loads {
                assert!(is_public(&format!("/{other}")), "{name} loads {other}");
            }
        }
        let (_, page) = file("/").unwrap();
        assert!(page.contains("src=\"app.js\"") && page.contains("href=\"style.css\""));
        assert!(!is_public("/") && !is_public("/index.html") && !is_public("/api/state"));
    }
}
