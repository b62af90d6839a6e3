//! Attribute macros of Ropewalk. Use them as `#[ropewalk::main]` and `#[ropewalk::test]`, where they are documented.
//!
//! Without a parser for the whole language: of a function they need to know where its name, its parameters and its body
//! are, and the body is left alone inside a function of its own. So errors in it are the compiler's own, at their places.

mod error;
mod expand;
mod function;
mod options;

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
