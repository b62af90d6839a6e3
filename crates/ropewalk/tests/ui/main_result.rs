//! Any `main` may return a result.

/// Documented.
#[allow(dead_code)]
#[ropewalk::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number: u32 = "17".parse()?;
    assert_eq!(ropewalk::spawn(async move { number }).await?, 17);
    Ok(())
}
