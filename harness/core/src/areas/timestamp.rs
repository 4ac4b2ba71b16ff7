//! Timestamps of ISO 8601, and of RFC 3339.

use jiff::civil::{Date, ISOWeekDate, Weekday};

use crate::protocol::Edition;

/// Whether a text is a timestamp by the rules of the edition, and the name of those rules with its article.
pub(super) fn timestamp(edition: &Edition, text: &str) -> (bool, &'static str) {
    match edition.major {
        1 => (is_iso8601(text), "an ISO 8601"),
        _ => (is_rfc3339(text), "an RFC 3339"),
    }
}

/// Whether a text is a date of ISO 8601 with or without a time, in the extended or the basic form.
///
/// The date is a calendar date, a week date or an ordinal date. The time may end after the hour or the minute, and its
/// last part may have a fraction. The end of a day is 24:00, and a leap second has the number 60.
fn is_iso8601(text: &str) -> bool {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    (is_calendar_date(date) || is_ordinal_date(date) || is_week_date(date)) && time.is_none_or(is_time)
}

/// Whether a text is a date with a time and a zone by RFC 3339.
///
/// RFC 3339 lets `t`, `z` and a space stand for `T`, `Z` and `T`.
fn is_rfc3339(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let whole = date.len() == 10 && clock.len() == 8 && clock.contains(':') && is_clock(clock, fraction);
    let zoned = matches!(zone, "Z" | "z") || zone.len() == 6 && zone.contains(':') && is_offset(zone);
    date.contains('-') && is_calendar_date(date) && whole && digits && zoned
}

fn is_calendar_date(date: &str) -> bool {
    let Some([year, month, day]) = numbers(date, [4, 2, 2], '-') else { return false };
    Date::new(year, narrow(month), narrow(day)).is_ok()
}

/// Whether this is a date with the number of the day in the year, such as `2026-325`.
fn is_ordinal_date(date: &str) -> bool {
    let Some([year, day]) = numbers(date, [4, 3], '-') else { return false };
    Date::new(year, 1, 1).is_ok_and(|first| (1..=first.days_in_year()).contains(&day))
}

/// Whether this is a date with the number of the week, such as `2026-W47-6`.
fn is_week_date(date: &str) -> bool {
    let Some((year, rest)) = date.split_once('W') else { return false };
    let dashed = year.strip_suffix('-');
    let Some([year]) = numbers(dashed.unwrap_or(year), [4], '-') else { return false };
    let Some([week, day]) = numbers(rest, [2, 1], '-').filter(|_| dashed.is_some() == rest.contains('-')) else {
        return false;
    };
    Weekday::from_monday_one_offset(narrow(day)).is_ok_and(|day| ISOWeekDate::new(year, narrow(week), day).is_ok())
}

fn is_time(time: &str) -> bool {
    let zone = time.find(['Z', 'z', '+', '-', '\u{2212}']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_clock(clock, fraction) && is_fraction && (matches!(zone, "" | "Z" | "z") || is_offset(zone))
}

fn is_clock(clock: &str, fraction: &str) -> bool {
    let hour = || numbers(clock, [2], ':').map(|[hour]| [hour, 0, 0]);
    let minute = || numbers(clock, [2, 2], ':').map(|[hour, minute]| [hour, minute, 0]);
    match numbers(clock, [2, 2, 2], ':').or_else(minute).or_else(hour) {
        Some([24, 0, 0]) => fraction.bytes().all(|digit| digit == b'0'),
        Some([hour, minute, second]) => hour <= 23 && minute <= 59 && second <= 60,
        None => false,
    }
}

fn is_offset(offset: &str) -> bool {
    let Some(offset) = offset.strip_prefix(['+', '-', '\u{2212}']) else { return false };
    let hour = || numbers(offset, [2], ':').map(|[hour]| [hour, 0]);
    numbers(offset, [2, 2], ':').or_else(hour).is_some_and(|[hour, minute]| hour <= 23 && minute <= 59)
}

/// Reads numbers of so many digits each, either all with or all without the separator between them.
fn numbers<const N: usize>(text: &str, digits: [usize; N], separator: char) -> Option<[i16; N]> {
    let grouped = !text.contains(separator) || text.split(separator).map(str::len).eq(digits);
    let plain = text.replace(separator, "");
    if !grouped || plain.len() != digits.iter().sum::<usize>() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut rest = plain.as_str();
    Some(digits.map(|length| {
        let (number, further) = rest.split_at(length);
        rest = further;
        // Numbers have at most four digits.
        number.parse().unwrap_or_default()
    }))
}

/// Converts a number of at most three digits for the calendar; an invalid number stays invalid.
fn narrow(number: i16) -> i8 {
    i8::try_from(number).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_wants_a_time_and_a_zone() {
        let good = [
            "2026-11-23T10:00:00Z",
            "2026-11-23t10:00:00.123z",
            "2026-11-23 10:00:00+01:00",
            "2026-11-23T23:59:60-00:00",
        ];
        assert_eq!(good.map(is_rfc3339), [true; 4]);
        let bad = [
            "2026-11-23",
            "2026-11-23T10:00:00",
            "2026-11-23T10:00Z",
            "20261123T100000Z",
            "2026-11-23T10:00:00,5Z",
            "2026-11-23T10:00:00+01",
        ];
        assert_eq!(bad.map(is_rfc3339), [false; 6]);
    }

    #[test]
    fn is_iso8601_accepts_every_form_of_the_standard() {
        for good in [
            "2026-11-21T10:00:00Z",
            "2026-11-21t10:00:00z",
            "2026-11-21 10:00:00Z",
            "2026-11-21T10:00:00.123+01:00",
            "2026-11-21T10:00:00-0130",
            "2026-11-21T10:00:00+14",
            "20261121T100000Z",
            "20261121T100000,25+0530",
            "2026-11-21",
            "2026-11-21T10:00",
            "2026-11-21T10Z",
            "2026-11-21T10.5Z",
            "2026-325",
            "2024-366",
            "2026-W47-6T10:00:00,5Z",
            "2026W476",
            "2026-W53-7",
            "2024-02-29T00:00:00Z",
            "2016-12-31T23:59:60Z",
            "2016-12-31T18:59:60-05:00",
            "2026-11-21T24:00:00.000Z",
            "2026-11-21T24:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999999Z",
        ] {
            assert!(is_iso8601(good), "{good}");
        }
    }

    #[test]
    fn is_iso8601_rejects_other_texts_and_impossible_dates() {
        for bad in [
            "Nov 21, 2026",
            "21.11.2026 10:00",
            "2026-11-21T",
            "2026-11-21T10:00:00.Z",
            "2026-11-21T10:0000Z",
            "2026-1121",
            "1763719200",
            "2026-11-21T10:00:00 CET",
            "2026-W476",
            "2026W47-6",
            "2026-11-21T10:00:00+",
            "2026-11-21T10:00:00Z01",
            "",
            "2026-99-99T99:99:99Z",
            "2026-13-01",
            "2026-11-31",
            "2026-02-29",
            "2026-00-10",
            "2026-000",
            "2026-366",
            "2026-999",
            "2025-W53-1",
            "2026-W47-8",
            "2026-W47-0",
            "2026-W00-1",
            "2026-11-21T25:00Z",
            "2026-11-21T24:01Z",
            "2026-11-21T24:00:00.1Z",
            "2026-11-21T10:60Z",
            "2026-11-21T10:00:61Z",
            "2026-11-21T10:00:00+24:00",
            "2026-11-21T10:00:00+01:60",
            "２０２６-11-21",
        ] {
            assert!(!is_iso8601(bad), "{bad}");
        }
    }
}
