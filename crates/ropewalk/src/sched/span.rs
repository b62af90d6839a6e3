//! A task as a span of `tracing`, with the names that tokio's console understands. Nothing without the feature `tokio-console`.
//!
//! The span lives as long as the task, and is entered while its body is polled. Events say what is done with its wakers: the
//! console shows how many there are, takes a task that is not queued and has none for one that has been forgotten, and a task
//! that is woken on a thread that has entered its span for one that wakes itself.
//!
//! What waits without a waker of its own would look forgotten. So one is claimed where somebody else is sure to wake it:
//!
//! | it | claimed | given back |
//! |---|---|---|
//! | yields | before its span is left | with a wake-up, before it is queued |
//! | waits in the middle of a poll, its stack put away | before its span is left | with a wake-up, before it is entered again |
//! | has ended, and waits for its children | once | never: what follows is its end |

#[cfg(not(feature = "tokio-console"))]
pub(crate) use none::TaskSpan;
#[cfg(feature = "tokio-console")]
pub(crate) use shown::TaskSpan;

/// What is its span's alone.
#[cfg(feature = "tokio-console")]
pub(crate) const TARGET: &str = "ropewalk::task";

#[cfg(feature = "tokio-console")]
mod shown {
    use super::TARGET;
    use crate::runtime::unharmed;
    use ropewalk_core::prim::Lock;
    use ropewalk_core::prim::real::{AtomicBool, Ordering::Relaxed};
    use ropewalk_core::task::{TaskId, WakerOp};
    use std::panic::Location;
    use std::sync::Arc;
    use tracing::Span;

    /// The span of one task, while it lives.
    #[derive(Debug)]
    pub(crate) struct TaskSpan {
        /// Shared, because to clone a span is to call a subscriber, which is the user's code.
        span: Lock<Option<Arc<Span>>>,
        has_children: AtomicBool,
    }

    impl TaskSpan {
        pub(crate) fn new() -> Self {
            Self { span: Lock::new(None), has_children: AtomicBool::new(false) }
        }

        /// The task was spawned.
        pub(crate) fn begin(&self, id: TaskId, kind: &str, name: Option<&str>, at: &Location<'_>) {
            let span = tracing::trace_span!(
                target: TARGET,
                parent: None,
                "runtime.spawn",
                %kind,
                task.name = name,
                task.id = id.get(),
                loc.file = at.file(),
                loc.line = at.line(),
                loc.col = at.column(),
            );
            if !span.is_disabled() {
                *self.span.lock() = Some(Arc::new(span));
            }
        }

        /// A poll begins.
        pub(crate) fn enter(&self) {
            self.with(|span| {
                span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
            });
        }

        /// It ends, and the task is not queued yet.
        pub(crate) fn exit(&self, yielded: bool) {
            self.with(|span| {
                if yielded {
                    tell(span, WakerOp::Clone);
                }
                span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
                if yielded {
                    tell(span, WakerOp::Wake);
                }
            });
        }

        /// It waits, and its stack is put away.
        pub(crate) fn park(&self) {
            self.tell(WakerOp::Clone);
            self.exit(false);
        }

        pub(crate) fn go_on(&self) {
            self.tell(WakerOp::Wake);
            self.enter();
        }

        pub(crate) fn wait_for_children(&self) {
            if !self.has_children.swap(true, Relaxed) {
                self.tell(WakerOp::Clone);
            }
        }

        pub(crate) fn tell(&self, what: WakerOp) {
            self.with(|span| tell(span, what));
        }

        /// The task is over.
        pub(crate) fn end(&self) {
            let span = self.span.lock().take();
            unharmed(|| drop(span));
        }

        fn with(&self, f: impl FnOnce(&Span)) {
            let span = self.span.lock().clone();
            if let Some(span) = span {
                unharmed(|| {
                    f(&span);
                    drop(span);
                });
            }
        }
    }

    /// There is a name for a waker that is used up, `waker.wake`, but who hears it counts first the waker, then the wake-up: a
    /// task would look forgotten in between. So it is said in two steps, the other way round.
    fn tell(span: &Span, what: WakerOp) {
        match what {
            WakerOp::Clone => say(span, "waker.clone"),
            WakerOp::Drop => say(span, "waker.drop"),
            WakerOp::WakeByRef => say(span, "waker.wake_by_ref"),
            WakerOp::Wake => {
                say(span, "waker.wake_by_ref");
                say(span, "waker.drop");
            }
        }
    }

    fn say(span: &Span, op: &str) {
        if let Some(id) = span.id() {
            tracing::trace!(target: "runtime::waker", op, task.id = id.into_u64());
        }
    }
}

#[cfg(not(feature = "tokio-console"))]
mod none {
    #[derive(Debug)]
    pub(crate) struct TaskSpan;

    impl TaskSpan {
        #[inline(always)]
        pub(crate) fn new() -> Self {
            Self
        }
        #[inline(always)]
        pub(crate) fn end(&self) {}
    }
}
