//! Those who have given work to the kernel. The mark of the work is their place.
//!
//! * **PL1** A place is somebody's from before the kernel hears of the work until its last completion was taken. Then it may be
//!   another's: who orders the kernel to end something looks whose place it is, and orders under the lock.

use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Places<T> {
    places: Vec<Option<Arc<T>>>,
    free: Vec<u32>,
    closed: bool,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), closed: false }
    }
}

impl<T> Places<T> {
    /// A place for `who`; `None`: nothing new is begun.
    pub(super) fn take(&mut self, who: &Arc<T>) -> Option<u32> {
        if self.closed {
            return None;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(who.clone());
        Some(place)
    }

    /// Who has it.
    pub(super) fn at(&self, place: u32) -> Option<&Arc<T>> {
        self.places.get(place as usize)?.as_ref()
    }

    /// Whether it is the place of `who`.
    pub(super) fn is_of(&self, place: u32, who: &Arc<T>) -> bool {
        self.at(place).is_some_and(|other| Arc::ptr_eq(other, who))
    }

    /// The last completion was taken.
    pub(super) fn leave(&mut self, place: u32) {
        if self.places[place as usize].take().is_some() {
            self.free.push(place);
        }
    }

    /// Whether the kernel has anything.
    pub(super) fn are_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }

    /// All who have one.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.places.iter().flatten().cloned().collect()
    }

    /// Nothing new is begun from now on. Who is still there, and where.
    pub(super) fn close(&mut self) -> Vec<(u32, Arc<T>)> {
        self.closed = true;
        (0..).zip(&self.places).filter_map(|(place, who)| Some((place, who.clone()?))).collect()
    }

    /// What the kernel did not give back is never freed.
    pub(super) fn lose(&mut self) {
        self.places.drain(..).flatten().for_each(std::mem::forget);
        self.free.clear();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_again_when_it_was_left() {
        let mut places = Places::default();
        let who: Vec<_> = (0..3).map(Arc::new).collect();
        let taken: Vec<_> = who.iter().map(|who| places.take(who).unwrap()).collect();
        assert_eq!(taken, [0, 1, 2]);
        places.leave(1);
        places.leave(1); // nobody's by now
        assert_eq!(places.at(1), None);
        assert_eq!(places.at(9), None);
        assert_eq!(places.take(&who[0]), Some(1));
        assert_eq!(places.take(&who[1]), Some(3));
        assert!(places.is_of(1, &who[0]) && !places.is_of(1, &who[1]), "it is another's");
    }

    #[test]
    fn behind_closed_doors_nothing_is_begun() {
        let mut places = Places::default();
        let (first, second) = (Arc::new('a'), Arc::new('b'));
        assert!(places.are_empty());
        places.take(&first);
        places.take(&second);
        places.leave(0);
        assert_eq!(places.close(), [(1, second.clone())]);
        assert_eq!(places.take(&first), None);
        assert!(!places.are_empty());
        places.lose();
        assert!(places.are_empty());
        assert_eq!(Arc::strong_count(&second), 2, "never freed");
        drop(second);
    }
}
