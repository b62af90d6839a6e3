//! See what everybody waits for: a picture of all that is alive, for people and for programs.
//!
//! With `kill` as an argument it waits, and writes one to standard error for each SIGUSR1 that it gets. Built with
//! `--features ropewalk/backtraces,ropewalk/deadlock_detection`, it also shows in which function the strand waits, and who holds the lock.

use ropewalk::sync::Mutex;
use ropewalk::{DumpOptions, Runtime, TaskGroup, Wait, channel, strand, task};
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_served = std::env::args().nth(1).as_deref() == Some("kill");
    let mut builder = Runtime::builder().worker_threads(2).observe(true);
    #[cfg(unix)]
    if is_served {
        use ropewalk::{dump::DumpTarget, signal::unix::SignalKind};
        builder = builder.dump_on_signal(SignalKind::user_defined1(), DumpTarget::Stderr);
        eprintln!("kill -USR1 {}", std::process::id());
    }
    let runtime = builder.build()?;
    let ledger = Arc::new(Mutex::new(0));

    // Somebody keeps the ledger for too long ...
    let held = ledger.clone();
    let keeper = task::Builder::new().name("keeper").spawn_on(&runtime.handle(), async move {
        let _guard = held.lock().await;
        ropewalk::time::sleep(Duration::from_secs(3600)).await;
    });
    while ledger.try_lock().is_ok() {
        std::thread::yield_now();
    }
    // ... a task with children, all of which want it, ...
    let office = task::Builder::new().name("office").spawn_on(&runtime.handle(), async move {
        let mut group = TaskGroup::new();
        for _ in 0..1000 {
            let ledger = ledger.clone();
            group.spawn(async move { *ledger.lock().await += 1 });
        }
        group.join_all().await;
    });
    // ... and a strand that waits for a message that does not come.
    let (_sender, receiver) = channel::bounded::<String>(1);
    let pool = runtime.pool("main").expect("it is there from the beginning");
    let reader = strand::Builder::new().name("reader").pool(&pool).spawn(move || await_mail(&receiver));

    // A moment later all of them wait; of a thousand that are alike three lines are enough.
    let dump = loop {
        let dump = runtime.dump_with(&DumpOptions::new().max_tasks(5000));
        if dump.pools[0].waiting == 1003 {
            break dump;
        }
    };
    println!("{dump}");
    println!("{} bytes of JSON say the same", dump.to_json().len());
    if is_served {
        reader.join();
    }
    drop((keeper, office));
    Ok(())
}

/// With backtraces, this is what the dump shows.
#[inline(never)]
fn await_mail(receiver: &channel::Receiver<String>) {
    let _nobody_writes = receiver.recv().wait();
}
