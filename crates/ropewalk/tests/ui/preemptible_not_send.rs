//! A point is an `.await`: what lives across it has to be `Send`, if the future has.

use std::rc::Rc;
use std::sync::Mutex;

#[ropewalk::preemptible]
async fn over_the_loop(to: usize) -> usize {
    let sum = Rc::new(std::cell::Cell::new(0));
    for n in 0..to {
        sum.set(sum.get() + n);
    }
    sum.get()
}

#[ropewalk::preemptible]
async fn in_the_scrutinee(list: &'static Mutex<Vec<u32>>) {
    while let Some(last) = list.lock().unwrap().pop() {
        println!("{last}");
    }
}

#[ropewalk::preemptible(calls)]
async fn before_a_call(text: Rc<str>) {
    drop(text);
}

static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn main() {
    let _handle = ropewalk::spawn(over_the_loop(5));
    let _handle = ropewalk::spawn(in_the_scrutinee(&LIST));
}

fn the_compiler_says_no_more_about_main() {
    let _handle = ropewalk::spawn(async { before_a_call("text".into()).await });
}
