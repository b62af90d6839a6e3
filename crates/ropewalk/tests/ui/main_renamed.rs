//! Under another name.

mod inside {
    pub use ::ropewalk as renamed;
}

#[inside::renamed::main(crate = inside::renamed, single, seed = 0x_7)]
async fn main() {
    assert_eq!(inside::renamed::spawn(async { 1 }).await.unwrap(), 1);
}
