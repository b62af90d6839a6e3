//! Pools without threads whose drivers sleep here: a strand or task of this pool drives another one, and has nothing to do there. While nobody
//! drives this pool, those drivers are away; see `../seat.rs`.

use crate::sched::pool::Pool;
use ropewalk_core::prim::Lock;
use std::sync::Arc;

/// See the head of this file. Changed by the thread that drives this pool.
pub(crate) struct Lodgers(Lock<Vec<Arc<Pool>>>);

impl Lodgers {
    pub(crate) fn new() -> Self {
        Self(Lock::new(Vec::new()))
    }

    /// The driver of `pool` sleeps here, until the guard is dropped.
    pub(crate) fn lodge(&self, pool: Arc<Pool>) -> Lodging<'_> {
        self.0.lock().push(pool.clone());
        Lodging { lodgers: self, pool }
    }

    /// All of them, and those of them.
    pub(super) fn all(&self) -> Vec<Arc<Pool>> {
        let mut all = self.0.lock().clone();
        let mut at = 0;
        while let Some(pool) = all.get(at).cloned() {
            all.extend(pool.lodgers.0.lock().iter().cloned());
            at += 1;
        }
        all
    }

    /// Somebody drives this pool, and so wakes their drivers.
    pub(super) fn back(&self) {
        self.all().iter().filter_map(|pool| pool.runtime.seat().ok()).for_each(|seat| seat.0.back());
    }

    /// Nobody drives this pool any more.
    pub(super) fn away(&self) {
        self.all().iter().filter_map(|pool| pool.runtime.seat().ok()).for_each(|seat| seat.0.away());
    }
}

/// One of them.
pub(crate) struct Lodging<'a> {
    lodgers: &'a Lodgers,
    pool: Arc<Pool>,
}

impl Drop for Lodging<'_> {
    fn drop(&mut self) {
        let mut all = self.lodgers.0.lock();
        let at = all.iter().position(|pool| Arc::ptr_eq(pool, &self.pool)).expect("it is there until now");
        let left = all.swap_remove(at);
        drop(all);
        drop(left);
    }
}
