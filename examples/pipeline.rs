//! A pipeline: stages of tasks with bounded channels between them. A slow stage holds up those before it, so nothing piles
//! up; and the end travels through by itself, because a channel ends when its last sender is gone and it is empty.

use ropewalk::channel::{Receiver, Sender, bounded};
use ropewalk::{TaskGroup, spawn};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const LINES: usize = 20_000;
const PARSERS: usize = 3;
/// How many lines may wait for a parser.
const ROOM: usize = 16;

struct Request {
    path: &'static str,
    micros: u64,
}

fn main() {
    ropewalk::block_on(async {
        let ahead = Arc::new(Ahead::default());
        let (lines, unparsed) = bounded(ROOM);
        let (requests, parsed) = bounded(ROOM);

        let reader = spawn(read(lines, ahead.clone()));
        let mut parsers = TaskGroup::new();
        for _ in 0..PARSERS {
            parsers.spawn(parse(unparsed.clone(), requests.clone(), ahead.clone()));
        }
        drop((unparsed, requests)); // the parsers have them now; when they end, the channels do
        let tally = spawn(tally(parsed));

        reader.await.expect("it reads to the end");
        let broken: usize =
            parsers.join_all().await.into_iter().map(|broken| broken.expect("it parses all")).sum();
        let tally = tally.await.expect("it counts all");

        println!("{:<10} {:>8} {:>10} {:>8}", "path", "requests", "mean", "worst");
        for (path, [requests, total, worst]) in &tally {
            println!("{path:<10} {requests:>8} {:>7} us {worst:>5} us", total / requests);
        }
        let counted: u64 = tally.values().map(|[requests, ..]| requests).sum();
        println!("{LINES} lines: {counted} requests, {broken} broken");
        assert_eq!(counted as usize + broken, LINES);
        let most = ahead.most.load(SeqCst);
        assert!(most <= ROOM + PARSERS + 1, "{most} lines between reader and parsers");
        println!("the reader was never more than {} lines ahead", ROOM + PARSERS + 1);
    });
}

/// How far the reader is ahead of the parsers: what waits in the channel, and one line in each hand.
#[derive(Default)]
struct Ahead {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Reads the log of a web server. Where there is no room, it waits.
async fn read(lines: Sender<String>, ahead: Arc<Ahead>) {
    const PATHS: [&str; 3] = ["/anchor", "/hawser", "/tow"];
    for number in 0..LINES {
        let line = match number % 50 {
            13 => format!("{number} half a li"),
            _ => format!("{number} GET {} {} us", PATHS[number % 3], 100 + number * 7919 % 900),
        };
        ahead.most.fetch_max(ahead.now.fetch_add(1, SeqCst) + 1, SeqCst);
        lines.send(line).await.expect("the parsers stay to the end");
    }
}

/// Takes lines until there are no more; how many made no sense.
async fn parse(lines: Receiver<String>, requests: Sender<Request>, ahead: Arc<Ahead>) -> usize {
    let mut broken = 0;
    while let Ok(line) = lines.recv().await {
        ahead.now.fetch_sub(1, SeqCst);
        match understand(&line) {
            Some(request) => requests.send(request).await.expect("the tally stays to the end"),
            None => broken += 1,
        }
    }
    broken
}

fn understand(line: &str) -> Option<Request> {
    let mut words = line.split(' ').skip(2);
    let path = match words.next()? {
        "/anchor" => "/anchor",
        "/hawser" => "/hawser",
        "/tow" => "/tow",
        _ => return None,
    };
    Some(Request { path, micros: words.next()?.parse().ok()? })
}

/// For each path: how many requests, and how long they took together and at worst.
async fn tally(requests: Receiver<Request>) -> BTreeMap<&'static str, [u64; 3]> {
    let mut tally = BTreeMap::new();
    while let Ok(Request { path, micros }) = requests.recv().await {
        let [count, total, worst] = tally.entry(path).or_insert([0; 3]);
        *count += 1;
        *total += micros;
        *worst = micros.max(*worst);
    }
    tally
}
