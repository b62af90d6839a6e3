//! `ropewalk top` as its users meet it: at a terminal, and in pipes.
#![cfg(all(target_os = "linux", not(tsan)))] // ctrl-c: TSan holds signals back from threads that sleep on a futex

mod mock;
mod seat;

use mock::Mock;
use seat::Seat;

#[test]
fn look() {
    let mock = Mock::start();
    let address = mock.address.to_string();
    for size in [(80, 24), (140, 40), (60, 18), (40, 10)] {
        let seat = Seat::start(&[&address, "--interval", "100ms"], size, &[]);
        seat.until_shows(&["live", "25%"]);
        println!("{}\n====", seat.until_shows(&["live"]));
        seat.press("\r");
        println!("{}\n====", seat.until_shows(&["esc goes back"]));
        seat.press("\x1b");
        seat.until_gone("esc goes back");
        seat.press("?");
        println!("{}\n====", seat.until_shows(&["any key"]));
        seat.press(" t");
        println!("{}\n====", seat.until_shows(&["└─"]));
        seat.press("q");
        println!("{:?}", seat.end_restored());
    }
}
