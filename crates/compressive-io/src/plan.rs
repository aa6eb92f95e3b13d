//! Which columns of a file play which part.
//!
//! Every format reports its columns as [`ColumnInfo`]; [`choose`] picks the features once for the whole data
//! set, and [`Plan::resolve`] finds the chosen names in each file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compressive::{Missing, Parameter};

use crate::chunk::Slot;
use crate::error::{Error, Result};
use crate::options::ReadOptions;

/// Largest number of values in a chunk: 2 MB of f64, so that chunks of wide tables stay in the cache.
const CHUNK_VALUES_MAX: usize = 1 << 18;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Number,
    Text { example: String },
    Time,
    Nested,
    Empty,
    Other(String),
}

impl ColumnKind {
    /// What the column is, as a clause after "it is".
    pub(crate) fn describe(&self) -> String {
        match self {
            ColumnKind::Number => "numeric".to_owned(),
            ColumnKind::Text { example } if example.is_empty() => "text".to_owned(),
            ColumnKind::Text { example } => format!("text (such as {})", quote(example)),
            ColumnKind::Time => "a date or time".to_owned(),
            ColumnKind::Nested => "nested".to_owned(),
            ColumnKind::Empty => "empty".to_owned(),
            ColumnKind::Other(name) => format!("of type {name}"),
        }
    }

    /// What several such columns are called.
    fn group(&self) -> &'static str {
        match self {
            ColumnKind::Number => "numeric columns",
            ColumnKind::Text { .. } => "text columns",
            ColumnKind::Time => "columns of dates or times",
            ColumnKind::Nested => "nested columns",
            ColumnKind::Empty => "empty columns",
            ColumnKind::Other(_) => "columns of other types",
        }
    }
}

/// A value as it is shown in messages: quoted and cut after 40 characters.
pub(crate) fn quote(text: &str) -> String {
    if text.chars().count() <= 40 {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(37).collect();
    format!("{:?}", head + "...")
}

/// One column of a file.
#[derive(Debug, Clone)]
pub(crate) struct ColumnInfo {
    pub name: String,
    pub kind: ColumnKind,
}

/// A column that is not used as a feature, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the column.
    pub name: String,
    /// Why it is left out: `text (such as "Paris")`, `excluded`, ...
    pub reason: String,
    /// What columns left out for such a reason are called: `text columns`, `constant columns`, ...
    pub group: &'static str,
    /// Whether the user's own options leave it out (`--columns`, `--exclude`, `--by`, `--weights`), and not
    /// what it holds.
    pub asked: bool,
}

/// The names of the columns in use, common to all files of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub features: Vec<String>,
    pub weights: Option<String>,
    pub by: Option<String>,
}

/// Chooses the feature columns from the columns of one file.
pub(crate) fn choose(
    path: &str,
    columns: &[ColumnInfo],
    options: &ReadOptions,
) -> Result<(Names, Vec<LeftOut>)> {
    let index = Index::new(path, columns);
    for name in &options.exclude {
        index.find_any(name, Some(Parameter::Exclude))?;
    }
    let asked = Asked::new(options);
    let mut left_out = Vec::new();
    let mut features = Vec::new();
    for column in columns {
        match asked.reason_against(column) {
            Some(reason) => {
                let asked = asked.reason(column).is_some();
                let group = column.kind.group();
                left_out.push(LeftOut { name: column.name.clone(), reason, group, asked });
            }
            None => features.push(column.name.clone()),
        }
    }
    if let Some(wanted) = &options.columns {
        features = wanted.iter().filter(|name| !asked.excluded.contains(name.as_str())).cloned().collect();
        let mut seen = HashSet::new();
        for name in &features {
            let column = index.find(name, Some(Parameter::Columns))?;
            require_number(path, &columns[column], Some(Parameter::Columns))?;
            if !seen.insert(name) {
                return Err(Error::Unsupported {
                    path: path.to_owned(),
                    what: format!("{name:?} is named more than once"),
                    remedy: "name each column once",
                });
            }
        }
    }
    if let Some(name) = &options.weights {
        let weights = Some(Parameter::Weights);
        require_number(path, &columns[index.find(name, weights)?], weights)?;
    }
    if let Some(name) = &options.by {
        let column = &columns[index.find(name, Some(Parameter::By))?];
        if matches!(column.kind, ColumnKind::Nested | ColumnKind::Other(_)) {
            return Err(Error::Unsupported {
                path: path.to_owned(),
                what: format!("the column of groups, {name:?}, is {}", column.kind.describe()),
                remedy: "group by a column of text, integers or booleans",
            });
        }
    }
    if features.is_empty() {
        return Err(Error::NoNumericColumns { path: path.to_owned(), left_out: summary(&left_out) }.advised());
    }
    let names = Names { features, weights: options.weights.clone(), by: options.by.clone() };
    Ok((names, left_out))
}

/// What the options say of columns, looked up by name.
struct Asked<'a> {
    options: &'a ReadOptions,
    excluded: HashSet<&'a str>,
    wanted: Option<HashSet<&'a str>>,
}

impl<'a> Asked<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        let set = |names: &'a [String]| names.iter().map(String::as_str).collect();
        Asked { options, excluded: set(&options.exclude), wanted: options.columns.as_deref().map(set) }
    }

    /// Why a column is not a feature; `None` if it is one.
    fn reason_against(&self, column: &ColumnInfo) -> Option<String> {
        let unfit = self.wanted.is_none() && column.kind != ColumnKind::Number;
        self.reason(column).or_else(|| unfit.then(|| column.kind.describe()))
    }

    /// Why the options make a column no feature.
    fn reason(&self, column: &ColumnInfo) -> Option<String> {
        let name = column.name.as_str();
        if self.options.by.as_deref() == Some(name) {
            Some("gives the groups".to_owned())
        } else if self.options.weights.as_deref() == Some(name) {
            Some("gives the weights".to_owned())
        } else if self.excluded.contains(name) {
            Some("excluded".to_owned())
        } else if let Some(wanted) = &self.wanted {
            (!wanted.contains(name)).then(|| "not among the columns named".to_owned())
        } else {
            None
        }
    }
}

fn require_number(path: &str, column: &ColumnInfo, option: Option<Parameter>) -> Result<()> {
    if column.kind == ColumnKind::Number {
        return Ok(());
    }
    Err(Error::NotNumeric {
        path: path.to_owned(),
        column: column.name.clone(),
        option,
        kind: column.kind.describe(),
    })
}

fn summary(left_out: &[LeftOut]) -> String {
    if left_out.is_empty() {
        return "it has no column at all".to_owned();
    }
    let mut text: Vec<String> =
        left_out.iter().take(8).map(|column| format!("{:?}: {}", column.name, column.reason)).collect();
    if left_out.len() > 8 {
        text.push(format!("and {} more", left_out.len() - 8));
    }
    text.join(", ")
}

/// The columns of a file by their names: a table may have 10^5 of them.
struct Index<'a> {
    path: &'a str,
    columns: &'a [ColumnInfo],
    /// First column of each name, and how many have it.
    places: HashMap<&'a str, (usize, usize)>,
}

impl<'a> Index<'a> {
    fn new(path: &'a str, columns: &'a [ColumnInfo]) -> Self {
        let mut places = HashMap::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            places.entry(column.name.as_str()).or_insert((i, 0)).1 += 1;
        }
        Index { path, columns, places }
    }

    /// The only column with this name.
    fn find(&self, name: &str, option: Option<Parameter>) -> Result<usize> {
        let (index, count) = self.find_any(name, option)?;
        if count > 1 {
            let (path, column) = (self.path.to_owned(), name.to_owned());
            return Err(Error::DuplicateColumn { path, column, count }.advised());
        }
        Ok(index)
    }

    /// The first column with this name, and how many have it.
    fn find_any(&self, name: &str, option: Option<Parameter>) -> Result<(usize, usize)> {
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

/// How the rows of one file are read; shared by all its parts.
#[derive(Debug)]
pub(crate) struct Plan {
    pub path: Arc<str>,
    /// Number of columns of the file.
    pub width: usize,
    /// File column of every feature.
    pub features: Vec<usize>,
    pub weights: Option<usize>,
    pub by: Option<usize>,
    pub names: Arc<Names>,
    pub skip_bad_rows: bool,
    pub missing: Missing,
    pub chunk_rows: usize,
}

impl Plan {
    /// Finds the chosen names among the columns of a file.
    pub(crate) fn resolve(
        path: &Arc<str>,
        columns: &[ColumnInfo],
        names: &Arc<Names>,
        options: &ReadOptions,
    ) -> Result<Plan> {
        let places = Index::new(path, columns);
        let number = |name: &String| -> Result<usize> {
            let index = places.find(name, None)?;
            // Text is judged value by value in CSV files: an early block may hold nothing but bad values.
            if matches!(columns[index].kind, ColumnKind::Text { .. } | ColumnKind::Empty | ColumnKind::Number)
            {
                return Ok(index);
            }
            require_number(path, &columns[index], None).map(|()| index)
        };
        let features = names.features.iter().map(number).collect::<Result<Vec<usize>>>()?;
        let chunk_rows = options.chunk_rows.clamp(1, (CHUNK_VALUES_MAX / features.len()).max(1));
        Ok(Plan {
            path: Arc::clone(path),
            width: columns.len(),
            features,
            weights: names.weights.as_ref().map(number).transpose()?,
            by: names.by.as_ref().map(|name| places.find(name, Some(Parameter::By))).transpose()?,
            names: Arc::clone(names),
            skip_bad_rows: options.skip_bad_rows,
            missing: options.missing,
            chunk_rows,
        })
    }

    /// The same columns without weights, bad rows left out: what a pilot sample reads.
    pub(crate) fn for_pilot(&self) -> Plan {
        Plan {
            path: Arc::clone(&self.path),
            width: self.width,
            features: self.features.clone(),
            weights: None,
            by: self.by,
            names: Arc::clone(&self.names),
            skip_bad_rows: true,
            missing: self.missing,
            chunk_rows: self.chunk_rows,
        }
    }

    /// Whether rows are read by groups.
    pub(crate) fn is_grouped(&self) -> bool {
        self.by.is_some()
    }

    pub(crate) fn dim(&self) -> usize {
        self.features.len()
    }

    /// The file columns in use, ascending and without repetition.
    pub(crate) fn file_columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> =
            self.features.iter().copied().chain(self.weights).chain(self.by).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The error for a bad value.
    pub(crate) fn bad(&self, slot: Slot, row: u64, line: Option<u64>, text: String) -> Error {
        let path = self.path.to_string();
        let named = |name: &Option<String>| name.clone().unwrap_or_default();
        match slot {
            Slot::Feature(i) => {
                Error::BadValue { path, row, line, column: self.names.features[i].clone(), text }
            }
            Slot::Weight => Error::BadWeight { path, row, line, column: named(&self.names.weights), text },
            Slot::Group => Error::BadGroup { path, row, line, column: named(&self.names.by), text },
        }
        .advised()
    }
}
