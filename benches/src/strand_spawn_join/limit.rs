//! What starting a stack costs without a scheduler: a coroutine that returns at once, on a stack that is used again.

use crate::meter::{Meter, Sample};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::hint::black_box;

pub fn run(meter: Meter) -> Sample {
    let mut kept = Some(DefaultStack::default());
    meter.measure(|pairs| {
        for pair in 0..pairs {
            let stack = kept.take().expect("it was given back");
            let mut routine = Coroutine::with_stack(stack, move |_: &Yielder<(), ()>, ()| black_box(pair));
            let CoroutineResult::Return(_) = routine.resume(()) else { unreachable!("it does not suspend") };
            kept = Some(routine.into_stack());
        }
    })
}
