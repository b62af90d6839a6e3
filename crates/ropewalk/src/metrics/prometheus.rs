//! A snapshot as Prometheus reads it: the text exposition format, version 0.0.4.

use super::{Histogram, Metrics, PoolMetrics, WorkerMetrics, WorkerState};
use std::fmt::{self, Display, Write};

/// Bounds of the buckets that are shown: powers of two of nanoseconds, from a quarter of a microsecond to a minute.
const BOUNDS: std::ops::RangeInclusive<u32> = 8..=36;

const STATES: [(WorkerState, &str); 5] = [
    (WorkerState::Busy, "busy"),
    (WorkerState::Idle, "idle"),
    (WorkerState::Polling, "polling"),
    (WorkerState::Retiring, "retiring"),
    (WorkerState::Vacant, "vacant"),
];

type WorkerFigure = (&'static str, &'static str, fn(&WorkerMetrics) -> u64);
type PoolFigure = (&'static str, &'static str, fn(&PoolMetrics) -> u64);

const WORKER_COUNTERS: [WorkerFigure; 21] = [
    ("polls", "Polls of tasks.", |worker| worker.polls),
    ("spawned", "Tasks spawned on the worker.", |worker| worker.spawned),
    ("finished", "Tasks that ended on the worker.", |worker| worker.finished),
    ("lifo_hits", "Polls of a task from the LIFO slot.", |worker| worker.lifo_hits),
    ("injected", "Batches taken from the injection queue.", |worker| worker.injected),
    ("overflows", "Times the queue was full.", |worker| worker.overflows),
    ("searches", "Searches through the other workers' queues.", |worker| worker.searches),
    ("steals", "Successful steals of half a queue.", |worker| worker.steals),
    ("lifo_steals", "Steals from the LIFO slot of a worker that was stuck.", |worker| worker.lifo_steals),
    ("spins", "Times the worker spun before sleeping.", |worker| worker.spins),
    ("spin_hits", "Spins that found work.", |worker| worker.spin_hits),
    ("parks", "Times the worker went to sleep.", |worker| worker.parks),
    ("wakes", "Times the worker woke up.", |worker| worker.wakes),
    ("asides", "Times the worker left the work to others.", |worker| worker.asides),
    ("budget_yields", "Polls that ended because the budget was used up.", |worker| worker.budget_yields),
    ("preemptions", "Polls that ended because they took too long.", |worker| worker.preemptions),
    ("waits_in_poll", "Waits inside a poll that parked a stack.", |worker| worker.waits_in_poll),
    ("held", "Waits that held the thread itself.", |worker| worker.held),
    ("timers_fired", "Timers that the worker found due.", |worker| worker.timers_fired),
    ("strands_started", "Strands that began on the worker.", |worker| worker.strands_started),
    ("strands_ended", "Strands that began on the worker and are over.", |worker| worker.strands_ended),
];

const WORKER_GAUGES: [WorkerFigure; 3] = [
    ("queued", "Tasks in the worker's own queue.", |worker| worker.queued as u64),
    ("pinned", "Tasks that stay on the worker and are not over.", |worker| worker.pinned as u64),
    ("parked_stacks", "Stacks parked in the middle of a poll.", |worker| worker.parked_stacks as u64),
];

const POOL_GAUGES: [PoolFigure; 9] = [
    ("alive", "Tasks and strands that are not over.", |pool| pool.alive),
    ("strands", "Strands that have begun and are not over.", |pool| pool.strands),
    ("injected", "Tasks in the injection queue.", |pool| pool.injected as u64),
    ("active_workers", "Workers that take work, stand-ins not counted.", |pool| pool.active as u64),
    ("stand_ins", "Workers that are there because others are stuck.", |pool| pool.stand_ins as u64),
    ("retiring_workers", "Workers that serve only what is pinned to them.", |pool| pool.retiring as u64),
    ("searching_workers", "Workers that are looking for work.", |pool| pool.searching as u64),
    ("sleeping_workers", "Workers that are asleep.", |pool| pool.sleeping as u64),
    ("timers", "Timers that are pending.", |pool| pool.timers as u64),
];

impl Metrics {
    /// This snapshot in the text format that Prometheus scrapes (`text/plain; version=0.0.4`).
    ///
    /// Names begin with `ropewalk_`; figures of a pool have the label `pool`, those of a worker `worker`, too. Times are in seconds.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// let text = runtime.metrics().to_prometheus();
    /// assert!(text.contains("ropewalk_worker_polls_total{pool=\"main\",worker=\"0\"} "));
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = Text(String::new());
        // Writing to a `String` does not fail.
        let _ = self.write_pools(&mut text).and_then(|()| self.write_rest(&mut text));
        text.0
    }

    fn workers(&self) -> impl Iterator<Item = (Labels<'_>, &WorkerMetrics)> {
        let pools = self.pools.iter().map(|pool| (pool.name.as_str(), &pool.workers));
        pools.flat_map(|(pool, workers)| {
            workers
                .iter()
                .enumerate()
                .map(move |(index, worker)| (Labels { pool, worker: Some(index) }, worker))
        })
    }

    fn write_pools(&self, text: &mut Text) -> fmt::Result {
        for (name, help, figure) in WORKER_COUNTERS {
            let values = self.workers().map(|(labels, worker)| (labels, figure(worker)));
            text.family(&format!("worker_{name}_total"), "counter", help, values)?;
        }
        for (name, help, figure) in WORKER_GAUGES {
            let values = self.workers().map(|(labels, worker)| (labels, figure(worker)));
            text.family(&format!("worker_{name}"), "gauge", help, values)?;
        }
        text.head("worker_state", "gauge", "What the worker is doing: 1 for that.")?;
        for (labels, worker) in self.workers() {
            for (state, name) in STATES {
                let is = u8::from(worker.state == state);
                writeln!(text.0, "ropewalk_worker_state{{{labels},state=\"{name}\"}} {is}")?;
            }
        }
        let pools = || self.pools.iter().map(|pool| (Labels { pool: &pool.name, worker: None }, pool));
        for (name, help, figure) in POOL_GAUGES {
            text.family(
                &format!("pool_{name}"),
                "gauge",
                help,
                pools().map(|(labels, pool)| (labels, figure(pool))),
            )?;
        }
        let rescues = pools().map(|(labels, pool)| (labels, pool.rescues));
        text.family("pool_rescues_total", "counter", "Stand-ins that came for a stuck worker.", rescues)?;
        let longest =
            |pool: &PoolMetrics| pool.longest_polls.first().map_or(0.0, |poll| poll.time.as_secs_f64());
        let longest = pools().map(|(labels, pool)| (labels, longest(pool)));
        text.family(
            "pool_longest_poll_seconds",
            "gauge",
            "The longest poll that the watchdog saw.",
            longest,
        )?;
        text.histograms(
            "poll_time_seconds",
            "How long polls take, sampled.",
            pools().map(|(labels, pool)| (labels, pool.poll_time())),
        )?;
        let help = "How long tasks wait after they were woken until they run, sampled.";
        text.histograms(
            "wake_to_run_seconds",
            help,
            pools().map(|(labels, pool)| (labels, pool.wake_to_run())),
        )
    }

    fn write_rest(&self, text: &mut Text) -> fmt::Result {
        let blocking = &self.blocking;
        let gauges = [
            ("blocking_threads", "Threads of the blocking pool.", blocking.threads),
            ("blocking_idle", "Threads of the blocking pool that wait for a job.", blocking.idle),
            ("blocking_queued", "Jobs that wait for a thread.", blocking.queued),
            ("blocking_running", "Jobs that have a thread.", blocking.running),
        ];
        for (name, help, value) in gauges {
            text.one(name, "gauge", help, value as u64)?;
        }
        let counters = [
            ("blocking_finished_total", "Jobs that are over.", blocking.finished),
            ("blocking_started_total", "Threads started for jobs.", blocking.started),
            ("blocking_ended_total", "Threads for jobs that have ended.", blocking.ended),
            (
                "blocking_start_failures_total",
                "Threads that the system did not give.",
                blocking.start_failures,
            ),
            ("unhandled_panics_total", "Panics of tasks that nobody waited for.", self.unhandled_panics),
            ("refused_waits_total", "Waits of a task for one that it stems from.", self.refused_waits),
        ];
        for (name, help, value) in counters {
            text.one(name, "counter", help, value)?;
        }
        #[cfg(unix)]
        {
            let io = &self.io;
            text.one("io_registered", "gauge", "Sockets and files that the driver watches.", io.registered)?;
            let counters = [
                ("io_polls_total", "Times the driver was polled.", io.polls),
                ("io_events_total", "Events that the driver reported.", io.events),
                ("io_failures_total", "Calls of the driver that failed.", io.failures),
                ("io_operations_total", "Operations on files that the driver was given.", io.operations),
                (
                    "io_arrivals_total",
                    "Connections and pieces that came without being asked for.",
                    io.arrivals,
                ),
            ];
            for (name, help, value) in counters {
                text.one(name, "counter", help, value)?;
            }
        }
        Ok(())
    }
}

/// Whose figure it is.
#[derive(Clone, Copy)]
struct Labels<'a> {
    pool: &'a str,
    worker: Option<usize>,
}

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool=\"{}\"", Escaped(self.pool))?;
        match self.worker {
            Some(worker) => write!(f, ",worker=\"{worker}\""),
            None => Ok(()),
        }
    }
}

/// The value of a label.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            letter => f.write_char(letter),
        })
    }
}

struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        write!(self.0, "# HELP ropewalk_{name} {help}\n# TYPE ropewalk_{name} {kind}\n")
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) -> fmt::Result {
        self.head(name, kind, help)?;
        writeln!(self.0, "ropewalk_{name} {value}")
    }

    fn family<'a>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        mut values: impl Iterator<Item = (Labels<'a>, impl Display)>,
    ) -> fmt::Result {
        self.head(name, kind, help)?;
        values.try_for_each(|(labels, value)| writeln!(self.0, "ropewalk_{name}{{{labels}}} {value}"))
    }

    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        all: impl Iterator<Item = (Labels<'a>, Histogram)>,
    ) -> fmt::Result {
        self.head(name, "histogram", help)?;
        for (labels, histogram) in all {
            let below = |bound: u64| -> u64 {
                let ended =
                    |end: Option<std::time::Duration>| end.is_some_and(|end| end.as_nanos() <= bound.into());
                histogram.buckets().filter(|(end, _)| ended(*end)).map(|(_, count)| count).sum()
            };
            for bound in BOUNDS.map(|log| 1u64 << log) {
                let (seconds, count) = (bound as f64 / 1e9, below(bound));
                writeln!(self.0, "ropewalk_{name}_bucket{{{labels},le=\"{seconds}\"}} {count}")?;
            }
            let (sum, count) = (histogram.sum().as_secs_f64(), histogram.count());
            writeln!(self.0, "ropewalk_{name}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
            writeln!(
                self.0,
                "ropewalk_{name}_sum{{{labels}}} {sum}\nropewalk_{name}_count{{{labels}}} {count}"
            )?;
        }
        Ok(())
    }
}
