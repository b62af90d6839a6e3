//! The nurseries around what runs: the first child's panic interrupts what their owner waits for.

use super::scene::{Kind, Scene};
use super::seat::Belongings;
use std::cell::Cell;
use std::ptr::null;
use std::task::Waker;

/// The nurseries of one stack of execution, innermost first. Each lies in the call of [`nursery`](super::nursery) that made it.
pub(crate) struct Chain(Cell<*const Scene>);

impl Chain {
    pub(super) const fn new() -> Self {
        Self(Cell::new(null()))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get().is_null()
    }

    pub(crate) fn take(&self) -> Self {
        Self(Cell::new(self.0.replace(null())))
    }

    pub(crate) fn set(&self, other: Self) {
        self.0.set(other.0.get());
    }

    /// `scene` is the innermost one from now on; the one that was.
    fn replace(&self, scene: *const Scene) -> *const Scene {
        self.0.replace(scene)
    }

    /// Whether one of them has failed; if not, `waker` is called when one does.
    pub(crate) fn poll_failed(&self, waker: &Waker) -> bool {
        // SAFETY: a nursery is taken off the chain before the call that it lies in is left.
        let scene = |scene: *const Scene| unsafe { scene.as_ref() };
        let all = std::iter::successors(scene(self.0.get()), |inner| scene(inner.outer()));
        // All of them get the waker, also if one has failed already.
        all.fold(false, |failed, scene| scene.poll_failed(waker) | failed)
    }
}

/// Interrupts a root from outside, wherever it waits: a nursery around it, without children.
pub(crate) struct Recall(Scene);

impl Recall {
    pub(crate) fn new() -> Self {
        Self(Scene::new(Kind::Nursery))
    }

    /// Polls a root, or a part of one. It may be suspended in the middle.
    pub(crate) fn within<R>(&self, poll: impl FnOnce() -> R) -> R {
        let _inside = Inside::new(&self.0);
        poll()
    }

    /// What waits inside now, or begins to, unwinds.
    pub(crate) fn interrupt(&self) {
        self.0.interrupt();
    }
}

/// Everything that waits here is inside of a nursery, until this is dropped.
pub(super) struct Inside(*const Scene);

impl Inside {
    pub(super) fn new(scene: &Scene) -> Self {
        Belongings::here(|own| scene.set_outer(own.nurseries.replace(scene)));
        Self(scene.outer())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        Belongings::here(|own| own.nurseries.replace(self.0));
    }
}
