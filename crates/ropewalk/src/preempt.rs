//! Long computations that let others have a turn.

use crate::sched::worker::Worker;
use crate::{context, strand, wait};

/// Lets others have their turn, if what runs here has had its worker for too long
/// ([`preempt_threshold`](crate::Builder::preempt_threshold)). For loops that compute without waiting for anything: costs a load.
///
/// ```
/// use ropewalk::{preempt_point, strand};
///
/// let sum = ropewalk::run(|| {
///     strand::scope(|s| {
///         let sum = s.spawn(|| {
///             (0..1_000_000_u64).fold(0, |sum, number| {
///                 preempt_point();
///                 sum ^ number
///             })
///         });
///         sum.join()
///     })
/// });
/// assert_eq!(sum, (0..1_000_000).fold(0, |sum, number| sum ^ number));
/// ```
///
/// On a strand it yields. In a task's poll it cannot (there, `.await` a [`preempt`]): it asks for a stand-in, at once, for those that wait
/// behind it, as if [`rescue_threshold`](crate::Builder::rescue_threshold) had passed. On a thread, and in a
/// [transaction](crate::stm::atomically), it does nothing.
/// [`#[preemptible]`](macro@crate::preemptible) puts one into every loop of a function.
///
/// # Cancellation
/// On a strand that was cancelled it unwinds, if it would have yielded, as every wait does.
#[inline]
pub fn preempt_point() {
    if is_asked() {
        give_way();
    }
}

/// The same in a task.
///
/// ```
/// # let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let sum = runtime.spawn(async {
///     let mut sum = 0;
///     for number in 0..1_000_000_u64 {
///         ropewalk::preempt().await;
///         sum ^= number;
///     }
///     sum
/// });
/// assert_eq!(runtime.block_on(sum).unwrap(), (0..1_000_000).fold(0, |sum, number| sum ^ number));
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// Cancel safe: nothing is lost but the turn.
#[inline]
pub async fn preempt() {
    if is_asked() {
        counted();
        crate::yield_now().await;
    }
}

/// Whether the poll that is under way takes too long.
#[inline]
fn is_asked() -> bool {
    context::with_worker(|worker| {
        worker.is_some_and(|worker| worker.station.hold.may_be_asked() && worker.is_asked_to_yield())
    })
}

fn counted() {
    context::with_worker(|worker| {
        worker.into_iter().for_each(|worker| worker.station.counters.preemptions.bump())
    });
}

#[cold]
fn give_way() {
    if wait::is_in_transaction() {
        return;
    }
    if strand::with_seat(|_, _| ()).is_some() {
        counted();
        return strand::yield_now();
    }
    context::with_worker(|worker| {
        let asks = |worker: &Worker| worker.station.hold.ask_for_rescue();
        worker.filter(|worker| asks(worker)).into_iter().for_each(|worker| worker.hurry_watchdog());
    });
}
