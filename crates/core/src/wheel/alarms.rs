//! The wheel with a safe interface: it owns its entries, and keys say which is meant.

use super::{Deadline, Timed, Wheel};
use crate::list::Links;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ptr::NonNull;

/// A timing wheel that owns what it keeps: one allocation per value, none for cancelling or expiring.
///
/// ```
/// use ropewalk_core::wheel::Alarms;
///
/// let mut alarms: Alarms<&str> = Alarms::new();
/// let tea = alarms.register(180, "tea");
/// let eggs = alarms.register(420, "eggs");
/// assert_eq!(alarms.next_deadline(), Some(180));
/// assert_eq!(alarms.advance(179), None);
/// assert_eq!(alarms.advance(500), Some((180, "tea")));
/// assert_eq!(alarms.cancel(eggs), Some("eggs"));
/// assert_eq!(alarms.cancel(tea), None, "it is over");
/// assert_eq!(alarms.advance(500), None);
/// ```
///
/// Times are plain numbers, as a rule nanoseconds; for much coarser ones a smaller `GRAIN` spreads them over more slots.
pub struct Alarms<T, const GRAIN: u32 = 13> {
    wheel: Wheel<Alarm<T>, GRAIN>,
    /// Where the alarm of each index is, and how many came before it there.
    table: Vec<(Option<NonNull<Alarm<T>>>, u32)>,
    vacant: Vec<u32>,
}

// SAFETY: it owns its alarms, and they hold nothing but the value, its links and a number.
unsafe impl<T: Send, const GRAIN: u32> Send for Alarms<T, GRAIN> {}
// SAFETY: nothing of the values can be reached through a shared reference.
unsafe impl<T: Send, const GRAIN: u32> Sync for Alarms<T, GRAIN> {}

/// Says which alarm is meant; not valid any more when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlarmKey {
    index: u32,
    generation: u32,
}

struct Alarm<T> {
    links: Links<Alarm<T>>,
    deadline: Deadline,
    index: u32,
    value: T,
}

crate::linked!(Alarm<T>, links, T);
// SAFETY: the field is the wheel's alone.
unsafe impl<T> Timed for Alarm<T> {
    unsafe fn deadline(alarm: NonNull<Self>) -> NonNull<Deadline> {
        // SAFETY: the caller passes a valid alarm.
        unsafe { NonNull::new_unchecked((&raw const (*alarm.as_ptr()).deadline).cast_mut()) }
    }
}

impl<T, const GRAIN: u32> Alarms<T, GRAIN> {
    /// A wheel without alarms, at time zero.
    pub const fn new() -> Self {
        Self { wheel: Wheel::new(), table: Vec::new(), vacant: Vec::new() }
    }

    /// How many alarms are registered.
    pub const fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether no alarm is registered.
    pub const fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Adds an alarm: `value` comes out of [`advance`](Self::advance) at `deadline`. The key cancels it.
    ///
    /// # Panics
    ///
    /// With more than 2^32 alarms at a time.
    pub fn register(&mut self, deadline: u64, value: T) -> AlarmKey {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.table.push((None, 0));
            u32::try_from(self.table.len() - 1).expect("at most 2^32 alarms at a time")
        });
        let alarm = Alarm { links: Links::new(), deadline: Deadline::new(), index, value };
        let alarm = NonNull::from(Box::leak(Box::new(alarm)));
        let (place, generation) = &mut self.table[index as usize];
        *place = Some(alarm);
        // SAFETY: on the heap until `release`, which comes after it has left the wheel.
        unsafe { self.wheel.register(alarm, deadline) };
        AlarmKey { index, generation: *generation }
    }

    /// Takes an alarm out before its time; `None` if it is over.
    pub fn cancel(&mut self, key: AlarmKey) -> Option<T> {
        let (alarm, generation) = *self.table.get(key.index as usize)?;
        let alarm = alarm.filter(|_| generation == key.generation)?;
        // SAFETY: what is in the table is in the wheel.
        unsafe { self.wheel.cancel(alarm) };
        Some(self.release(alarm).1)
    }

    /// Time has come to `now`: the first alarm that is due, with its deadline. Call it until it returns `None`.
    pub fn advance(&mut self, now: u64) -> Option<(u64, T)> {
        let alarm = self.wheel.advance(now)?;
        Some(self.release(alarm))
    }

    /// See [`Wheel::next_deadline`].
    pub fn next_deadline(&mut self) -> Option<u64> {
        self.wheel.next_deadline()
    }

    /// Frees an alarm that has left the wheel.
    fn release(&mut self, alarm: NonNull<Alarm<T>>) -> (u64, T) {
        // SAFETY: from `Box::leak`, and nobody has it any more: it is in no wheel and leaves the table here.
        let alarm = unsafe { Box::from_raw(alarm.as_ptr()) };
        let (place, generation) = &mut self.table[alarm.index as usize];
        *place = None;
        *generation = generation.wrapping_add(1);
        self.vacant.push(alarm.index);
        // SAFETY: it is in no wheel.
        (unsafe { alarm.deadline.get() }, alarm.value)
    }
}

impl<T, const GRAIN: u32> Drop for Alarms<T, GRAIN> {
    fn drop(&mut self) {
        for (alarm, _) in self.table.drain(..) {
            if let Some(alarm) = alarm {
                // SAFETY: from `Box::leak`; the wheel that knows it is not used any more.
                drop(unsafe { Box::from_raw(alarm.as_ptr()) });
            }
        }
    }
}

impl<T, const GRAIN: u32> Default for Alarms<T, GRAIN> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T, const GRAIN: u32> fmt::Debug for Alarms<T, GRAIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarms").field("wheel", &self.wheel).finish_non_exhaustive()
    }
}
