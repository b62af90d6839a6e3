//! What is bound on a stack of execution, and what its children get.
//!
//! Two words per stack, in the worker's frame (or the strand's seat, or, on a plain thread, a thread-local), put away and
//! brought back with the stack:
//!
//! * `own`: a list of bindings, innermost first. Each lies on the stack itself, in the call that polls the scope.
//! * `inherited`: all inheritable values that are set, as one immutable [`Heritage`]. A scope makes a new one out of what it
//!   finds and its own value, so a child takes the whole of it by one more reference. No variable is in it twice: it is as
//!   long as there are variables, however deep scopes nest, also over generations of tasks.
//!
//! Starting a child with nothing to inherit is one test of `inherited`. Otherwise its future is boxed in an [`Heir`], which
//! binds the heritage in each poll: boxed, so that the program does not contain every task twice.
//!
//! Invariants:
//!
//! 1. A binding is taken off before the call that made it is left, however it is left.
//! 2. While something is bound, what it points to is borrowed by that call, and not changed.

use crate::sched::worker::Worker;
use crate::strand::Belongings;
use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::null;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Tells variables apart: the address of the key.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(usize);

impl Id {
    pub(super) fn of<K>(key: &'static K) -> Self {
        Self(std::ptr::from_ref(key).addr())
    }
}

struct Binding {
    key: Id,
    value: *const dyn Any,
    outer: *const Binding,
}

/// The inheritable values that are set somewhere.
#[doc(hidden)]
pub struct Heritage(Vec<(Id, Arc<dyn Any + Send + Sync>)>);

impl Heritage {
    /// What `base` has, with `value` for `key`.
    pub(super) fn with(base: Option<&Self>, key: Id, value: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        let others = base.into_iter().flat_map(|base| &base.0).filter(|(other, _)| *other != key);
        Arc::new(Self(others.cloned().chain([(key, value)]).collect()))
    }
}

/// What is bound on one stack.
pub(crate) struct Locals {
    own: Cell<*const Binding>,
    inherited: Cell<*const Heritage>,
}

impl Locals {
    pub(crate) const fn new() -> Self {
        Self { own: Cell::new(null()), inherited: Cell::new(null()) }
    }

    /// Leaves with its stack.
    pub(crate) fn take(&self) -> Self {
        Self {
            own: Cell::new(self.own.replace(null())),
            inherited: Cell::new(self.inherited.replace(null())),
        }
    }

    /// Comes back with it.
    pub(crate) fn set(&self, other: Self) {
        self.own.set(other.own.get());
        self.inherited.set(other.inherited.get());
    }

    /// What children would inherit.
    #[inline(always)]
    pub(crate) fn inherited(&self) -> *const Heritage {
        self.inherited.get()
    }

    /// Those of what runs here.
    fn here<R>(f: impl FnOnce(&Locals) -> R) -> R {
        Belongings::here(|own| f(&own.locals))
    }

    /// # Safety
    /// As for the raw pointer: only while it is bound (1).
    unsafe fn heritage(&self) -> Option<Arc<Heritage>> {
        let inherited = self.inherited.get();
        if inherited.is_null() {
            return None;
        }
        // SAFETY: it came from an `Arc` that whoever bound it holds (2); the new reference is counted first.
        unsafe {
            Arc::increment_strong_count(inherited);
            Some(Arc::from_raw(inherited))
        }
    }
}

/// Calls `f` with `value` bound to `key`.
pub(super) fn bind<R>(key: Id, value: &dyn Any, f: impl FnOnce() -> R) -> R {
    struct Restore(*const Binding);
    impl Drop for Restore {
        fn drop(&mut self) {
            Locals::here(|locals| locals.own.set(self.0));
        }
    }
    let outer = Locals::here(|locals| locals.own.get());
    // Only the lifetime changes: the binding is taken off before this call is left (1).
    let binding = Binding { key, value: std::ptr::from_ref(value), outer };
    let _restore = Restore(outer);
    Locals::here(|locals| locals.own.set(&binding));
    f()
}

/// Calls `f` with this heritage and no other.
pub(super) fn inherit<R>(heritage: &Arc<Heritage>, f: impl FnOnce() -> R) -> R {
    struct Restore(*const Heritage);
    impl Drop for Restore {
        fn drop(&mut self) {
            Locals::here(|locals| locals.inherited.set(self.0));
        }
    }
    let _restore = Restore(Locals::here(|locals| locals.inherited.replace(Arc::as_ptr(heritage))));
    f()
}

pub(super) fn find_own<R>(key: Id, f: impl FnOnce(Option<&dyn Any>) -> R) -> R {
    let mut at = Locals::here(|locals| locals.own.get());
    // SAFETY: bindings on the list belong to calls further up this very stack (1).
    while let Some(binding) = unsafe { at.as_ref() } {
        if binding.key == key {
            // SAFETY: 2, and `f` returns before the call that bound it does.
            return f(Some(unsafe { &*binding.value }));
        }
        at = binding.outer;
    }
    f(None)
}

pub(super) fn find_inherited<R>(key: Id, f: impl FnOnce(Option<&dyn Any>) -> R) -> R {
    let inherited = Locals::here(|locals| locals.inherited.get());
    // SAFETY: whoever bound it, further up this very stack, holds it (1, 2), and `f` returns before that does.
    let heritage = unsafe { inherited.as_ref() };
    let value = heritage.and_then(|heritage| heritage.0.iter().find(|(other, _)| *other == key));
    match value {
        Some((_, value)) => f(Some(&**value)),
        None => f(None),
    }
}

/// What a child that is started here gets.
pub(super) fn capture() -> Option<Arc<Heritage>> {
    // SAFETY: it is bound now.
    Locals::here(|locals| unsafe { locals.heritage() })
}

/// Whether this is what is bound here.
pub(super) fn is_current(heritage: Option<&Arc<Heritage>>) -> bool {
    Locals::here(|locals| std::ptr::eq(locals.inherited.get(), heritage.map_or(null(), Arc::as_ptr)))
}

/// What a child that is started here gets; `worker` is the current one, or not known.
#[inline(always)]
pub(crate) fn heritage(worker: Option<&Worker>) -> Option<Arc<Heritage>> {
    match worker {
        Some(worker) if worker.frame.own().locals.inherited.get().is_null() => None,
        _ => capture(),
    }
}

/// `f`, to be called elsewhere with what is inherited from here; or dropped there, with that bound as well.
pub(crate) fn carry<F: FnOnce() -> R, R>(f: F) -> impl FnOnce() -> R + use<F, R> {
    let heir = Heir { heritage: capture(), inner: Some(f) };
    move || heir.call()
}

/// The future or function of a child, with what it inherited: polled, called and dropped with that bound.
pub(crate) struct Heir<F> {
    heritage: Option<Arc<Heritage>>,
    inner: Option<F>,
}

impl<F> Heir<F> {
    pub(crate) fn new(heritage: Arc<Heritage>, inner: F) -> Self {
        Self { heritage: Some(heritage), inner: Some(inner) }
    }

    fn call<R>(mut self) -> R
    where
        F: FnOnce() -> R,
    {
        let call = self.inner.take().expect("it is called once");
        bound(self.heritage.as_ref(), call)
    }
}

fn bound<R>(heritage: Option<&Arc<Heritage>>, f: impl FnOnce() -> R) -> R {
    match heritage {
        Some(heritage) => inherit(heritage, f),
        None => f(),
    }
}

impl<F: Future + Unpin> Future for Heir<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Heir { heritage, inner } = &mut *self;
        let future = inner.as_mut().expect("it is there until it is dropped");
        bound(heritage.as_ref(), || Pin::new(future).poll(cx))
    }
}

impl<F> Drop for Heir<F> {
    fn drop(&mut self) {
        let Heir { heritage, inner } = self;
        bound(heritage.as_ref(), || *inner = None);
    }
}

/// What is bound on a stack that stands still while another one works for it.
pub(crate) struct Lent {
    own: *const Binding,
    inherited: *const Heritage,
}

impl Lent {
    /// Of the stack that runs here.
    pub(crate) fn from_here() -> Self {
        Locals::here(|locals| Self { own: locals.own.get(), inherited: locals.inherited.get() })
    }

    /// Of a stack that does not stand still: what is its own is not lent.
    pub(crate) fn inheriting(inherited: *const Heritage) -> Self {
        Self { own: null(), inherited }
    }

    /// Calls `f` with all of it bound.
    ///
    /// # Safety
    /// The stack it was lent by does not go on before `f` has returned; or, if nothing of its own was lent, does not leave the call in
    /// which the heritage is bound.
    pub(crate) unsafe fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(Option<Locals>);
        impl Drop for Restore {
            fn drop(&mut self) {
                Locals::here(|locals| locals.set(self.0.take().expect("restored once")));
            }
        }
        let _restore = Restore(Some(Locals::here(Locals::take)));
        let lent = Locals { own: Cell::new(self.own), inherited: Cell::new(self.inherited) };
        Locals::here(|locals| locals.set(lent));
        f()
    }
}
