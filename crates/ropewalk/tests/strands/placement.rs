//! Starting is placing: where strands go, and that they stay there.

use crate::kit::guarded;
use ropewalk::strand;
use ropewalk::{Runtime, Wait};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::thread::{ThreadId, current};
use std::time::Duration;

fn spread(homes: &[ThreadId], workers: usize) -> (usize, usize) {
    let mut counts: HashMap<ThreadId, usize> = HashMap::new();
    homes.iter().for_each(|home| *counts.entry(*home).or_default() += 1);
    let least = if counts.len() < workers { 0 } else { *counts.values().min().unwrap() };
    (*counts.values().max().unwrap(), least)
}

/// One strand accepts connections, and starts one for each: they are spread evenly.
#[test]
fn connections_accepted_by_one_strand_are_spread() {
    for workers in [2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime =
                Runtime::builder().worker_threads(workers).rescue_threshold(Duration::ZERO).build().unwrap();
            let homes = Mutex::new(Vec::new());
            let handle = runtime.handle();
            runtime.run(|| {
                let listener = ropewalk::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).wait().unwrap();
                let address: SocketAddr = listener.local_addr().unwrap();
                let clients = handle.spawn(async move {
                    let mut clients = Vec::new();
                    for _ in 0..64 {
                        clients.push(ropewalk::net::TcpStream::connect(address).await.unwrap());
                    }
                    for client in &clients {
                        client.write_all(b"x").await.unwrap();
                        let mut answer = [0];
                        assert_eq!(client.read(&mut answer).await.unwrap(), 1);
                    }
                });
                strand::scope(|s| {
                    for _ in 0..64 {
                        let (stream, _) = listener.accept().wait().unwrap();
                        let _served = s.spawn(|| {
                            homes.lock().unwrap().push(current().id());
                            let stream = stream;
                            let mut byte = [0];
                            while stream.read(&mut byte).wait().unwrap() > 0 {
                                stream.write_all(&byte).wait().unwrap();
                            }
                        });
                    }
                    clients.wait().unwrap();
                    s.join_all();
                });
            });
            let homes = homes.into_inner().unwrap();
            assert_eq!(homes.len(), 64);
            let (most, least) = spread(&homes, workers);
            assert!(most * 2 <= least * 3, "{most} on one worker, {least} on another");
        });
    }
}

#[test]
fn a_strand_stays_on_its_thread() {
    guarded("16 workers".to_owned(), || {
        let runtime = Runtime::builder().worker_threads(16).build().unwrap();
        runtime.run(|| {
            strand::scope(|s| {
                let children: Vec<_> = (0..200)
                    .map(|_| {
                        s.spawn(|| {
                            let home = current().id();
                            for _ in 0..20 {
                                strand::yield_now();
                                assert_eq!(current().id(), home);
                                ropewalk::spawn(async {}).wait().unwrap();
                                assert_eq!(current().id(), home);
                            }
                        })
                    })
                    .collect();
                children.into_iter().for_each(|child| child.join());
            });
        });
    });
}

/// A pool shrinks and grows while strands start in it: none is lost.
#[test]
fn nothing_is_sent_to_a_worker_that_leaves() {
    guarded("resizing".to_owned(), || {
        let runtime = Runtime::builder().worker_threads(4).build().unwrap();
        let pool = runtime.pool("main").unwrap();
        let resizer = runtime.spawn(async move {
            for round in 0..60 {
                pool.resize(1 + round % 4).unwrap().await;
            }
            pool.resize(4).unwrap().await;
        });
        runtime.run(|| {
            for _ in 0..60 {
                strand::scope(|s| {
                    let children: Vec<_> = (0..24)
                        .map(|_| {
                            s.spawn(|| {
                                strand::yield_now();
                                strand::sleep(std::time::Duration::from_micros(200));
                            })
                        })
                        .collect();
                    children.into_iter().for_each(|child| child.join());
                });
            }
        });
        runtime.block_on(resizer).unwrap();
    });
}
