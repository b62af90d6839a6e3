//! Waiting for all.

/// Waits until all of the futures are over; their outputs as a tuple, in the order of writing.
///
/// ```
/// use ropewalk::{join, yield_now};
///
/// ropewalk::block_on(async {
///     let (a, b, c) = join!(async { 1 }, async { yield_now().await; "two" }, ropewalk::spawn(async { 3.0 }));
///     assert_eq!((a, b, c.unwrap()), (1, "two", 3.0));
/// });
/// ```
///
/// They run by turns inside the current task, never at the same time: spawn them to have that. Each poll begins one
/// further down, so that one of them that uses up the budget does not starve the others. Outside of async code:
/// `wait(async { join!(a, b) })`.
///
/// A future that is over is dropped at once, before the others are. What it *held* is its output's affair: while one of
/// them holds a lock's guard over its own waits, the others are polled too, and may wait for that lock. That is no
/// futurelock (see [`select!`](crate::select)): all of them are polled until they are over.
///
/// Up to 100 futures; more need a higher `#![recursion_limit]`.
///
/// **Cancel safety**: dropping it drops the futures, and the outputs of those that are over.
///
/// # Panics
/// If one of the futures does.
#[macro_export]
macro_rules! join {
    ($($future:expr),* $(,)?) => { $crate::__join!(all [] $($future,)*) };
}

/// Waits until all of the futures are over, or one of them gives an error: `Ok` with the tuple of their values, or the
/// first error.
///
/// ```
/// use ropewalk::try_join;
///
/// async fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// ropewalk::block_on(async {
///     assert_eq!(try_join!(parse("1"), parse("2")), Ok((1, 2)));
///     // The other one would take for ever: it is dropped.
///     let endless = std::future::pending::<Result<(), _>>();
///     assert!(try_join!(endless, parse("two")).is_err());
/// });
/// ```
///
/// All give a `Result` with the same type of error. After an error the others are dropped before it is given. Otherwise
/// as [`join!`](crate::join!).
///
/// **Cancel safety**: dropping it drops the futures, and the values of those that are over.
#[macro_export]
macro_rules! try_join {
    ($($future:expr),* $(,)?) => { $crate::__join!(ok [] $($future,)*) };
}

/// Gives each future two variables of its own (the same name, but from another expansion), then joins.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    ($how:ident [$($known:tt)*] $next:expr, $($rest:expr,)*) => {
        $crate::__join!($how [$($known)* {$next, future, output}] $($rest,)*)
    };

    ($how:ident [$({$expr:expr, $future:ident, $output:ident})*]) => {{
        $(
            let mut $future = $crate::__select::pin!(::core::option::Option::Some(
                $crate::__select::IntoFuture::into_future($expr)
            ));
            let mut $output = ::core::option::Option::None;
        )*
        let mut start = 0u32;
        let joined = $crate::__select::poll_fn(|cx| {
            let (mut count, mut open) = (0u32, false);
            // First those from `start` on, then those before it.
            for first in [true, false] {
                count = 0;
                $(
                    if (count >= start) == first {
                        $crate::__join!(poll $how, cx, $future, $output);
                        open |= $future.is_some();
                    }
                    count += 1;
                )*
            }
            start = if start + 1 >= count { 0 } else { start + 1 };
            if open { $crate::__select::Poll::Pending } else { $crate::__join!(end $how) }
        })
        .await;
        $crate::__join!(give $how, joined, $($output,)*)
    }};

    (poll all, $cx:ident, $future:ident, $output:ident) => {
        if let $crate::__select::Poll::Ready(value) = $crate::__select::poll_branch($future.as_mut(), $cx) {
            $output = ::core::option::Option::Some(value);
        }
    };
    (poll ok, $cx:ident, $future:ident, $output:ident) => {
        match $crate::__select::poll_branch($future.as_mut(), $cx) {
            $crate::__select::Poll::Ready(::core::result::Result::Ok(value)) => {
                $output = ::core::option::Option::Some(value);
            }
            $crate::__select::Poll::Ready(::core::result::Result::Err(error)) => {
                return $crate::__select::Poll::Ready(::core::result::Result::Err(error));
            }
            $crate::__select::Poll::Pending => {}
        }
    };

    (end all) => { $crate::__select::Poll::Ready(()) };
    (end ok) => { $crate::__select::Poll::Ready(::core::result::Result::Ok(())) };

    (give all, $joined:ident,) => { $joined };
    (give all, $joined:ident, $($output:ident,)*) => {{
        let () = $joined;
        ($($output.expect("all are over"),)*)
    }};
    (give ok, $joined:ident, $($output:ident,)*) => {
        match $joined {
            ::core::result::Result::Ok(()) => {
                ::core::result::Result::Ok(($($output.expect("all are over"),)*))
            }
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
        }
    };
}
