//! Those who wait for one registration: the first of them in place, others, who are rare, in a list.
//!
//! Whoever waits has a name here: its address, if it stays where it is, or its direction, of which there is one waker each.
//! The name is only compared: nobody looks at what is at that address.

use super::contract::{Interest, Ready};
use super::readiness::Direction;
use std::task::Waker;

/// Somebody who waits, and what for: an address with the interest in the bits that are zero in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who(usize);

/// What is to be named by its address is aligned to this.
pub(super) const NAMED: usize = 8;
const INTEREST: usize = NAMED - 1;

impl Who {
    /// The one waker that a direction has for everybody who polls.
    pub(super) fn slot(direction: Direction) -> Self {
        Self(usize::from(direction.interest().bits()))
    }

    /// Whoever is at `place`, and stays there for as long as it is here.
    pub(super) fn at<T>(place: *const T, interest: Interest) -> Self {
        const { assert!(align_of::<T>() >= NAMED) };
        Self(place.addr() | usize::from(interest.bits()))
    }

    pub(super) fn interest(self) -> Interest {
        Interest::from_bits((self.0 & INTEREST) as u8)
    }
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    who: Who,
}

/// See the head of this file. Wakers are cloned, woken and dropped by the callers, outside of the lock that this is under.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    first: Option<Waiter>,
    others: Option<Box<Others>>,
}

#[derive(Debug, Default)]
pub(super) struct Others(Vec<Waiter>);

/// Those who were taken out, to be woken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    first: Option<Waiter>,
    others: Option<Box<Others>>,
}

impl Taken {
    /// All of them. What is left is the empty list, to be used again.
    pub(super) fn wake(mut self, wake: impl Fn(Waker)) -> Option<Box<Others>> {
        self.first.map(|waiter| waiter.waker).into_iter().for_each(&wake);
        if let Some(others) = &mut self.others {
            others.0.drain(..).for_each(|waiter| wake(waiter.waker));
        }
        self.others
    }
}

impl Waiting {
    fn find(&mut self, who: Who) -> Option<&mut Waiter> {
        let others = self.others.iter_mut().flat_map(|others| &mut others.0);
        self.first.iter_mut().chain(others).find(|waiter| waiter.who == who)
    }

    /// Leaves a waker; the one that was there before.
    pub(super) fn put(&mut self, who: Who, waker: Waker) -> Option<Waker> {
        if self.first.is_none() && self.others.is_none() {
            self.first = Some(Waiter { waker, who }); // as mostly
            return None;
        }
        if let Some(waiter) = self.find(who) {
            return Some(std::mem::replace(&mut waiter.waker, waker));
        }
        let waiter = Waiter { waker, who };
        if self.first.is_none() {
            self.first = Some(waiter);
        } else {
            self.others.get_or_insert_default().0.push(waiter);
        }
        None
    }

    /// Somebody waits no longer.
    pub(super) fn remove(&mut self, who: Who) -> Option<Waker> {
        if let Some(first) = self.first.take_if(|waiter| waiter.who == who) {
            return Some(first.waker);
        }
        let others = &mut self.others.as_mut()?.0;
        let at = others.iter().position(|waiter| waiter.who == who)?;
        Some(others.swap_remove(at).waker)
    }

    /// Takes those out who have waited for `ready`; `None`: all of them.
    pub(super) fn take(&mut self, ready: Option<Ready>) -> Taken {
        let is_told = |waiter: &Waiter| ready.is_none_or(|ready| ready.satisfies(waiter.who.interest()));
        let first = self.first.take_if(|waiter| is_told(waiter));
        let mut others = self.others.take_if(|others| others.0.iter().any(&is_told));
        if let Some(others) = &mut others {
            let rest: Vec<_> = others.0.extract_if(.., |waiter| !is_told(waiter)).collect();
            if !rest.is_empty() {
                self.others = Some(Box::new(Others(rest)));
            }
        }
        Taken { first, others }
    }

    /// An empty list, to be used again; one that is not needed.
    pub(super) fn reuse(&mut self, list: Box<Others>) -> Option<Box<Others>> {
        if self.others.is_some() {
            return Some(list);
        }
        self.others = Some(list);
        None
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::Wake;

    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    struct Guest {
        who: Who,
        bell: Arc<Bell>,
    }

    impl Guest {
        fn waker(&self) -> Waker {
            self.bell.clone().into()
        }

        fn woken(&self) -> usize {
            self.bell.0.swap(0, SeqCst)
        }
    }

    fn guests(interests: &[Interest]) -> Vec<Guest> {
        static PLACES: [u64; 16] = [0; 16];
        let guest = |(place, interest): (&'static u64, &Interest)| Guest {
            who: Who::at(place, *interest),
            bell: Arc::new(Bell(AtomicUsize::new(0))),
        };
        PLACES.iter().zip(interests).map(guest).collect()
    }

    fn woken(guests: &[Guest]) -> Vec<usize> {
        guests.iter().map(Guest::woken).collect()
    }

    fn wake(waiting: &mut Waiting, ready: Option<Ready>) {
        if let Some(list) = waiting.take(ready).wake(Waker::wake) {
            waiting.reuse(list);
        }
    }

    const READ: Interest = Interest::READABLE;
    const WRITE: Interest = Interest::WRITABLE;

    #[test]
    fn each_is_told_what_it_waits_for() {
        let guests = guests(&[READ, WRITE, READ, Interest::BOTH, WRITE]);
        let mut waiting = Waiting::default();
        guests.iter().for_each(|guest| assert!(waiting.put(guest.who, guest.waker()).is_none()));
        wake(&mut waiting, Some(Ready::PRIORITY));
        assert_eq!(woken(&guests), [0, 0, 0, 0, 0]);
        wake(&mut waiting, Some(Ready::READABLE));
        assert_eq!(woken(&guests), [1, 0, 1, 1, 0]);
        guests[..1].iter().for_each(|guest| assert!(waiting.put(guest.who, guest.waker()).is_none()));
        wake(&mut waiting, None);
        assert_eq!(woken(&guests), [1, 1, 0, 0, 1]);
        wake(&mut waiting, None);
        assert_eq!(woken(&guests), [0; 5]);
    }

    #[test]
    fn who_leaves_is_not_told_and_the_others_are() {
        for gone in 0..4 {
            let guests = guests(&[READ; 4]);
            let mut waiting = Waiting::default();
            guests.iter().for_each(|guest| assert!(waiting.put(guest.who, guest.waker()).is_none()));
            assert!(waiting.remove(guests[gone].who).is_some());
            assert!(waiting.remove(guests[gone].who).is_none());
            wake(&mut waiting, Some(Ready::READABLE));
            let expected: Vec<_> = (0..4).map(|at| usize::from(at != gone)).collect();
            assert_eq!(woken(&guests), expected);
        }
    }

    #[test]
    fn the_last_waker_of_a_name_counts() {
        let guests = guests(&[READ, READ]);
        let mut waiting = Waiting::default();
        let slot = Who::slot(Direction::Read);
        assert!(waiting.put(slot, guests[0].waker()).is_none());
        assert!(waiting.put(slot, guests[1].waker()).is_some());
        assert!(waiting.remove(Who::slot(Direction::Write)).is_none());
        wake(&mut waiting, Some(Ready::READABLE));
        assert_eq!(woken(&guests), [0, 1]);
    }

    /// Two connections in three wait for nothing but their next message.
    #[test]
    fn one_waiter_needs_no_list() {
        assert!(size_of::<Waiting>() <= 4 * size_of::<usize>());
        let guests = guests(&[READ]);
        let mut waiting = Waiting::default();
        waiting.put(guests[0].who, guests[0].waker());
        assert!(waiting.others.is_none());
    }
}
