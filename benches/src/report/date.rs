//! Dates.

/// Seconds since 1970 as `2024-02-29 12:34 UTC`.
pub fn utc(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let (year, month, day) = civil(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// Year, month and day. Counted in years that begin in March, so that the day that some years have more is the last one, and in
/// spans of 400 years, after which everything repeats.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    const SPAN: u64 = 146_097;
    let days = days_since_1970 + 719_468; // since the first of March of the year 0
    let (span, day_of_span) = (days / SPAN, days % SPAN);
    let year = (day_of_span - day_of_span / 1_460 + day_of_span / 36_524 - day_of_span / (SPAN - 1)) / 365;
    let day_of_year = day_of_span - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153; // 0 is March
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (span * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_709_210_096), "2024-02-29 12:34 UTC");
        assert_eq!(utc(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
