//! The library's parameters and steps in the words of the command line.

use compressive::{Command, Parameter, Vocabulary};

/// Flags and commands.
pub struct Flags;

impl Vocabulary for Flags {
    fn name(&self, parameter: Parameter) -> String {
        match parameter {
            Parameter::K => "-k".into(),
            Parameter::Moments => "--no-moments".into(),
            _ => format!("--{parameter}"),
        }
    }

    fn set(&self, parameter: Parameter, value: &str) -> String {
        format!("{} {value}", self.name(parameter))
    }

    fn turn_on(&self, parameter: Parameter) -> String {
        self.name(parameter)
    }

    fn turn_off(&self, parameter: Parameter) -> String {
        self.name(parameter)
    }

    fn run(&self, command: Command) -> Option<String> {
        let line = match command {
            Command::ShareSpec => "`compressive design ... -o spec.json`, then `sketch --spec spec.json`",
            Command::DesignPrivately => {
                "`compressive design DATA --bounds LOW:HIGH --private 0.05 -o spec.json`, then `sketch --spec`"
            }
            Command::DesignComponents => {
                "`compressive design DATA --task pca --bounds LOW:HIGH --private 0`, then `privatize`"
            }
            Command::SketchClasses => "`compressive sketch DATA --by COLUMN`",
            Command::Privatize => "`compressive privatize`",
            Command::Predict => "`compressive predict`",
            Command::Transform => "`compressive transform`",
            Command::Sample => "`compressive sample`",
            Command::Score => "`compressive score MODEL DATA`",
            Command::ScoreLabels => "`compressive score MODEL DATA --labels COLUMN`",
            Command::ShowSpec => "`compressive inspect SKETCH --spec`",
            _ => return None,
        };
        Some(line.into())
    }
}

/// An error with all its causes, each with its remedies as flags.
pub fn message(error: &anyhow::Error) -> String {
    let words: Vec<String> = error.chain().map(one).collect();
    words.join(": ")
}

fn one(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<compressive::Error>() {
        error.words(&Flags)
    } else if let Some(error) = error.downcast_ref::<compressive_io::Error>() {
        error.words(&Flags)
    } else if let Some(error) = error.downcast_ref::<compressive_client::Error>() {
        error.words(&Flags)
    } else {
        of_collector(error).unwrap_or_else(|| error.to_string())
    }
}

#[cfg(feature = "collector")]
fn of_collector(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    error.downcast_ref::<compressive_collector::Error>().map(|error| error.words(&Flags))
}

#[cfg(not(feature = "collector"))]
fn of_collector(_: &(dyn std::error::Error + 'static)) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use compressive::{Error, Remedy};

    #[test]
    fn remedies_are_flags_of_the_program() {
        let refused = Error::Task { field: "k", problem: "too many".into() }
            .advise(Remedy::SketchAgain(vec![
                Remedy::set(Parameter::Size, 96),
                Remedy::Lower(Parameter::K),
                Remedy::Drop(Parameter::Whiten),
            ]))
            .advise(Remedy::say("leave rows out", Remedy::TurnOn(Parameter::SkipBadRows)));
        let error = Err::<(), _>(compressive_io::Error::Core(refused)).context("cannot fit").unwrap_err();
        assert_eq!(
            message(&error),
            "cannot fit: cannot learn that (k): too many; sketch again with --size 96 or a smaller -k or without \
             --whiten, or leave rows out (--skip-bad-rows)"
        );
    }

    /// A parameter that no command knows would send users to a flag that does not exist.
    #[test]
    fn every_parameter_is_a_flag_of_some_command() {
        use clap::CommandFactory;
        use compressive::Named;
        let program = crate::args::Cli::command();
        let flags: Vec<String> = program
            .get_subcommands()
            .flat_map(|command| command.get_arguments())
            .flat_map(|flag| {
                [flag.get_long().map(|l| format!("--{l}")), flag.get_short().map(|s| format!("-{s}"))]
            })
            .flatten()
            .collect();
        for parameter in Parameter::ALL {
            assert!(flags.contains(&Flags.name(*parameter)), "{parameter}");
        }
    }
}
