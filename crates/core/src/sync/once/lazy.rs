//! A cell that knows how to make its value.

use super::OnceCell;
use core::fmt;
use core::future::Future;

/// The initialiser of a [`Lazy`] whose type can be written down, for statics. The future is boxed (feature `alloc`).
#[cfg(feature = "alloc")]
pub type LazyInit<T> = fn() -> core::pin::Pin<alloc::boxed::Box<dyn Future<Output = T> + Send>>;

/// A [`OnceCell`] with its initialiser: the first who asks runs it.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::Lazy};
///
/// static CONFIG: Lazy<Vec<u32>> = Lazy::new(|| Box::pin(async { vec![1, 2, 3] }));
/// assert_eq!(block_on_simple(CONFIG.get()).len(), 3);
///
/// // Anywhere else any function that gives a future will do.
/// let local = Lazy::new(|| async { 6 * 7 });
/// assert_eq!(local.ready(), None, "nobody has asked yet");
/// assert_eq!(block_on_simple(local.get()), &42);
/// ```
///
/// Without the feature `alloc` there is no default for `F`: write down a function that gives a future with a name.
///
/// ```
/// use core::future::{Ready, ready};
/// use ropewalk_core::{block_on_simple, sync::Lazy};
///
/// static NUMBER: Lazy<u32, fn() -> Ready<u32>> = Lazy::new(|| ready(7));
/// assert_eq!(block_on_simple(NUMBER.get()), &7);
/// ```
#[cfg(feature = "alloc")]
pub struct Lazy<T, F = LazyInit<T>> {
    cell: OnceCell<T>,
    init: F,
}

/// A [`OnceCell`] with its initialiser: the first who asks runs it.
///
/// ```
/// use core::future::{Ready, ready};
/// use ropewalk_core::{block_on_simple, sync::Lazy};
///
/// static NUMBER: Lazy<u32, fn() -> Ready<u32>> = Lazy::new(|| ready(7));
/// assert_eq!(block_on_simple(NUMBER.get()), &7);
/// ```
///
/// With the feature `alloc`, `F` has a default: a function that gives a boxed future.
#[cfg(not(feature = "alloc"))]
pub struct Lazy<T, F> {
    cell: OnceCell<T>,
    init: F,
}

impl<T, F> Lazy<T, F> {
    /// `init` is called when the value is first asked for; again only if that call panicked or was cancelled.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(init: F) -> Self {
        Self { cell: OnceCell::new(), init }
    }
    /// `init` is called when the value is first asked for; again only if that call panicked or was cancelled.
    #[cfg(any(loom, shuttle))]
    pub fn new(init: F) -> Self {
        Self { cell: OnceCell::new(), init }
    }

    /// The value, if it has been made.
    pub fn ready(&self) -> Option<&T> {
        self.cell.get()
    }
}

impl<T, Fut: Future<Output = T>, F: Fn() -> Fut> Lazy<T, F> {
    /// The value; the first call makes it.
    ///
    /// Cancel safety: as for [`OnceCell::get_or_init`].
    pub async fn get(&self) -> &T {
        self.cell.get_or_init(&self.init).await
    }
}

impl<T: fmt::Debug, F> fmt::Debug for Lazy<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("value", &self.ready()).finish_non_exhaustive()
    }
}
