//! The book of Ropewalk as tests: `cargo test --doc -p ropewalk-book` compiles and runs every Rust snippet of every chapter, and those of
//! the README. `tests/book.rs` proves that no chapter is missing here, and that links lead somewhere.
//!
//! To read it, open `src/introduction.md`, or build pages with `mdbook build docs`.
// What a reader copies compiles without a warning. (And nothing that rustdoc would allow in snippets is allowed.)
#![doc(test(attr(deny(warnings))))]

/// Each chapter as the documentation of a module, which is there when snippets are run and never otherwise.
macro_rules! chapters {
    ($($name:ident: $path:literal;)*) => {
        /// The files whose snippets are run, relative to this crate.
        pub const TESTED: &[&str] = &[$($path),*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!($path)]
            pub mod $name {}
        )*
    };
}

chapters! {
    readme: "../README.md";
    introduction: "src/introduction.md";
    getting_started: "src/getting-started.md";
    tasks: "src/tasks.md";
    strands: "src/strands.md";
    choosing: "src/choosing.md";
    cancellation: "src/cancellation.md";
    blocking: "src/blocking.md";
    time: "src/time.md";
    io: "src/io.md";
    stm: "src/stm.md";
    observability: "src/observability.md";
    from_tokio: "src/from-tokio.md";
    from_threads: "src/from-threads.md";
    from_go: "src/from-go.md";
    soundness: "src/soundness.md";
    performance: "src/performance.md";
    measured: "src/measured.md";
}
