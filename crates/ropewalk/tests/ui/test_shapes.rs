#[ropewalk::test]
struct NotAFunction;

#[ropewalk::test]
async fn with_parameters(first: u32, second: u32) {}

#[ropewalk::test]
async fn generic<T>() {}

#[ropewalk::test]
#[test]
async fn twice() {}

trait Trait {
    #[ropewalk::test]
    fn without_a_body();
}

fn main() {}
