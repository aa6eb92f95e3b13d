//! The program inside the package: its console script runs what the program of the same name runs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with its name and arguments and returns its exit code; help and wrong usage end the
/// process.
#[pyfunction]
pub fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| compressive_cli::run(arguments))
}
