//! Stop: ten thousand requests that each read a file and compute, with the blocking pool and without.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::{Runtime, TaskHandle, spawn_blocking, yield_now};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use std::error::Error;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io, process};

type Trouble = Box<dyn Error + Send + Sync>;

/// The most threads that the blocking pool may have here: they compute, so many more than cores would be no help.
const THREADS: usize = 4;

pub(crate) struct Requests;

impl Stop for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn title(&self) -> &'static str {
        "Ten thousand requests"
    }

    fn about(&self) -> &'static str {
        "Each reads a file and computes for a while. In the blocking pool that holds up\n\
         nobody: another task of the same worker still gets its turn. And else?"
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Trouble> {
        let (count, file) = (guide.amount(10_000, 500), Data::write()?);
        let mut findings = Findings::default();
        let columns = [
            Column::new("where", "where"),
            Column::new("requests", "requests"),
            Column::new("took_ns", "done in"),
            Column::new("requests_per_s", "rate"),
            Column::new("threads", "threads"),
            Column::new("longest_silence_ns", "silence"),
        ];
        let mut table =
            Table::new("1 worker (silence: the longest that another task had to wait for its turn)", columns);
        let here = visit(guide, "in the task itself", count, &file.0, on_the_worker)?;
        let pool = visit(guide, "in the blocking pool", count, &file.0, in_the_pool)?;
        for Tour { place, took, threads, silence, .. } in [&here, &pool] {
            table.row([
                Value::text(*place),
                Value::Count(count),
                Value::time(*took),
                Value::rate(count, *took),
                Value::Count(*threads),
                Value::time(*silence),
            ]);
        }
        findings.table(table);
        findings.check(here.right == count && pool.right == count, "every request got the right answer");
        findings.check(here.threads == 0, "no thread was started before one was needed");
        let bounded = (1..=THREADS as u64).contains(&pool.threads);
        findings.check(bounded, format!("the pool grew to {} of {THREADS} threads", pool.threads));
        Ok(findings)
    }
}

/// A file to read, removed in the end.
struct Data(PathBuf);

impl Data {
    fn write() -> io::Result<Self> {
        let data = Self(env::temp_dir().join(format!("ropewalk-tour-{}.txt", process::id())));
        fs::write(&data.0, "what a request needs to know\n".repeat(100))?;
        Ok(data)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _gone_already = fs::remove_file(&self.0);
    }
}

fn heavy_math(request: u64, data: &[u8]) -> u64 {
    (0..10).fold(request, |sum, _| {
        data.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3))
    })
}

async fn on_the_worker(request: u64, file: Arc<Path>) -> Result<u64, Trouble> {
    Ok(heavy_math(request, &fs::read(&file)?))
}

async fn in_the_pool(request: u64, file: Arc<Path>) -> Result<u64, Trouble> {
    let data = spawn_blocking(move || fs::read(&file)).await??;
    Ok(spawn_blocking(move || heavy_math(request, &data)).await?)
}

/// What was found on one way.
struct Tour {
    place: &'static str,
    right: u64,
    took: Duration,
    threads: u64,
    silence: Duration,
}

/// Serves `count` requests while another task of the same worker does nothing but yield.
fn visit<R>(
    guide: &Guide,
    place: &'static str,
    count: u64,
    file: &Path,
    serve: fn(u64, Arc<Path>) -> R,
) -> Result<Tour, Trouble>
where
    R: Future<Output = Result<u64, Trouble>> + Send + 'static,
{
    let runtime = super::builder().worker_threads(1).blocking_threads(0, THREADS).build()?;
    guide.phase_finishing(format!("{} {place}", grouped(count)), &runtime, count);
    let (file, data) = (Arc::<Path>::from(file), fs::read(file)?);
    let other = Other::start(&runtime);
    let from = Instant::now();
    let served = runtime.spawn(async move {
        let requests: Vec<_> =
            (0..count).map(|request| ropewalk::spawn(serve(request, file.clone()))).collect();
        let mut answers = Vec::new();
        for request in requests {
            answers.push(request.await??);
        }
        Ok::<_, Trouble>(answers)
    });
    let answers = runtime.block_on(served)??;
    let (took, silence) = (from.elapsed(), other.stop(&runtime));
    let right = (0..count).zip(&answers).filter(|(request, answer)| **answer == heavy_math(*request, &data));
    let threads = runtime.metrics().blocking.started;
    Ok(Tour { place, right: right.count() as u64, took, threads, silence })
}

/// A task that wants its turn again and again, and notes how long it had to wait at most.
struct Other {
    task: TaskHandle<()>,
    enough: Arc<AtomicBool>,
    longest: Arc<AtomicU64>,
}

impl Other {
    fn start(runtime: &Runtime) -> Self {
        let (enough, longest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (until, noted) = (enough.clone(), longest.clone());
        let task = runtime.spawn(async move {
            let mut before = Instant::now();
            while !until.load(Relaxed) {
                yield_now().await;
                let now = Instant::now();
                noted.fetch_max((now - before).as_nanos() as u64, Relaxed);
                before = now;
            }
        });
        Self { task, enough, longest }
    }

    fn stop(self, runtime: &Runtime) -> Duration {
        self.enough.store(true, Relaxed);
        runtime.block_on(self.task).expect("it neither panics nor is it cancelled");
        Duration::from_nanos(self.longest.load(Relaxed))
    }
}
