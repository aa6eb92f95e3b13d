//! Errors as Python sees them.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};

pyo3::create_exception!(
    compressive,
    CompressiveError,
    PyValueError,
    "What the rows, the spec or the sketch do not allow; the text says where, and what to do."
);

/// An error of the library.
pub fn core(error: compressive::Error) -> PyErr {
    CompressiveError::new_err(match &error {
        compressive::Error::Incompatible { fields } => format!(
            "these sketches cannot be combined: they differ in {}; make both with one spec, such as the `spec` of one of them",
            fields.join(", ")
        ),
        compressive::Error::ConstantColumn { column, value, rows } => format!(
            "column `{column}` is constant ({value} in all {rows} rows of the sample), so it has no scale; leave it out"
        ),
        other => in_python(&other.to_string()),
    })
}

/// An error of a pass over rows.
pub fn io(error: compressive_io::Error) -> PyErr {
    let text = in_python(&error.to_string());
    match error {
        compressive_io::Error::NotFound { .. } => PyFileNotFoundError::new_err(text),
        compressive_io::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        compressive_io::Error::Io { .. } => PyOSError::new_err(text),
        compressive_io::Error::Interrupted { .. } => PyKeyboardInterrupt::new_err(text),
        _ => CompressiveError::new_err(text),
    }
}

/// An error of a collector, or on the way to it.
pub fn collector(error: impl Into<compressive_client::Error>) -> PyErr {
    match error.into() {
        compressive_client::Error::Rows(error) => io(error),
        compressive_client::Error::Sketch(error) => core(error),
        other => {
            let text = in_python(&other.to_string());
            CompressiveError::new_err(
                text.replace("run the same command again", "call push for the same rows again"),
            )
        }
    }
}

/// A wrong argument.
pub fn argument(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}

/// Flags of the command line as the keywords they are in Python: `--skip-bad-rows` becomes `skip_bad_rows=`.
fn in_python(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, piece) in text.split("--").enumerate() {
        let end = piece.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(piece.len());
        let flag = piece[..end].trim_end_matches('-');
        if i == 0 || flag.is_empty() {
            out.push_str(if i == 0 { "" } else { "--" });
            out.push_str(piece);
        } else {
            out.push_str(&flag.replace('-', "_"));
            out.push('=');
            out.push_str(piece[flag.len()..].trim_start_matches(' '));
        }
    }
    out
}
