//! Flags of classifiers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use compressive::ImageShape;
use compressive::learn::classify::Method;

use super::{DataArgs, PassArgs, RecipeArgs, SeedArgs};

/// How rows are given to classes.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Classes")]
pub struct RuleArgs {
    /// Rule of a classifier: mixture (a Gaussian mixture for each class, and Bayes' rule), nearest (class
    /// mean of the features), centred (class mean in the row's direction, seen from the middle of all),
    /// correlation (with the class means), auto (`classify`: whichever gives held-out rows of its sample to
    /// their classes best; `fit`, which has no rows: mixture, or centred for images) [default: auto]
    #[arg(long, value_name = "NAME", value_parser = parse_method)]
    pub method: Option<MethodArg>,
    /// Prior probabilities of the classes [default: counts]
    #[arg(long, value_enum)]
    pub priors: Option<PriorsArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PriorsArg {
    /// Each class's share of the rows
    Counts,
    /// The same for all classes
    Uniform,
}

/// A rule by name, or the choice left to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodArg {
    Auto,
    Named(Method),
}

fn parse_method(text: &str) -> Result<MethodArg, String> {
    match text {
        "auto" => Ok(MethodArg::Auto),
        _ => text.parse().map(MethodArg::Named).map_err(|known| format!("{known}, auto")),
    }
}

/// The shape of images, like 28x28 or 32x32x3.
pub fn parse_image(text: &str) -> Result<ImageShape, String> {
    let sides: Option<Vec<usize>> = text.split('x').map(|side| side.parse().ok()).collect();
    match sides.as_deref() {
        Some(&[height, width]) => Ok(ImageShape { height, width, channels: 1 }),
        Some(&[height, width, channels]) => Ok(ImageShape { height, width, channels }),
        _ => Err("give HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS, such as 28x28".into()),
    }
}

#[derive(Args)]
pub struct ClassifyArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// The column with the classes, numbers or text
    #[arg(long, value_name = "COLUMN")]
    pub labels: String,
    #[command(flatten)]
    pub rule: RuleArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub pass: PassArgs,
    /// Use the recipe of this spec (or of this sketch) instead of choosing one
    #[arg(long, value_name = "SPEC", conflicts_with = "design")]
    pub spec: Option<PathBuf>,
    /// Most classes
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_groups: usize,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL.json")]
    pub output: Option<PathBuf>,
    /// Print the model as JSON, with `seconds`
    #[arg(long)]
    pub json: bool,
}
