//! Spans of `tracing` that were entered and not left yet: `tracing` keeps them by thread, but they belong to the stack that has
//! entered them. So they are left when that stack is suspended, and entered again when it goes on, as an instrumented future does.
//!
//! A subscriber is the user's code: if it panics then, that is said, and goes no further, for around it is a stack that is not over.
//!
//! Without the feature `tracing` there is nothing to do.

#[cfg(feature = "tracing")]
pub(crate) use kept::Spans;
#[cfg(not(feature = "tracing"))]
pub(crate) use none::Spans;

#[cfg(feature = "tracing")]
mod kept {
    use crate::runtime::unharmed;
    use tracing_core::dispatcher::{self, Dispatch};
    use tracing_core::span::Id;

    /// No stack has entered so many; a subscriber that takes none away again is asked no further.
    const MOST: usize = 1 << 10;

    /// Those of one stack, while it does not run.
    #[derive(Default)]
    pub(crate) struct Spans(Option<Box<Entered>>);

    struct Entered {
        /// Who knows them. What they stand for is kept by the guards on the stack.
        dispatch: Dispatch,
        /// The innermost first.
        ids: Vec<Id>,
    }

    impl Spans {
        /// Leaves all that the stack has entered on this thread.
        #[inline]
        pub(crate) fn leave() -> Self {
            let any = unharmed(|| dispatcher::get_default(|dispatch| innermost(dispatch).is_some()));
            if any { Self::leave_all() } else { Self(None) }
        }

        #[cold]
        fn leave_all() -> Self {
            let Some(dispatch) = unharmed(|| dispatcher::get_default(|dispatch| Some(dispatch.clone())))
            else {
                return Self(None);
            };
            let mut ids = Vec::new();
            while ids.len() < MOST
                && let Some(id) = unharmed(|| innermost(&dispatch))
            {
                unharmed(|| dispatch.exit(&id));
                ids.push(id);
            }
            Self(Some(Box::new(Entered { dispatch, ids })))
        }

        /// Enters them again.
        #[inline]
        pub(crate) fn enter(self) {
            if let Some(entered) = self.0 {
                let Entered { dispatch, ids } = *entered;
                ids.iter().rev().for_each(|id| unharmed(|| dispatch.enter(id)));
                unharmed(|| drop(dispatch));
            }
        }
    }

    /// The one that was entered last. The task's own (`sched/span.rs`), around all that its stack enters, is none of these.
    fn innermost(dispatch: &Dispatch) -> Option<Id> {
        let current = dispatch.current_span();
        #[cfg(feature = "tokio-console")]
        if current.metadata().is_some_and(|metadata| metadata.target() == crate::sched::span::TARGET) {
            return None;
        }
        current.id().cloned()
    }
}

#[cfg(not(feature = "tracing"))]
mod none {
    #[derive(Default)]
    pub(crate) struct Spans;

    impl Spans {
        #[inline(always)]
        pub(crate) fn leave() -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn enter(self) {}
    }
}
