//! Flags of `compare` and `watch`.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, RecipeArgs, SeedArgs, ThreadArgs, parse_positive};

#[derive(Args)]
pub struct CompareArgs {
    /// One sketch
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Another of the same spec
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Tell what moved: means, spreads and correlations of columns, and places that gained or lost rows
    #[arg(long)]
    pub explain: bool,
    /// Call a difference drift only if more than this part of the rows would have to change, for example 0.02
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_share)]
    pub tolerate: f64,
    /// Exit with code 3 if there is a difference that is not tolerated
    #[arg(long)]
    pub exit_code: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Use the recipe of this spec (or of this sketch) instead of choosing one for drift
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["design", "seed"])]
    pub spec: Option<PathBuf>,
    /// Rows of a window; sketches, named by .sketch, are taken one by one in the order given
    #[arg(long, value_name = "ROWS", value_parser = parse_positive)]
    pub every: Option<usize>,
    /// Windows or sketches that pass between two false alarms, on average
    #[arg(long, value_name = "N", default_value_t = 1000.0, value_parser = parse_run_length)]
    pub false_alarm: f64,
    /// Exit with code 3 if there was an alarm
    #[arg(long)]
    pub exit_code: bool,
    /// Print each alarm, and then the numbers of windows and alarms, as a line of JSON
    #[arg(long)]
    pub json: bool,
}

fn parse_run_length(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|n: &f64| *n > 1.0 && n.is_finite())
        .ok_or_else(|| "give a number of windows above 1, for example 1000".into())
}

fn parse_share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part| (0.0..1.0).contains(part))
        .ok_or_else(|| "give a part of the rows from 0 to less than 1, for example 0.02 for 2%".into())
}
