//! Tasks as tokio's console sees them: spans and events, by a subscriber that writes them down and counts as the console does.
//! A program of its own, for the subscriber is that of the process. What the console itself makes of them: `ci/tokio-console`.

use ropewalk::{Handle, Runtime, TaskGroup, Wait, channel, strand, task, yield_now};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

#[derive(Clone, Debug, Default)]
struct Seen {
    fields: HashMap<String, String>,
    references: i64,
    entered: u64,
    left: u64,
    ops: Vec<String>,
    /// Wake-ups on a thread that has entered the span.
    self_wakes: usize,
    /// What its state was when the span was left.
    states: Vec<String>,
}

impl Seen {
    fn count(&self, op: &str) -> usize {
        self.ops.iter().filter(|known| *known == op).count()
    }
    fn wakes(&self) -> usize {
        self.count("waker.wake_by_ref")
    }
    /// How many there are now.
    fn wakers(&self) -> usize {
        self.count("waker.clone") - self.count("waker.drop")
    }
}

thread_local!(static ENTERED: RefCell<Vec<(Id, &'static Metadata<'static>)>> = const { RefCell::new(Vec::new()) });

#[derive(Clone, Default)]
struct Recorder {
    next: Arc<AtomicU64>,
    spans: Arc<Mutex<HashMap<u64, Seen>>>,
    metadata: Arc<Mutex<HashMap<u64, &'static Metadata<'static>>>>,
    /// Whose tasks are looked at when their spans are left.
    looks_at: Arc<Mutex<Option<Handle>>>,
}

struct Fields<'a>(&'a mut HashMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Recorder {
    /// That of this process.
    fn get() -> Self {
        static ALL: OnceLock<Recorder> = OnceLock::new();
        let install = || {
            let recorder = Recorder::default();
            tracing::subscriber::set_global_default(recorder.clone()).unwrap();
            recorder
        };
        ALL.get_or_init(install).clone()
    }

    fn with(&self, id: &Id, f: impl FnOnce(&mut Seen)) {
        f(self.spans.lock().unwrap().entry(id.into_u64()).or_default());
    }

    /// The span of the task of that name.
    fn named(&self, name: &str) -> Option<Seen> {
        let spans = self.spans.lock().unwrap();
        spans.values().find(|seen| seen.fields.get("task.name").is_some_and(|known| known == name)).cloned()
    }

    /// The same, as soon as it is as expected.
    fn until(&self, name: &str, is_so: impl Fn(&Seen) -> bool) -> Seen {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match self.named(name) {
                Some(seen) if is_so(&seen) => return seen,
                seen => assert!(Instant::now() < until, "{name} is not as expected: {seen:?}"),
            }
            std::thread::yield_now();
        }
    }

    /// The same, when its task is over.
    fn closed(&self, name: &str) -> Seen {
        self.until(name, |seen| seen.references == 0)
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        self.metadata.lock().unwrap().insert(id.into_u64(), span.metadata());
        if span.metadata().name() == "runtime.spawn" {
            self.with(&id, |seen| {
                seen.references = 1;
                span.record(&mut Fields(&mut seen.fields));
            });
        }
        id
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != "runtime::waker" {
            return;
        }
        let mut fields = HashMap::new();
        event.record(&mut Fields(&mut fields));
        let id = Id::from_u64(fields["task.id"].parse().unwrap());
        let entered = ENTERED.with_borrow(|entered| entered.iter().any(|(other, _)| *other == id));
        self.with(&id, |seen| {
            let op = fields["op"].clone();
            seen.self_wakes += usize::from(entered && op == "waker.wake_by_ref");
            seen.ops.push(op);
        });
    }
    fn enter(&self, id: &Id) {
        let metadata = self.metadata.lock().unwrap()[&id.into_u64()];
        ENTERED.with_borrow_mut(|entered| entered.push((id.clone(), metadata)));
        self.with(id, |seen| seen.entered += 1);
    }
    fn exit(&self, id: &Id) {
        let left = ENTERED.with_borrow_mut(|entered| entered.pop());
        assert_eq!(left.map(|(id, _)| id).as_ref(), Some(id), "spans are left in order");
        let handle = self.looks_at.lock().unwrap().clone();
        let state = handle.and_then(|handle| {
            let number = self.spans.lock().unwrap().get(&id.into_u64())?.fields.get("task.id")?.clone();
            Some(handle.tasks().into_iter().find(|task| task.id.to_string() == number)?.state.to_string())
        });
        self.with(id, |seen| {
            seen.left += 1;
            seen.states.extend(state);
        });
    }
    fn current_span(&self) -> Current {
        let current = ENTERED.with_borrow(|entered| entered.last().cloned());
        current.map_or_else(Current::none, |(id, metadata)| Current::new(id, metadata))
    }
    fn clone_span(&self, id: &Id) -> Id {
        self.with(id, |seen| seen.references += 1);
        id.clone()
    }
    fn try_close(&self, id: Id) -> bool {
        let mut last = false;
        self.with(&id, |seen| {
            seen.references -= 1;
            last = seen.references == 0;
        });
        last
    }
}

fn observed(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).observe(true).build().unwrap()
}

fn named(name: &str) -> task::Builder {
    task::Builder::new().name(name)
}

#[expect(clippy::async_yields_async, reason = "it is started there, and waited for elsewhere")]
fn strand_on(
    runtime: &Runtime,
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> strand::Strand<'static, ()> {
    runtime.block_on(async { strand::Builder::new().name(name).spawn(f) })
}

#[test]
fn a_task_is_a_span_that_is_entered_for_each_poll_and_closed_at_its_end() {
    let recorder = Recorder::get();
    let runtime = observed(2);
    let (send, receive) = channel::oneshot::channel::<()>();
    let line = line!() + 1;
    let task = named("reader").spawn_on(&runtime.handle(), async move {
        yield_now().await;
        receive.await.unwrap();
    });
    // It has yielded, and waits.
    let seen = recorder.until("reader", |seen| seen.left >= 2);
    assert_eq!((&*seen.fields["kind"], &*seen.fields["loc.line"]), ("task", &*line.to_string()));
    assert!(seen.fields["loc.file"].ends_with("tokio_console.rs"), "{seen:?}");
    assert_eq!(seen.fields["task.id"], runtime.tasks()[0].id.to_string());
    // What yields is woken, as a waker of tokio's would do it, and not by itself.
    assert_eq!(seen.ops, ["waker.clone", "waker.wake_by_ref", "waker.drop", "waker.clone"], "{seen:?}");
    assert_eq!((seen.references, seen.wakers(), seen.self_wakes), (1, 1, 0), "{seen:?}");

    send.send(()).unwrap();
    task.wait().unwrap();
    let seen = recorder.closed("reader");
    assert_eq!((seen.entered, seen.left, seen.wakes(), seen.self_wakes), (3, 3, 2, 0), "{seen:?}");

    // A strand is one, too; and what is not observed is none.
    runtime.block_on(async { strand::Builder::new().name("fid").spawn(strand::yield_now).await.unwrap() });
    let seen = recorder.closed("fid");
    assert_eq!((&*seen.fields["kind"], seen.entered, seen.left), ("strand", 2, 2), "{seen:?}");
    let other = Runtime::builder().worker_threads(1).build().unwrap();
    let unseen = other.spawn(async { task::id().unwrap() }).wait().unwrap().to_string();
    let spans = recorder.spans.lock().unwrap();
    assert!(spans.values().all(|seen| seen.fields.get("task.id") != Some(&unseen)));
}

#[test]
fn who_is_woken_in_its_own_poll_wakes_itself_and_no_other() {
    let recorder = Recorder::get();
    let runtime = observed(2);
    let mut left = 5;
    let busy = poll_fn(move |cx| {
        left -= 1;
        match left {
            0 => return Poll::Ready(()),
            1 => {
                let waker = cx.waker().clone();
                waker.wake();
            }
            _ => cx.waker().wake_by_ref(),
        }
        Poll::Pending
    });
    named("busy").spawn_on(&runtime.handle(), busy).wait().unwrap();
    let seen = recorder.closed("busy");
    assert_eq!((seen.entered, seen.wakes(), seen.self_wakes, seen.wakers()), (5, 4, 4, 0), "{seen:?}");

    // By another thread, while it is polled.
    let mut done = false;
    let helped = poll_fn(move |cx| {
        if std::mem::replace(&mut done, true) {
            return Poll::Ready(());
        }
        std::thread::scope(|scope| {
            let waker = cx.waker().clone();
            scope.spawn(move || waker.wake());
        });
        Poll::Pending
    });
    named("helped").spawn_on(&runtime.handle(), helped).wait().unwrap();
    let seen = recorder.closed("helped");
    assert_eq!((seen.entered, seen.wakes(), seen.self_wakes, seen.wakers()), (2, 1, 0, 0), "{seen:?}");
}

#[test]
fn who_waits_has_a_waker_and_who_has_lost_it_has_none() {
    let recorder = Recorder::get();
    let runtime = observed(2);
    let handle = runtime.handle();
    let lost = named("lost").spawn_on(&handle, pending::<()>());
    let (mut ask, answer) = channel::oneshot::channel::<()>();
    let (send, receive) = channel::unbounded::<()>();
    let _detached = named("waits").spawn_on(&handle, async move {
        while receive.recv().await.is_ok() {}
        drop(answer);
    });
    let strand = strand_on(&runtime, "strand waits", move || ask.closed().wait());
    assert_eq!(recorder.until("lost", |seen| seen.left == 1).wakers(), 0);
    for round in 1..=3 {
        let seen = recorder.until("waits", |seen| seen.left == round);
        assert_eq!((seen.wakers(), seen.wakes()), (1, round as usize - 1), "{seen:?}");
        send.send(()).wait().unwrap();
    }
    assert_eq!(recorder.until("strand waits", |seen| seen.left == 1).wakers(), 1);
    drop(send);
    strand.wait().unwrap();
    assert_eq!(recorder.closed("strand waits").wakers(), 0);
    assert_eq!(recorder.closed("waits").wakers(), 0);
    // A wake-up that is no waker's: who is cancelled is queued.
    lost.cancel();
    assert!(lost.wait().is_err());
    let seen = recorder.closed("lost");
    assert_eq!((seen.ops.as_slice(), seen.entered), (&["waker.wake_by_ref".to_owned()][..], 1), "{seen:?}");
}

#[test]
fn who_waits_for_its_children_is_not_taken_for_lost() {
    let recorder = Recorder::get();
    let runtime = observed(2);
    let (started, starts) = channel::oneshot::channel();
    let ((go, told), (send, receive)) = (std::sync::mpsc::channel::<()>(), std::sync::mpsc::channel::<()>());
    let parent = named("parent").spawn_on(&runtime.handle(), async move {
        let mut group = TaskGroup::new();
        group.spawn(async move {
            told.recv().unwrap();
            started.send(()).unwrap();
            receive.recv() // it is in the middle of its poll: who cancels it has to wait
        });
        starts.await.unwrap();
    });
    recorder.until("parent", |seen| seen.left == 1);
    go.send(()).unwrap();
    recorder.until("parent", |seen| seen.wakers() == 1 && seen.entered == 2 && seen.left == 2);
    assert!(runtime.tasks().iter().any(|task| task.state == "ending"));
    send.send(()).unwrap();
    parent.wait().unwrap();
    let seen = recorder.closed("parent");
    assert_eq!((seen.entered, seen.wakes(), seen.self_wakes), (2, 2, 0), "{seen:?}");
}

#[test]
fn a_poll_that_waits_in_the_middle_is_left_meanwhile() {
    let recorder = Recorder::get();
    let runtime = observed(1);
    let (send, receive) = channel::oneshot::channel::<()>();
    let task = named("in the middle").spawn_on(&runtime.handle(), async move { receive.wait().unwrap() });
    let seen = recorder.until("in the middle", |seen| seen.left == 1);
    assert_eq!((seen.entered, seen.wakers(), seen.wakes()), (1, 1, 0), "{seen:?}");
    // On its own thread, which it has left.
    runtime.spawn(async move { send.send(()).unwrap() }).wait().unwrap();
    task.wait().unwrap();
    let seen = recorder.closed("in the middle");
    assert_eq!((seen.entered, seen.left), (2, 2), "{seen:?}");
    assert_eq!((seen.wakers(), seen.wakes(), seen.self_wakes), (0, 1, 0), "{seen:?}");
}

#[test]
fn a_span_is_left_before_the_task_can_go_on_elsewhere() {
    let recorder = Recorder::get();
    let runtime = observed(2);
    *recorder.looks_at.lock().unwrap() = Some(runtime.handle());
    let (send, receive) = channel::oneshot::channel::<()>();
    let task = named("one at a time").spawn_on(&runtime.handle(), async move { receive.await.unwrap() });
    recorder.until("one at a time", |seen| seen.left == 1);
    send.send(()).unwrap();
    task.wait().unwrap();
    let seen = recorder.closed("one at a time");
    *recorder.looks_at.lock().unwrap() = None;
    assert_eq!(seen.states, ["running", "running"], "{seen:?}");
}

/// Spans of the user's are left with the stack; the task's own is not one of these.
#[cfg(feature = "tracing")]
#[test]
fn spans_of_the_users_do_not_disturb_it() {
    let recorder = Recorder::get();
    let runtime = observed(1);
    let strand = strand_on(&runtime, "with spans", || {
        let _outer = tracing::info_span!("outer").entered();
        strand::yield_now();
        let _inner = tracing::info_span!("inner").entered();
        strand::yield_now();
    });
    strand.wait().unwrap();
    let seen = recorder.closed("with spans");
    assert_eq!((seen.entered, seen.left), (3, 3), "{seen:?}");

    let (send, receive) = channel::oneshot::channel::<()>();
    let task = named("with a span").spawn_on(&runtime.handle(), async move {
        let _span = tracing::info_span!("waits").entered();
        receive.wait().unwrap();
    });
    recorder.until("with a span", |seen| seen.left == 1);
    runtime.spawn(async move { send.send(()).unwrap() }).wait().unwrap();
    task.wait().unwrap();
    let seen = recorder.closed("with a span");
    assert_eq!((seen.entered, seen.left), (2, 2), "{seen:?}");
}
