use super::Orphans;
use ropewalk_core::prim::Ordering::Relaxed;
use ropewalk_core::prim::{self, Arc, AtomicBool};

/// A driver looks when it leaves, again and again, while strands are started from outside.
// mutation: orphans-are-looked-for-before-the-mark-is-taken
// - in crates/ropewalk/src/sched/hosted/orphans.rs: `self.0.swap(false, AcqRel);`
// + `let found = find(); let find = move || found; self.0.swap(false, AcqRel);`
// mutation: found-orphans-hide-others
// - in crates/ropewalk/src/sched/hosted/orphans.rs: `self.0.swap(true, AcqRel); //`
// + `self.0.store(true, Relaxed); //`
// mutation: an-orphan-is-marked-and-cannot-be-found
// - in crates/ropewalk/src/sched/hosted/orphans.rs: `self.0.swap(true, Release);`
// + `self.0.swap(true, Relaxed);`
#[test]
fn model_an_orphan_is_found_or_its_mark_is_there() {
    prim::model(|| {
        let (orphans, made) = (Arc::new(Orphans::new()), Arc::new(AtomicBool::new(false)));
        orphans.one_more(); // another one, which is there from the beginning
        let (theirs, make) = (orphans.clone(), made.clone());
        let outside = prim::thread::spawn(move || {
            make.store(true, Relaxed);
            theirs.one_more();
        });
        let mut found = false;
        let mut look = |another: bool| {
            if orphans.may_be() {
                orphans.look(|| {
                    found = made.load(Relaxed);
                    found || another
                });
            }
        };
        look(true);
        look(false); // that has ended
        outside.join().unwrap(); // a driver takes the strand out of its queue
        look(false);
        assert!(found, "it was started, and nobody knows");
    });
}
