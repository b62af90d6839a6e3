//! Look inside a program while it runs: a page in the browser. With an address it serves until ctrl-c:
//!
//!     cargo run -p ropewalk-examples --bin console -- 127.0.0.1:6680
//!
//! Without one it asks its console what the page would ask.

use ropewalk::console::Console;
use ropewalk::sync::{Mutex, Semaphore};
use ropewalk::{Pool, Runtime, TaskGroup, Wait, channel, signal, spawn_blocking, strand, task, time};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const SHIPS: usize = 12;
const GULLS: usize = 400;
/// What ships compete for, and what everything is written into.
static BERTHS: Semaphore = Semaphore::new(3);
static LEDGER: Mutex<u64> = Mutex::new(0);

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let runtime = Runtime::builder().worker_threads(3).observe(true).build()?;
    let loft = Pool::builder().name("loft").workers(1).build(&runtime.handle())?;
    // This is all it takes.
    let console = Console::builder()
        .address(address.as_deref().unwrap_or("127.0.0.1:0").parse()?)
        .serve(&runtime.handle())?;
    println!("look at {}", console.url());

    let (orders, ordered) = channel::bounded(4);
    let named = |name: &str| task::Builder::new().name(name);
    let handle = runtime.handle();
    let tasks = [
        named("harbour").spawn_on(&handle, harbour(orders)),
        named("clerk").spawn_on(&handle, clerk()),
        named("lighthouse").spawn_on(&handle, lighthouse()),
        named("fog").spawn_on(&handle, fog()),
        named("gulls").spawn_on(&handle, gulls()),
    ];
    let riggers = [1, 2, 3].map(|number| {
        let (ordered, rigger) = (ordered.clone(), strand::Builder::new().name(format!("rigger {number}")));
        rigger.pool(&loft).spawn(move || rig(&ordered))
    });

    match address {
        Some(_) => runtime.block_on(signal::ctrl_c())?,
        None => show(console.address())?,
    }
    drop((tasks, riggers));
    drop(runtime); // whoever is left is cancelled; the console would still say how it was
    println!("{} cargoes landed", LEDGER.lock().wait());
    Ok(())
}

async fn harbour(orders: channel::Sender<usize>) {
    let mut ships = TaskGroup::new();
    for number in 1..=SHIPS {
        ships.spawn_as(task::Builder::new().name(format!("ship {number}")), ship(number, orders.clone()));
    }
    ships.join_all().await;
}

/// Comes in when there is a berth; all hands unload it; it is written down; it gets new ropes.
async fn ship(number: usize, orders: channel::Sender<usize>) {
    loop {
        time::sleep(Duration::from_millis(200 + 70 * number as u64)).await;
        let berth = BERTHS.acquire().await;
        let mut hands = TaskGroup::new();
        (0..8).for_each(|_| drop(hands.spawn(unload())));
        hands.join_all().await;
        *LEDGER.lock().await += 1;
        drop(berth);
        if orders.send(number).await.is_err() {
            return;
        }
    }
}

async fn unload() {
    for _ in 0..40 {
        ropewalk::yield_now().await;
        time::sleep(Duration::from_millis(5)).await;
    }
}

/// A strand: it waits as if it were a thread.
fn rig(ordered: &channel::Receiver<usize>) {
    while let Ok(ship) = ordered.recv().wait() {
        strand::sleep(Duration::from_millis(30 + ship as u64));
    }
}

/// Copies the ledger now and then, and nobody can write into it meanwhile.
async fn clerk() {
    loop {
        let ledger = LEDGER.lock().await;
        let cargoes = *ledger;
        let copied = spawn_blocking(move || {
            std::thread::sleep(Duration::from_millis(50));
            cargoes
        });
        let _copied = copied.await;
        time::sleep(Duration::from_millis(400)).await;
        drop(ledger);
        time::sleep(Duration::from_secs(1)).await;
    }
}

async fn lighthouse() {
    let mut turn = time::interval(Duration::from_millis(20));
    loop {
        turn.tick().await;
    }
}

/// A hog: it computes where others wait, and the console says where it was spawned.
async fn fog() {
    loop {
        time::sleep(Duration::from_secs(3)).await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(150) {
            std::hint::spin_loop();
        }
    }
}

/// Many that are alike are one line of the page.
async fn gulls() {
    let mut all = TaskGroup::new();
    for _ in 0..GULLS {
        all.spawn(async {
            loop {
                time::sleep(Duration::from_secs(2)).await;
            }
        });
    }
    all.join_all().await;
}

/// Asks what the page asks, until the lighthouse is seen to wait for its next turn.
fn show(address: SocketAddr) -> io::Result<()> {
    loop {
        let state = get(address, "/api/state?q=lighthouse")?;
        if state.contains("\"waits_for\":\"a moment") {
            break;
        }
    }
    println!("the lighthouse waits for a moment");
    let page = get(address, "/")?;
    assert!(page.contains("<title>Ropewalk console</title>"), "{page}");
    Ok(())
}

fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
