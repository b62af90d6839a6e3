//! Mistakes in the body are shown where they are.

#[ropewalk::main]
async fn main() -> Result<(), std::num::ParseIntError> {
    let number: u32 = "17".parse()?;
    let text: String = number;
    "no result"
}
