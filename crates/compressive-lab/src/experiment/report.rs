//! What an experiment found: paragraphs, tables with a verdict per row, figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize};

/// The result of an experiment, before it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The experiment's name.
    pub name: String,
    /// The experiment's title.
    pub title: String,
    /// Paper with table or figure.
    pub reference: String,
    /// Why rows are worse than published, or miss their bar.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Paragraphs: the set-up, and what to know when reading the tables.
    pub text: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A table; its rows have one cell for each column, and a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One for each column of the table.
    pub cells: Vec<Cell>,
    /// What the row shows, where there is something to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A cell: its text, and the numbers behind it by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// As printed.
    pub text: String,
    /// Unrounded, for programs; NaN is null in JSON.
    #[serde(flatten, deserialize_with = "numbers")]
    pub numbers: BTreeMap<String, f64>,
}

fn numbers<'de, D: Deserializer<'de>>(source: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let read: BTreeMap<String, Option<f64>> = BTreeMap::deserialize(source)?;
    Ok(read.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect())
}

/// How a row compares with its bar or with the published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The comparison's outcome.
    pub outcome: Outcome,
    /// With what, and by how much.
    pub detail: String,
    /// How far from the published number, below zero where ours is better; a logarithm where the two are
    /// compared by their ratio. None for a bar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

/// Outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The bar is met.
    Met,
    /// The bar is missed.
    Missed,
    /// As published, within the tolerance said.
    Reproduced,
    /// Better than published.
    Better,
    /// Worse than published.
    Worse,
}

/// A figure as PNG.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of its file.
    pub file: String,
    /// What it shows, in words, for those who cannot see it.
    pub alt: String,
    /// The bytes of the file.
    #[serde(skip)]
    pub png: Vec<u8>,
}

impl Outcome {
    /// Of a difference, ours less published, with so much counted as equal. A number that is not one is
    /// worse.
    fn of_gap(gap: f64, tolerance: f64) -> Outcome {
        match gap {
            gap if gap.abs() <= tolerance => Outcome::Reproduced,
            gap if gap < 0.0 => Outcome::Better,
            _ => Outcome::Worse,
        }
    }

    /// Whether it is one that needs a reason: a bar missed, or worse than published.
    pub fn falls_short(self) -> bool {
        matches!(self, Outcome::Missed | Outcome::Worse)
    }

    /// The outcome as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Met => "met",
            Outcome::Missed => "missed",
            Outcome::Reproduced => "reproduced",
            Outcome::Better => "better",
            Outcome::Worse => "worse",
        }
    }
}

impl Cell {
    /// A cell of text alone.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), numbers: BTreeMap::new() }
    }

    /// A number, printed with so many digits after the point.
    pub fn number(name: &'static str, value: f64, digits: usize) -> Cell {
        Cell::text(format!("{value:.digits$}")).with(name, value)
    }

    /// Adds a number that stands behind the text.
    pub fn with(mut self, name: &'static str, value: f64) -> Cell {
        self.numbers.insert(name.into(), value);
        self
    }
}

impl Verdict {
    /// Whether a bar is met, and the bar in words.
    pub fn bar(met: bool, detail: impl Into<String>) -> Verdict {
        let outcome = if met { Outcome::Met } else { Outcome::Missed };
        Verdict { outcome, detail: detail.into(), gap: None }
    }

    /// Compares a number of which less is better with the published one: as published if they differ by at
    /// most `tolerance`.
    pub fn published(ours: f64, published: f64, tolerance: f64) -> Verdict {
        let gap = ours - published;
        let detail = format!("{gap:+.2} against the published {published:.2}");
        Verdict { outcome: Outcome::of_gap(gap, tolerance), detail, gap: Some(gap) }
    }

    /// Compares a positive number of which less is better with the published one by their ratio: as published
    /// if they are within a factor of `tolerance`.
    pub fn ratio(ours: f64, published: f64, tolerance: f64, unit: &str) -> Verdict {
        let gap = (ours / published).ln();
        let (times, than) =
            if gap < 0.0 { (published / ours, "less than") } else { (ours / published, "as much as") };
        let detail = format!("{times:.1} times {than} the published {published}{unit}");
        Verdict { outcome: Outcome::of_gap(gap, tolerance.ln()), detail, gap: Some(gap) }
    }

    /// Compares how many times faster something is with the published factor: as published if they are within
    /// a factor of `tolerance`.
    pub fn speedup(ours: f64, published: f64, tolerance: f64) -> Verdict {
        let gap = (published / ours).ln();
        let detail = format!("{ours:.0} times faster, published {published:.0}");
        Verdict { outcome: Outcome::of_gap(gap, tolerance.ln()), detail, gap: Some(gap) }
    }
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Table { title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: Vec<Cell>, verdict: Option<Verdict>) {
        self.rows.push(Row { cells, verdict });
    }

    fn to_markdown(&self) -> String {
        let judged = self.rows.iter().any(|row| row.verdict.is_some());
        let mut text = format!("## {}\n\n|", self.title);
        let extra = if judged { " verdict |" } else { "" };
        // Writing to a string cannot fail.
        self.columns.iter().for_each(|column| _ = write!(text, " {column} |"));
        let _ = write!(text, "{extra}\n|{}", "---|".repeat(self.columns.len() + usize::from(judged)));
        for row in &self.rows {
            text.push_str("\n|");
            row.cells.iter().for_each(|cell| _ = write!(text, " {} |", cell.text));
            match &row.verdict {
                Some(verdict) => _ = write!(text, " **{}**: {} |", verdict.outcome.name(), verdict.detail),
                None if judged => text.push_str(" |"),
                None => (),
            }
        }
        text.push('\n');
        text
    }
}

impl Report {
    /// The page, without its line of origin.
    pub fn to_markdown(&self) -> String {
        let mut parts = vec![format!("# {}\n\nReference: {}.\n", self.title, self.reference)];
        parts.push(format!("**Verdict**: {}.\n", self.verdict_line()));
        parts.extend(self.reasons.iter().map(|reason| format!("Why: {reason}\n")));
        parts.extend(self.text.iter().map(|paragraph| format!("{paragraph}\n")));
        parts.extend(self.tables.iter().map(Table::to_markdown));
        parts.extend(self.figures.iter().map(|figure| format!("![{}]({})\n", figure.alt, figure.file)));
        parts.join("\n")
    }

    /// All rows with their verdicts, over all tables.
    pub fn verdicts(&self) -> impl Iterator<Item = (&Row, &Verdict)> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        rows.filter_map(|row| row.verdict.as_ref().map(|verdict| (row, verdict)))
    }
}
