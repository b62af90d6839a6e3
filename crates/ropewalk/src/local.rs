//! Task locals: values that everything inside a future, or a call, can see, wherever it runs.
//!
//! A value belongs to a *scope*, not to a thread and not to the task's memory: while the scope's future is polled (or
//! dropped), the value is bound on the stack that polls it; when the poll ends it is not. What is bound travels with the
//! stack (`chain.rs`), so it is right after a migration, over a `.wait()`, on strands and in nested `block_on`s.
//!
//! Variables marked `#[inherit]` go to children as well; see [`task_local!`](crate::task_local).

mod chain;

pub(crate) use chain::{Heir, Heritage, Lent, Locals, carry, heritage};

use chain::Id;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Declares variables that belong to a task, or to any part of one, rather than to a thread.
///
/// ```
/// use std::sync::Arc;
///
/// ropewalk::task_local! {
///     /// Only the task itself sees it.
///     static REQUEST: u64;
///     /// Tasks, strands, blocking jobs and threads started inside see it too.
///     #[inherit]
///     pub static TRACE: Arc<str>;
/// }
///
/// ropewalk::block_on(TRACE.scope("a trace".into(), REQUEST.scope(17, async {
///     assert_eq!(REQUEST.get(), 17);
///     let child = ropewalk::spawn(async { (TRACE.get(), REQUEST.try_get().is_err()) });
///     assert_eq!(child.await.unwrap(), ("a trace".into(), true));
/// })));
/// assert!(TRACE.try_get().is_err());
/// ```
///
/// An inherited value is shared with the children, so it must be `Send + Sync`; they see what was bound when they were
/// started, whatever becomes of the parent. A variable that is not set costs nothing, nor does one that is not inherited when
/// children are started.
#[macro_export]
macro_rules! task_local {
    () => {};
    ($($item:tt)+) => { $crate::__task_local!([] [$crate::task::Own] $($item)+); };
}

/// Takes the attributes of a variable one by one, in search of `#[inherit]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __task_local {
    ([$($attribute:tt)*] [$kind:path] #[inherit] $($rest:tt)*) => {
        $crate::__task_local!([$($attribute)*] [$crate::task::Inherited] $($rest)*);
    };
    ([$($attribute:tt)*] [$kind:path] #$next:tt $($rest:tt)*) => {
        $crate::__task_local!([$($attribute)* #$next] [$kind] $($rest)*);
    };
    ([$($attribute:tt)*] [$kind:path] $vis:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::__task_local!([$($attribute)*] [$kind] $vis static $name: $type);
        $crate::task_local!($($rest)*);
    };
    ([$($attribute:tt)*] [$kind:path] $vis:vis static $name:ident: $type:ty) => {
        $($attribute)*
        $vis static $name: $crate::task::LocalKey<$type, $kind> =
            $crate::task::LocalKey::declared(::core::stringify!($name));
    };
}

/// A variable declared by [`task_local!`](crate::task_local).
pub struct LocalKey<T: 'static, K = Own> {
    /// Also keeps it from being of no size: its address tells it from others.
    name: &'static str,
    kind: PhantomData<fn() -> (T, K)>,
}

/// The kind of variable that stays with the task it was set in.
#[derive(Debug)]
pub struct Own;

/// The kind of variable that children get too.
#[derive(Debug)]
pub struct Inherited;

/// [`Own`] or [`Inherited`]: where the value is kept and how it is found.
pub trait Kind<T>: sealed::Sealed + 'static {
    /// What a scope keeps.
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    fn hold(value: T) -> Self::Held;
    #[doc(hidden)]
    fn enter<R>(key: Id, held: &Self::Held, f: impl FnOnce() -> R) -> R;
    #[doc(hidden)]
    fn find<R>(key: Id, f: impl FnOnce(Option<&T>) -> R) -> R;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Own {}
    impl Sealed for super::Inherited {}
}

impl<T: 'static> Kind<T> for Own {
    type Held = T;

    fn hold(value: T) -> T {
        value
    }

    fn enter<R>(key: Id, held: &T, f: impl FnOnce() -> R) -> R {
        chain::bind(key, held, f)
    }

    fn find<R>(key: Id, f: impl FnOnce(Option<&T>) -> R) -> R {
        chain::find_own(key, |found| f(found.and_then(<dyn Any>::downcast_ref)))
    }
}

/// An inherited value, and what children of this scope get: made in the first poll, and again should the scope be polled
/// inside other scopes than before.
#[doc(hidden)]
pub struct Bequest<T> {
    value: Arc<T>,
    #[expect(clippy::type_complexity, reason = "what was inherited, and what is passed on for it")]
    made: RefCell<Option<(Option<Arc<Heritage>>, Arc<Heritage>)>>,
}

impl<T: Send + Sync + 'static> Kind<T> for Inherited {
    type Held = Bequest<T>;

    fn hold(value: T) -> Bequest<T> {
        Bequest { value: Arc::new(value), made: RefCell::new(None) }
    }

    fn enter<R>(key: Id, held: &Bequest<T>, f: impl FnOnce() -> R) -> R {
        let heritage = held.made.borrow().as_ref().and_then(|(base, made)| {
            // The base is kept, so its address is that of no other one.
            chain::is_current(base.as_ref()).then(|| made.clone())
        });
        let heritage = heritage.unwrap_or_else(|| {
            let base = chain::capture();
            let made = Heritage::with(base.as_deref(), key, held.value.clone());
            let before = held.made.replace(Some((base, made.clone())));
            drop(before);
            made
        });
        chain::inherit(&heritage, f)
    }

    fn find<R>(key: Id, f: impl FnOnce(Option<&T>) -> R) -> R {
        chain::find_inherited(key, |found| f(found.and_then(<dyn Any>::downcast_ref)))
    }
}

impl<T: 'static, K: Kind<T>> LocalKey<T, K> {
    /// Runs `future` with the value set: in every poll of it, and while it is dropped.
    ///
    /// **Cancel safety**: as that of `future`. It panics when it is polled after its end.
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> Scoped<T, K, F> {
        Scoped { key: self, held: K::hold(value), future: Some(future) }
    }

    /// Calls `f` with the value set, also over every [`wait`](crate::wait()) in it.
    ///
    /// ```
    /// ropewalk::task_local! { static DEPTH: u32 }
    /// assert_eq!(DEPTH.sync_scope(1, || DEPTH.sync_scope(2, || DEPTH.get()) + DEPTH.get()), 3);
    /// ```
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        K::enter(self.id(), &K::hold(value), f)
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    /// If it is not set here; see [`try_with`](Self::try_with).
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).unwrap_or_else(|error| panic!("ropewalk: {error}"))
    }

    /// Calls `f` with the value.
    ///
    /// # Errors
    /// It is not set here.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        K::find(self.id(), |found| found.map(f)).ok_or(AccessError { name: self.name })
    }

    /// A copy of the value.
    ///
    /// # Panics
    /// If it is not set here; see [`try_get`](Self::try_get).
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// It is not set here.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }

    fn id(&'static self) -> Id {
        Id::of(self)
    }
}

impl<T: 'static, K> LocalKey<T, K> {
    #[doc(hidden)]
    pub const fn declared(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }
}

impl<T, K> fmt::Debug for LocalKey<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalKey({})", self.name)
    }
}

/// A task local was asked for where it is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError {
    name: &'static str,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        write!(
            f,
            "the task local {name} is not set here; set it around this code with {name}.scope(value, future)"
        )
    }
}

impl std::error::Error for AccessError {}

/// A future inside of which a task local is set. Made by [`LocalKey::scope`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Scoped<T: 'static, K: Kind<T>, F> {
    key: &'static LocalKey<T, K>,
    held: K::Held,
    /// `None` once it is done: it is dropped where the value is still set.
    future: Option<F>,
}

impl<T: 'static, K: Kind<T>, F: Future> Future for Scoped<T, K, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned with us: it is only polled, and dropped in place. The rest is not pinned.
        let Scoped { key, held, future: place, .. } = unsafe { self.get_unchecked_mut() };
        K::enter(key.id(), held, || {
            let future = place.as_mut().expect("a scope of a task local was polled after its end");
            // SAFETY: as above.
            let polled = unsafe { Pin::new_unchecked(future) }.poll(cx);
            if polled.is_ready() {
                *place = None;
            }
            polled
        })
    }
}

impl<T: 'static, K: Kind<T>, F> Drop for Scoped<T, K, F> {
    fn drop(&mut self) {
        let Scoped { key, held, future, .. } = self;
        if future.is_some() {
            K::enter(key.id(), held, || *future = None);
        }
    }
}

impl<T, K: Kind<T>, F> fmt::Debug for Scoped<T, K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped").field("key", self.key).finish_non_exhaustive()
    }
}
