//! The time of day, for reports.

use std::time::SystemTime;

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

/// Returns the day of today in UTC.
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// Writes a point in time as RFC 3339, in UTC and to the second.
pub fn rfc3339(time: SystemTime) -> String {
    format!("{:.0}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn rfc3339_drops_parts_of_a_second() {
        assert_eq!(rfc3339(UNIX_EPOCH), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(951_782_399_999)), "2000-02-28T23:59:59Z");
    }
}
