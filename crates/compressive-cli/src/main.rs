//! The program `compressive`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(compressive_cli::run(std::env::args_os()))
}
