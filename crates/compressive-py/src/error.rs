//! Errors as Python sees them.

use compressive::{Command, Parameter, Vocabulary};
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};

pyo3::create_exception!(
    compressive,
    CompressiveError,
    PyValueError,
    "What the rows, the spec or the sketch do not allow; the text says where, and what to do."
);

/// The library's parameters and steps as keywords and calls.
pub struct Keywords;

impl Vocabulary for Keywords {
    fn name(&self, parameter: Parameter) -> String {
        parameter.name().replace('-', "_")
    }

    fn set(&self, parameter: Parameter, value: &str) -> String {
        let is_word = value.starts_with(|c: char| c.is_ascii_lowercase()) && !value.contains(' ');
        let quote = if is_word { "\"" } else { "" };
        format!("{}={quote}{value}{quote}", self.name(parameter))
    }

    fn turn_on(&self, parameter: Parameter) -> String {
        self.set(parameter, "True")
    }

    fn turn_off(&self, parameter: Parameter) -> String {
        format!("{}=False", self.name(parameter))
    }

    fn run(&self, command: Command) -> Option<String> {
        let call = match command {
            Command::ShareSpec => "such as the `spec` of one of them",
            Command::DesignPrivately => "design(data, bounds=(low, high), private=0.05)",
            Command::DesignComponents => "design(data, task=\"pca\", bounds=(low, high), private=0)",
            Command::SketchClasses => "sketch(data, by=column)",
            Command::Privatize => "privatize",
            _ => return None,
        };
        Some(call.into())
    }
}

/// An error of the library.
pub fn core(error: compressive::Error) -> PyErr {
    CompressiveError::new_err(error.words(&Keywords))
}

/// An error of a pass over rows.
pub fn io(error: compressive_io::Error) -> PyErr {
    let text = error.words(&Keywords);
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
        other => CompressiveError::new_err(other.words(&Keywords)),
    }
}

/// A wrong argument.
pub fn argument(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
