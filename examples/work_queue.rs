//! A queue that several take work from: tasks, and a thread that is none of the runtime's. They search for primes, and when
//! enough are found they are told to stop. What nobody took is still there, and every number is accounted for.

use ropewalk::channel::{Receiver, Sender, TryRecvError, bounded};
use ropewalk::sync::CancellationToken;
use ropewalk::{TaskGroup, select, select_wait, spawn};

const START: u64 = 1_000_000_000_001;
const WANTED: usize = 10;

fn main() {
    let (work, queue) = bounded(64);
    let (found, primes) = bounded(WANTED);
    let stop = CancellationToken::new();

    // The same queue, from a thread: `select_wait!` parks it.
    let thread = std::thread::spawn({
        let (queue, found, stop) = (queue.clone(), found.clone(), stop.clone());
        move || {
            let mut tested = 0;
            loop {
                select_wait! {
                    biased;
                    () = stop.cancelled() => return tested,
                    Ok(number) = queue.recv() => tested += test(number, &found),
                }
            }
        }
    });

    ropewalk::block_on(async {
        let foreman = spawn(hand_out(work, stop.clone()));
        let mut workers = TaskGroup::new();
        for _ in 0..3 {
            workers.spawn(work_on(queue.clone(), found.clone(), stop.clone()));
        }
        for rank in 1..=WANTED {
            let prime = primes.recv().await.expect("the workers search on");
            println!("{rank:>2}. {prime}");
        }
        stop.cancel();

        let handed_out = foreman.await.expect("it ends when it is told to");
        let ends = workers.join_all().await.into_iter();
        let mut tested: u64 = ends.map(|tested| tested.expect("it ends, too")).sum();
        tested += thread.join().expect("so does the thread");
        let left = drain(&queue);
        println!("{handed_out} numbers handed out, {tested} tested, {left} left in the queue");
        assert_eq!(handed_out, tested + left);
        println!("every number is accounted for");
    });
}

/// Puts numbers into the queue, and waits where it is full; how many it put in.
async fn hand_out(work: Sender<u64>, stop: CancellationToken) -> u64 {
    let mut handed_out = 0;
    for number in (START..).step_by(2) {
        select! {
            biased;
            () = stop.cancelled() => break,
            sent = work.send(number) => sent.expect("the queue is open"),
        }
        handed_out += 1;
    }
    handed_out
}

/// Takes numbers until it is told to stop; how many it tested.
async fn work_on(queue: Receiver<u64>, found: Sender<u64>, stop: CancellationToken) -> u64 {
    let mut tested = 0;
    loop {
        select! {
            biased;
            () = stop.cancelled() => return tested,
            Ok(number) = queue.recv() => tested += test(number, &found),
        }
    }
}

/// Tests one number. There is room for as many primes as are wanted; those that are found later are not.
fn test(number: u64, found: &Sender<u64>) -> u64 {
    let is_prime = (3..)
        .step_by(2)
        .take_while(|divisor| divisor * divisor <= number)
        .all(|divisor: u64| !number.is_multiple_of(divisor));
    if is_prime {
        let _not_wanted_any_more = found.try_send(number);
    }
    1
}

/// Takes what nobody wanted.
fn drain(queue: &Receiver<u64>) -> u64 {
    let mut left = 0;
    loop {
        match queue.try_recv() {
            Ok(_) => left += 1,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return left,
        }
    }
}
