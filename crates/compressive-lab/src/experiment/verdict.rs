//! The line that sums a report up: reproduced, better or worse than published, and by how much.

use crate::experiment::report::{Outcome, Report, Row, Table, Verdict};

/// Rows that are named in the line at most, of each kind.
const NAMED: usize = 4;

/// A judged row with the name it has on its page.
struct Judged<'a> {
    name: String,
    verdict: &'a Verdict,
}

impl Report {
    /// The report in one line, without a full stop: how many rows are better than published, reproduced or
    /// worse, how many bars are met, and the rows that fall short by name.
    pub fn verdict_line(&self) -> String {
        let judged = self.judged();
        let of = |outcome: Outcome| judged.iter().filter(move |row| row.verdict.outcome == outcome);
        let (better, worse) = (far_first(of(Outcome::Better)), far_first(of(Outcome::Worse)));
        let (reproduced, missed) = (of(Outcome::Reproduced).count(), of(Outcome::Missed).collect::<Vec<_>>());
        let published = better.len() + worse.len() + reproduced;
        let bars = of(Outcome::Met).count() + missed.len();
        let most = better.iter().find(|row| row.verdict.gap.is_some()).map(|row| named(row));
        let kinds = [
            (better.len(), "better than published in", most.map(|row| format!("most: {row}"))),
            (reproduced, "reproduced in", None),
            (worse.len(), "worse than published in", Some(list(&worse))),
        ];
        let mut parts = Vec::new();
        for (n, what, which) in kinds.into_iter().filter(|(n, ..)| *n > 0) {
            // The first says of how many.
            let rows = if parts.is_empty() { share(n, published) } else { n.to_string() };
            parts.push(format!(
                "{what} {rows}{}",
                which.map_or_else(String::new, |which| format!(" ({which})"))
            ));
        }
        let none = published == 0 && bars > 0;
        let mut line = vec![if none { "no row has a published number".into() } else { parts.join(", ") }];
        line.push(match (bars, missed.len()) {
            (0, _) => String::new(),
            (1, 0) => "the bar is met".into(),
            (2, 0) => "both bars are met".into(),
            (_, 0) => format!("all {bars} bars are met"),
            (1, _) => format!("the bar is missed: {}", list(&missed)),
            (bars, n) if bars == n => format!("none of the {bars} bars is met: {}", list(&missed)),
            _ => format!("{} of {bars} bars are met; missed: {}", bars - missed.len(), list(&missed)),
        });
        line.retain(|part| !part.is_empty());
        if line.is_empty() { "nothing on this page is judged".into() } else { line.join("; ") }
    }

    /// Adds a reason if a row whose name holds `row` is worse than published or misses its bar.
    #[must_use]
    pub fn explain(mut self, row: &str, reason: impl Into<String>) -> Report {
        let short = |judged: &Judged<'_>| judged.verdict.outcome.falls_short() && judged.name.contains(row);
        if self.judged().iter().any(short) {
            self.reasons.push(reason.into());
        }
        self
    }

    fn judged(&self) -> Vec<Judged<'_>> {
        let rows = self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        rows.filter_map(|(table, row)| {
            Some(Judged { name: name(table, row), verdict: row.verdict.as_ref()? })
        })
        .collect()
    }
}

/// The farthest from the published number first; rows without such a distance last.
fn far_first<'a>(rows: impl Iterator<Item = &'a Judged<'a>>) -> Vec<&'a Judged<'a>> {
    let mut rows: Vec<_> = rows.collect();
    let distance = |row: &Judged<'_>| row.verdict.gap.map_or(-1.0, f64::abs);
    rows.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    rows
}

fn share(n: usize, of: usize) -> String {
    match of {
        1 => "the one row".into(),
        2 if n == of => "both rows".into(),
        _ if n == of => format!("all {of} rows"),
        _ => format!("{n} of {of} rows"),
    }
}

fn named(row: &Judged<'_>) -> String {
    format!("{}: {}", row.name, row.verdict.detail)
}

/// The first rows by name, and how many more there are.
fn list(rows: &[&Judged<'_>]) -> String {
    let mut names: Vec<String> = rows.iter().take(NAMED).map(|row| named(row)).collect();
    if rows.len() > NAMED {
        names.push(format!("{} more", rows.len() - NAMED));
    }
    names.join("; ")
}

/// A row's first cells, as many as tell it from the other judged rows of its table; numbers with the head of
/// their column.
fn name(table: &Table, row: &Row) -> String {
    let same = |other: &Row, n: usize| {
        let texts = |row: &Row| row.cells.iter().take(n).map(|cell| cell.text.clone()).collect::<Vec<_>>();
        other.verdict.is_some() && texts(other) == texts(row)
    };
    let alone = |n: &usize| table.rows.iter().filter(|other| same(other, *n)).count() <= 1;
    let enough = (1..row.cells.len()).find(alone).unwrap_or(1);
    let cells = row.cells.iter().zip(&table.columns).take(enough);
    let text = |text: &str, head: &str| match text.chars().next() {
        Some(first) if first.is_ascii_digit() || "+-".contains(first) => format!("{head} = {text}"),
        _ => text.to_owned(),
    };
    let named = cells.map(|(cell, head)| text(&cell.text, head)).filter(|text| !text.is_empty());
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Cell;

    fn report(verdicts: &[Option<Verdict>]) -> Report {
        let mut table = Table::new("Errors", &["data", "m", "ours"]);
        for (row, verdict) in verdicts.iter().enumerate() {
            let cells = [Cell::text(["iris", "wine"][row % 2]), Cell::number("m", 10.0 * row as f64, 0)];
            table.push(cells.into_iter().chain([Cell::text("")]).collect(), verdict.clone());
        }
        Report { tables: vec![table], ..Report::default() }
    }

    #[test]
    fn rows_are_counted_and_those_that_fall_short_are_named() {
        let published = |ours| Some(Verdict::published(ours, 1.0, 0.1));
        let mixed = report(&[
            published(0.5),
            published(0.2),
            published(1.05),
            published(2.0),
            Some(Verdict::bar(true, "x")),
            None,
        ]);
        assert_eq!(
            mixed.verdict_line(),
            "better than published in 2 of 4 rows (most: wine, m = 10: -0.80 against the published 1.00), reproduced in 1, \
             worse than published in 1 (wine, m = 30: +1.00 against the published 1.00); the bar is met"
        );
        assert_eq!(report(&[published(1.0)]).verdict_line(), "reproduced in the one row");
        let bars = report(&[Some(Verdict::bar(false, "at most 2")), Some(Verdict::bar(true, "at most 3"))]);
        assert_eq!(
            bars.verdict_line(),
            "no row has a published number; 1 of 2 bars are met; missed: iris: at most 2"
        );
        assert_eq!(report(&[None]).verdict_line(), "nothing on this page is judged");
    }

    #[test]
    fn reasons_are_given_only_for_rows_that_fall_short() {
        let missed = report(&[Some(Verdict::bar(false, "at most 2")), Some(Verdict::bar(true, "at most 3"))]);
        assert_eq!(missed.clone().explain("iris", "few rows").reasons, ["few rows"]);
        assert!(missed.explain("wine", "few rows").reasons.is_empty());
    }

    #[test]
    fn ratios_say_how_many_times() {
        let fast = Verdict::ratio(2.0, 50.0, 1.5, " s");
        assert_eq!(
            (fast.outcome, &*fast.detail),
            (Outcome::Better, "25.0 times less than the published 50 s")
        );
        assert_eq!(Verdict::ratio(60.0, 50.0, 1.5, " s").outcome, Outcome::Reproduced);
        assert_eq!(Verdict::ratio(f64::NAN, 50.0, 1.5, " s").outcome, Outcome::Worse);
    }
}
