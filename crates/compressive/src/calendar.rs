//! Dates and times as seconds since the start of 1970 in UTC, in the Gregorian calendar.
//!
//! Read are `2013-01-31`, `2013-01-31 05:00`, `2013-01-31T05:00:00.25` and these with an offset (`Z`, `UTC`,
//! `+02:00`, `-0530`, `+02`); without one they are in UTC. Also the dates of [`forms`](Order) in which people
//! write, `31.01.2013`, `Jan 31, 2013`, `1/31/2013 5:00 PM`, the last one where it is known which number is
//! the day. Leap seconds are not known.

mod forms;

pub use forms::Order;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Seconds with a part in billionths: the one rounding that all sources of times share.
pub fn seconds(whole: i64, billionths: u32) -> f64 {
    if billionths == 0 { whole as f64 } else { whole as f64 + f64::from(billionths) / 1e9 }
}

/// Seconds from a number of parts of one.
pub fn from_parts(value: i64, parts_per_second: i64) -> f64 {
    let rest = value.rem_euclid(parts_per_second);
    seconds(value.div_euclid(parts_per_second), (rest * (1_000_000_000 / parts_per_second)) as u32)
}

/// Seconds of a number of days.
pub fn from_days(days: i32) -> f64 {
    (i64::from(days) * DAY) as f64
}

/// Reads a date or a date and time; `None` if the text is neither. `order` tells what the text does not.
pub fn parse(text: &[u8], order: Order) -> Option<f64> {
    parse_iso(text).or_else(|| forms::parse(text, order))
}

fn parse_iso(text: &[u8]) -> Option<f64> {
    let mut rest = Cursor { text: text.trim_ascii() };
    let year = rest.digits(4)?;
    rest.one_of(b"-")?;
    let month = rest.digits(2)?;
    rest.one_of(b"-")?;
    let day = rest.digits(2)?;
    let midnight = midnight(year, month, day)?;
    if rest.text.is_empty() {
        return Some(midnight as f64);
    }
    rest.one_of(b"T t")?;
    let hour = rest.digits(2)?;
    rest.one_of(b":")?;
    let minute = rest.digits(2)?;
    let second = if rest.one_of(b":").is_some() { rest.digits(2)? } else { 0 };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let billionths = if rest.one_of(b".,").is_some() { rest.billionths()? } else { 0 };
    let whole = midnight + hour * 3600 + minute * 60 + second - rest.offset()?;
    rest.text.is_empty().then(|| seconds(whole, billionths))
}

/// What is left to read.
struct Cursor<'a> {
    text: &'a [u8],
}

impl Cursor<'_> {
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.text.split_first()?;
        bytes.contains(first).then(|| {
            self.text = rest;
            *first
        })
    }

    /// A number of so many digits.
    fn digits(&mut self, n: usize) -> Option<i64> {
        let (head, rest) = self.text.split_at_checked(n)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.text = rest;
        Some(head.iter().fold(0, |value, digit| 10 * value + i64::from(digit - b'0')))
    }

    /// The digits behind a point; those after the ninth do not count.
    fn billionths(&mut self) -> Option<u32> {
        let n = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (head, rest) = self.text.split_at(n);
        self.text = rest;
        let digit = |i: usize| u32::from(head.get(i).map_or(0, |digit| digit - b'0'));
        (n > 0).then(|| (0..9).fold(0, |value, i| 10 * value + digit(i)))
    }

    /// Seconds that the local time is ahead of UTC.
    fn offset(&mut self) -> Option<i64> {
        let spaced = self.one_of(b" ").is_some();
        match self.text {
            [] => return (!spaced).then_some(0),
            b"Z" | b"z" | b"UTC" => {
                self.text = &[];
                return Some(0);
            }
            _ => {}
        }
        let sign = if self.one_of(b"+-")? == b'-' { -1 } else { 1 };
        let hours = self.digits(2)?;
        let colon = self.one_of(b":").is_some();
        let minutes = if self.text.is_empty() && !colon { 0 } else { self.digits(2)? };
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

/// The start of a day, if there is such a day.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let known = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    known.then(|| days_from_civil(year, month, day) * DAY)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01, counted in eras of 400 years that start in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let civil_month = if month < 10 { month + 3 } else { month - 9 };
    let civil_year = era * 400 + year + i64::from(civil_month <= 2);
    (civil_year, civil_month, day_of_year - (153 * month + 2) / 5 + 1)
}

/// The date, or with `clock` the date and time to the second, in UTC; a number of seconds that no calendar
/// goes to is shown as it is.
pub fn show(seconds: f64, clock: bool) -> String {
    if !(seconds.abs() < 1e12) {
        return format!("{seconds}");
    }
    let whole = seconds.round() as i64;
    let (year, month, day) = civil_from_days(whole.div_euclid(DAY));
    let date = format!("{year:04}-{month:02}-{day:02}");
    if !clock {
        return date;
    }
    let second = whole.rem_euclid(DAY);
    format!("{date} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_and_times_are_read_with_their_offsets() {
        let cases = [
            ("1970-01-01", 0.0),
            (" 2013-01-01 ", 1_356_998_400.0),
            ("2013-01-01 05:00", 1_357_016_400.0),
            ("2013-01-01T05:00:00Z", 1_357_016_400.0),
            ("2013-01-01T05:00:00+02:00", 1_357_009_200.0),
            ("2013-01-01T05:00:00-0530", 1_357_036_200.0),
            ("2013-01-01 05:00:00 UTC", 1_357_016_400.0),
            ("2013-01-01 05:00:00.25+00", 1_357_016_400.25),
            ("1969-12-31T23:59:59.5", -0.5),
            ("0001-01-01", -62_135_596_800.0),
            ("2000-02-29", 951_782_400.0),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text.as_bytes(), Order::Told), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let texts = [
            "",
            "2013",
            "2013-13-01",
            "2013-02-29",
            "1900-02-29",
            "20130101",
            "01/02/2013",
            "2013-01-01T24:00",
            "2013-01-01T05:60",
            "2013-01-01T05",
            "2013-01-01T05:00:00.",
            "2013-01-01T05:00+2",
            "2013-01-01T05:00+02:",
            "2013-01-01x",
            "2013-01-01T05:00 +25:00",
        ];
        for text in texts {
            assert_eq!(parse(text.as_bytes(), Order::Told), None, "{text:?}");
        }
    }

    #[test]
    fn times_are_shown_as_they_are_written() {
        assert_eq!(show(1_357_016_400.0, false), "2013-01-01");
        assert_eq!(show(1_357_016_400.4, true), "2013-01-01 05:00:00");
        assert_eq!(show(-1.0, true), "1969-12-31 23:59:59");
        assert_eq!(show(1e15, true), "1000000000000000");
    }

    proptest! {
        #[test]
        fn every_second_of_four_digit_years_reads_back(second in -62_135_596_800i64..253_402_300_800) {
            prop_assert_eq!(parse(show(second as f64, true).as_bytes(), Order::Told), Some(second as f64));
        }

        #[test]
        fn any_unit_of_a_time_gives_the_same_seconds(micros in -1i64 << 52..1 << 52) {
            let text = format!("{}.{:06}", show(micros.div_euclid(1_000_000) as f64, true), micros.rem_euclid(1_000_000));
            prop_assert_eq!(parse(text.as_bytes(), Order::Told), Some(from_parts(micros, 1_000_000)));
            prop_assert_eq!(from_parts(micros * 1000, 1_000_000_000), from_parts(micros, 1_000_000));
        }
    }
}
