//! One who waits behind a waiter that was called.

use super::*;

// mutation: permits-overtaker-stays-in-line
// - in crates/core/src/sync/permits/claim.rs: `let (_called, old) = unsafe { self.unlink(&mut line, NonNull::from(node)) };`
// + `let (_called, old) = (false, None::<Waker>);`
// mutation: permits-called-waiter-overtakes-itself
// - in crates/core/src/sync/permits/claim.rs: `if !called && self.word.take(self.word.load(), want).is_ok() {`
// + `if self.word.take(self.word.load(), want).is_ok() {`
#[test]
fn model_mutex_one_behind_a_called_waiter_against_it() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.try_lock().unwrap();
        let [(counted, waker), (counted_behind, waker_behind)] = [Counter::new(), Counter::new()];
        let mut first = Box::pin(mutex.clone().lock_owned());
        let mut behind = Box::pin(mutex.clone().lock_owned());
        assert!(poll_with(&mut first, &waker).is_pending());
        assert!(poll_with(&mut behind, &waker_behind).is_pending());
        drop(guard); // calls the first
        assert_eq!((counted.count(), counted_behind.count()), (1, 0));
        let thread = prim::thread::spawn(move || {
            let came = poll_with(&mut first, &waker).map(|mut value| *value += 1).is_ready();
            (first, came)
        });
        let overtook = poll_with(&mut behind, &waker_behind).map(|mut value| *value += 1).is_ready();
        let (mut first, came) = thread.join().unwrap();
        assert!(came || overtook);
        if !came {
            assert_eq!(counted.count(), 2, "it is woken again");
            *ready(&mut first) += 1;
            assert_eq!(counted_behind.count(), 0, "it left the line when it overtook");
        }
        if !overtook {
            assert_eq!(counted_behind.count(), 1, "its turn came");
            *ready(&mut behind) += 1;
        }
        assert_eq!(*mutex.try_lock().unwrap(), 2);
    });
}
