//! Wall-clock time as ISO 8601 text.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Returns the microseconds since the Unix epoch.
pub(super) fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Writes microseconds since the Unix epoch as `YYYY-MM-DDThh:mm:ss.mmmZ`.
pub(super) fn iso8601(micros: u64) -> String {
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    format!("{:.3}", Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX))
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
