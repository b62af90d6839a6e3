//! What `#[preemptible]` stands before.

#![deny(warnings)]

mod inside {
    pub use ::ropewalk as renamed;
}

/// Documented.
#[ropewalk::preemptible]
#[must_use]
pub async fn counts(to: u32) -> u32 {
    let mut count = 0;
    while count < to {
        count += 1;
    }
    count
}

#[inside::renamed::preemptible(crate = inside::renamed, calls,)]
fn renamed(depth: u32) -> u32 {
    if depth == 0 { 0 } else { renamed(depth - 1) }
}

/// A value that is not `Send` is gone before the next iteration.
#[ropewalk::preemptible]
async fn not_send_in_a_block(to: usize) -> usize {
    let mut sum = 0;
    for n in 0..to {
        sum += {
            let counted = std::rc::Rc::new(n);
            *counted
        };
    }
    sum
}

macro_rules! summing {
    ($name:ident, $each:expr, $body:block) => {
        #[ropewalk::preemptible]
        fn $name(numbers: &[u32]) -> u32 {
            let mut sum = 0;
            for number in $each(numbers) {
                sum += number;
            }
            while sum > 100 $body
            sum
        }
    };
}
summing!(total, <[u32]>::iter, { return 100 });

trait Provided {
    #[ropewalk::preemptible]
    fn provided(&self) -> u32 {
        loop {
            break 3;
        }
    }
}
impl Provided for () {}

#[ropewalk::main]
#[ropewalk::preemptible]
async fn main() {
    for n in 0..3 {
        assert_eq!(ropewalk::spawn(counts(n)).await.unwrap(), n);
    }
    assert_eq!(ropewalk::spawn(not_send_in_a_block(4)).await.unwrap(), 6);
    assert_eq!((renamed(3), total(&[1, 2]), ().provided()), (0, 3, 3));
}
