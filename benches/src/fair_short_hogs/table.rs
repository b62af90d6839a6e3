//! The rows about hogs that give way often: of a base, on two workers, on one and on none, each dimension is varied by itself.

/// Hands all rows to the macro `$then`: the end of each one's name, what it is about, what is measured.
#[macro_export]
macro_rules! short_hogs_table {
    ($then:ident) => {
        $then! {
            "2w_100us": "a 1 ms timer beside 2 tasks that compute for 0.1 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(100), ..Shape::base(2) };
            "2w_500us": "a 1 ms timer beside 2 tasks that compute for 0.5 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(500), ..Shape::base(2) };
            "2w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape::base(2);
            "2w_1900us": "a 1 ms timer beside 2 tasks that compute for 1.9 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(1_900), ..Shape::base(2) };
            "2w_5ms": "a 1 ms timer beside 2 tasks that compute for 5 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(5_000), ..Shape::base(2) };
            "2w_50ms": "a 1 ms timer beside 2 tasks that compute for 50 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(50_000), ..Shape::base(2) };
            "1w_100us": "a 1 ms timer beside 2 tasks that compute for 0.1 ms and yield: how late, 1 worker" =>
                Shape { poll: Poll::Micros(100), ..Shape::base(1) };
            "1w_500us": "a 1 ms timer beside 2 tasks that compute for 0.5 ms and yield: how late, 1 worker" =>
                Shape { poll: Poll::Micros(500), ..Shape::base(1) };
            "1w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape::base(1);
            "1w_1900us": "a 1 ms timer beside 2 tasks that compute for 1.9 ms and yield: how late, 1 worker" =>
                Shape { poll: Poll::Micros(1_900), ..Shape::base(1) };
            "1w_5ms": "a 1 ms timer beside 2 tasks that compute for 5 ms and yield: how late, 1 worker" =>
                Shape { poll: Poll::Micros(5_000), ..Shape::base(1) };
            "1w_50ms": "a 1 ms timer beside 2 tasks that compute for 50 ms and yield: how late, 1 worker" =>
                Shape { poll: Poll::Micros(50_000), ..Shape::base(1) };
            "0w_100us": "a 1 ms timer beside 2 tasks that compute for 0.1 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(100), ..Shape::base(0) };
            "0w_500us": "a 1 ms timer beside 2 tasks that compute for 0.5 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(500), ..Shape::base(0) };
            "0w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape::base(0);
            "0w_1900us": "a 1 ms timer beside 2 tasks that compute for 1.9 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(1_900), ..Shape::base(0) };
            "0w_5ms": "a 1 ms timer beside 2 tasks that compute for 5 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(5_000), ..Shape::base(0) };
            "0w_50ms": "a 1 ms timer beside 2 tasks that compute for 50 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(50_000), ..Shape::base(0) };
            "1w_3x1900us": "a 1 ms timer beside 3 tasks that compute for 1.9 ms and yield: how late, 1 worker" =>
                Shape { hogs: 3, poll: Poll::Micros(1_900), ..Shape::base(1) };
            "2w_3x1ms": "a 1 ms timer beside 3 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { hogs: 3, ..Shape::base(2) };
            "turn_2w": "a 1 ms timer beside 2 tasks that yield, first after 1 us, then after 1.9 ms: how late, 2 workers" =>
                Shape { poll: Poll::Turn, ..Shape::base(2) };
            "turn_1w": "a 1 ms timer beside 2 tasks that yield, first after 1 us, then after 1.9 ms: how late, 1 worker" =>
                Shape { poll: Poll::Turn, ..Shape::base(1) };
            "turn_0w": "a 1 ms timer beside 2 tasks that yield, first after 1 us, then after 1.9 ms: how late, on the caller's thread" =>
                Shape { poll: Poll::Turn, ..Shape::base(0) };
            "20_2w_1ms": "20 1 ms timers beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { tickers: 20, ..Shape::base(2) };
            "20_1w_1ms": "20 1 ms timers beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { tickers: 20, ..Shape::base(1) };
            "20_0w_1ms": "20 1 ms timers beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { tickers: 20, ..Shape::base(0) };
            "20_2w_50ms": "20 1 ms timers beside 2 tasks that compute for 50 ms and yield: how late, 2 workers" =>
                Shape { poll: Poll::Micros(50_000), tickers: 20, ..Shape::base(2) };
            "20_0w_50ms": "20 1 ms timers beside 2 tasks that compute for 50 ms and yield: how late, on the caller's thread" =>
                Shape { poll: Poll::Micros(50_000), tickers: 20, ..Shape::base(0) };
            "selfwake_2w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, wake themselves and are pending: how late, 2 workers" =>
                Shape { way: Way::Selfwake, ..Shape::base(2) };
            "selfwake_1w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, wake themselves and are pending: how late, 1 worker" =>
                Shape { way: Way::Selfwake, ..Shape::base(1) };
            "selfwake_0w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, wake themselves and are pending: how late, on the caller's thread" =>
                Shape { way: Way::Selfwake, ..Shape::base(0) };
            "handover_2w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and hand a message to a partner: how late, 2 workers" =>
                Shape { way: Way::Handover, ..Shape::base(2) };
            "handover_1w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and hand a message to a partner: how late, 1 worker" =>
                Shape { way: Way::Handover, ..Shape::base(1) };
            "handover_0w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and hand a message to a partner: how late, on the caller's thread" =>
                Shape { way: Way::Handover, ..Shape::base(0) };
            "successor_2w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, spawn the next one and end: how late, 2 workers" =>
                Shape { way: Way::Successor, ..Shape::base(2) };
            "successor_1w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, spawn the next one and end: how late, 1 worker" =>
                Shape { way: Way::Successor, ..Shape::base(1) };
            "successor_0w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms, spawn the next one and end: how late, on the caller's thread" =>
                Shape { way: Way::Successor, ..Shape::base(0) };
            "budget_2w_1ms": "a 1 ms timer beside 2 tasks that receive and send until their budget is used up, in 1 ms: how late, 2 workers" =>
                Shape { way: Way::Budget, ..Shape::base(2) };
            "budget_1w_1ms": "a 1 ms timer beside 2 tasks that receive and send until their budget is used up, in 1 ms: how late, 1 worker" =>
                Shape { way: Way::Budget, ..Shape::base(1) };
            "budget_0w_1ms": "a 1 ms timer beside 2 tasks that receive and send until their budget is used up, in 1 ms: how late, on the caller's thread" =>
                Shape { way: Way::Budget, ..Shape::base(0) };
            "strand_2w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield, as strands where there are such: how late, 2 workers" =>
                Shape { way: Way::Strand, ..Shape::base(2) };
            "strand_1w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield, as strands where there are such: how late, 1 worker" =>
                Shape { way: Way::Strand, ..Shape::base(1) };
            "strand_0w_1ms": "a 1 ms timer beside 2 tasks that compute for 1 ms and yield, as strands where there are such: how late, on the caller's thread" =>
                Shape { way: Way::Strand, ..Shape::base(0) };
            "echo_2w_1ms": "a TCP echo beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { due: Due::Echo, ..Shape::base(2) };
            "echo_1w_1ms": "a TCP echo beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { due: Due::Echo, ..Shape::base(1) };
            "echo_0w_1ms": "a TCP echo beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { due: Due::Echo, ..Shape::base(0) };
            "inject_2w_1ms": "a task that a foreign thread spawns beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { due: Due::Inject, ..Shape::base(2) };
            "inject_1w_1ms": "a task that a foreign thread spawns beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { due: Due::Inject, ..Shape::base(1) };
            "inject_0w_1ms": "a task that a foreign thread spawns beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { due: Due::Inject, ..Shape::base(0) };
            "child_2w_1ms": "a task that waits for a process's end beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { due: Due::Child, ..Shape::base(2) };
            "child_1w_1ms": "a task that waits for a process's end beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { due: Due::Child, ..Shape::base(1) };
            "child_0w_1ms": "a task that waits for a process's end beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { due: Due::Child, ..Shape::base(0) };
            "signals_2w_1ms": "a task that waits for a signal beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { due: Due::Signals, ..Shape::base(2) };
            "signals_1w_1ms": "a task that waits for a signal beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { due: Due::Signals, ..Shape::base(1) };
            "signals_0w_1ms": "a task that waits for a signal beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { due: Due::Signals, ..Shape::base(0) };
            "strands_2w_1ms": "a strand's 1 ms sleep beside 2 tasks that compute for 1 ms and yield: how late, 2 workers" =>
                Shape { due: Due::Strands, ..Shape::base(2) };
            "strands_1w_1ms": "a strand's 1 ms sleep beside 2 tasks that compute for 1 ms and yield: how late, 1 worker" =>
                Shape { due: Due::Strands, ..Shape::base(1) };
            "strands_0w_1ms": "a strand's 1 ms sleep beside 2 tasks that compute for 1 ms and yield: how late, on the caller's thread" =>
                Shape { due: Due::Strands, ..Shape::base(0) };
        }
    };
}
