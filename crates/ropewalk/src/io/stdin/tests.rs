//! Standard input under races: who asks is answered, and what was read is not lost.

use super::*;
use ropewalk_core::block_on_simple;
use ropewalk_core::prim::{model, thread};
use std::future::poll_fn;
use std::sync::Arc;

// Somebody reads, gives up, and reads again, while the thread answers twice.
//
// mutation: stdin-nobody-is-told-that-it-is-asked
// - in crates/ropewalk/src/io/stdin.rs: `self.asked.notify_one();`
// + `;`
// mutation: stdin-reader-is-not-called
// - in crates/ropewalk/src/io/stdin.rs: `waiting.into_iter().for_each(wake_safely);`
// + `drop(waiting);`
// mutation: stdin-looks-without-asking
// - in crates/ropewalk/src/io/stdin.rs: `state.answer = Answer::Asked;`
// + `;`
#[test]
fn model_stdin_asks_against_answers() {
    model(|| {
        let desk = Arc::new(Desk::new());
        desk.state.lock().has_thread = true;
        let there = desk.clone();
        let thread = thread::spawn(move || {
            for answer in [Answer::Bytes(b"ab".to_vec(), 0), Answer::End] {
                there.wait_until_asked();
                there.answer(answer);
            }
        });
        let mut buf = [0; 1];
        let mut got = Vec::new();
        let given_up = desk.poll(&mut Context::from_waker(Waker::noop()), &mut buf);
        if let Poll::Ready(count) = given_up {
            got.extend_from_slice(&buf[..count.unwrap()]);
        }
        while block_on_simple(poll_fn(|cx| desk.poll(cx, &mut buf))).unwrap() > 0 {
            got.extend_from_slice(&buf);
        }
        assert_eq!(got, b"ab");
        thread.join().unwrap();
    });
}
