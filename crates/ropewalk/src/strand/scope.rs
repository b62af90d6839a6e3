//! Scopes and nurseries, as users see them; what they rest on is in `scene.rs`.

use super::builder::{Settings, launch};
use super::catch;
use super::handle::Strand;
use super::nursery::Inside;
use super::scene::{Kind, Scene};
use crate::wait::Abort;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Children would borrow from a call that is left (C1).
const UNCLOSED: &str = "a scope of strands could not wait for its children";

/// Where strands are started that borrow from their surroundings; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    scene: Scene,
    /// Neither may be made longer or shorter than it is.
    scope: PhantomData<Cell<&'scope ()>>,
    env: PhantomData<Cell<&'env ()>>,
}
// SAFETY: the markers stand for lifetimes only; the scene is `Sync`.
unsafe impl Sync for Scope<'_, '_> {}

/// Runs `f` with a scope, in which it can start strands that borrow from its surroundings. All of them have ended when this
/// returns.
///
/// ```
/// use ropewalk::strand;
/// let numbers = [3, 1, 4, 1, 5];
/// let (sum, most) = ropewalk::run(|| {
///     strand::scope(|s| {
///         let sum = s.spawn(|| numbers.iter().sum::<i32>());
///         let most = s.spawn(|| *numbers.iter().max().unwrap());
///         (sum.join(), most.join())
///     })
/// });
/// assert_eq!((sum, most), (14, 5));
/// ```
///
/// It works on strands, in tasks and on plain threads; the children are strands in any case.
///
/// # How it is left
///
/// Children that are alive when `f` is over are cancelled, and waited for, whatever interrupts the caller; one that is started by
/// another meanwhile does not run. If `f` returned, this
/// then panics with [`LiveStrands`](super::LiveStrands); [`Scope::join_all`] waits for them instead. The first panic of a child
/// that was not joined is thrown on; others go to the runtime's policy for panics that nobody handles, and so do all of them if
/// `f` panicked itself.
///
/// # Panics
/// As just said, and with what `f` panics with.
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    crate::wait::refuse_in_transaction_here("a scope of strands inside a transaction");
    let scope = Scope { scene: Scene::new(Kind::Scope), scope: PhantomData, env: PhantomData };
    let close = Abort(UNCLOSED);
    let result = catch(|| f(&scope));
    let remains = scope.scene.close();
    std::mem::forget(close);
    remains.settle(result)
}

/// A [`scope`] that fails as a whole: the first panic of a child cancels the others, interrupts what `f` waits for, and is thrown
/// on when all of them have ended.
///
/// ```
/// use ropewalk::strand;
/// use std::time::Duration;
/// let caught = std::panic::catch_unwind(|| ropewalk::run(|| strand::nursery(|n| {
///     n.spawn(|| strand::sleep(Duration::from_secs(3600)));
///     n.spawn(|| panic!("one for all"));
///     n.join_all() // does not take an hour
/// })));
/// assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "one for all");
/// ```
///
/// # Panics
/// As [`scope`].
pub fn nursery<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    crate::wait::refuse_in_transaction_here("a nursery inside a transaction");
    let scope = Scope { scene: Scene::new(Kind::Nursery), scope: PhantomData, env: PhantomData };
    let close = Abort(UNCLOSED);
    let result = {
        let _inside = Inside::new(&scope.scene);
        catch(|| f(&scope))
    };
    let remains = scope.scene.close();
    std::mem::forget(close);
    remains.settle(result)
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a strand that may borrow whatever outlives the scope.
    ///
    /// It runs on the pool of the caller, or of the default runtime, and from its start on one worker. If the runtime shuts down,
    /// it does not run, and its handle says so.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> Strand<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_from(Location::caller(), f)
    }

    pub(super) fn spawn_from<F, T>(
        &'scope self,
        spawned_at: &'static Location<'static>,
        f: F,
    ) -> Strand<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let settings = Settings { name: None, stack_size: 0, spawned_at };
        // SAFETY: `f` and what it gives outlive the scope, which waits for it (C1).
        Strand::new(unsafe { launch(f, Some(&self.scene), settings) }, Some(&self.scene))
    }

    pub(super) fn scene(&'scope self) -> &'scope Scene {
        &self.scene
    }

    /// Waits until no child is alive. Their panics are thrown when the scope is left.
    ///
    /// A child that waits for all of them waits for itself.
    pub fn join_all(&self) {
        crate::wait(std::future::poll_fn(|cx| self.scene.poll_empty(cx)));
    }

    /// Cancels the children that are alive.
    pub fn cancel_all(&self) {
        self.scene.cancel_all();
    }

    /// How many children are alive.
    pub fn len(&self) -> usize {
        self.scene.len()
    }

    /// Whether no child is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("kind", &self.scene.kind()).field("len", &self.len()).finish()
    }
}
