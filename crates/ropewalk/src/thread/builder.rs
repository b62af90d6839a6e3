//! How a thread is started.

use super::cell::{Origin, make};
use super::latch::Latch;
use super::scope::{Member, Members, Scope};
use super::settings::{Class, Settings};
use super::{JoinHandle, SettingError};
use crate::runtime::Handle;
use crate::{context, local};
use ropewalk_core::prim::Lock;
use ropewalk_core::task::Runnable;
use std::io;
use std::panic::Location;
use std::sync::Arc;

/// The least stack a thread gets by request, and the most.
const STACK: std::ops::RangeInclusive<usize> = 32 * 1024..=1 << 40;

/// Starts threads with a name, a stack size, a set of cores and a scheduling class.
///
/// Affinity, nice and class are set by the new thread before it calls the function. If the system refuses one, the thread
/// ends without having called it, and [`spawn`](Self::spawn) gives an error that holds a [`SettingError`]. Linux is where
/// they work; elsewhere asking for one is an error.
///
/// ```
/// use ropewalk::thread;
/// let thread = thread::Builder::new().name("cruncher").stack_size(1 << 20).nice(5).spawn(|| 6 * 7)?;
/// assert_eq!(thread.join().unwrap(), 42);
///
/// let error = thread::Builder::new().stack_size(10).spawn(|| ()).unwrap_err();
/// assert!(error.to_string().contains("stack_size"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `spawn`"]
pub struct Builder {
    name: Option<Box<str>>,
    stack_size: Option<usize>,
    settings: Settings,
}

impl Builder {
    /// No name, the usual stack, and whatever the starting thread has of the rest.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread's name, also shown in reports of panics. No NUL bytes. (Linux shows the first 15 bytes to others.)
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The size of its stack in bytes, from 32 KiB to 1 TiB. Memory is used as needed.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// The cores it may run on, by their numbers: all of these, or `spawn` gives an error.
    pub fn affinity(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.settings.affinity = Some(cores.into_iter().collect());
        self
    }

    /// How much it stands back for others: from -20 (least) to 19. Less than the starting thread's needs a right.
    pub fn nice(mut self, nice: i32) -> Self {
        self.settings.nice = Some(nice);
        self
    }

    /// Its scheduling class. The real-time ones need a right. Threads that it starts inherit it.
    pub fn class(mut self, class: Class) -> Self {
        self.settings.class = Some(class);
        self
    }

    /// Starts the thread; see [`thread::spawn`](super::spawn). With affinity, nice or class it waits, as
    /// [`wait`](crate::wait()) does, until the new thread has set them.
    ///
    /// # Errors
    /// The system gives no thread or no memory; or a [`SettingError`] that names the setting, what was asked for, what is
    /// accepted and which right is missing. The function was not called then, and has been dropped.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: nothing is borrowed.
        unsafe { self.start(f, None, Location::caller()) }
    }

    /// Starts a thread of a scope; see [`scope`](super::scope).
    ///
    /// # Errors
    /// As for [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `scope` does not return before `Start` has dropped its member, after the Runnable.
        unsafe { self.start(f, Some(&scope.members), Location::caller()) }
    }

    /// # Safety
    /// What `f` and its value borrow lives until the member of `scope` that the thread gets is dropped.
    unsafe fn start<F, T>(
        self,
        f: F,
        scope: Option<&Arc<Members>>,
        spawned_at: &'static Location<'static>,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        self.check()?;
        let runtime = context::runtime();
        let origin = Origin { name: self.name.clone(), runtime: runtime.clone(), scope: scope.cloned() };
        // SAFETY: passed on to the caller: a Runnable in `Start` goes before its member.
        let (task, value) = unsafe { make(local::carry(f), origin, spawned_at) };
        let verdict = (!self.settings.is_empty()).then(Verdict::new);
        let settings = verdict.clone().map(|verdict| (self.settings, verdict));
        let start = Start { task, settings, runtime, _member: scope.map(Member::of) };
        let mut thread = std::thread::Builder::new();
        if let Some(name) = self.name {
            thread = thread.name(name.into());
        }
        if let Some(bytes) = self.stack_size {
            thread = thread.stack_size(bytes);
        }
        let thread = thread.spawn(move || start.run())?;
        verdict.map_or(Ok(()), |verdict| verdict.wait())?;
        Ok(JoinHandle::new(value, thread))
    }

    /// What can be refused without asking the system.
    fn check(&self) -> Result<(), SettingError> {
        if let Some(bytes) = self.stack_size
            && !STACK.contains(&bytes)
        {
            let accepted = format!("{} to {} bytes", STACK.start(), STACK.end());
            return Err(SettingError::out_of_range("stack_size", format!("{bytes} bytes"), accepted));
        }
        if self.name.as_ref().is_some_and(|name| name.bytes().any(|byte| byte == 0)) {
            let accepted = "a name without NUL bytes".to_owned();
            return Err(SettingError::out_of_range("name", "one with a NUL byte".to_owned(), accepted));
        }
        self.settings.check()
    }
}

/// What a new thread starts with. Fields are dropped in this order: the scope may end after the last one.
struct Start {
    task: Runnable,
    settings: Option<(Settings, Arc<Verdict>)>,
    runtime: Option<Handle>,
    _member: Option<Member>,
}

impl Start {
    fn run(self) {
        let Start { task, settings, runtime, _member } = self;
        if let Some((settings, verdict)) = settings {
            if let Err(error) = settings.apply() {
                drop(task); // and with it the function, before the one who started us is told
                return verdict.give(Some(error));
            }
            verdict.give(None);
        }
        let _inside = runtime.map(context::enter);
        #[cfg(feature = "deadlock_detection")]
        let _it_is_over = crate::deadlock::as_thread_of(task.id().get(), || task.run());
        #[cfg(not(feature = "deadlock_detection"))]
        let _it_is_over = task.run();
    }
}

/// Whether the settings were accepted: given once by the new thread, waited for by the one who starts it.
struct Verdict {
    given: Latch,
    error: Lock<Option<SettingError>>,
}

impl Verdict {
    fn new() -> Arc<Self> {
        Arc::new(Self { given: Latch::new(1), error: Lock::new(None) })
    }

    fn give(&self, error: Option<SettingError>) {
        *self.error.lock() = error;
        self.given.done();
    }

    fn wait(&self) -> io::Result<()> {
        self.given.wait();
        self.error.lock().take().map_or(Ok(()), |error| Err(error.into()))
    }
}
