//! Map and reduce by strands that borrow: one strand for each text counts its words, and the counts are added up. Nothing is
//! cloned and nothing is behind an `Arc`: a scope is not left before its strands have ended, so they may use what lies in the
//! frame of the call, and what they give may point there too.

use ropewalk::strand;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How often each word occurs. The words are those of the texts, not copies.
type Counts<'a> = BTreeMap<&'a str, usize>;

fn main() {
    let texts = texts();
    let counts = ropewalk::run(|| map_reduce(&texts));

    let mut ranked: Vec<_> = counts.iter().collect();
    ranked.sort_by_key(|&(word, count)| (std::cmp::Reverse(*count), *word));
    for (word, count) in ranked.iter().take(3) {
        println!("{word:<8} {count:>6}");
    }
    let mut alone = Counts::new();
    texts.iter().for_each(|text| add(&mut alone, count(text)));
    assert_eq!(counts, alone, "the same as without strands");
    println!("as if counted by one alone");
}

fn map_reduce(texts: &[String]) -> Counts<'_> {
    let finished = AtomicUsize::new(0);
    let mut sizes = vec![0; texts.len()];
    let total = strand::scope(|s| {
        let mut parts = Vec::new();
        for (text, size) in texts.iter().zip(&mut sizes) {
            parts.push(s.spawn(|| {
                let part = count(text);
                *size = part.values().sum(); // its own place in our vector
                finished.fetch_add(1, Relaxed); // a counter of ours, shared by all
                part
            }));
        }
        let mut total = Counts::new();
        parts.into_iter().for_each(|part| add(&mut total, part.join()));
        total
    });
    // The strands are gone, and so are their borrows.
    let words: usize = sizes.iter().sum();
    println!("{} texts by {} strands: {words} words", texts.len(), finished.into_inner());
    assert_eq!(words, total.values().sum::<usize>());
    total
}

/// Map.
fn count(text: &str) -> Counts<'_> {
    let mut counts = Counts::new();
    text.split_whitespace().for_each(|word| *counts.entry(word).or_default() += 1);
    counts
}

/// Reduce.
fn add<'a>(total: &mut Counts<'a>, part: Counts<'a>) {
    part.into_iter().for_each(|(word, count)| *total.entry(word).or_default() += count);
}

/// Twenty texts of some length.
fn texts() -> Vec<String> {
    const WORDS: [&str; 7] = ["hemp", "is", "spun", "into", "yarn", "and", "laid"];
    let text = |number: usize| -> Vec<_> {
        (0..2_000 + number * 50).map(|at| WORDS[at * at % (7 + number) % 7]).collect()
    };
    (0..20).map(|number| text(number).join(" ")).collect()
}
