//! The text that Prometheus scrapes, read by the rules of its format.

use ropewalk::{Pool, Runtime, yield_now};
use std::collections::{HashMap, HashSet};

/// Each sample: name, labels as they are written, value; and the kind of each family.
struct Read {
    kinds: HashMap<String, String>,
    samples: Vec<(String, String, f64)>,
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || "_:".contains(first))
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "_:".contains(letter))
}

/// Reads `a="b",c="d"`, with what is escaped in it.
fn check_labels(mut labels: &str) {
    while !labels.is_empty() {
        let (name, rest) = labels.split_once("=\"").expect("a label has a value");
        assert!(is_name(name), "{name:?}");
        let mut escaped = false;
        let end = rest.find(|letter| match letter {
            '"' if !escaped => true,
            '\n' => panic!("a line ends inside of a label"),
            letter => {
                escaped = letter == '\\' && !escaped;
                false
            }
        });
        labels = &rest[end.expect("a value ends") + 1..];
        labels = labels.strip_prefix(',').unwrap_or(labels);
    }
}

fn read(text: &str) -> Read {
    let (mut kinds, mut helped, mut samples) = (HashMap::new(), HashSet::new(), Vec::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(helped.insert(help.split_once(' ').unwrap().0.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(is_name(name) && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line} comes twice");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = match series.split_once('{') {
                Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
                None => (series, ""),
            };
            check_labels(labels);
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let family = family.filter(|family| kinds.contains_key(*family)).unwrap_or(name);
            assert!(kinds.contains_key(family) && helped.contains(family), "{line} has no head");
            samples.push((name.to_owned(), labels.to_owned(), value.parse().expect(line)));
        }
    }
    Read { kinds, samples }
}

impl Read {
    fn values(&self, name: &str) -> Vec<f64> {
        let of_name = self.samples.iter().filter(|(other, ..)| other == name);
        of_name.map(|(.., value)| *value).collect()
    }
}

#[test]
fn it_is_well_formed_and_says_what_the_snapshot_says() {
    let runtime = Runtime::builder().worker_threads(2).histograms(true).build().unwrap();
    let strange = "a \"pool\" with \\ and\nmore";
    let pool = Pool::builder().name(strange).workers(1).build(&runtime.handle()).unwrap();
    let yields = async {
        for _ in 0..50_000 {
            yield_now().await;
        }
    };
    runtime.block_on(async { (pool.spawn(yields).await.unwrap(), ropewalk::spawn(async {}).await.unwrap()) });
    let metrics = runtime.metrics();
    let (text, series) = (metrics.to_prometheus(), |read: &Read| read.samples.len());
    let read = read(&text);
    assert!(text.contains(r#"pool="a \"pool\" with \\ and\nmore""#), "{text}");
    assert_eq!(
        read.values("ropewalk_worker_polls_total").iter().sum::<f64>() as u64,
        metrics.total(|worker| worker.polls)
    );
    assert_eq!(read.values("ropewalk_pool_alive").len(), 2);
    assert_eq!(read.values("ropewalk_worker_state").iter().sum::<f64>() as usize, 3, "each is in one state");
    assert_eq!(read.kinds["ropewalk_poll_time_seconds"], "histogram");
    let unique: HashSet<_> = read.samples.iter().map(|(name, labels, _)| (name, labels)).collect();
    assert_eq!(unique.len(), series(&read), "no series comes twice");
    let counters = read.kinds.iter().filter(|(_, kind)| *kind == "counter");
    assert!(counters.clone().count() > 20 && counters.clone().all(|(name, _)| name.ends_with("_total")));
}

#[test]
fn buckets_grow_and_end_with_all() {
    let runtime = Runtime::builder().worker_threads(1).histograms(true).build().unwrap();
    runtime
        .block_on(runtime.spawn(async {
            for _ in 0..50_000 {
                yield_now().await;
            }
        }))
        .unwrap();
    let metrics = runtime.metrics();
    let read = read(&metrics.to_prometheus());
    let buckets = read.values("ropewalk_poll_time_seconds_bucket");
    assert!(buckets.is_sorted() && buckets.len() > 20, "{buckets:?}");
    assert_eq!(read.values("ropewalk_poll_time_seconds_count"), [*buckets.last().unwrap()]);
    assert_eq!(metrics.poll_time().count() as f64, *buckets.last().unwrap());
    assert!(read.values("ropewalk_poll_time_seconds_sum")[0] > 0.0);
}
