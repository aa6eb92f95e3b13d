//! Columns by their names: in one file, and in all files of a data set.

use std::collections::{HashMap, HashSet};

use compressive::{Column, Parameter, Reading};

use crate::error::{Error, Result};
use crate::plan::{ColumnInfo, ColumnKind, Feature, Read, require_number, wrong_kind};

/// The columns of a file by their names: a table may have 10^5 of them.
pub(crate) struct Index<'a> {
    path: &'a str,
    columns: &'a [ColumnInfo],
    /// First column of each name, and how many have it.
    places: HashMap<&'a str, (usize, usize)>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(path: &'a str, columns: &'a [ColumnInfo]) -> Self {
        let mut places = HashMap::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            places.entry(column.name.as_str()).or_insert((i, 0)).1 += 1;
        }
        Index { path, columns, places }
    }

    /// The only column with this name.
    pub(crate) fn find(&self, name: &str, option: Option<Parameter>) -> Result<usize> {
        let (index, count) = self.find_any(name, option)?;
        if count > 1 {
            let (path, column) = (self.path.to_owned(), name.to_owned());
            return Err(Error::DuplicateColumn { path, column, count }.advised());
        }
        Ok(index)
    }

    /// Whether a column is there that can be read so.
    pub(crate) fn check(&self, feature: &Feature, option: Option<Parameter>) -> Result<()> {
        let Read::As(reading) = &feature.read else { return Ok(()) };
        if let Some(parts) = self.numbers_of(feature) {
            return parts.into_iter().try_for_each(|c| require_number(self.path, &self.columns[c], option));
        }
        let column = &self.columns[self.find(&feature.name, option)?];
        // A recipe's number in a column of text is told at once.
        let text = matches!(column.kind, ColumnKind::Text { .. } | ColumnKind::Empty);
        let plain = matches!(reading, Reading::Number { .. });
        if column.kind.can_be(reading) && !(plain && text) {
            return Ok(());
        }
        Err(wrong_kind(self.path, column, reading, option))
    }

    /// The columns that hold a vector's numbers one by one, named as its coordinates, where there is none of
    /// its own name.
    pub(crate) fn numbers_of(&self, feature: &Feature) -> Option<Vec<usize>> {
        let Read::As(reading @ Reading::Vector { .. }) = &feature.read else { return None };
        if self.places.contains_key(feature.name.as_str()) {
            return None;
        }
        let column = Column { column: feature.name.clone(), reading: reading.clone() };
        column.coordinates().iter().map(|name| self.find(name, None).ok()).collect()
    }

    /// The first column with this name, and how many have it.
    pub(crate) fn find_any(&self, name: &str, option: Option<Parameter>) -> Result<(usize, usize)> {
        self.places.get(name).copied().ok_or_else(|| Error::UnknownColumn {
            path: self.path.to_owned(),
            column: name.to_owned(),
            option,
            hint: hint(self.columns, name),
        })
    }
}

/// Names close to the one asked for, or the first names there are.
fn hint(columns: &[ColumnInfo], name: &str) -> String {
    let lower = name.to_lowercase();
    let bound = (name.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &str)> = columns
        .iter()
        .map(|column| (edit_distance(&column.name.to_lowercase(), &lower), column.name.as_str()))
        .filter(|(distance, _)| *distance <= bound)
        .collect();
    close.sort();
    if !close.is_empty() {
        let names: Vec<String> = close.iter().take(3).map(|(_, name)| format!("{name:?}")).collect();
        return format!("did you mean {}?", names.join(" or "));
    }
    let names: Vec<&str> = columns.iter().take(12).map(|column| column.name.as_str()).collect();
    let more = if columns.len() > 12 { ", ..." } else { "" };
    format!("its {} columns are {}{more}", columns.len(), names.join(", "))
}

/// Levenshtein distance in characters; names are short, so the plain table is enough.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = above[0];
        above[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = above[j + 1];
            above[j + 1] = replaced.min(above[j] + 1).min(above[j + 1] + 1);
        }
    }
    above[b.len()]
}

/// Refuses a file whose set of column names is not that of the first file.
pub(crate) fn require_same_columns(first: (&str, &[ColumnInfo]), other: (&str, &[ColumnInfo])) -> Result<()> {
    let absent_in = |from: &[ColumnInfo], these: &[ColumnInfo]| -> Vec<String> {
        let known: HashSet<&str> = from.iter().map(|column| column.name.as_str()).collect();
        these
            .iter()
            .filter(|column| !known.contains(column.name.as_str()))
            .map(|column| format!("{:?}", column.name))
            .take(8)
            .collect()
    };
    let missing = absent_in(other.1, first.1);
    let extra = absent_in(first.1, other.1);
    let mut difference = Vec::new();
    if !missing.is_empty() {
        difference.push(format!("it lacks {}", missing.join(", ")));
    }
    if !extra.is_empty() {
        difference.push(format!("it has {} besides", extra.join(", ")));
    }
    if difference.is_empty() && first.1.len() != other.1.len() {
        difference.push(format!("it has {} columns, not {}", other.1.len(), first.1.len()));
    }
    if difference.is_empty() {
        return Ok(());
    }
    Err(Error::ColumnsDiffer {
        path: other.0.to_owned(),
        first: first.0.to_owned(),
        difference: difference.join(", "),
    }
    .advised())
}
