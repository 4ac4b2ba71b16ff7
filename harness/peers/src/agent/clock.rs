//! Wall-clock time as ISO 8601 text.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the microseconds since the Unix epoch.
pub(super) fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Writes microseconds since the Unix epoch as `YYYY-MM-DDThh:mm:ss.mmmZ`.
pub(super) fn iso8601(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let millis = micros / 1_000 % 1_000;
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Converts days since 1970-01-01 into a Gregorian year, month and day.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    let mut left = days;
    while left >= days_in_year(year) {
        left -= days_in_year(year);
        year += 1;
    }
    let mut month = 1;
    while left >= days_in_month(year, month) {
        left -= days_in_month(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::iso8601;

    #[test]
    fn writes_dates() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(951_782_400_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso8601(1_763_683_199_250_000), "2025-11-20T23:59:59.250Z");
    }
}
