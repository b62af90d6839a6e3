# Sourced by the scripts beside it, which all follow one form: they run from anywhere in the checkout, work at its root,
# print one line at the end, and leave a record under target/ci/<name>: `ran <count> <what>` or `skipped <reason>`.
# `ci/all` demands a record with a count above zero or a reason, so a check that silently runs nothing is a failure.
# shellcheck shell=bash

set -euo pipefail
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0} # what is built once needs no gigabytes to be built again

[ -z "${CARGO_TARGET_DIR:-}" ] || CARGO_TARGET_DIR=$(mkdir -p "$CARGO_TARGET_DIR" && cd "$CARGO_TARGET_DIR" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}
check=$(basename "$0")
records=$target/ci
mkdir -p "$records"
SECONDS=0

# Ends the check: it did COUNT things.
did() { # COUNT WHAT
  [ "$1" -gt 0 ] || fail "ran nothing (0 $2)"
  echo "ran $1 $2" >"$records/$check"
  echo "$check: $1 $2 ($SECONDS s)"
}

# Ends the check without a verdict: this machine cannot do it.
skip() { # REASON
  echo "skipped $1" >"$records/$check"
  echo "$check: skipped: $1"
  exit 0
}

# A part of the check that this machine cannot do; the rest goes on.
skip_part() { # PART REASON
  echo "$check: $1 skipped: $2"
  echo "$1: $2" >>"$records/$check.parts"
}

fail() { # REASON
  trap - EXIT
  echo "$check: FAILED: $1" >&2
  exit 1
}

# Runs a command, shows its output, and keeps it in a log whose path is in $log.
log=$records/$check.log
logged() { # COMMAND...
  "$@" 2>&1 | tee -a "$log"
}

# How many tests passed, by the summary lines of cargo's test runner and of nextest.
passed() {
  sed -E 's/\x1b\[[0-9;]*m//g' "$log" |
    sed -nE 's/^test result: .* ([0-9]+) passed;.*/\1/p; s/^ *Summary .* ([0-9]+) passed.*/\1/p' |
    awk '{ sum += $1 } END { print sum + 0 }'
}

# Model checkers need optimised code with its assertions; thin LTO would only make each rebuild slow. `ci/loom` and
# `ci/mutate` agree in all of this, so that the second can use the dependencies that the first has built.
model_profile() {
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0
  export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
  export CARGO_INCREMENTAL=1 # a mutation is a small change
  export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
}

# Runs the model tests (arguments: filters, default all) with a --cfg, in a target directory of their own.
models() { # CFG FILTER...
  local cfg=$1 filter=${2:-model_}
  model_profile
  export RUSTFLAGS="--cfg $cfg" CARGO_TARGET_DIR=$target/$cfg
  logged cargo test --release -p ropewalk-core --features std --lib -- "$filter"
  logged cargo test --release -p ropewalk --lib -- "$filter"
}

# Runs the unit and integration tests of the libraries under a sanitizer; FLAGS come before the filters of the test runner.
# They are optimised a little (a sanitizer is slow enough), what they stand on is built as quickly as possible. Left out is what
# only uses them (adapters, examples, the program: a third of the time, mostly to build it), and the tests that only ask the compiler.
# Without a filter, strands that roam come after them: they are there with a feature only.
sanitized() { # TOOLCHAIN FLAGS... -- FILTER...
  local toolchain=$1 flags=()
  shift
  while [ "$1" != -- ]; do flags+=("$1") && shift; done
  flags+=(--target "$(host)" --no-fail-fast)
  flags+=(--config profile.dev.package.ropewalk.opt-level=1 --config profile.dev.package.ropewalk-core.opt-level=1)
  logged cargo ${toolchain:+"$toolchain"} test "${flags[@]}" -p ropewalk-core -p ropewalk --lib --tests "$@" --skip what_must_not_compile
  [ $# -gt 1 ] || logged cargo ${toolchain:+"$toolchain"} test "${flags[@]}" -p ropewalk --features roaming --test strands -- roam
}

# Finds a browser ($browser; CHROMIUM=path names it), and installs its driver and the rules for accessibility ($modules).
browser_driver() {
  local packages=(playwright-core@1.65.1 axe-core@4.14.0)
  browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
  [ -n "$browser" ] || skip "no browser (Debian: apt-get install chromium)"
  command -v node >/dev/null && command -v npm >/dev/null || skip "no Node.js with npm"
  modules=$records/browser
  [ "$(cat "$modules/installed" 2>/dev/null)" != "${packages[*]}" ] || return 0
  mkdir -p "$modules"
  (cd "$modules" && npm install --no-save --no-package-lock --no-audit --no-fund "${packages[@]}") >"$records/$check.npm" 2>&1 ||
    skip "npm cannot install ${packages[*]}: $(tail -n 1 "$records/$check.npm")"
  echo "${packages[*]}" >"$modules/installed"
}

host() { rustc -vV | sed -n 's/^host: //p'; }

# Makes -Zbuild-std possible, or says why not (as the output of a failing command).
build_std() {
  local said
  if said=$("$root/ci/rust-src" "$target/rust-src" 2>"$records/rust-src.log"); then
    eval "$said"
  else
    no_build_std=$(tail -n 1 "$records/rust-src.log")
    return 1
  fi
}

rm -f "$records/$check" "$records/$check.parts" "$log"
command -v cargo >/dev/null || fail "no cargo: install Rust with rustup (https://rustup.rs)"
trap 'status=$?; [ $status = 0 ] || [ -s "$records/$check" ] || echo "$check: FAILED (status $status)" >&2' EXIT
