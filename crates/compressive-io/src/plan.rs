//! Which columns of a file play which part.
//!
//! Every format reports its columns as [`ColumnInfo`]; [`choose`] picks the features once for the whole data
//! set, and [`Plan::resolve`] finds the chosen names in each file.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use compressive::{Column, Missing, Parameter, Reading, reading};

use crate::chunk::Slot;
use crate::entry::{Entry, Texts};
use crate::error::{Error, Result};
use crate::lookup::Index;
use crate::options::ReadOptions;
use crate::strays::Strays;

/// Largest number of values in a chunk: 2 MB of f64, so that chunks of wide tables stay in the cache.
const CHUNK_VALUES_MAX: usize = 1 << 18;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Number,
    Text {
        example: String,
    },
    /// Dates, or times of a date; with `clock` times of a day and durations, which are numbers of seconds.
    Time {
        clock: bool,
    },
    /// Lists of numbers, of one length if that is part of the type.
    Vector {
        length: Option<usize>,
    },
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
            ColumnKind::Time { .. } => "a date or time".to_owned(),
            ColumnKind::Vector { .. } => "a vector".to_owned(),
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
            ColumnKind::Time { .. } => "columns of dates or times",
            ColumnKind::Vector { .. } => "columns of vectors",
            ColumnKind::Nested => "nested columns",
            ColumnKind::Empty => "empty columns",
            ColumnKind::Other(_) => "columns of other types",
        }
    }

    /// Whether entries of such a column can be read so. Text is judged value by value.
    pub(crate) fn can_be(&self, reading: &Reading) -> bool {
        use ColumnKind as K;
        match reading {
            Reading::Number { .. } => {
                matches!(self, K::Number | K::Text { .. } | K::Empty | K::Time { clock: true })
            }
            Reading::Time { .. } => matches!(self, K::Time { clock: false } | K::Text { .. } | K::Empty),
            Reading::Vector { length } => match self {
                K::Vector { length: fixed } => fixed.is_none_or(|fixed| fixed == *length),
                kind => *kind == K::Empty,
            },
            Reading::Category { .. } => matches!(self, K::Text { .. } | K::Number | K::Empty),
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

/// A column that is used, and how it is read, as far as that is known.
#[derive(Debug, Clone)]
pub(crate) struct Feature {
    pub name: String,
    pub read: Read,
}

#[derive(Debug, Clone)]
pub(crate) enum Read {
    As(Reading),
    /// Text whose levels a sample is to show; `typed` if the file says that it is text.
    Text {
        texts: Arc<Mutex<Texts>>,
        typed: bool,
    },
    /// Lists whose length is to be seen.
    List,
}

impl Feature {
    fn known(name: &str, reading: Reading) -> Feature {
        Feature { name: name.to_owned(), read: Read::As(reading) }
    }

    /// How a column of this kind is read; `None` if it is not. Without `interpret` only numbers are.
    fn of(column: &ColumnInfo, named: bool, options: &ReadOptions) -> Option<Feature> {
        let untold = named || options.interpret;
        let read = match &column.kind {
            ColumnKind::Number => Read::As(Reading::NUMBER),
            ColumnKind::Vector { length: Some(length) } if *length > 0 => {
                Read::As(Reading::Vector { length: *length })
            }
            ColumnKind::Vector { .. } => Read::List,
            ColumnKind::Time { clock: true } if untold => Read::As(Reading::NUMBER),
            ColumnKind::Time { .. } if untold => Read::As(Reading::time(Vec::new())),
            ColumnKind::Text { .. } if options.interpret => Read::Text { texts: Arc::default(), typed: true },
            ColumnKind::Empty if options.interpret && !named => {
                Read::Text { texts: Arc::default(), typed: false }
            }
            _ => return None,
        };
        Some(Feature { name: column.name.clone(), read })
    }
}

/// The columns in use, common to all files of a data set.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub features: Vec<Feature>,
    /// Names of the coordinates of a row: those of the features that are known.
    pub coordinates: Vec<String>,
    pub weights: Option<String>,
    pub by: Option<String>,
}

impl Names {
    /// With these features; periods that were asked for are theirs.
    pub(crate) fn set_features(&mut self, mut features: Vec<Feature>, options: &ReadOptions) {
        for feature in &mut features {
            let time = matches!(feature.read, Read::As(Reading::Time { .. }));
            if let Read::As(Reading::Number { periods } | Reading::Time { periods, .. }) = &mut feature.read
                && periods.is_empty()
                && options.readings.is_none()
            {
                *periods = options.periods(&feature.name, time);
            }
        }
        self.features = features;
        self.coordinates = reading::coordinates(&self.columns());
    }

    /// The features that are known.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let known = self.features.iter().filter_map(|feature| match &feature.read {
            Read::As(reading) => Some(Column { column: feature.name.clone(), reading: reading.clone() }),
            Read::Text { .. } | Read::List => None,
        });
        known.collect()
    }
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
    for name in options.cyclic.iter().filter_map(|cyclic| cyclic.column.as_ref()) {
        index.find_any(name, Some(Parameter::Cyclic))?;
    }
    let asked = Asked::new(options);
    let mut left_out = Vec::new();
    let mut features = Vec::new();
    for column in columns {
        let reason = asked.reason(column);
        let feature = if reason.is_none() { Feature::of(column, false, options) } else { None };
        match feature {
            Some(feature) => features.push(feature),
            None if reason.is_none() && asked.wanted.is_some() => {}
            None => {
                let (group, asked) = (column.kind.group(), reason.is_some());
                let reason = reason.unwrap_or_else(|| column.kind.describe());
                left_out.push(LeftOut { name: column.name.clone(), reason, group, asked });
            }
        }
    }
    if let Some(readings) = &options.readings {
        features = readings.iter().map(|c| Feature::known(&c.column, c.reading.clone())).collect();
        features.iter().try_for_each(|feature| index.check(feature, Some(Parameter::Columns)))?;
    } else if let Some(wanted) = &options.columns {
        let mut seen = HashSet::new();
        features.clear();
        for name in wanted.iter().filter(|name| !asked.excluded.contains(name.as_str())) {
            let column = &columns[index.find(name, Some(Parameter::Columns))?];
            let feature = Feature::of(column, true, options);
            features.push(feature.ok_or_else(|| not_numeric(path, column, Some(Parameter::Columns)))?);
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
        if matches!(column.kind, ColumnKind::Nested | ColumnKind::Vector { .. } | ColumnKind::Other(_)) {
            return Err(Error::Unsupported {
                path: path.to_owned(),
                what: format!("the column of groups, {name:?}, is {}", column.kind.describe()),
                remedy: "group by a column of text, integers or booleans",
            });
        }
    }
    if features.is_empty() {
        return Err(none_left(path, &left_out));
    }
    let mut names = Names {
        features: Vec::new(),
        coordinates: Vec::new(),
        weights: options.weights.clone(),
        by: options.by.clone(),
    };
    names.set_features(features, options);
    Ok((names, left_out))
}

/// The error where no column is left to use.
pub(crate) fn none_left(path: &str, left_out: &[LeftOut]) -> Error {
    Error::NoNumericColumns { path: path.to_owned(), left_out: summary(left_out) }.advised()
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
        let read = |columns: &'a Vec<Column>| columns.iter().map(|c| c.column.as_str()).collect();
        let wanted = options.readings.as_ref().map(read);
        let wanted = wanted.or_else(|| options.columns.as_deref().map(set));
        Asked { options, excluded: set(&options.exclude), wanted }
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

pub(crate) fn require_number(path: &str, column: &ColumnInfo, option: Option<Parameter>) -> Result<()> {
    if column.kind == ColumnKind::Number { Ok(()) } else { Err(not_numeric(path, column, option)) }
}

fn not_numeric(path: &str, column: &ColumnInfo, option: Option<Parameter>) -> Error {
    let (path, kind) = (path.to_owned(), column.kind.describe());
    Error::NotNumeric { path, column: column.name.clone(), option, kind }
}

/// The error for a column that cannot be read as the recipe does.
pub(crate) fn wrong_kind(
    path: &str,
    column: &ColumnInfo,
    reading: &Reading,
    option: Option<Parameter>,
) -> Error {
    let wanted = match reading {
        Reading::Number { .. } => return not_numeric(path, column, option),
        Reading::Time { .. } => "dates or times".to_owned(),
        Reading::Vector { length } => format!("vectors of {length} numbers"),
        Reading::Category { .. } => "categories".to_owned(),
    };
    let is = match column.kind {
        ColumnKind::Vector { length: Some(length) } => format!("a vector of {length} numbers"),
        _ => column.kind.describe(),
    };
    Error::Unsupported {
        path: path.to_owned(),
        what: format!("column {:?} is {is}, where {wanted} are expected", column.name),
        remedy: "give it the type of the first file or of the recipe, or leave it out of both",
    }
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

/// A column of a file that gives coordinates of a row.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub name: String,
    pub file_column: usize,
    /// Place of its first coordinate, and how many there are.
    pub at: usize,
    pub width: usize,
    pub entry: Entry,
    /// Lengths of the circles that its number is placed on.
    pub periods: Vec<f64>,
}

/// Which columns a plan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those that are known, as they are.
    Rows,
    /// Those and texts, by their numbers.
    Survey,
    /// The lengths of lists that are not known.
    Lengths,
}

/// How the rows of one file are read; shared by all its parts.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub path: Arc<str>,
    /// Number of columns of the file.
    pub width: usize,
    pub sources: Arc<[Source]>,
    pub weights: Option<usize>,
    pub by: Option<usize>,
    pub names: Arc<Names>,
    pub skip_bad_rows: bool,
    pub missing: Missing,
    pub chunk_rows: usize,
    /// Whether an entry that is not what its column holds counts as missing, and does not make a row bad.
    pub excuses: bool,
    /// Such entries, as they are met.
    pub strays: Arc<Strays>,
}

impl Plan {
    /// Finds the chosen names among the columns of a file.
    pub(crate) fn resolve(
        path: &Arc<str>,
        columns: &[ColumnInfo],
        names: &Arc<Names>,
        options: &ReadOptions,
        scope: Scope,
    ) -> Result<Plan> {
        let places = Index::new(path, columns);
        let mut sources: Vec<Source> = Vec::new();
        let mut at = 0;
        let mut add = |name: &str, file_column: usize, entry: Entry, periods: &[f64], width: usize| {
            let (name, periods) = (name.to_owned(), periods.to_vec());
            sources.push(Source { name, file_column, at, width, entry, periods });
            at += width;
        };
        for feature in &names.features {
            let (name, lengths) = (feature.name.as_str(), scope == Scope::Lengths);
            match &feature.read {
                Read::As(_) if lengths => {}
                Read::As(reading) => {
                    if let Some(parts) = places.numbers_of(feature) {
                        for c in parts {
                            add(&columns[c].name, c, Entry::Number, &[], 1);
                        }
                        continue;
                    }
                    let column = places.find(name, None)?;
                    if !columns[column].kind.can_be(reading) {
                        return Err(wrong_kind(path, &columns[column], reading, None));
                    }
                    add(name, column, Entry::of(reading), reading.periods(), reading.width());
                }
                Read::Text { texts, .. } if scope == Scope::Survey => {
                    add(name, places.find(name, None)?, Entry::Coded(Arc::clone(texts)), &[], 1);
                }
                Read::List if lengths => add(name, places.find(name, None)?, Entry::Length, &[], 1),
                Read::Text { .. } | Read::List => {}
            }
        }
        let weights = names.weights.as_ref().map(|name| places.find(name, None)).transpose()?;
        if let Some(weights) = weights
            && !columns[weights].kind.can_be(&Reading::NUMBER)
        {
            return Err(not_numeric(path, &columns[weights], None));
        }
        let pilot = scope != Scope::Rows;
        Ok(Plan {
            path: Arc::clone(path),
            width: columns.len(),
            sources: sources.into(),
            weights: weights.filter(|_| !pilot),
            by: names.by.as_ref().map(|name| places.find(name, Some(Parameter::By))).transpose()?,
            names: Arc::clone(names),
            skip_bad_rows: options.skip_bad_rows || pilot,
            missing: if scope == Scope::Lengths { Missing::Fill } else { options.missing },
            chunk_rows: options.chunk_rows.clamp(1, (CHUNK_VALUES_MAX / at.max(1)).max(1)),
            excuses: options.missing != Missing::Error && !options.skip_bad_rows,
            strays: Arc::default(),
        })
    }

    /// Whether rows are read by groups.
    pub(crate) fn is_grouped(&self) -> bool {
        self.by.is_some()
    }

    pub(crate) fn dim(&self) -> usize {
        self.sources.last().map_or(0, |last| last.at + last.width)
    }

    /// The file column of each coordinate.
    ///
    /// # Errors
    /// Columns that are not plain numbers, which this format does not have.
    pub(crate) fn plain_columns(&self) -> Result<Vec<usize>> {
        let column = |source: &Source| match source.entry {
            Entry::Number if source.periods.is_empty() => Ok(source.file_column),
            _ => Err(Error::Unsupported {
                path: self.path.to_string(),
                what: format!("its columns are plain numbers, and {:?} is to be read otherwise", source.name),
                remedy: "save the table as Parquet, Arrow or CSV",
            }),
        };
        self.sources.iter().map(column).collect()
    }

    /// Places numbers on their circles, in rows of f64 that hold them in the first of their coordinates.
    pub(crate) fn turn(&self, rows: &mut [f64]) {
        for source in self.sources.iter().filter(|source| !source.periods.is_empty()) {
            for row in rows.chunks_exact_mut(self.dim()) {
                let out = &mut row[source.at..source.at + source.width];
                reading::on_circles(out[0], &source.periods, out);
            }
        }
    }

    /// The file columns in use, ascending and without repetition.
    pub(crate) fn file_columns(&self) -> Vec<usize> {
        let features = self.sources.iter().map(|source| source.file_column);
        let mut columns: Vec<usize> = features.chain(self.weights).chain(self.by).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The column that has a coordinate.
    pub(crate) fn source_of(&self, coordinate: usize) -> usize {
        self.sources.partition_point(|source| source.at <= coordinate) - 1
    }

    /// The error for a bad value.
    pub(crate) fn bad(&self, slot: Slot, row: u64, line: Option<u64>, text: String) -> Error {
        let path = self.path.to_string();
        let named = |name: &Option<String>| name.clone().unwrap_or_default();
        let source = match slot {
            Slot::Feature(i) => self.source_of(i),
            Slot::Entry(source) => source,
            Slot::Weight => {
                let column = named(&self.names.weights);
                return Error::BadWeight { path, row, line, column, text }.advised();
            }
            Slot::Group => {
                return Error::BadGroup { path, row, line, column: named(&self.names.by), text }.advised();
            }
        };
        let column = self.sources[source].name.clone();
        match &self.sources[source].entry {
            Entry::Number => Error::BadValue { path, row, line, column, text },
            entry => Error::BadEntry { path, row, line, column, text, expected: entry.expected() },
        }
        .advised()
    }
}
