#![doc = include_str!("../docs/choosing.md")]
