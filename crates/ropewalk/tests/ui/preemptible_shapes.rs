#[ropewalk::preemptible]
struct NotAFunction;

struct Methods;

#[ropewalk::preemptible]
impl Methods {
    fn method(&self) {
        loop {}
    }
}

#[ropewalk::preemptible]
const fn at_compile_time() {
    loop {}
}

trait Trait {
    #[ropewalk::preemptible]
    fn without_a_body(&self);
}

#[ropewalk::preemptible]
fn nothing_to_do(items: &[u32]) -> u32 {
    fn inside() {
        loop {}
    }
    inside();
    items.iter().map(|item| loop { break item }).sum()
}

#[ropewalk::preemptible(calls)]
async fn nothing_to_call() -> u32 {
    println!("{}", std::env::args().count());
    1 + 1
}

fn main() {
    let _closure = #[ropewalk::preemptible] || loop {};
}
