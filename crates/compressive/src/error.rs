//! The one error type of the library: every variant carries the numbers, and remedies say what to do next.

pub mod remedy;

use crate::sketch::spec::SketchSpec;
use remedy::{Command, Remedy, Vocabulary};

/// What can go wrong between a table, a spec and a sketch.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is not in its list.
    #[error("`{found}` is not {what}: choose from {}", names.join(", "))]
    UnknownName {
        /// What it should name, with its article: "a task".
        what: &'static str,
        /// The name given.
        found: String,
        /// The names there are.
        names: Vec<&'static str>,
    },
    /// A field of a spec is out of its range.
    #[error("spec field `{field}`: {problem}")]
    Spec {
        /// The field, as it is named in the JSON.
        field: &'static str,
        /// What is wrong with it, with the numbers and the allowed range.
        problem: String,
    },
    /// A spec is not the JSON this version reads.
    #[error("not a spec this version can read: {problem}")]
    SpecJson {
        /// The parser's words: line, column, and what was expected.
        problem: String,
    },
    /// Two sketches were made with different specs.
    #[error("these sketches cannot be combined: they differ in {}", fields.join(", "))]
    Incompatible {
        /// One entry per differing field: `field (ours / theirs)`.
        fields: Vec<String>,
    },
    /// Subtracting would leave fewer than zero rows.
    #[error(
        "cannot subtract {theirs} rows from a sketch of {ours} rows: the second is not a part of the first"
    )]
    NotAPart {
        /// Rows in the sketch subtracted from.
        ours: u64,
        /// Rows in the sketch to be subtracted.
        theirs: u64,
    },
    /// The integer sums have no room for more rows.
    #[error("a sketch holds at most 2^39 rows (or that much total weight); this one would exceed that")]
    Full,
    /// A value of a row is NaN or infinite.
    #[error("row {row}, column {column}: {value} is not a finite number")]
    NotFinite {
        /// Index of the row within the rows given, from 0.
        row: usize,
        /// Index of the column, from 0.
        column: usize,
        /// The value met.
        value: f64,
    },
    /// A row weight is negative, not finite or too large.
    #[error("row {row}: weight {weight} is not a number from 0 to 2^28")]
    BadWeight {
        /// Index of the row within the rows given, from 0.
        row: usize,
        /// The weight met.
        weight: f64,
    },
    /// The number of values is not a multiple of the number of columns, or weights do not match rows.
    #[error("{what}: got {found}, expected {expected}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The count found.
        found: usize,
        /// The count expected.
        expected: usize,
    },
    /// The bytes are not a sketch, or were damaged.
    #[error("not an intact sketch file: {problem}")]
    Corrupt {
        /// What was found, and where.
        problem: String,
    },
    /// The file was written by a newer version.
    #[error(
        "sketch format {found} is newer than this program, which reads format {known}; update compressive"
    )]
    NewerFormat {
        /// The format in the file.
        found: u64,
        /// The newest format this version reads.
        known: u32,
    },
    /// The sketch has too few rows for what was asked.
    #[error("{what} needs at least {needed} rows, and there are {rows}")]
    TooFewRows {
        /// What was asked for.
        what: &'static str,
        /// Rows there are.
        rows: u64,
        /// Rows needed.
        needed: u64,
    },
    /// A column of the pilot has one value only, so it has no spread to scale by.
    #[error("column `{column}` is constant ({value} in all {rows} pilot rows), so it has no scale")]
    ConstantColumn {
        /// The column's name.
        column: String,
        /// Its only value.
        value: f64,
        /// Pilot rows looked at.
        rows: usize,
    },
    /// A model's field is wrong.
    #[error("model field `{field}`: {problem}")]
    Model {
        /// The field, as it is named in the JSON.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// What was asked of a sketch cannot be learned.
    #[error("cannot learn that ({field}): {problem}")]
    Task {
        /// What was asked.
        field: &'static str,
        /// Why not, with the numbers and the remedy.
        problem: String,
    },
    /// A query that cannot be read, or not be answered from this sketch.
    #[error("query, at character {}: {problem}\n  {text}\n  {}^", at + 1, " ".repeat(*at))]
    Query {
        /// The query as it was written.
        text: String,
        /// The character that the problem is at, from 0.
        at: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// What was asked cannot be released privately.
    #[error("cannot release that privately ({field}): {problem}")]
    Privacy {
        /// What was asked.
        field: &'static str,
        /// Why not, and the remedy.
        problem: String,
    },
    /// A private sketch where only a plain one will do, or the other way round.
    #[error("{problem}")]
    WrongKind {
        /// What was found, and what to do.
        problem: &'static str,
    },
    /// There is nothing to sketch.
    #[error("there are no numeric columns to sketch")]
    NoColumns,
    /// Another error, and what can be done about it; [`Error::cause`] is the other.
    #[error("{error}; {}", Remedy::plain_words(remedies))]
    Advised {
        /// What happened.
        error: Box<Error>,
        /// What to do; any of them helps.
        remedies: Vec<Remedy>,
    },
}

impl Error {
    /// Sketches of two different specs.
    pub fn incompatible(ours: &SketchSpec, theirs: &SketchSpec) -> Error {
        Error::Incompatible { fields: ours.differences(theirs) }
            .advise(Remedy::Run("make both with one spec", Command::ShareSpec))
    }

    /// The error with one more remedy.
    #[must_use]
    pub fn advise(self, remedy: Remedy) -> Error {
        match self {
            Error::Advised { error, mut remedies } => {
                remedies.push(remedy);
                Error::Advised { error, remedies }
            }
            error => Error::Advised { error: Box::new(error), remedies: vec![remedy] },
        }
    }

    /// What happened, without the remedies: match on this.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Advised { error, .. } => error,
            error => error,
        }
    }

    /// What can be done about it.
    pub fn remedies(&self) -> &[Remedy] {
        match self {
            Error::Advised { remedies, .. } => remedies,
            _ => &[],
        }
    }

    /// The message with the remedies in the words of a surface; `Display` has plain words.
    pub fn words(&self, vocabulary: &dyn Vocabulary) -> String {
        match self {
            Error::Advised { error, remedies } => format!("{error}; {}", Remedy::words(remedies, vocabulary)),
            error => error.to_string(),
        }
    }
}

/// Short for results of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
