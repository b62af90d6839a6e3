//! Tasks as tokio's console sees them: spans and events, by a subscriber that writes them down.

use ropewalk::{Runtime, Wait, strand, task, yield_now};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[derive(Clone, Debug, Default)]
struct Seen {
    fields: HashMap<String, String>,
    references: i64,
    entered: u64,
    left: u64,
    ops: Vec<String>,
}

#[derive(Clone, Default)]
struct Recorder {
    next: Arc<AtomicU64>,
    spans: Arc<Mutex<HashMap<u64, Seen>>>,
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
    fn with(&self, id: &Id, f: impl FnOnce(&mut Seen)) {
        f(self.spans.lock().unwrap().entry(id.into_u64()).or_default());
    }

    /// The span of the task of that name.
    fn named(&self, name: &str) -> Option<Seen> {
        let spans = self.spans.lock().unwrap();
        spans.values().find(|seen| seen.fields.get("task.name").is_some_and(|known| known == name)).cloned()
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1);
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
        self.with(&id, |seen| seen.ops.push(fields["op"].clone()));
    }
    fn enter(&self, id: &Id) {
        self.with(id, |seen| seen.entered += 1);
    }
    fn exit(&self, id: &Id) {
        self.with(id, |seen| seen.left += 1);
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

#[test]
fn a_task_is_a_span_that_is_entered_for_each_poll_and_closed_at_its_end() {
    let recorder = Recorder::default();
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    let runtime = Runtime::builder().worker_threads(2).observe(true).build().unwrap();
    let (send, receive) = ropewalk::channel::oneshot::channel::<()>();
    let line = line!() + 1;
    let task = task::Builder::new().name("reader").spawn_on(&runtime.handle(), async move {
        yield_now().await;
        receive.await.unwrap();
    });
    let woken = |seen: &Seen| seen.ops.iter().filter(|op| *op == "waker.wake_by_ref").count();
    // It has yielded, and waits.
    let waits = || recorder.named("reader").filter(|seen| seen.left >= 2);
    let seen = std::iter::repeat_with(waits).find_map(|seen| seen).unwrap();
    assert_eq!((&*seen.fields["kind"], &*seen.fields["loc.line"]), ("task", &*line.to_string()));
    assert!(seen.fields["loc.file"].ends_with("tokio_console.rs"), "{seen:?}");
    assert_eq!(seen.fields["task.id"], runtime.tasks()[0].id.to_string());
    assert_eq!((seen.ops.as_slice(), seen.references), (&["waker.clone".to_owned()][..], 1), "{seen:?}");

    send.send(()).unwrap();
    task.wait().unwrap();
    let closed = || recorder.named("reader").filter(|seen| seen.references == 0);
    let seen = std::iter::repeat_with(closed).find_map(|seen| seen).unwrap();
    assert_eq!((seen.entered, seen.left, woken(&seen)), (3, 3, 1), "{seen:?}");
    assert_eq!(seen.ops.last().unwrap(), "waker.drop");

    // A strand is one, too; and what is not observed is none.
    runtime.block_on(async { strand::Builder::new().name("fid").spawn(strand::yield_now).await.unwrap() });
    let closed = || recorder.named("fid").filter(|seen| seen.references == 0);
    let seen = std::iter::repeat_with(closed).find_map(|seen| seen).unwrap();
    assert_eq!((&*seen.fields["kind"], seen.entered, seen.left), ("strand", 2, 2), "{seen:?}");
    let before = recorder.spans.lock().unwrap().len();
    let other = Runtime::builder().worker_threads(1).build().unwrap();
    other.spawn(async {}).wait().unwrap();
    assert_eq!(recorder.spans.lock().unwrap().len(), before);
}
