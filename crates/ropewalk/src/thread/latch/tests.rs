use super::Latch;
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{self, Arc, Ordering};
use std::future::poll_fn;

// mutation: latch-looks-before-it-leaves-its-waker
// - in crates/ropewalk/src/thread/latch.rs: `let before = state.waiter.replace(waker);`
// + `drop(state); let mut state = self.0.lock(); let before = state.waiter.replace(waker);`
// mutation: latch-opens-for-the-first
// - in crates/ropewalk/src/thread/latch.rs: `let waiter = if state.left == 0 { state.waiter.take() } else { None };`
// + `state.left = 0; let waiter = state.waiter.take();`
#[test]
fn model_latch_opens_when_both_are_done_and_not_before() {
    prim::model(|| {
        let latch = Arc::new(Latch::new(1));
        latch.add();
        let ended = Arc::new(prim::AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let (latch, ended) = (latch.clone(), ended.clone());
            prim::thread::spawn(move || {
                ended.fetch_add(1, Ordering::Relaxed);
                latch.done();
            })
        });
        block_on_simple(poll_fn(|cx| latch.poll(cx)));
        assert_eq!(ended.load(Ordering::Relaxed), 2, "what they did before is seen");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
