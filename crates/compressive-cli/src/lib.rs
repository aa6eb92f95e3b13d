//! The program `compressive`: sketch tables, combine and compare sketches, learn from them and use what was
//! learned, from the shell. [`run`] is all of it, for the program itself and for the Python package, whose
//! console script is the same program.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod interrupt;
mod notes;
mod output;
mod words;

use std::ffi::OsString;
use std::io::Write as _;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{Cli, Command};

/// The command line as it stands: what manual pages are made of.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Exit code of a run that its input made fail.
const FAILED: u8 = 1;

/// Runs the program with its name and arguments, and gives the exit code. Help and wrong usage end the
/// process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    compressive_io::hide_decoder_panics();
    let matches = Cli::command().get_matches_from(arguments);
    let quiet = |(_, command): (&str, &ArgMatches)| {
        command.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|quiet| *quiet)
    };
    output::keep_quiet(matches.subcommand().is_some_and(quiet));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let code = carried_out(&cli);
    // Nobody flushes for a program that runs inside another; a closed pipe has no reader to miss anything.
    let _ = std::io::stdout().flush();
    code
}

fn carried_out(cli: &Cli) -> u8 {
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
    let Err(error) = result else { return 0 };
    // A reader that closed the pipe (`| head`) has seen what it wanted.
    let closed_pipe = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(closed_pipe) {
        return 0;
    }
    if let Some(compressive_io::Error::Interrupted { rows }) = error.downcast_ref() {
        eprintln!("interrupted after {rows} rows; nothing was written");
        return interrupt::EXIT_CODE;
    }
    eprintln!("error: {}", output::visible(&words::message(&error)));
    FAILED
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_a_manual_page() {
        let all = super::command();
        assert!(all.get_subcommands().count() > 20);
        for command in all.get_subcommands() {
            let mut page = Vec::new();
            clap_mangen::Man::new(command.clone()).render(&mut page).expect("writing to memory");
            let page = String::from_utf8(page).expect("text");
            assert!(page.contains(".SH NAME") && page.contains(command.get_name()), "{page}");
        }
    }
}
