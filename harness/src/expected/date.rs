//! A day of the calendar, which is all that an expectation needs of time.

use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

/// Seconds in a day of UTC.
const DAY: u64 = 24 * 60 * 60;

impl Date {
    /// The day in UTC, by the seconds since the beginning of 1970.
    #[must_use]
    pub fn of_unix(seconds: u64) -> Self {
        let mut left = seconds / DAY;
        let mut date = Self { year: 1970, month: 1, day: 1 };
        while left >= days_of_year(date.year) {
            left -= days_of_year(date.year);
            date.year += 1;
        }
        while left >= u64::from(days_of_month(date.year, date.month)) {
            left -= u64::from(days_of_month(date.year, date.month));
            date.month += 1;
        }
        // What is left is less than a month.
        date.day += u8::try_from(left).unwrap_or_default();
        date
    }
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && year % 100 != 0 || year % 400 == 0
}

const fn days_of_year(year: i64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

const fn days_of_month(year: i64, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no day; write it like 2027-01-31");
        let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let is_number = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(year, 4) || !is_number(month, 2) || !is_number(day, 2) {
            return Err(wrong());
        }
        let (year, month, day) = (year.parse(), month.parse(), day.parse());
        match (year, month, day) {
            (Ok(year), Ok(month @ 1..=12), Ok(day)) if (1..=days_of_month(year, month)).contains(&day) => {
                Ok(Self { year, month, day })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        let known = [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_219_200, "2026-11-21"),
            (4_107_542_400, "2100-03-01"),
        ];
        for (seconds, day) in known {
            assert_eq!(Date::of_unix(seconds).to_string(), day);
            assert_eq!(day.parse(), Ok(Date::of_unix(seconds)));
        }
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in ["", "2027", "2027-1-31", "2027-02-29", "2027-13-01", "2027-00-01", "2027-01-00", "+027-01-01"] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
