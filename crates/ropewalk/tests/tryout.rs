//! t
use ropewalk::time::*;
use std::time::Duration;
#[test]
fn sizes() {
    eprintln!(
        "{} {}",
        std::mem::size_of::<Sleep>(),
        std::mem::size_of::<Timeout<std::future::Pending<()>>>()
    );
    for kind in [0, 1, 2] {
        let rt = ropewalk::Runtime::builder().worker_threads(kind).build().unwrap();
        rt.block_on(async {
            for us in [1u64, 50, 100, 500, 1000, 5000] {
                let mut worst = Duration::ZERO;
                let mut sum = Duration::ZERO;
                for _ in 0..50 {
                    let h = ropewalk::spawn(async move {
                        let f = std::time::Instant::now();
                        sleep(Duration::from_micros(us)).await;
                        f.elapsed() - Duration::from_micros(us)
                    });
                    let l = h.await.unwrap();
                    worst = worst.max(l);
                    sum += l;
                }
                eprintln!("{kind} workers, {us} us: mean late {:?} worst {worst:?}", sum / 50);
            }
        });
        let m = rt.metrics();
        eprintln!("{:?}", m.pools[0].workers.iter().map(|w| (w.parks, w.timers_fired)).collect::<Vec<_>>());
    }
}
