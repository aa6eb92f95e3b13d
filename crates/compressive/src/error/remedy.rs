//! What to do about an error, as data that each surface puts in its own words.
//!
//! The library knows parameters, not how they are given: the program writes `--size 2000`, Python
//! `size=2000`, a collector's client `"size": 2000`. Each of them implements [`Vocabulary`];
//! [`Remedy::words`] makes the sentence.

use crate::names::named;

/// What a remedy can change, by the name that all surfaces derive theirs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// Number of frequencies, landmarks or directions.
    Size,
    /// Number of components.
    K,
    /// The scale of the frequencies or the kernel.
    Scale,
    /// What is summed of a row.
    Feature,
    /// What is to be learned.
    Task,
    /// Shape of a mixture's covariances.
    Covariance,
    /// The search.
    Decoder,
    /// Searches to take the best of.
    Restarts,
    /// The seed.
    Seed,
    /// Rows sampled for the design.
    Pilot,
    /// The law of the frequencies, or the rule of the landmarks.
    Law,
    /// One period of a feature.
    Table,
    /// Shape of images.
    Image,
    /// Complex directions.
    Complex,
    /// Columns made uncorrelated.
    Whiten,
    /// The distance of rows that differ in one category.
    CategoryWeight,
    /// The box that the rows are known to lie in.
    Bounds,
    /// The part of the budget that choosing the spec costs.
    Private,
    /// The word that a spec is public.
    PublicSpec,
    /// The most epsilon that a ledger allows.
    CapEpsilon,
    /// Rows that one person may have.
    RowsPerPerson,
    /// The column of weights.
    Weights,
    /// The columns to use.
    Columns,
    /// The columns to leave out.
    Exclude,
    /// The columns whose numbers go round in circles.
    Cyclic,
    /// Leaving out rows that cannot be read.
    SkipBadRows,
    /// Bound of the number of groups.
    MaxGroups,
    /// A ready spec.
    Spec,
    /// The column of groups.
    By,
    /// The column of labels.
    Labels,
    /// Exact moments beside the features.
    Moments,
    /// Making the stream, with buckets of this length.
    Make,
    /// Rows to show.
    Data,
    /// Steps of a training.
    Steps,
    /// Widths of a network's layers.
    Layers,
    /// The backup to start from.
    Restore,
}

named!(Parameter, "a parameter", {
    Size => "size": "size",
    K => "k": "k",
    Scale => "scale": "scale",
    Feature => "feature": "feature",
    Task => "task": "task",
    Covariance => "covariance": "covariance",
    Decoder => "decoder": "decoder",
    Restarts => "restarts": "number of restarts",
    Seed => "seed": "seed",
    Pilot => "pilot": "pilot sample",
    Law => "law": "law",
    Table => "table": "table of one period",
    Image => "image": "shape of the images",
    Complex => "complex": "complex directions",
    Whiten => "whiten": "whitening",
    CategoryWeight => "category-weight": "weight of categories",
    Bounds => "bounds": "bounds",
    Private => "private": "cost of the private look",
    PublicSpec => "public-spec": "the declaration that the spec is public",
    CapEpsilon => "cap-epsilon": "cap of epsilon",
    RowsPerPerson => "rows-per-person": "number of rows of a person",
    Weights => "weights": "weights",
    Columns => "columns": "columns",
    Exclude => "exclude": "excluded column",
    Cyclic => "cyclic": "cyclic column",
    SkipBadRows => "skip-bad-rows": "skipping of bad rows",
    MaxGroups => "max-groups": "bound of the number of groups",
    Spec => "spec": "spec",
    By => "by": "column of groups",
    Labels => "labels": "column of labels",
    Moments => "moments": "exact moments",
    Make => "make": "length of buckets",
    Data => "data": "data",
    Steps => "steps": "steps",
    Layers => "layers": "layers",
    Restore => "restore": "backup",
});

/// A step that a remedy sends the user to; how it is taken differs by surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// One spec for several sketches.
    ShareSpec,
    /// A spec from declared bounds and a paid look at the rows.
    DesignPrivately,
    /// A spec for principal components from declared bounds alone.
    DesignComponents,
    /// One sketch for each class of rows.
    SketchClasses,
    /// A private sketch of a plain one.
    Privatize,
    /// Labels of rows.
    Predict,
    /// Coordinates of rows.
    Transform,
    /// Rows drawn from a model.
    Sample,
    /// A model measured on rows.
    Score,
    /// A classifier measured on labelled rows.
    ScoreLabels,
    /// The spec of a sketch.
    ShowSpec,
}

/// Something that the user can do about an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// Give a parameter this value.
    Set(Parameter, String),
    /// Turn a switch on.
    TurnOn(Parameter),
    /// Turn off what is on by default.
    TurnOff(Parameter),
    /// Give a parameter a larger value.
    Raise(Parameter),
    /// Give a parameter a smaller value.
    Lower(Parameter),
    /// Give a parameter another value.
    Change(Parameter),
    /// Leave a parameter out.
    Drop(Parameter),
    /// Sketch the rows again, with one of these changes.
    SketchAgain(Vec<Remedy>),
    /// Learn from the same sketch again, with one of these changes.
    FitAgain(Vec<Remedy>),
    /// Do what these words say; the change is how, where a parameter does it.
    Say(&'static str, Option<Box<Remedy>>),
    /// Do what these words say, by this step.
    Run(&'static str, Command),
}

/// How a surface writes parameters and steps.
pub trait Vocabulary {
    /// A parameter by its name: `--size`.
    fn name(&self, parameter: Parameter) -> String;

    /// A parameter with its value: `--size 2000`.
    fn set(&self, parameter: Parameter, value: &str) -> String;

    /// A switch that is on: `--skip-bad-rows`.
    fn turn_on(&self, parameter: Parameter) -> String;

    /// What is on by default, turned off: `--no-moments`.
    fn turn_off(&self, parameter: Parameter) -> String {
        format!("no {}", self.name(parameter))
    }

    /// How a step is taken, if there is a way.
    fn run(&self, _command: Command) -> Option<String> {
        None
    }

    /// What follows a sentence that is clear without it.
    fn aside(&self, text: &str) -> String {
        format!(" ({text})")
    }
}

/// Plain words, for those who call the library from Rust.
struct Plain;

impl Vocabulary for Plain {
    fn name(&self, parameter: Parameter) -> String {
        crate::Named::about(parameter).into()
    }

    fn set(&self, parameter: Parameter, value: &str) -> String {
        format!("{} {value}", self.name(parameter))
    }

    fn turn_on(&self, parameter: Parameter) -> String {
        self.name(parameter)
    }

    fn aside(&self, _text: &str) -> String {
        String::new()
    }
}

impl Remedy {
    /// A parameter and its value.
    pub fn set(parameter: Parameter, value: impl ToString) -> Remedy {
        Remedy::Set(parameter, value.to_string())
    }

    /// Sketch again with this value of a parameter.
    pub fn sketch_with(parameter: Parameter, value: impl ToString) -> Remedy {
        Remedy::SketchAgain(vec![Remedy::set(parameter, value)])
    }

    /// Sketch again, with waves of the columns.
    pub(crate) fn of_waves() -> Remedy {
        Remedy::sketch_with(Parameter::Feature, "fourier")
    }

    /// Plain words, and the change that does it.
    pub fn say(words: &'static str, how: Remedy) -> Remedy {
        Remedy::Say(words, Some(Box::new(how)))
    }

    /// One sentence for a list of remedies, any of which helps, in the words of a surface.
    pub fn words(remedies: &[Remedy], vocabulary: &dyn Vocabulary) -> String {
        let mut parts = Vec::new();
        let [with, without] = changes(remedies, vocabulary);
        if !with.is_empty() {
            parts.push(format!("give {}", or(&with)));
        }
        if !without.is_empty() {
            parts.push(format!("leave {} out", or(&without)));
        }
        for remedy in remedies {
            match remedy {
                Remedy::SketchAgain(changes) => parts.push(again("sketch", changes, vocabulary)),
                Remedy::FitAgain(changes) => parts.push(again("fit", changes, vocabulary)),
                Remedy::Say(words, how) => {
                    let how = how.as_ref().and_then(|how| how.change(vocabulary));
                    parts.push(with_aside(words, how, vocabulary));
                }
                Remedy::Run(words, command) => {
                    parts.push(with_aside(words, vocabulary.run(*command), vocabulary));
                }
                _ => {}
            }
        }
        parts.join(", or ")
    }

    /// The same in plain words.
    pub fn plain_words(remedies: &[Remedy]) -> String {
        Remedy::words(remedies, &Plain)
    }

    /// A change as a noun: "a larger size"; none for what is left out or is a sentence of its own.
    fn change(&self, vocabulary: &dyn Vocabulary) -> Option<String> {
        match self {
            Remedy::Set(parameter, value) => Some(vocabulary.set(*parameter, value)),
            Remedy::TurnOn(parameter) => Some(vocabulary.turn_on(*parameter)),
            Remedy::TurnOff(parameter) => Some(vocabulary.turn_off(*parameter)),
            Remedy::Raise(parameter) => Some(format!("a larger {}", vocabulary.name(*parameter))),
            Remedy::Lower(parameter) => Some(format!("a smaller {}", vocabulary.name(*parameter))),
            Remedy::Change(parameter) => Some(format!("another {}", vocabulary.name(*parameter))),
            _ => None,
        }
    }
}

/// What to give, and what to leave out.
fn changes(remedies: &[Remedy], vocabulary: &dyn Vocabulary) -> [Vec<String>; 2] {
    let with = remedies.iter().filter_map(|remedy| remedy.change(vocabulary)).collect();
    let without = remedies.iter().filter_map(|remedy| match remedy {
        Remedy::Drop(parameter) => Some(vocabulary.name(*parameter)),
        _ => None,
    });
    [with, without.collect()]
}

fn again(verb: &str, remedies: &[Remedy], vocabulary: &dyn Vocabulary) -> String {
    let [with, without] = changes(remedies, vocabulary);
    let parts: Vec<String> = [("with", with), ("without", without)]
        .into_iter()
        .filter(|(_, nouns)| !nouns.is_empty())
        .map(|(word, nouns)| format!("{word} {}", or(&nouns)))
        .collect();
    format!("{verb} again {}", parts.join(" or "))
}

fn with_aside(words: &str, how: Option<String>, vocabulary: &dyn Vocabulary) -> String {
    format!("{words}{}", how.map(|how| vocabulary.aside(&how)).unwrap_or_default())
}

/// "a", "a or b", "a, b or c".
fn or(words: &[String]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Flags, as a program would write them.
    struct Flags;

    impl Vocabulary for Flags {
        fn name(&self, parameter: Parameter) -> String {
            format!("+{parameter}")
        }
        fn set(&self, parameter: Parameter, value: &str) -> String {
            format!("+{parameter} {value}")
        }
        fn turn_on(&self, parameter: Parameter) -> String {
            self.name(parameter)
        }
        fn run(&self, command: Command) -> Option<String> {
            (command == Command::Score).then(|| "+score".into())
        }
    }

    fn both(remedies: &[Remedy]) -> [String; 2] {
        [Remedy::words(remedies, &Plain), Remedy::words(remedies, &Flags)]
    }

    #[test]
    fn changes_are_one_sentence() {
        let changes = [
            Remedy::set(Parameter::Decoder, "auto"),
            Remedy::Raise(Parameter::Restarts),
            Remedy::Change(Parameter::Seed),
        ];
        assert_eq!(
            both(&[Remedy::FitAgain(changes.to_vec())]),
            [
                "fit again with decoder auto, a larger number of restarts or another seed",
                "fit again with +decoder auto, a larger +restarts or another +seed",
            ]
        );
        assert_eq!(both(&changes[..1]), ["give decoder auto", "give +decoder auto"]);
        let scale = [Remedy::Lower(Parameter::Scale), Remedy::Drop(Parameter::Scale)];
        assert_eq!(
            both(&[Remedy::SketchAgain(scale.to_vec())])[1],
            "sketch again with a smaller +scale or without +scale"
        );
        assert_eq!(both(&scale)[0], "give a smaller scale, or leave scale out");
    }

    #[test]
    fn what_plain_words_say_a_surface_makes_exact() {
        let rows = Remedy::say("leave such rows out", Remedy::TurnOn(Parameter::SkipBadRows));
        let remedies = [Remedy::Say("correct it", None), rows, Remedy::Run("measure it", Command::Score)];
        assert_eq!(
            both(&remedies),
            [
                "correct it, or leave such rows out, or measure it",
                "correct it, or leave such rows out (+skip-bad-rows), or measure it (+score)",
            ]
        );
        assert_eq!(both(&[Remedy::Run("draw rows", Command::Sample)])[1], "draw rows");
    }

    #[test]
    fn an_error_keeps_its_kind_and_its_remedies() {
        let plain = Error::Task { field: "k", problem: "7 are too many".into() };
        let advised = plain.clone().advise(Remedy::Lower(Parameter::K)).advise(Remedy::Say("wait", None));
        assert_eq!(advised.cause(), &plain);
        assert_eq!(advised.remedies().len(), 2);
        assert_eq!(advised.to_string(), format!("{plain}; give a smaller k, or wait"));
        assert_eq!(advised.words(&Flags), format!("{plain}; give a smaller +k, or wait"));
        assert_eq!(plain.words(&Flags), plain.to_string());
    }
}
