//! How late a ticker that should tick each millisecond was at most, while a hog of one of these kinds held the only worker for
//! so long. Tasks go on; a strand that has started shares the fate of its thread.

use super::*;
use std::time::Instant;

/// For so long the hog holds its worker.
const HELD: Duration = Duration::from_millis(400);

fn spins() {
    let begun = Instant::now();
    while begun.elapsed() < HELD {}
}

fn reads() {
    let (mut from, mut to) = std::io::pipe().unwrap();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(HELD);
        to.write_all(b"x").unwrap();
    });
    from.read_exact(&mut [0]).unwrap();
    writer.join().unwrap();
}

/// The one who holds the lock is on a thread of its own here: on the hog's thread it would hold it for ever.
fn locks() {
    let (lock, (begin, begun)) = (Arc::new(std::sync::Mutex::new(())), std::sync::mpsc::channel());
    let held = lock.clone();
    let elsewhere = std::thread::spawn(move || {
        let other = Runtime::builder().worker_threads(1).build().unwrap();
        other.run(move || {
            let _guard = held.lock().unwrap();
            begin.send(()).unwrap();
            sleep(HELD).wait();
        });
    });
    begun.recv().unwrap();
    drop(lock.lock().unwrap());
    elsewhere.join().unwrap();
}

const HOGS: [(&str, fn()); 3] = [("spins", spins), ("reads", reads), ("locks", locks)];

fn worst(ticks: impl IntoIterator<Item = Instant>) -> Duration {
    let ticks: Vec<_> = ticks.into_iter().collect();
    ticks.windows(2).map(|two| two[1] - two[0]).max().unwrap()
}

type Ticks = Box<dyn FnOnce() -> Vec<Instant>>;

/// The longest pause between two ticks, while each hog holds the worker.
fn with_each_hog(ticker: fn(&Runtime, Arc<AtomicBool>) -> Ticks) -> Vec<Duration> {
    let with = |hog: fn()| {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let ticker = ticker(&runtime, over.clone());
        runtime.spawn(async move { hog() }).wait().unwrap();
        over.store(true, SeqCst);
        worst(ticker())
    };
    HOGS.iter().map(|(name, hog)| guarded(format!("a hog that {name}"), || with(*hog))).collect()
}

#[test]
fn tasks_go_on_beside_each_kind_of_hog() {
    let late = with_each_hog(|runtime, over| {
        let (begin, begun) = std::sync::mpsc::channel();
        let task = runtime.spawn(async move {
            let mut seen = vec![Instant::now()];
            while !over.load(SeqCst) {
                sleep(Duration::from_millis(1)).await;
                seen.push(Instant::now());
                begin.send(()).unwrap_or(());
            }
            seen
        });
        begun.recv().unwrap();
        Box::new(move || task.wait().unwrap())
    });
    assert!(late.iter().all(|late| *late < HELD), "it waited for the hog: {late:?}");
}

#[test]
fn strands_share_the_fate_of_their_thread() {
    let late = with_each_hog(|runtime, over| {
        let (begin, begun) = std::sync::mpsc::channel();
        let pool = runtime.pool("main").unwrap();
        let strand = strand::Builder::new().pool(&pool).spawn(move || {
            let mut seen = vec![Instant::now()];
            while !over.load(SeqCst) {
                sleep(Duration::from_millis(1)).wait();
                seen.push(Instant::now());
                begin.send(()).unwrap_or(());
            }
            seen
        });
        begun.recv().unwrap();
        Box::new(move || strand.join())
    });
    let held = HELD - Duration::from_millis(50);
    assert!(late.iter().all(|late| *late >= held), "it went on, on a thread that was held: {late:?}");
}
