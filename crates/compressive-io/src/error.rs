//! Everything that can go wrong between a file name and a sketch.
//!
//! Every message says what happened, where (file, 1-based data row, line, column) and what to do about it.

use std::path::PathBuf;

use compressive::{Named, Parameter, Remedy, Vocabulary};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Error of the readers, the driver and the writer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to open, read or write a file.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// File or directory concerned.
        path: String,
        /// What was being done: `open`, `read`, `write`, ...
        action: &'static str,
        /// The system's own reason.
        source: std::io::Error,
    },
    /// A named input does not exist.
    #[error("no such file: {path} (check the spelling, or quote the pattern if it is a glob)")]
    NotFound {
        /// The input as given.
        path: String,
    },
    /// A ledger that cannot be trusted, or does not allow what is asked.
    #[error("{path}: {problem}")]
    Ledger {
        /// The ledger, its lock, or the output that would be written over one.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A cube that cannot be written or read, or a slice that it does not have.
    #[error("{path}: {problem}")]
    Cube {
        /// The cube.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A glob pattern is malformed.
    #[error("the pattern {pattern} is not a valid glob at character {position}: {reason}")]
    BadGlob {
        /// The input as given.
        pattern: String,
        /// Character where the pattern stops making sense.
        position: usize,
        /// Reason of the glob parser.
        reason: &'static str,
    },
    /// A glob pattern matches nothing.
    #[error("no file matches {pattern} (quote the pattern, and check the folder it starts from)")]
    NoMatch {
        /// The input as given.
        pattern: String,
    },
    /// A directory holds no file of a known format.
    #[error("the directory {path} has no readable table: expected files named {}", crate::format::EXTENSIONS)]
    NoReadableFiles {
        /// The directory.
        path: String,
    },
    /// No input was named at all.
    #[error("no input: name files, globs, directories, or - for standard input")]
    NoInput,
    /// Neither the extension nor the first bytes tell the format.
    #[error(
        "cannot tell the format of {path}: expected {}, or the first bytes of a Parquet, npy or Arrow file; \
         rename the file, or pipe text through standard input (-)",
        crate::format::EXTENSIONS
    )]
    UnknownFormat {
        /// The file.
        path: String,
    },
    /// The format is known but this variant of it cannot be read.
    #[error("cannot read {path}: {what}; {remedy}")]
    Unsupported {
        /// The file.
        path: String,
        /// What was found.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The file has no bytes, or nothing but blank lines.
    #[error("{path} is empty: there is no row to read (was it written completely?)")]
    EmptyFile {
        /// The file.
        path: String,
    },
    /// The file names columns but has no row.
    #[error(
        "{path} has a header of {columns} columns but no row below it \
         (if its first line is data, say that there is no header)"
    )]
    HeaderOnly {
        /// The file.
        path: String,
        /// Number of columns named.
        columns: usize,
    },
    /// The bytes contradict their format.
    #[error("{path} is not a valid {format} file: {detail} (is the file truncated? write or copy it again)")]
    Malformed {
        /// The file.
        path: String,
        /// Name of the format.
        format: &'static str,
        /// What contradicts the format.
        detail: String,
    },
    /// The file is shorter than its header announces.
    #[error(
        "{path} is truncated: its header announces {expected} bytes, it has {found}; write or copy it again"
    )]
    Truncated {
        /// The file.
        path: String,
        /// Bytes announced.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// No column holds numbers.
    #[error("{path} has no numeric column to sketch ({left_out})")]
    NoNumericColumns {
        /// The file.
        path: String,
        /// The columns that were left out and why.
        left_out: String,
    },
    /// A column asked for by name is absent.
    #[error("{}", unknown_column(path, column, option.map(|option| option.about().into()), hint))]
    UnknownColumn {
        /// The file.
        path: String,
        /// The absent column.
        column: String,
        /// The parameter that named it; none for the other files or the spec.
        option: Option<Parameter>,
        /// Close names, or the names there are.
        hint: String,
    },
    /// A column asked for by name holds something else than numbers.
    #[error("{}", not_numeric(path, column, option.map(|option| option.about().into()), kind))]
    NotNumeric {
        /// The file.
        path: String,
        /// The column.
        column: String,
        /// The parameter that named it; none for the other files or the spec.
        option: Option<Parameter>,
        /// What the column holds.
        kind: String,
    },
    /// A name that must be unique is carried by several columns.
    #[error("{path} has {count} columns named {column:?}")]
    DuplicateColumn {
        /// The file.
        path: String,
        /// The repeated name.
        column: String,
        /// How often it occurs.
        count: usize,
    },
    /// Two input files have different columns.
    #[error("{path} does not have the columns of {first}: {difference}")]
    ColumnsDiffer {
        /// The file that differs.
        path: String,
        /// The file it was compared with.
        first: String,
        /// Missing and additional columns.
        difference: String,
    },
    /// The columns asked for are not those of the recipe given.
    #[error("the columns {asked} are not those of the spec ({spec})")]
    OtherColumns {
        /// The columns asked for.
        asked: String,
        /// The columns of the recipe.
        spec: String,
    },
    /// A private look at rows that are needed a second time, and can be read once.
    #[error("a private look and then a sketch read all rows twice, and a stream can only be read once")]
    ReadOnce,
    /// A value that cannot be summed: NaN, infinity, null, empty, text.
    #[error("{path}, row {row}{}, column {column:?}: {text} is not a finite number", at_line(*line))]
    BadValue {
        /// The file.
        path: String,
        /// Data row, from 1.
        row: u64,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// Column name.
        column: String,
        /// The value as found.
        text: String,
    },
    /// An entry that is not what its column holds: a date, a vector of a certain length, text.
    #[error("{path}, row {row}{}, column {column:?}: {text} is not {expected}", at_line(*line))]
    BadEntry {
        /// The file.
        path: String,
        /// Data row, from 1.
        row: u64,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// Column name.
        column: String,
        /// The entry as found.
        text: String,
        /// What the column holds.
        expected: String,
    },
    /// A row weight that is not a number, or that the sketch cannot use.
    #[error("{path}, row {row}{}, weight column {column:?}: {text} is not a weight from 0 to 2^28", at_line(*line))]
    BadWeight {
        /// The file.
        path: String,
        /// Data row, from 1.
        row: u64,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// Column name.
        column: String,
        /// The value as found.
        text: String,
    },
    /// A missing or NaN value in the column of groups.
    #[error("{path}, row {row}{}, column {column:?}: {text} names no group", at_line(*line))]
    BadGroup {
        /// The file.
        path: String,
        /// Data row, from 1.
        row: u64,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// Column name.
        column: String,
        /// The value as found.
        text: String,
    },
    /// A text record with too few or too many fields.
    #[error(
        "{path}, row {row}, line {line}: {found} fields where {expected} are expected \
         (is {delimiter:?} the right delimiter?)"
    )]
    Ragged {
        /// The file.
        path: String,
        /// Data row, from 1.
        row: u64,
        /// Line, from 1.
        line: u64,
        /// Fields of the first record.
        expected: usize,
        /// Fields of this record.
        found: usize,
        /// The delimiter in use.
        delimiter: char,
    },
    /// A quoted field or a record that does not end.
    #[error(
        "{path}, line {line}: the record that starts here does not end within {bytes} bytes; \
         look for a quote that is not closed"
    )]
    UnclosedQuote {
        /// The file.
        path: String,
        /// First line of the record, from 1.
        line: u64,
        /// Bytes searched.
        bytes: usize,
    },
    /// More groups than the bound.
    #[error("column {column:?} has more than {max} distinct values: one sketch each would be too many")]
    TooManyGroups {
        /// The column of groups.
        column: String,
        /// The bound.
        max: usize,
    },
    /// The extension of a result's name does not tell its format.
    #[error("cannot tell the format to write {path} in: name it .csv, .parquet or .npy")]
    OutputFormat {
        /// The file.
        path: String,
    },
    /// Not one row could be summed.
    #[error("no row to sketch: {}", none_left(*rows_skipped))]
    NoRows {
        /// Rows left out by `skip_bad_rows`.
        rows_skipped: u64,
    },
    /// Not one row could be sampled for the pilot.
    #[error("no usable row among those sampled from {path}")]
    EmptyPilot {
        /// The first input.
        path: String,
    },
    /// The program that hands over the rows failed.
    #[error("{path} broke off: {reason}")]
    BrokenStream {
        /// Name of the stream.
        path: String,
        /// The producer's own reason.
        reason: String,
    },
    /// A stream can be read once only.
    #[error("{path} was read already: a stream can only be read once; save it to a file to read it again")]
    StreamConsumed {
        /// Name of the stream.
        path: String,
    },
    /// The columns of the data are not those of the operator.
    #[error(
        "the sketch expects {expected} columns, the rows have {found}; open the data with the spec's columns"
    )]
    WrongWidth {
        /// Columns of the operator.
        expected: usize,
        /// Columns of the rows.
        found: usize,
    },
    /// The cancel flag was raised.
    #[error("interrupted after {rows} rows: nothing was written")]
    Interrupted {
        /// Rows summed before the stop.
        rows: u64,
    },
    /// The core library refused.
    #[error(transparent)]
    Core(#[from] compressive::Error),
    /// Another error, and what can be done about it; [`Error::cause`] is the other.
    #[error("{error}; {}", Remedy::plain_words(remedies))]
    Advised {
        /// What happened.
        error: Box<Error>,
        /// What to do; any of them helps.
        remedies: Vec<Remedy>,
    },
}

/// What asked for a column without being a parameter.
const ASKED_BY_ROWS: &str = "the other files or the spec";

fn unknown_column(path: &str, column: &str, option: Option<String>, hint: &str) -> String {
    let user = option.unwrap_or_else(|| ASKED_BY_ROWS.into());
    format!("{path} has no column {column:?} (asked for by {user}); {hint}")
}

fn not_numeric(path: &str, column: &str, option: Option<String>, kind: &str) -> String {
    let user = option.unwrap_or_else(|| ASKED_BY_ROWS.into());
    format!("column {column:?} of {path} cannot be used by {user}: it is {kind}; name a numeric column")
}

/// Why there is no row.
fn none_left(rows_skipped: u64) -> String {
    match rows_skipped {
        0 => "the input has none".to_owned(),
        n => format!("all {n} rows have bad values and were left out"),
    }
}

/// `, line 12`, or nothing for formats without lines.
fn at_line(line: Option<u64>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

impl Error {
    /// What happened, without the remedies: match on this.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Advised { error, .. } => error,
            error => error,
        }
    }

    /// The message with the remedies in the words of a surface; `Display` has plain words.
    pub fn words(&self, vocabulary: &dyn Vocabulary) -> String {
        match self {
            Error::Advised { error, remedies } => format!("{error}; {}", Remedy::words(remedies, vocabulary)),
            Error::Core(error) => error.words(vocabulary),
            Error::UnknownColumn { path, column, option, hint } => {
                unknown_column(path, column, option.map(|option| vocabulary.name(option)), hint)
            }
            Error::NotNumeric { path, column, option, kind } => {
                not_numeric(path, column, option.map(|option| vocabulary.name(option)), kind)
            }
            error => error.to_string(),
        }
    }

    /// The error with the remedies that its kind has.
    pub(crate) fn advised(self) -> Error {
        let exclude = |words, column: &str| Remedy::say(words, Remedy::set(Parameter::Exclude, column));
        let columns = |words| Remedy::say(words, Remedy::set(Parameter::Columns, "A,B,..."));
        let skip = || Remedy::say("leave such rows out", Remedy::TurnOn(Parameter::SkipBadRows));
        let say = |words| Remedy::Say(words, None);
        let remedies = match &self {
            Error::NoNumericColumns { .. } => vec![columns("name the columns to use")],
            Error::DuplicateColumn { column, .. } => {
                vec![say("rename them"), exclude("leave them out", column)]
            }
            Error::ColumnsDiffer { .. } => {
                vec![columns("name the common columns"), say("sketch the files apart")]
            }
            Error::BadValue { column, .. } | Error::BadEntry { column, .. } => {
                vec![say("correct it"), skip(), exclude("leave the column out", column)]
            }
            Error::BadWeight { .. } | Error::BadGroup { .. } => vec![say("correct it"), skip()],
            Error::Ragged { .. } => vec![say("correct the line"), skip()],
            Error::TooManyGroups { .. } => vec![
                say("group by a coarser column"),
                Remedy::say("raise the bound", Remedy::set(Parameter::MaxGroups, "N")),
            ],
            Error::NoRows { rows_skipped } if *rows_skipped > 0 => {
                vec![say("check the columns"), exclude("leave some out", "COLUMN")]
            }
            Error::EmptyPilot { .. } => vec![
                say("check the columns"),
                Remedy::say("give a ready spec", Remedy::set(Parameter::Spec, "FILE")),
            ],
            Error::OtherColumns { .. } => vec![Remedy::Drop(Parameter::Columns)],
            Error::ReadOnce => {
                let blind = Remedy::set(Parameter::Private, 0);
                vec![say("save it to a file"), Remedy::say("do not look at the rows", blind)]
            }
            _ => return self,
        };
        Error::Advised { error: Box::new(self), remedies }
    }

    /// Wraps a system error with the file and the attempted action.
    pub(crate) fn io(path: &str, action: &'static str, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::NotFound && action == "open" {
            return Error::NotFound { path: path.to_owned() };
        }
        Error::Io { path: path.to_owned(), action, source }
    }

    /// Wraps a decoder's complaint about the bytes of a file.
    pub(crate) fn malformed(path: &str, format: &'static str, detail: impl ToString) -> Self {
        Error::Malformed { path: path.to_owned(), format, detail: detail.to_string() }
    }
}

/// Lossy but stable text of a path, used in messages and for sorting.
pub(crate) fn path_text(path: &std::path::Path) -> String {
    PathBuf::from(path).display().to_string()
}
