//! A task as a span of `tracing`, with the names that tokio's console understands. Nothing without the feature `tokio-console`.
//!
//! The span lives as long as the task, and is entered for each poll. Events say that it was woken. The console wants to know of wakers, too, or
//! it believes that a task without one has been forgotten: one is claimed for each task, as long as it lives.

#[cfg(not(feature = "tokio-console"))]
pub(crate) use none::TaskSpan;
#[cfg(feature = "tokio-console")]
pub(crate) use shown::TaskSpan;

#[cfg(feature = "tokio-console")]
mod shown {
    use ropewalk_core::prim::Lock;
    use ropewalk_core::task::TaskId;
    use std::panic::Location;
    use tracing::Span;
    use tracing::span::EnteredSpan;

    /// The span of one task, while it lives.
    #[derive(Debug)]
    pub(crate) struct TaskSpan(Lock<Option<Span>>);

    impl TaskSpan {
        pub(crate) fn new() -> Self {
            Self(Lock::new(None))
        }

        /// The task was spawned.
        pub(crate) fn begin(&self, id: TaskId, kind: &str, name: Option<&str>, at: &Location<'_>) {
            let span = tracing::trace_span!(
                target: "ropewalk::task",
                parent: None,
                "runtime.spawn",
                %kind,
                task.name = name,
                task.id = id.get(),
                loc.file = at.file(),
                loc.line = at.line(),
                loc.col = at.column(),
            );
            tell(&span, "waker.clone");
            *self.0.lock() = Some(span);
        }

        /// A poll begins; it ends when the answer is dropped.
        pub(crate) fn enter(&self) -> Option<EnteredSpan> {
            let span = self.0.lock().clone();
            span.map(Span::entered)
        }

        pub(crate) fn woken(&self) {
            let span = self.0.lock().clone();
            span.iter().for_each(|span| tell(span, "waker.wake_by_ref"));
        }

        /// The task is over.
        pub(crate) fn end(&self) {
            let span = self.0.lock().take();
            span.iter().for_each(|span| tell(span, "waker.drop"));
        }
    }

    fn tell(span: &Span, op: &str) {
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
        pub(crate) fn enter(&self) {}
        #[inline(always)]
        pub(crate) fn end(&self) {}
    }
}
