//! A driver with its registrations: what it collects becomes wake-ups.
//!
//! * **X1** What `collect` has found stays in `harvest` until `deliver` takes it: whoever collects and whoever delivers may be
//!   two workers. While something is there, nobody sleeps in the driver.
//! * **X2** Wakers run in `deliver`, under no lock and without the right to poll.
//! * **X3** `over` is set before the registrations are ended, and looked at after a registration was made: one of the two
//!   sees the other.
//! * **X4** A poll that failed has seen nothing, whatever happened. So everybody who waits is woken and looks for itself
//!   (`blind`), as often as polls fail: slow, but nobody waits for an event that nobody will see.

use super::contract::{Event, Events, Interest, IoDriver, IoSource, Ready, Token};
use super::registry::{Manner, Place, Registry};
use super::spare::{Spare, Spares};
#[cfg(target_os = "linux")]
use super::uring::Uring;
use crate::drive::Driver;
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use ropewalk_core::prim::{BriefLock, fence};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long the polling worker rests after a poll that failed, lest it does nothing else.
const AFTER_ERROR: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Reactor {
    driver: Box<dyn IoDriver>,
    /// The driver again, if files are read and written through it.
    #[cfg(target_os = "linux")]
    files: Option<Arc<Uring>>,
    registry: Registry,
    spares: Arc<Spares>,
    harvest: BriefLock<Events>,
    /// Whether there is something in it: a hint, written under its lock.
    full: AtomicBool,
    /// A poll has failed since `deliver` looked; there is an event in the harvest then.
    blind: AtomicBool,
    over: AtomicBool,
    registered: AtomicUsize,
    polls: AtomicU64,
    events: AtomicU64,
    failures: AtomicU64,
}

impl Reactor {
    pub(super) fn new(driver: Box<dyn IoDriver>) -> Self {
        Self {
            registry: Registry::new(Manner {
                needs_rearm: driver.needs_rearm(),
                short_is_empty: driver.short_is_empty(),
            }),
            driver,
            #[cfg(target_os = "linux")]
            files: None,
            spares: Spares::new(),
            harvest: BriefLock::new(Events::new()),
            full: AtomicBool::new(false),
            blind: AtomicBool::new(false),
            over: AtomicBool::new(false),
            registered: AtomicUsize::new(0),
            polls: AtomicU64::new(0),
            events: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn with_files(uring: Arc<Uring>) -> Self {
        Self { files: Some(uring.clone()), ..Self::new(Box::new(uring)) }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn files(&self) -> Option<&Arc<Uring>> {
        self.files.as_ref()
    }

    /// A buffer to read into.
    pub(super) fn spare(&self) -> Spare {
        self.spares.take()
    }

    // ---- registrations ----------------------------------------------------------------------------------------

    /// `begins` is called by whoever finds that nothing was watched, whether or not its own file is: others may count on it.
    pub(super) fn register(
        self: &Arc<Self>,
        source: IoSource<'_>,
        interest: Interest,
        begins: impl FnOnce(),
    ) -> io::Result<Place> {
        let slot = self.registry.take(Arc::as_ptr(self), Ready::READABLE | Ready::WRITABLE)?;
        let token = slot.token();
        let watched = self.registered.fetch_add(1, Relaxed); // before there can be an event
        let registered = self.driver.register(source, token, interest);
        if watched == 0 {
            begins();
        }
        fence(SeqCst); // X3
        if registered.is_ok() && !self.over.load(Relaxed) {
            return Ok(Place::new(slot, self));
        }
        let refused = registered.and_then(|()| self.driver.deregister(source, token));
        self.forget(token);
        Err(refused.err().unwrap_or_else(over))
    }

    pub(super) fn deregister(&self, source: IoSource<'_>, token: Token) {
        // A file that is closed already has left the driver by itself.
        let _closed_before = self.driver.deregister(source, token);
        self.forget(token);
    }

    fn forget(&self, token: Token) {
        self.registry.give_back(token);
        self.registered.fetch_sub(1, Relaxed);
    }

    /// It was found not to be ready.
    pub(super) fn rearm(&self, source: IoSource<'_>, token: Token, interest: Interest) -> io::Result<()> {
        self.driver.rearm(source, token, interest)
    }

    /// The runtime goes down: who waits, and who comes later, gets an error.
    pub(super) fn end(&self) {
        self.over.store(true, Relaxed);
        fence(SeqCst); // X3
        self.registry.end_all();
        #[cfg(target_os = "linux")]
        if let Some(files) = &self.files {
            files.end();
        }
    }

    // ---- events -----------------------------------------------------------------------------------------------

    /// Collects events, sleeping for them if there are none; at most for `timeout`. By one thread at a time.
    fn collect(&self, timeout: Option<Duration>) {
        let mut events = std::mem::take(&mut *self.harvest.lock());
        if events.is_empty() {
            let polled = match timeout {
                Some(Duration::ZERO) => self.driver.poll_nonblocking(&mut events),
                _ => self.driver.poll(&mut events, timeout),
            };
            self.polls.store(self.polls.load(Relaxed) + 1, Relaxed); // one thread at a time
            if polled.is_err() {
                self.failures.store(self.failures.load(Relaxed) + 1, Relaxed);
                std::thread::sleep(timeout.map_or(AFTER_ERROR, |timeout| timeout.min(AFTER_ERROR)));
                self.blind.store(true, Relaxed); // the lock of the harvest orders it (X4)
                events.push(Event { token: Token::NOBODY, ready: Ready::NONE });
            }
        }
        if !events.is_empty() {
            let mut harvest = self.harvest.lock(); // X1: it was left empty, and only we collect
            let unused = std::mem::replace(&mut *harvest, events);
            self.full.store(true, Relaxed);
            drop(harvest);
            drop(unused);
        } else {
            self.keep_buffer(events);
        }
    }

    /// Wakes whom the collected events are for.
    fn deliver_events(&self) -> usize {
        let mut events = {
            let mut harvest = self.harvest.lock();
            if harvest.is_empty() {
                return 0;
            }
            self.full.store(false, Relaxed);
            std::mem::take(&mut *harvest)
        };
        for event in events.iter() {
            if let Some(slot) = self.registry.get(event.token) {
                slot.event(event.token.generation(), event.ready);
            }
        }
        #[cfg(target_os = "linux")]
        if let Some(files) = &self.files {
            files.deliver();
        }
        if self.blind.swap(false, Relaxed) {
            self.registry.nudge_all(); // X4
        }
        let count = events.len();
        self.events.fetch_add(count as u64, Relaxed);
        events.clear();
        self.keep_buffer(events);
        count
    }

    /// An empty buffer is used again, unless there is something in its place by now.
    fn keep_buffer(&self, mut events: Events) {
        let mut harvest = self.harvest.lock();
        if harvest.is_empty() {
            std::mem::swap(&mut *harvest, &mut events);
        }
        drop(harvest); // before the one that is not kept is freed
    }

    pub(super) fn driver(&self) -> &dyn IoDriver {
        &*self.driver
    }

    /// Registered, polls, events, failed calls of the driver, operations on files, what has arrived by completion.
    pub(super) fn counts(&self) -> [u64; 6] {
        #[cfg(target_os = "linux")]
        let (operations, arrivals) =
            self.files.as_ref().map_or((0, 0), |files| (files.operations(), files.arrivals()));
        #[cfg(not(target_os = "linux"))]
        let (operations, arrivals) = (0, 0);
        let registered = self.registered.load(Relaxed) as u64;
        [
            registered,
            self.polls.load(Relaxed),
            self.events.load(Relaxed),
            self.failures.load(Relaxed),
            operations,
            arrivals,
        ]
    }
}

impl Driver for Arc<Reactor> {
    fn park(&self, timeout: Option<Duration>) {
        self.collect(timeout);
    }

    /// No system call if nothing is watched, or what was found is still to be delivered.
    fn poll(&self) {
        if self.is_watching() && !self.has_events() {
            self.collect(Some(Duration::ZERO));
        }
    }

    fn unpark(&self) {
        if self.driver.wake().is_err() {
            self.failures.fetch_add(1, Relaxed);
        }
    }

    fn has_events(&self) -> bool {
        self.full.load(Relaxed)
    }

    fn deliver(&self) -> usize {
        self.deliver_events()
    }

    fn is_watching(&self) -> bool {
        #[cfg(target_os = "linux")]
        if self.files.as_ref().is_some_and(|files| files.is_awaited()) {
            return true;
        }
        self.registered.load(Relaxed) > 0
    }
}

/// What somebody is told who waits for an event that will not come.
pub(super) fn over() -> io::Error {
    io::Error::other("the runtime of this socket or file was shut down")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::{Barrier, Mutex};

    /// Registers two at once: neither returns before both have come. The first one it refuses, if it is told to.
    #[derive(Debug)]
    struct Both(Barrier, Mutex<bool>);

    impl IoDriver for Both {
        fn register(&self, _: IoSource<'_>, _: Token, _: Interest) -> io::Result<()> {
            self.0.wait();
            let refused = std::mem::take(&mut *self.1.lock().unwrap());
            if refused { Err(io::ErrorKind::Other.into()) } else { Ok(()) }
        }
        fn deregister(&self, _: IoSource<'_>, _: Token) -> io::Result<()> {
            Ok(())
        }
        fn poll(&self, _: &mut Events, _: Option<Duration>) -> io::Result<()> {
            Ok(())
        }
        fn wake(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Nothing can be learned from it.
    #[derive(Debug)]
    struct Broken;

    impl IoDriver for Broken {
        fn register(&self, _: IoSource<'_>, _: Token, _: Interest) -> io::Result<()> {
            Ok(())
        }
        fn deregister(&self, _: IoSource<'_>, _: Token) -> io::Result<()> {
            Ok(())
        }
        fn poll(&self, _: &mut Events, _: Option<Duration>) -> io::Result<()> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        fn wake(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// As often as polls fail, not once (X4).
    #[test]
    fn whoever_waits_looks_for_itself_when_a_poll_fails() {
        let reactor = Arc::new(Reactor::new(Box::new(Broken)));
        let file = io::pipe().unwrap().0;
        let place = reactor.register(IoSource::new(file.as_fd()), Interest::READABLE, || ()).unwrap();
        for timeout in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            assert!(place.readiness.clear(place.readiness.look(), Interest::READABLE, true));
            assert!(!place.readiness.look().ready().is_readable());
            reactor.park(timeout);
            assert!(reactor.has_events());
            reactor.deliver();
            assert!(place.readiness.look().ready().is_readable() && !reactor.has_events());
        }
        reactor.deregister(IoSource::new(file.as_fd()), place.token());
        assert_eq!(reactor.counts()[3], 3, "failures");
    }

    /// Two files are the first ones, at the same time: one of them says so, also if it is refused.
    #[test]
    fn two_first_registrations_at_once_are_one_beginning() {
        for refuses in [false, true] {
            let reactor = Arc::new(Reactor::new(Box::new(Both(Barrier::new(2), Mutex::new(refuses)))));
            let (file, began) = (io::pipe().unwrap().0, AtomicUsize::new(0));
            let register = || {
                let begins = || assert_eq!(began.fetch_add(1, SeqCst), 0, "it begins once");
                drop(reactor.register(IoSource::new(file.as_fd()), Interest::READABLE, begins));
            };
            std::thread::scope(|scope| drop([scope.spawn(register), scope.spawn(register)]));
            assert_eq!(began.load(SeqCst), 1);
            assert_eq!(reactor.counts()[0], if refuses { 1 } else { 2 });
        }
    }
}
