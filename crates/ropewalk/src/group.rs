//! Groups: tasks that are joined together, cancelled together, and never outlive the task that spawned them.

pub(crate) mod kin;
mod roll;

use crate::task::{AbortHandle, SpawnLocalError, TaskError, TaskHandle, launch, launch_local, observation};
use crate::{Handle, context, task};
use kin::{Kin, Parent};
use roll::{Roll, Wanted};
use ropewalk_core::budget::poll_proceed;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::sched::blocking;
use crate::sched::host::{Member, Order};
use crate::sched::pool::Pool;
use crate::sched::worker::Worker;

/// Spawns tasks in a new group and waits for all of them: their results in the order in which they were spawned.
///
/// ```
/// let squares = ropewalk::block_on(ropewalk::task_group(|group| {
///     for n in 0..4 {
///         group.spawn(async move { n * n });
///     }
/// }));
/// let squares: Vec<u32> = squares.into_iter().map(Result::unwrap).collect();
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
///
/// `fill` is called when the future is first polled; what it spawns counts against the task that polls it.
///
/// **Cancel safety**: dropping the future drops the group, which cancels its tasks.
///
/// # Panics
/// If `fill` does; what was spawned until then is cancelled. Panics of the tasks are in their results.
pub async fn task_group<T>(fill: impl FnOnce(&mut TaskGroup<T>)) -> Vec<Result<T, TaskError>> {
    let mut group = TaskGroup::new();
    fill(&mut group);
    group.join_all().await
}

/// Tasks that are joined and cancelled together.
///
/// **The subtree rule.** Each task counts as a child of the task that is current when it is spawned, wherever the group is
/// moved, and even if it is forgotten. When that task ends, by its value, a panic or a cancellation, its remaining children
/// are cancelled; and its handle completes, the value held back, when the last of them has ended. A child has ended when
/// its own children have. So after `handle.cancel(); handle.await` nothing of that task runs any more. A child between two
/// suspensions is waited for, as is a blocking job that runs; jobs that are queued are removed. Tasks that are spawned
/// outside of any task (under `block_on`, for example) count against nobody.
///
/// A task that waits for the handle of one that it stems from, or for its own, would wait for ever: it gets
/// [`TaskError::Ancestor`], and that is reported on standard error and counted in
/// [`Metrics::refused_waits`](crate::Metrics::refused_waits). One that waits for a group in which it, or a task it stems
/// from, would have to end first has no such answer to get: that is reported and counted, once, and it waits until it is
/// cancelled.
///
/// **Dropping** a group cancels its tasks and does not wait for them: the parent's end does.
///
/// **Panics** of tasks are in their results. Those of tasks that nobody can ask for any more, because the group was
/// dropped, go to [`UnhandledPanic`](crate::UnhandledPanic), as for detached tasks. If the group was forgotten
/// (`mem::forget`), they are reported and counted when the parent ends; so are those in a group that outlives the parent
/// and was not asked until then. A forgotten group that was filled outside of any task takes its results with it, panics
/// included, as a forgotten handle does.
///
/// ```
/// use ropewalk::TaskGroup;
/// ropewalk::block_on(async {
///     let mut group = TaskGroup::new();
///     for n in [3, 1, 2] {
///         group.spawn(async move { n });
///     }
///     let mut sum = 0;
///     while let Some(n) = group.join_next().await {
///         sum += n.unwrap();
///     }
///     assert_eq!(sum, 6);
/// });
/// ```
pub struct TaskGroup<T> {
    roll: Arc<Roll>,
    seats: Vec<Option<Seat<T>>>,
    free: Vec<u32>,
    spawned: u64,
    fails: Option<fn(&T) -> bool>,
    /// The parent of the task spawned last.
    parent: Option<Parent>,
    /// Others had another one.
    several_parents: bool,
    /// It was said that a wait for this group cannot end.
    reported: bool,
}

struct Seat<T> {
    /// Its place in the order of spawning.
    number: u64,
    handle: TaskHandle<T>,
}

impl<T> TaskGroup<T> {
    /// A group without tasks.
    pub fn new() -> Self {
        Self {
            roll: Arc::new(Roll::new()),
            seats: Vec::new(),
            free: Vec::new(),
            spawned: 0,
            fails: None,
            parent: None,
            several_parents: false,
            reported: false,
        }
    }

    /// Whether the first task that fails cancels the others, also those spawned later. Default: no.
    ///
    /// A task fails if it gives no value: it panicked or was cancelled. What a value means the group cannot know; see
    /// [`fail_on`](Self::fail_on).
    ///
    /// ```
    /// let ends = ropewalk::block_on(ropewalk::task_group(|group| {
    ///     group.fail_fast(true).fail_on(Result::is_err);
    ///     group.spawn(std::future::pending());
    ///     group.spawn(async { Err::<(), _>("no such rope") });
    /// }));
    /// assert!(matches!(ends[0], Err(ropewalk::TaskError::Cancelled)));
    /// assert_eq!(*ends[1].as_ref().unwrap(), Err("no such rope"));
    /// ```
    pub fn fail_fast(&mut self, on: bool) -> &mut Self {
        self.roll.set_fail_fast(on);
        self
    }

    /// Which values of tasks spawned from now on count as failures to [`fail_fast`](Self::fail_fast): for groups of
    /// `Result`s, `fail_on(Result::is_err)`.
    ///
    /// # Panics
    /// A panic of `failed` is one of the task that gave the value.
    pub fn fail_on(&mut self, failed: fn(&T) -> bool) -> &mut Self {
        self.fails = Some(failed);
        self
    }

    /// Starts a task as [`spawn`](crate::spawn) does. The answer can cancel it; its result comes through the group.
    ///
    /// If the runtime is shutting down, the future is dropped and the result is [`TaskError::Shutdown`].
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let spawned_at = Location::caller();
        if context::has_entered() {
            return self.start(&Handle::current().main(), None, None, future, spawned_at);
        }
        context::with_worker(|worker| match worker {
            Some(worker) => self.start(&worker.pool, Some(worker), None, future, spawned_at),
            None => self.start(&Handle::current().main(), None, None, future, spawned_at),
        })
    }

    /// Starts a task in another runtime. It is a child of the current task all the same.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, runtime: &Handle, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.start_in(&runtime.main(), None, future, Location::caller())
    }

    /// Starts a task with the name, or in the pool, that `builder` says.
    ///
    /// ```
    /// use ropewalk::{TaskGroup, task};
    /// ropewalk::block_on(async {
    ///     let mut group = TaskGroup::new();
    ///     group.spawn_as(task::Builder::new().name("splicer"), async { panic!("frayed") as () });
    ///     let panic = group.join_next().await.unwrap().unwrap_err().into_panic().unwrap();
    ///     assert_eq!(panic.name(), Some("splicer"));
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_as<F>(&mut self, builder: task::Builder, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (name, pool) = builder.into_parts();
        let pool = pool.map_or_else(|| Handle::current().main(), |pool| pool.inner());
        self.start_in(&pool, name, future, Location::caller())
    }

    /// Starts a task that stays on this worker, as [`spawn_local`](crate::spawn_local) does.
    ///
    /// # Errors
    /// Off a worker; the future is given back.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> Result<AbortHandle, SpawnLocalError<F>>
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let spawned_at = Location::caller();
        context::with_worker(|worker| {
            let Some(worker) = worker else { return Err(SpawnLocalError(future)) };
            let (kin, seat) = self.expect_one();
            let extra = Member { kin, home: Some(worker.index() as u16) };
            let order = Order { extra, spawned_at, priority: 0 };
            let handle = match self.fails {
                None => launch_local(worker, future, order),
                Some(failed) => launch_local(worker, judged(future, failed, self.roll.clone()), order),
            };
            Ok(self.admit(seat, handle))
        })
    }

    /// Runs `call` in the blocking pool of the current runtime, as [`spawn_blocking`](crate::spawn_blocking) does. Cancelled
    /// while it is queued, it is removed; once it runs, it is waited for.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, call: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (spawned_at, runtime) = (Location::caller(), Handle::current());
        let (kin, seat) = self.expect_one();
        let handle = match self.fails {
            None => blocking::spawn(&runtime, call, None, spawned_at, Some(kin)),
            Some(failed) => {
                let roll = self.roll.clone();
                let judged = move || {
                    let value = call();
                    if failed(&value) {
                        roll.fail();
                    }
                    value
                };
                blocking::spawn(&runtime, judged, None, spawned_at, Some(kin))
            }
        };
        self.admit(seat, handle)
    }

    /// The result of the next task that ends, in the order of their ends; `None` if the group is empty.
    ///
    /// **Cancel safety**: dropping it loses nothing.
    pub async fn join_next(&mut self) -> Option<Result<T, TaskError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), for those who write futures by hand.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, TaskError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        ready!(poll_proceed(cx));
        ready!(self.poll_roll(cx, Wanted::Any));
        Poll::Ready(self.try_join_next())
    }

    /// Waits; once, a wait that cannot end is reported. Who waits for its own children, as a rule, need not be asked.
    fn poll_roll(&mut self, cx: &mut Context<'_>, wanted: Wanted) -> Poll<()> {
        let polled = self.roll.poll(cx, wanted);
        let own =
            |group: &Self| !group.several_parents && group.parent.as_ref().is_some_and(Parent::is_current);
        if polled.is_pending() && !self.reported && !own(self) {
            self.reported = kin::reports_wait(&self.roll, wanted == Wanted::All);
        }
        polled
    }

    /// The result of a task that has ended, if there is one that was not given yet.
    pub fn try_join_next(&mut self) -> Option<Result<T, TaskError>> {
        let seat = self.roll.next_ended()?;
        Some(self.leave(seat).1)
    }

    /// Waits until every task has ended: the results that were not given yet, in the order of spawning. The group is empty
    /// then, and can be used again.
    ///
    /// **Cancel safety**: dropping it loses nothing; the results stay in the group.
    pub async fn join_all(&mut self) -> Vec<Result<T, TaskError>> {
        poll_fn(|cx| {
            ready!(poll_proceed(cx));
            self.poll_roll(cx, Wanted::All)
        })
        .await;
        let mut ended = Vec::with_capacity(self.len());
        while let Some(seat) = self.roll.next_ended() {
            ended.push(self.leave(seat));
        }
        ended.sort_unstable_by_key(|(number, _)| *number);
        ended.into_iter().map(|(_, result)| result).collect()
    }

    /// Asks every task in the group to stop. Their results are [`TaskError::Cancelled`], unless they end otherwise first.
    /// Cancelling twice is the same as once; tasks can be spawned afterwards.
    pub fn cancel_all(&self) {
        self.roll.cancel_all();
    }

    /// How many tasks are in the group: those whose results were not given yet.
    pub fn len(&self) -> usize {
        self.seats.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn start_in<F>(
        &mut self,
        pool: &Arc<Pool>,
        name: Option<Box<str>>,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        context::with_worker(|worker| {
            let worker = worker.filter(|worker| Arc::ptr_eq(&worker.pool, pool));
            self.start(pool, worker, name, future, spawned_at)
        })
    }

    fn start<F>(
        &mut self,
        pool: &Arc<Pool>,
        worker: Option<&Worker>,
        name: Option<Box<str>>,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (kin, seat) = self.expect_one();
        let handle = match self.fails {
            None => spawn_member(pool, worker, name, future, kin, spawned_at),
            Some(failed) => {
                let future = judged(future, failed, self.roll.clone());
                spawn_member(pool, worker, name, future, kin, spawned_at)
            }
        };
        self.admit(seat, handle)
    }

    /// A seat, here and in the family of the current task, for a task that is about to be made.
    fn expect_one(&mut self) -> (Kin, u32) {
        let seat = self.free.pop().unwrap_or_else(|| {
            self.seats.push(None);
            u32::try_from(self.seats.len() - 1).expect("a group has fewer than 2^32 tasks")
        });
        let before = self.parent.as_ref().map(Parent::id);
        let parent = Parent::current(&mut self.parent, &self.roll);
        self.several_parents |= self.spawned > 0 && before != parent.map(Parent::id);
        (Kin::new(parent, self.roll.clone(), seat), seat)
    }

    fn admit(&mut self, seat: u32, handle: TaskHandle<T>) -> AbortHandle {
        let (number, abort) = (self.spawned, handle.abort_handle());
        self.spawned += 1;
        self.seats[seat as usize] = Some(Seat { number, handle });
        abort
    }

    /// Takes the result of a task that has ended.
    fn leave(&mut self, seat: u32) -> (u64, Result<T, TaskError>) {
        let Seat { number, mut handle } = self.seats[seat as usize].take().expect("it was spawned here");
        self.free.push(seat);
        (number, handle.try_take().expect("what has ended has a result"))
    }
}

/// Makes a task of a group; one with a name is observed, too.
fn spawn_member<F>(
    pool: &Arc<Pool>,
    worker: Option<&Worker>,
    name: Option<Box<str>>,
    future: F,
    kin: Kin,
    spawned_at: &'static Location<'static>,
) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match name {
        None => {
            launch(pool, worker, future, Order { extra: Member { kin, home: None }, spawned_at, priority: 0 })
        }
        Some(_) => launch(
            pool,
            worker,
            future,
            Order { extra: observation(pool, name, Some(kin)), spawned_at, priority: 0 },
        ),
    }
}

/// Looks at the value before it is given.
async fn judged<F: Future>(future: F, failed: fn(&F::Output) -> bool, roll: Arc<Roll>) -> F::Output {
    let value = future.await;
    if failed(&value) {
        roll.fail();
    }
    value
}

impl<T> Default for TaskGroup<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// See [`TaskGroup`].
impl<T> Drop for TaskGroup<T> {
    fn drop(&mut self) {
        self.roll.close();
        self.roll.cancel_all();
    }
}

impl<T> fmt::Debug for TaskGroup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskGroup").field("len", &self.len()).finish_non_exhaustive()
    }
}
