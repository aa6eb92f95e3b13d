//! The program `compressive`: sketch tables, combine and compare sketches, learn from them and use what was
//! learned, from the shell.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod interrupt;
mod notes;
mod output;
mod words;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

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
        Command::Watch(args) => commands::watch::run(args),
        Command::Privatize(args) => commands::privatize::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Ledger(args) => commands::ledger::run(args),
        Command::Query(args) => commands::query::run(args),
        Command::Fit(args) => commands::fit::run(args),
        Command::Sample(args) => commands::sample::run(args),
        Command::Kmeans(args) => commands::oneliner::kmeans(args),
        Command::Gmm(args) => commands::oneliner::gmm(args),
        Command::Pca(args) => commands::oneliner::pca(args),
        Command::Classify(args) => commands::classify::run(args),
        Command::Transform(args) => commands::transform::run(args),
        Command::Predict(args) => commands::predict::run(args),
        Command::Score(args) => commands::score::run(args),
        Command::Diagnose(args) => commands::diagnose::run(args),
        Command::Report(args) => commands::report::run(args),
        #[cfg(feature = "collector")]
        Command::Serve(args) => commands::serve::run(args),
        Command::Push(args) => commands::push::run(args),
        #[cfg(feature = "collector")]
        Command::Token(args) => commands::serve::token(args),
        Command::Generate(args) => commands::generate::run(args),
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
        return ExitCode::from(interrupt::EXIT_CODE);
    }
    eprintln!("error: {}", output::visible(&words::message(&error)));
    ExitCode::FAILURE
}
