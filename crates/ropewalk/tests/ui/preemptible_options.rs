#[ropewalk::preemptible(loops)]
fn unknown() {
    loop {}
}

#[ropewalk::preemptible(calls, calls)]
fn twice() {
    loop {}
}

#[ropewalk::preemptible(calls = true)]
fn with_a_value() {
    loop {}
}

#[ropewalk::preemptible(crate = "ropewalk")]
fn not_a_path() {
    loop {}
}

#[ropewalk::preemptible(crate, threads = 2)]
async fn all_that_is_wrong() {}

fn main() {}
