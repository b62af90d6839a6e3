//! One idea per file; README.md maps idea to file.
