//! Dates as people write them.
//!
//! | form | such as |
//! |---|---|
//! | year first | `2013/1/31`, `2013.01.31`, `2013-01` |
//! | day first, with points | `31.01.2013` |
//! | month by its name | `31 Jan 2013`, `31-Jan-13`, `January 31, 2013`, `2013 Jan` |
//! | numbers whose order is known | `1/31/2013`, `31-1-13` |
//!
//! each alone or followed by a time of the day: `5:00`, `05:00:30`, `5:00 PM`. Years of two digits are those
//! from 1969 to 2068, as POSIX has it. A date without a day is the first of its month.

use super::{Cursor, midnight, seconds};
use crate::names::named;

/// Which of the first two numbers of a date such as `05/06/2013` is the day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The dates tell it themselves; such a one is none.
    #[default]
    Told,
    /// The first.
    DayFirst,
    /// The second.
    MonthFirst,
}

named!(Order, "an order of day and month", {
    Told => "told": "as the dates themselves tell it",
    DayFirst => "day-first": "05/06/2013 is the fifth of June",
    MonthFirst => "month-first": "05/06/2013 is the sixth of May",
});

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A piece of a date: a number with its digits, or a month.
#[derive(Clone, Copy)]
enum Piece {
    Number(i64, usize),
    Month(i64),
}

/// Reads a date in one of the forms above.
pub(super) fn parse(text: &[u8], order: Order) -> Option<f64> {
    let mut rest = Cursor { text: text.trim_ascii() };
    let first = rest.piece()?;
    let between = rest.separator()?;
    let second = rest.piece()?;
    let mut ahead = Cursor { text: rest.text };
    let third = ahead.separator().filter(|again| alike(between, *again)).and_then(|_| ahead.piece());
    // A number behind a blank may be the hour.
    let hour = ahead.text.first() == Some(&b':');
    let third = third.filter(|piece| !hour && matches!(piece, Piece::Number(..) | Piece::Month(_)));
    if third.is_some() {
        rest = ahead;
    }
    let (year, month, day) = date((first, second, third), between, order)?;
    let start = midnight(year, month, day)?;
    Some(seconds(start + rest.clock()?, 0))
}

/// Whether a date may have both separators: a comma stands only before the year.
fn alike(first: u8, second: u8) -> bool {
    first == second || matches!((first, second), (b' ', b','))
}

fn date(
    (first, second, third): (Piece, Piece, Option<Piece>),
    between: u8,
    order: Order,
) -> Option<(i64, i64, i64)> {
    use Piece::{Month, Number};
    Some(match (first, second, third) {
        (Number(y, 4), Number(m, 1 | 2), Some(Number(d, 1 | 2))) if between != b' ' => (y, m, d),
        (Number(y, 4), Number(m, 2), None) if between == b'-' || between == b'/' => (y, m, 1),
        (Number(y, 4), Month(m), None) | (Month(m), Number(y, 4), None) => (y, m, 1),
        (Number(y, 4), Month(m), Some(Number(d, 1 | 2))) => (y, m, d),
        (Number(d, 1 | 2), Month(m), Some(Number(y, n @ (2 | 4)))) => (year(y, n), m, d),
        (Month(m), Number(d, 1 | 2), Some(Number(y, n @ (2 | 4)))) => (year(y, n), m, d),
        (Number(a, 1 | 2), Number(b, 1 | 2), Some(Number(y, n @ (2 | 4)))) => match order {
            _ if matches!(between, b' ' | b',') => return None,
            _ if between == b'.' => (year(y, n), b, a),
            Order::DayFirst => (year(y, n), b, a),
            Order::MonthFirst => (year(y, n), a, b),
            Order::Told => return None,
        },
        _ => return None,
    })
}

fn year(number: i64, digits: usize) -> i64 {
    match (digits, number) {
        (4, _) => number,
        (_, 69..) => 1900 + number,
        _ => 2000 + number,
    }
}

impl Cursor<'_> {
    /// Some digits, or the name of a month, whole or its first three letters, or `Sept`.
    fn piece(&mut self) -> Option<Piece> {
        let n = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if n > 0 {
            return (n <= 4).then(|| self.digits(n)).flatten().map(|value| Piece::Number(value, n));
        }
        let n = self.text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.text.split_at(n);
        let is = |name: &str| {
            let short = word.eq_ignore_ascii_case(&name.as_bytes()[..3]);
            short
                || word.eq_ignore_ascii_case(name.as_bytes())
                || (name == MONTHS[8] && word.eq_ignore_ascii_case(b"sept"))
        };
        let month = MONTHS.iter().position(|name| is(name))? as i64 + 1;
        self.text = rest.strip_prefix(b".").filter(|after| after.starts_with(b" ")).unwrap_or(rest);
        Some(Piece::Month(month))
    }

    /// One separator, with the blanks behind a comma.
    fn separator(&mut self) -> Option<u8> {
        let found = self.one_of(b"-/. ,")?;
        if found == b',' {
            self.text = self.text.trim_ascii_start();
        }
        Some(found)
    }

    /// Seconds of the time of the day that is left; 0 for none.
    fn clock(&mut self) -> Option<i64> {
        if self.text.is_empty() {
            return Some(0);
        }
        self.one_of(b" ")?;
        let n = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut hour = (n == 1 || n == 2).then(|| self.digits(n)).flatten()?;
        self.one_of(b":")?;
        let minute = self.digits(2)?;
        let second = if self.one_of(b":").is_some() { self.digits(2)? } else { 0 };
        let half = self.text.trim_ascii_start();
        if half.eq_ignore_ascii_case(b"am") || half.eq_ignore_ascii_case(b"pm") {
            let after_noon = half.eq_ignore_ascii_case(b"pm");
            hour = (1..=12).contains(&hour).then_some(hour % 12 + if after_noon { 12 } else { 0 })?;
        } else if !half.is_empty() {
            return None;
        }
        (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse as read, show};
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        use Order::{DayFirst, MonthFirst, Told};
        let cases = [
            ("2013/1/31", Told, "2013-01-31 00:00:00"),
            ("2013-1-1", Told, "2013-01-01 00:00:00"),
            ("2013-02", Told, "2013-02-01 00:00:00"),
            ("31.01.2013", Told, "2013-01-31 00:00:00"),
            ("1.2.69", Told, "1969-02-01 00:00:00"),
            ("31 Jan 2013", Told, "2013-01-31 00:00:00"),
            ("31-JAN-13", Told, "2013-01-31 00:00:00"),
            ("January 31, 2013", Told, "2013-01-31 00:00:00"),
            ("Jan. 31, 2013", Told, "2013-01-31 00:00:00"),
            ("Sept 1 2013", Told, "2013-09-01 00:00:00"),
            ("2013 Jan", Told, "2013-01-01 00:00:00"),
            ("1/31/2013 5:00 PM", MonthFirst, "2013-01-31 17:00:00"),
            ("1/31/2013 12:00:30 am", MonthFirst, "2013-01-31 00:00:30"),
            ("05/06/2013", MonthFirst, "2013-05-06 00:00:00"),
            ("05/06/2013", DayFirst, "2013-06-05 00:00:00"),
            ("5-6-13 7:08", DayFirst, "2013-06-05 07:08:00"),
            ("Jan 2013 05:30", Told, "2013-01-01 05:30:00"),
            ("2013-01-01 5:00", Told, "2013-01-01 05:00:00"),
        ];
        for (text, order, expected) in cases {
            let found = read(text.as_bytes(), order).map(|seconds| show(seconds, true));
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_in_any_form_is_refused() {
        let texts = [
            "05/06/2013",
            "31 31 2013",
            "2013",
            "May",
            "2003-2004",
            "12-3",
            "1.5",
            "1 2 2013",
            "Janu 3, 2013",
            "31.13.2013",
            "1/2/3",
            "Mayor 3, 2013",
            "2013/1/31 25:00",
            "2013/1/31 0:00 PM",
            "3-4 Jan",
            "10,12,2013",
            "2013-1",
            "1.2.2013x",
        ];
        for text in texts {
            assert_eq!(read(text.as_bytes(), Order::Told), None, "{text:?}");
        }
        assert_eq!(read(b"31/12/2013", Order::MonthFirst), None);
    }
}
