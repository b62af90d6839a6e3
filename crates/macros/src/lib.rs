//! Attribute macros of Ropewalk. Use them as `#[ropewalk::main]`, `#[ropewalk::test]` and `#[ropewalk::preemptible]`, where they are
//! documented.
//!
//! Without a parser for the whole language: of a function they need to know where its name, its parameters and its body
//! are, and the body is left alone inside a function of its own; `preemptible` also finds the loops in it. So errors in it are
//! the compiler's own, at their places.

mod cursor;
mod error;
mod expand;
mod expression;
mod function;
mod options;
mod preemptible;
mod tokens;
mod walk;

use expand::{Entry, expand};
use proc_macro::TokenStream;

/// Makes an `async fn main` the root of a program.
///
/// ```
/// #[ropewalk::main]
/// async fn main() {
///     let answer = ropewalk::spawn(async { 6 * 7 });
///     assert_eq!(answer.await.unwrap(), 42);
/// }
/// ```
///
/// Without options it runs in the default runtime, as [`block_on`](../ropewalk/fn.block_on.html) does. With any, it runs in a
/// runtime of its own, which is shut down when `main` returns:
///
/// | option | meaning |
/// |---|---|
/// | `threads = 4` | so many worker threads |
/// | `single` | none: everything on the main thread |
/// | `seed = 7` | the seed of every random choice |
/// | `paused` | no threads and a paused clock, which jumps to the next deadline when nothing can run |
/// | `crate = path` | where Ropewalk is, if it was renamed |
///
/// It may return what any `main` may.
///
/// ```
/// #[ropewalk::main(threads = 2)]
/// async fn main() -> Result<(), std::num::ParseIntError> {
///     let number: u32 = "17".parse()?;
///     assert_eq!(ropewalk::spawn(async move { number }).await.unwrap(), 17);
///     Ok(())
/// }
/// ```
///
/// # Panics
/// If the runtime cannot be built; the message names the option.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Entry::Main, options, item)
}

/// Makes a function a test that runs inside a runtime of its own: an `async fn`, or a plain one in which `.wait()` works.
///
/// ```
/// #[ropewalk::test]
/// async fn adds() {
///     assert_eq!(ropewalk::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// }
///
/// #[ropewalk::test(threads = 2)]
/// fn waits() {
///     use ropewalk::Wait;
///     assert_eq!(ropewalk::spawn(async { 1 + 1 }).wait().unwrap(), 2);
/// }
/// ```
///
/// Options are those of [`macro@main`]. Without `threads` everything runs on the test's own thread (`single`), so that with
/// a `seed` each run is like the other. Other attributes, such as `#[should_panic]` and `#[ignore]`, work as usual, and so
/// does returning a `Result`.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Entry::Test, options, item)
}

/// Lets a function that computes give others their turn: it puts a preemption point into every loop.
///
/// ```
/// use ropewalk::{preemptible, strand};
///
/// /// In a task.
/// #[preemptible]
/// async fn collatz(mut number: u64) -> u32 {
///     let mut steps = 0;
///     while number != 1 {
///         number = if number % 2 == 0 { number / 2 } else { 3 * number + 1 };
///         steps += 1;
///     }
///     steps
/// }
///
/// /// On a strand.
/// #[preemptible]
/// fn divisors(number: u64) -> usize {
///     let mut count = 0;
///     for divisor in 1..=number {
///         if number % divisor != 0 {
///             continue;
///         }
///         count += 1;
///     }
///     count
/// }
///
/// assert_eq!(ropewalk::block_on(collatz(27)), 111);
/// assert_eq!(ropewalk::run(|| strand::scope(|s| s.spawn(|| divisors(360)).join())), 24);
/// ```
///
/// It stands before an `async fn`, a `fn`, or a method with a body, and not before a `const fn`. The point is the first statement in
/// the body of each `loop`, `while` and `for`, so that every iteration passes it once, whatever `continue` led there. In async code,
/// an `async` block in a plain function too, it is [`preempt`](../ropewalk/fn.preempt.html)`().await`, elsewhere
/// [`preempt_point`](../ropewalk/fn.preempt_point.html)`()`: it costs a load, and yields if the worker was held for too long
/// ([`preempt_threshold`](../ropewalk/struct.Builder.html#method.preempt_threshold)). A plain function that is called in a task's
/// poll cannot yield there: make it an `async fn`, or call it on a strand.
///
/// | option | meaning |
/// |---|---|
/// | `calls` | points at calls of functions and methods, too: for recursion |
/// | `crate = path` | where Ropewalk is, if it was renamed |
///
/// With `calls` there is a point before each statement, and before the last expression of each block, that contains a call: one for
/// all the calls in it, and none beyond that of the loop whose body begins with it. Nothing that a statement means changes by
/// that, neither the order of evaluation nor the life of temporaries.
///
/// ```
/// #[ropewalk::preemptible(calls)]
/// fn fibonacci(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     fibonacci(n - 1) + fibonacci(n - 2)
/// }
///
/// assert_eq!(fibonacci(20), 6765);
/// ```
///
/// # What it does not see
/// Closures, `async` ones too, and items inside the function are left alone with all that is in them, and so is what runs at compile
/// time. The arguments of macros cannot be read: put no long loop there. A function without any loop (or call, with `calls`) is an
/// error. Together with [`macro@main`] or [`macro@test`], in either order, it is about the function as it is written.
///
/// # In async code a point is an `.await`
/// What lives from one iteration to the next, or in the scrutinee of a `while let`, lives across it. If that is not `Send`, such as
/// an `Rc` or a guard of `std`'s mutex, the future is not, and cannot be [`spawn`](../ropewalk/fn.spawn.html)ed; the compiler names
/// the value and the loop. End its life before the loop, or in a block within the body. With `calls` that is so for whatever lives
/// before a statement with a call. A lock that is held in a loop, of whatever kind, stays held while others have their turn.
///
/// # Cancellation
/// At a point that yields, and only there, a future that was cancelled is dropped, and a strand that was cancelled unwinds. Either
/// way what the iteration has taken, the item of a `for` too, is dropped unused.
///
/// # Panics
/// Never by itself.
#[proc_macro_attribute]
pub fn preemptible(options: TokenStream, item: TokenStream) -> TokenStream {
    preemptible::expand(options, item)
}
