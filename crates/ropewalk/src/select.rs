//! Waiting for the first of several: `select!`, `select_wait!`. Waiting for all: `select/join.rs`.
//!
//! How an invocation is expanded: a branch is cut off at each step and gets a variable and a number of its own (the same
//! name, but from another expansion, is another variable); then everything is put together at once. The futures live in
//! a block of their own, and what comes out of it is the output of one: so the others are gone when its arm runs, and the
//! arm is ordinary code of the function around it.
//!
//! A pattern is tried on the output without taking it apart: `match output { pattern if { fits = true; false } => .. }`
//! binds nothing by value before its guard was true, and it never is.

mod join;
pub mod support;

/// Waits for the first of several futures, and runs its arm. The others are dropped before.
///
/// ```
/// use ropewalk::{select, time::sleep};
/// use std::time::Duration;
///
/// ropewalk::block_on(async {
///     let answer = ropewalk::spawn(async { 42 });
///     let text = select! {
///         Ok(n) = answer => format!("the answer is {n}"),
///         () = sleep(Duration::from_secs(60)) => "too late".to_owned(),
///     };
///     assert_eq!(text, "the answer is 42");
/// });
/// ```
///
/// ```text
/// select! {
///     biased;                                  // optional: look in the order of writing
///     pattern = future => arm,                 // any number of branches up to 64
///     pattern = future, if condition => arm,
///     timeout(duration) => arm,                // optional: nothing was ready in that time
///     default => arm,                          // optional: nothing is ready now
///     else => arm,                             // optional: all branches are disabled
/// }
/// ```
///
/// **Branches.** A future is anything that is [`IntoFuture`](std::future::IntoFuture). Conditions are evaluated first, all
/// of them, then the expressions, both in the order of writing; where the condition is false the expression is not
/// evaluated and the branch is *disabled*. If an output does not fit the pattern, it is dropped, its branch is disabled,
/// and the wait goes on with the others. If all are disabled, `else` runs; without one, `default` or the `timeout` count;
/// without those it is a panic.
///
/// **Arms** are code of the function around: `return`, `break`, `continue`, `?` and `.await` mean what they mean there, and
/// since all futures are gone, arms may use whatever these had borrowed. A comma may be left out after an arm in braces. All arms have
/// the same type, which is the macro's.
///
/// **Fairness.** If several are ready, one of them is taken: each look starts at a random branch and goes on in the order of writing. The
/// generator is the worker's; elsewhere inside a runtime (the future of `block_on` beside worker threads, jobs, threads) it is one that
/// these share. So the [`seed`](crate::Builder::seed) of the runtime determines what a worker draws, and what `block_on` draws
/// while no other thread does. A thread that is in no runtime has a generator of its own, which no seed determines. With
/// `biased` each look starts at the first: for branches with an order of importance, and then it is for the code to see
/// that the first ones are not ready all the time.
///
/// **`default`** makes it a look instead of a wait. A branch that has something but whose task has used up its budget is
/// not mistaken for one that has nothing: the task yields, and looks again. For the same reason a **`timeout`** that is
/// over gives such a branch one more look. A branch that is ready wins over a `timeout` that is over. A `default` beside a
/// `timeout` is refused, because the timeout would never be over.
///
/// ```
/// use ropewalk::{TaskGroup, select};
/// use std::time::Duration;
///
/// ropewalk::block_on(async {
///     let mut group = TaskGroup::new();
///     for n in 0..3 {
///         group.spawn(async move { n });
///     }
///     let (mut sum, mut idle) = (0, false);
///     loop {
///         select! {
///             Some(Ok(n)) = group.join_next() => {
///                 sum += n;
///                 if n == 1 {
///                     group.spawn(async { 10 }); // nothing borrows the group any more
///                 }
///             }
///             timeout(Duration::from_secs(60)) => idle = true,
///             else => break, // no task is left: the pattern did not fit
///         }
///     }
///     assert_eq!((sum, idle), (13, false));
/// });
/// ```
///
/// # Cancel safety
/// Dropping it drops all of its futures; so does its end, except for the one that won. A branch should therefore lose
/// nothing when it is dropped half way: what an operation loses is in its own documentation. To keep a future over several
/// turns, make it outside, pin it, and wait for `&mut future` or `future.as_mut()`.
///
/// # The futurelock
/// A future that is kept so is *not dropped* when another branch wins, and nobody polls it while the arm runs. If it has a
/// place in a queue, it keeps that place; and if it is given what it waited for, it has it and does not know. An arm that
/// then waits for the same thing may wait for ever, because the one that has it is only polled after the arm:
///
/// ```text
/// let mut first = pin!(lock.lock());
/// select! {
///     guard = first.as_mut() => ..,
///     () = tick => { let guard = lock.lock().await; .. } // `first` may hold the lock, unseen
/// }
/// ```
///
/// The locks of [`sync`](crate::sync) let the arm overtake in this very case: a waiter is first only *called*, and while it
/// does not come, others may take the lock (255 times), also those behind it in line. But after somebody came too late, the
/// lock is *given* to those next in line for some turns, and then it is as above; and tasks that sleep behind a called one
/// sleep until it comes or is dropped. Nothing is handed over by channels: a message stays for whoever asks first. A
/// notification of [`Notify`](crate::sync::Notify) stays with the one who was notified. The page
/// [`choosing`](crate::choosing) has a table of them all.
///
/// The same happens to the elements of a stream of futures while the loop's body runs, and to whatever is polled once and
/// put aside. Three ways out: give the future itself to `select!` (`lock.lock()` as the branch: it is dropped before the
/// arm runs), spawn it (a task is polled by the runtime), or do not wait in the arm.
///
/// # Panics
/// If a future does; and if all branches are disabled and there is neither `else` nor `default` nor `timeout`.
#[macro_export]
macro_rules! select {
    ($($body:tt)*) => { $crate::__select_parse!(await; $($body)*) };
}

/// [`select!`](crate::select) in code that is not async: it waits as [`wait`](crate::wait()) does. On a thread the thread
/// is parked, on a strand or in a task's poll the stack.
///
/// ```
/// use ropewalk::{select_wait, time::sleep};
/// use std::time::Duration;
///
/// fn answer_or(or: u32) -> u32 {
///     let answer = ropewalk::spawn(async { 42 });
///     select_wait! {
///         answer = answer => answer.unwrap_or(or),
///         timeout(Duration::from_secs(60)) => or,
///     }
/// }
/// assert_eq!(answer_or(0), 42);
/// ```
///
/// Everything else is as for [`select!`](crate::select). With a `default` it does not wait, unless the task around it has
/// used up its budget.
#[macro_export]
macro_rules! select_wait {
    ($($body:tt)*) => { $crate::__select_parse!(wait; $($body)*) };
}

/// Takes an invocation apart. The state of it, in braces and brackets: how to wait, in which order to look, the names and
/// numbers that are free, the branches so far, the `default` or `timeout`, the `else`.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_parse {
    // ---- the end ----
    (@ $how:tt $order:tt $free:tt [] {none} $otherwise:tt) => {
        ::core::compile_error!("select! without branches: there is nothing to wait for")
    };
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt) => {
        $crate::__select_expand!($how $order $branches $limit $otherwise)
    };

    // ---- default, timeout, else ----
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt default => $($rest:tt)+) => {
        $crate::__select_parse!(
            @arm {$crate::__select::AtOnce} $how $order $free $branches $limit $otherwise $($rest)+
        )
    };
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt timeout($span:expr) => $($rest:tt)+) => {
        $crate::__select_parse!(
            @arm {$crate::__select::After::new($span)} $how $order $free $branches $limit $otherwise $($rest)+
        )
    };
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt else => $($rest:tt)+) => {
        $crate::__select_parse!(@arm {else} $how $order $free $branches $limit $otherwise $($rest)+)
    };
    (@arm $what:tt $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt $arm:block, $($rest:tt)*) => {
        $crate::__select_parse!(@put $what {$arm} $how $order $free $branches $limit $otherwise $($rest)*)
    };
    (@arm $what:tt $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt $arm:block $($rest:tt)*) => {
        $crate::__select_parse!(@put $what {$arm} $how $order $free $branches $limit $otherwise $($rest)*)
    };
    (@arm $what:tt $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt
        $arm:expr $(, $($rest:tt)*)?) => {
        $crate::__select_parse!(@put $what {$arm} $how $order $free $branches $limit $otherwise $($($rest)*)?)
    };
    (@put {else} $arm:tt $how:tt $order:tt $free:tt $branches:tt $limit:tt {none} $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order $free $branches $limit $arm $($rest)*)
    };
    (@put {else} $($state:tt)*) => {
        ::core::compile_error!("select! has more than one `else`")
    };
    (@put $what:tt $arm:tt $how:tt $order:tt $free:tt $branches:tt {none} $otherwise:tt $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order $free $branches {$what $arm} $otherwise $($rest)*)
    };
    (@put $($state:tt)*) => {
        ::core::compile_error!("select! has one `default` or one `timeout`: the two exclude each other")
    };

    // ---- a branch ----
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt if $($rest:tt)*) => {
        ::core::compile_error!(
            "the condition of a branch comes before its arm: `pattern = future, if condition => arm,`"
        )
    };
    (@ $how:tt $order:tt [] $branches:tt $limit:tt $otherwise:tt $($rest:tt)+) => {
        ::core::compile_error!("select! takes at most 64 branches: nest another one, or use a TaskGroup")
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr => $arm:block, $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {true} {$arm} future enabled}] $limit $otherwise $($rest)*)
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr => $arm:block $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {true} {$arm} future enabled}] $limit $otherwise $($rest)*)
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr => $arm:expr $(, $($rest:tt)*)?) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {true} {$arm} future enabled}] $limit $otherwise $($($rest)*)?)
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr, if $condition:expr => $arm:block, $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {$condition} {$arm} future enabled}] $limit $otherwise $($rest)*)
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr, if $condition:expr => $arm:block $($rest:tt)*) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {$condition} {$arm} future enabled}] $limit $otherwise $($rest)*)
    };
    (@ $how:tt $order:tt [$free:tt $($more:tt)*] [$($known:tt)*] $limit:tt $otherwise:tt
        $pattern:pat = $future:expr, if $condition:expr => $arm:expr $(, $($rest:tt)*)?) => {
        $crate::__select_parse!(@ $how $order [$($more)*]
            [$($known)* {$free {$pattern} {$future} {$condition} {$arm} future enabled}]
            $limit $otherwise $($($rest)*)?)
    };

    // ---- what it cannot read ----
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt biased; $($rest:tt)*) => {
        ::core::compile_error!("`biased;` comes first in a select!")
    };
    (@ $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!(
            "select! expects `pattern = future => arm,` or `pattern = future, if condition => arm,` or ",
            "`default => arm,` or `timeout(duration) => arm,` or `else => arm,`; it found: ",
            ::core::stringify!($($rest)+)
        ))
    };
    (@arm $what:tt $how:tt $order:tt $free:tt $branches:tt $limit:tt $otherwise:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "select! expects an arm and a comma; it found: ",
            ::core::stringify!($($rest)*)
        ))
    };

    // ---- the start ----
    ($how:ident; biased; $($body:tt)*) => { $crate::__select_parse!(start $how {biased} $($body)*) };
    ($how:ident; $($body:tt)*) => { $crate::__select_parse!(start $how {fair} $($body)*) };
    (start $how:ident $order:tt $($body:tt)*) => {
        $crate::__select_parse!(@ {$how} $order [
            (A0 0) (A1 1) (A2 2) (A3 3) (A4 4) (A5 5) (A6 6) (A7 7)
            (A8 8) (A9 9) (A10 10) (A11 11) (A12 12) (A13 13) (A14 14) (A15 15)
            (A16 16) (A17 17) (A18 18) (A19 19) (A20 20) (A21 21) (A22 22) (A23 23)
            (A24 24) (A25 25) (A26 26) (A27 27) (A28 28) (A29 29) (A30 30) (A31 31)
            (A32 32) (A33 33) (A34 34) (A35 35) (A36 36) (A37 37) (A38 38) (A39 39)
            (A40 40) (A41 41) (A42 42) (A43 43) (A44 44) (A45 45) (A46 46) (A47 47)
            (A48 48) (A49 49) (A50 50) (A51 51) (A52 52) (A53 53) (A54 54) (A55 55)
            (A56 56) (A57 57) (A58 58) (A59 59) (A60 60) (A61 61) (A62 62) (A63 63)
        ] [] {none} {none} $($body)*)
    };
}

/// Puts it together; see the head of this file.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_expand {
    ({$how:ident} {$order:ident}
        [$({($name:ident $number:tt) {$pattern:pat} {$expr:expr} {$condition:expr} {$arm:expr} $future:ident $enabled:ident})*]
        $limit:tt $otherwise:tt) => {{
        #[allow(dead_code)]
        enum __RopewalkSelected<$($name),*> { $($name($name),)* Limit, Else }
        let selected = {
            $(let $enabled: bool = $condition;)*
            $(let mut $future = $crate::__select::pin!(if $enabled {
                ::core::option::Option::Some($crate::__select::IntoFuture::into_future($expr))
            } else {
                ::core::option::Option::None
            });)*
            let mut limit = $crate::__select::pin!($crate::__select_expand!(limit $limit));
            let selected = $crate::__select::poll_fn(|cx| {
                let mut round = $crate::__select::Round::$order(const { <[u8]>::len(&[$($number),*]) as u32 });
                while let ::core::option::Option::Some(number) = round.next() {
                    match number {
                        $($number => {
                            if let $crate::__select::Poll::Ready(output) =
                                $crate::__select::poll_branch($future.as_mut(), cx)
                            {
                                #[allow(unused_mut)]
                                let (mut output, mut fits) = (output, false);
                                match output {
                                    #[allow(unused_variables, unused_mut)]
                                    $pattern if { fits = true; false } => ::core::unreachable!(),
                                    _ => {}
                                }
                                if fits {
                                    $crate::__select::forget();
                                    return $crate::__select::Poll::Ready(__RopewalkSelected::$name(output));
                                }
                            }
                            round.saw($future.is_some());
                        })*
                        _ => ::core::unreachable!(),
                    }
                }
                if !round.is_open() {
                    $crate::__select_expand!(closed $limit $otherwise)
                }
                $crate::__select::Limit::poll(limit.as_mut(), cx, &round).map(|()| __RopewalkSelected::Limit)
            });
            $crate::__select_expand!(run $how, selected)
        };
        let number: u32 = match &selected {
            $(__RopewalkSelected::$name(_) => $number,)*
            __RopewalkSelected::Limit => $crate::__select::LIMIT,
            __RopewalkSelected::Else => $crate::__select::ELSE,
        };
        // Each arm takes all of `selected`: what its other variants could borrow is not borrowed there.
        match number {
            $($number => {
                #[allow(unused_mut)]
                let mut output = match { selected } {
                    __RopewalkSelected::$name(output) => output,
                    _ => ::core::unreachable!(),
                };
                match output {
                    $pattern => $arm,
                    #[allow(unreachable_patterns)]
                    _ => ::core::unreachable!(),
                }
            })*
            $crate::__select::LIMIT => {
                $crate::__select::done(selected);
                $crate::__select_expand!(limit_arm $limit)
            }
            _ => {
                $crate::__select::done(selected);
                $crate::__select_expand!(else_arm $otherwise)
            }
        }
    }};

    (run await, $selected:ident) => {{
        let selected = $selected.await;
        selected
    }};
    (run wait, $selected:ident) => { $crate::__select::wait($selected) };

    (limit {none}) => { $crate::__select::Never };
    (limit {{$limit:expr} $arm:tt}) => { $limit };
    (limit_arm {none}) => { ::core::unreachable!() };
    (limit_arm {$limit:tt {$arm:expr}}) => { $arm };
    (else_arm {none}) => { ::core::unreachable!() };
    (else_arm {$arm:expr}) => { $arm };

    (closed {none} {none}) => {
        ::core::panic!("ropewalk: select!: all branches are disabled, and there is no `else`")
    };
    (closed $limit:tt {none}) => { () };
    (closed $limit:tt $otherwise:tt) => {
        return $crate::__select::Poll::Ready(__RopewalkSelected::Else)
    };
}
