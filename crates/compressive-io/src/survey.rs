//! What columns of text turn out to be, as the sample shows them: dates, categories of a few levels, or text
//! that is no category and is left out.

use std::cmp::Reverse;

use compressive::Reading;
use compressive::calendar::{self, Order};

use crate::entry::{Texts, is_missing, parse_number};
use crate::plan::{LeftOut, quote};
use crate::strays::few;

/// Different texts up to which a column is a category: beyond some dozens it is a name, an address or a
/// remark, and every level would be a column more to learn.
pub(crate) const LEVELS_MOST: usize = 40;
/// Rows of a level on average, below which texts are names of rows.
const LEVEL_ROWS: usize = 3;
/// Share of the rows that a level has to have for a coordinate of its own; fewer rows hardly move a centre.
const LEVEL_SHARE: f64 = 0.01;

/// A column of text: what was met, and the text of each sampled row by its number, NaN for none.
pub(crate) struct Column<'a> {
    pub name: &'a str,
    pub texts: &'a Texts,
    pub codes: &'a [f64],
    /// Whether the user named it, so that it is not left out.
    pub named: bool,
    /// Whether the file says that it is text; a column of a text file that looked empty may be anything.
    pub typed: bool,
}

impl Column<'_> {
    /// How the column is read, or why it is not.
    pub(crate) fn judge(&self) -> Result<Reading, LeftOut> {
        let mut counts = vec![0usize; self.texts.all.len()];
        self.codes.iter().filter(|code| !code.is_nan()).for_each(|code| counts[*code as usize] += 1);
        let mut levels: Vec<(&str, usize)> =
            self.texts.all.iter().map(String::as_str).zip(counts).filter(|(_, n)| *n > 0).collect();
        let rows: usize = levels.iter().map(|(_, n)| n).sum();
        let leave =
            |reason: String, group| Err(LeftOut { name: self.name.to_owned(), reason, group, asked: false });
        if rows == 0 {
            return leave("empty".to_owned(), "empty columns");
        }
        let count = |is: &dyn Fn(&str) -> bool| -> usize {
            levels.iter().filter(|(text, _)| is(text)).map(|(_, n)| n).sum()
        };
        let present = rows - count(&|text| is_missing(text.as_bytes()));
        let mostly = |n: usize| n > 0 && few((present - n) as u64, present as u64);
        if !self.typed && mostly(count(&|text| parse_number(text.as_bytes()).is_some())) {
            return Ok(Reading::NUMBER);
        }
        // Where both orders of day and month read all dates, nobody knows which is meant.
        let dates = [Order::Told, Order::DayFirst, Order::MonthFirst]
            .map(|order| (order, count(&|text| calendar::parse(text.as_bytes(), order).is_some())));
        let [(_, told), (_, first), (_, second)] = dates;
        let order = dates.into_iter().find(|(order, n)| {
            mostly(*n) && (*order == Order::Told || *n > told && first != second && *n == first.max(second))
        });
        if let Some((order, _)) = order {
            return Ok(Reading::Time { periods: Vec::new(), order });
        }
        // The most frequent first, equals by their text, so that the order of the rows does not matter.
        levels.sort_by_key(|(text, n)| (Reverse(*n), *text));
        if !self.named {
            if let [(level, _)] = levels[..]
                && rows > 1
            {
                return leave(format!("constant, {} in the sample", quote(level)), "constant columns");
            }
            if levels.len() > LEVELS_MOST || levels.len() * LEVEL_ROWS > rows {
                let example = quote(levels[0].0);
                if mostly(first) && first > told {
                    let reason = format!(
                        "dates such as {example}, whose days and months cannot be told apart; write them as 2013-01-31"
                    );
                    return leave(reason, "columns of unclear dates");
                }
                let n = levels.len();
                let reason =
                    format!("text of {n} different values in {rows} sampled rows, such as {example}");
                return leave(reason, "text columns of many values");
            }
        }
        let frequent = levels.iter().filter(|(_, n)| *n as f64 >= LEVEL_SHARE * rows as f64).count();
        let own = if self.named { levels.len() } else { frequent }.clamp(1, LEVELS_MOST);
        let levels_own = levels[..own].iter().map(|(text, _)| (*text).to_owned()).collect();
        Ok(Reading::Category { levels: levels_own, other: own < levels.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(rows: &[&str], named: bool, typed: bool) -> Result<Reading, LeftOut> {
        let mut texts = Texts::default();
        let codes: Vec<f64> =
            rows.iter().map(|text| if text.is_empty() { f64::NAN } else { texts.number(text) }).collect();
        Column { name: "c", texts: &texts, codes: &codes, named, typed }.judge()
    }

    fn category(levels: &[&str], other: bool) -> Result<Reading, LeftOut> {
        Ok(Reading::Category { levels: levels.iter().map(|l| (*l).to_owned()).collect(), other })
    }

    #[test]
    fn levels_are_ordered_by_rows_and_then_by_text_and_rare_ones_share_a_coordinate() {
        let rows: Vec<&str> = ["b", "c", "a", "a", ""].repeat(100);
        assert_eq!(judge(&rows, false, true), category(&["a", "b", "c"], false));
        let rare = [&rows[..], &["z", "y"][..]].concat();
        assert_eq!(judge(&rare, false, true), category(&["a", "b", "c"], true));
    }

    #[test]
    fn names_of_rows_and_constants_are_left_out_unless_they_are_named() {
        let names: Vec<String> = (0..200).map(|i| format!("n{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let reason = |rows: &[&str]| judge(rows, false, true).unwrap_err().reason;
        assert_eq!(reason(&names), "text of 200 different values in 200 sampled rows, such as \"n0\"");
        assert_eq!(reason(&names[..20]), "text of 20 different values in 20 sampled rows, such as \"n0\"");
        assert_eq!(reason(&["x"; 9]), "constant, \"x\" in the sample");
        assert_eq!(reason(&["", ""]), "empty");
        let Ok(Reading::Category { levels, other: true }) = judge(&names, true, true) else {
            panic!("a category")
        };
        assert_eq!(levels.len(), LEVELS_MOST);
    }

    #[test]
    fn dates_are_times_and_untyped_numbers_are_numbers() {
        let time = Ok(Reading::time(vec![]));
        assert_eq!(judge(&["2013-01-01", "2013-01-02T05:00Z", "?", "soon"], false, true), time);
        let [first, second] =
            [Order::DayFirst, Order::MonthFirst].map(|order| Ok(Reading::Time { periods: vec![], order }));
        assert_eq!(judge(&["05/06/2013", "25/06/2013"], false, true), first);
        assert_eq!(judge(&["05/06/2013", "06/25/2013"], false, true), second);
        let unclear = judge(&["05/06/2013", "06/07/2013"], false, true).unwrap_err().reason;
        assert!(unclear.contains("cannot be told apart"), "{unclear}");
        assert!(
            judge(&["2013-01-01", "soon", "later", "2013-01-02"].repeat(9), false, true).unwrap().width()
                == 4
        );
        assert_eq!(judge(&["1", "2", "true", "x"], false, false), Ok(Reading::NUMBER));
        assert_eq!(judge(&["1", "2", "1", "2", "1", "2"], false, true), category(&["1", "2"], false));
    }
}
