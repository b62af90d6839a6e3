//! What must not compile does not, and the compiler says why. A program of its own: it builds others, and sanitizers skip it.

use std::process::Command;

/// The messages are those of one compiler, the one that the workspace names.
#[test]
fn what_must_not_compile() {
    if let Some(reason) = not_here() {
        eprintln!("skipped: {reason}");
        return;
    }
    let tests = trybuild::TestCases::new();
    tests.pass("tests/ui/fine.rs");
    tests.compile_fail("tests/ui/rc_captured_by_spawn.rs");
    tests.compile_fail("tests/ui/raw_pointer_sent.rs");
    tests.compile_fail("tests/ui/stm_variance.rs");
    tests.compile_fail("tests/ui/guard_held_over_await.rs");
    tests.compile_fail("tests/ui/local_handle_sent.rs");
    tests.compile_fail("tests/ui/local_handle_awaited_elsewhere.rs");
    for guard in ["mutex", "rwlock_read", "rwlock_write", "permit"] {
        tests.compile_fail(format!("tests/ui/thread_{guard}_held_over_await.rs"));
    }
    tests.compile_fail("tests/ui/thread_borrows.rs");
    tests.compile_fail("tests/ui/thread_scope_borrows_inside.rs");
    for mistake in ["scope_borrows_inside", "handle_escapes", "not_send"] {
        tests.compile_fail(format!("tests/ui/strand_{mistake}.rs"));
    }
    tests.compile_fail("tests/ui/inherited_local_not_sync.rs");
    tests.pass("tests/ui/main_renamed.rs");
    tests.pass("tests/ui/main_result.rs");
    tests.compile_fail("tests/ui/main_not_async.rs");
    tests.compile_fail("tests/ui/main_options.rs");
    tests.compile_fail("tests/ui/main_body.rs");
    tests.compile_fail("tests/ui/test_shapes.rs");
    tests.pass("tests/ui/preemptible_fine.rs");
    for mistake in ["options", "shapes", "body", "not_send"] {
        tests.compile_fail(format!("tests/ui/preemptible_{mistake}.rs"));
    }
    tests.compile_fail("tests/ui/select_shapes.rs");
}

fn not_here() -> Option<String> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    if flags.contains("sanitizer") || flags.contains("--cfg") {
        return Some(format!("built with {flags:?}"));
    }
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok()?.stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let known = concat!("rustc ", env!("CARGO_PKG_RUST_VERSION"), ".");
    (!version.starts_with(known)).then(|| format!("the messages are those of {known}x, this is {version}"))
}
