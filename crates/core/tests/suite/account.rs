//! What became of the futures of a fuzzer. `ci/fuzz` adds the lines up.

use std::cell::Cell;

/// How a future ended.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Dropped before its first poll.
    Unpolled,
    /// Dropped while it waited.
    Waiting,
    /// Dropped after it was woken, before it noticed.
    Chosen,
    Completed,
}

impl End {
    /// Of one that is dropped before it is done.
    pub fn of_dropped(polled: bool, chosen: bool) -> Self {
        match (polled, chosen) {
            (false, _) => Self::Unpolled,
            (true, false) => Self::Waiting,
            (true, true) => Self::Chosen,
        }
    }
}

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
    static ENDED: [Cell<u64>; 4] = const { [const { Cell::new(0) }; 4] };
    static THINGS: Cell<u64> = const { Cell::new(0) };
}

/// A future was made, by this thread.
pub fn made() {
    MADE.set(MADE.get() + 1);
}

pub fn ended(how: End) {
    ENDED.with(|ended| ended[how as usize].update(|count| count + 1));
}

/// So many values, permits or locks were found where they should be.
pub fn found(things: u64) {
    THINGS.set(THINGS.get() + things);
}

/// How many steps to take: `usual`, or what `ROPEWALK_FUZZ_STEPS` says.
pub fn steps(usual: usize) -> usize {
    std::env::var("ROPEWALK_FUZZ_STEPS").map_or(usual, |text| text.parse().expect("ROPEWALK_FUZZ_STEPS"))
}

/// Prints the account of this thread and starts a new one. Every future that was made has ended.
pub fn report(subject: &str, things: &str) {
    let [unpolled, waiting, chosen, completed] =
        ENDED.with(|ended| ended.each_ref().map(|count| count.replace(0)));
    let made = MADE.replace(0);
    assert_eq!(made, unpolled + waiting + chosen + completed, "{subject}: a future is missing");
    println!(
        "account of {subject}: made {made} unpolled {unpolled} waiting {waiting} chosen {chosen} \
         completed {completed} {things} {}",
        THINGS.replace(0)
    );
}
