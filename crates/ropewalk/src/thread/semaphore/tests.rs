use super::Semaphore;
use ropewalk_core::prim::{self, Arc, AtomicUsize, Ordering};

// mutation: semaphore-does-not-look-again-when-it-queues
// - in crates/ropewalk/src/thread/semaphore.rs: `let others = state.serve(); // permits may have come back since the first look`
// + `let others: Vec<Arc<Condvar>> = Vec::new();`
// mutation: semaphore-serves-one-of-two
// - in crates/ropewalk/src/thread/semaphore.rs: `while let Some(first) = self.queue.pop_front_if(|first| first.wish <= self.permits) {`
// + `if let Some(first) = self.queue.pop_front_if(|first| first.wish <= self.permits) {`
// mutation: semaphore-gives-a-permit-twice
// - in crates/ropewalk/src/thread/semaphore.rs: `self.permits -= first.wish;`
// + ``
#[test]
fn model_permits_come_back_to_all_who_wait() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let inside = Arc::new(AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let (semaphore, inside) = (semaphore.clone(), inside.clone());
            prim::thread::spawn(move || {
                let permit = semaphore.acquire();
                inside.fetch_add(1, Ordering::Relaxed);
                permit.forget();
            })
        });
        semaphore.add_permits(2);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((inside.load(Ordering::Relaxed), semaphore.available()), (2, 0));
    });
}

// mutation: semaphore-lets-the-small-overtake
// - in crates/ropewalk/src/thread/semaphore.rs: `let free = state.queue.is_empty() && state.permits >= count;`
// + `let free = state.permits >= count;`
#[test]
fn model_who_wants_many_is_not_overtaken() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let big = prim::thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.acquire_many(2).forget()
        });
        let waits = || !semaphore.0.lock().queue.is_empty();
        let waited = waits();
        let overtook = semaphore.try_acquire();
        assert!(!(waited && overtook.is_some()), "somebody waits");
        drop(overtook);
        semaphore.add_permits(1);
        big.join().unwrap();
        assert_eq!(semaphore.available(), 0);
    });
}
