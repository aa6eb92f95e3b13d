//! The program `compressive`: sketch tables, merge, subtract, compare and inspect sketches from the shell.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod output;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// The process exit code after Ctrl-C, as shells expect it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    compressive_io::hide_decoder_panics();
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Design(args) => commands::design::run(args),
        Command::Sketch(args) => commands::sketch::run(args),
        Command::Merge(args) => commands::combine::merge(args),
        Command::Subtract(args) => commands::combine::subtract(args),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Completions(args) => commands::completions(args.shell),
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    // A reader that closed the pipe (`| head`) has seen what it wanted.
    let closed_pipe = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(closed_pipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(compressive_io::Error::Interrupted { rows }) = error.downcast_ref() {
        eprintln!("interrupted after {rows} rows; nothing was written");
        return ExitCode::from(INTERRUPTED);
    }
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
