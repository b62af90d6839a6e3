//! A raw pointer is not `Send`: nobody vouches for what it points to.

fn main() {
    let mut value = 5;
    let pointer = &raw mut value;
    let _task = ropewalk::spawn(async move {
        let pointer = pointer;
        let _address = pointer.addr();
    });
}
