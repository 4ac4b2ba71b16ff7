//! The last day of an expectation.

use jiff::civil::Date;

/// Reads a day in the form `2027-01-31`.
///
/// # Errors
///
/// The text has another form, or the calendar does not have the day.
pub fn parse_day(text: &str) -> Result<Date, String> {
    let day = text.parse().ok().filter(|day: &Date| day.to_string() == text);
    day.ok_or_else(|| format!("`{text}` is not a day; write it like 2027-01-31"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_day_accepts_only_days_in_this_form() {
        assert_eq!(parse_day("2028-02-29"), Ok(jiff::civil::date(2028, 2, 29)));
        for text in [
            "",
            "2027",
            "2027-1-31",
            "20270131",
            "2027-01-31T10:00",
            "2027-02-29",
            "2027-13-01",
            "2027-00-01",
            "2027-01-00",
            "+027-01-01",
        ] {
            assert!(parse_day(text).is_err(), "{text}");
        }
    }
}
