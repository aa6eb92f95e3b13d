//! Commands that spend a privacy budget, or tell what it will buy.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use compressive::FeatureName;
use compressive::design::Task;
use compressive::privacy::Neighbours;

use super::{named, parse_positive};

#[derive(Args)]
pub struct PrivatizeArgs {
    /// The plain sketch; keep it secret, or delete it after the release
    #[arg(value_name = "SKETCH")]
    pub sketch: PathBuf,
    /// Where to write the private sketch, which may be published
    #[arg(short, long, value_name = "OUT.sketch")]
    pub output: PathBuf,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Share of epsilon for the sums, the rest is for the number of rows: a number between 0 and 1, or auto
    /// for the least noise
    #[arg(long, value_name = "SHARE", default_value = "auto", allow_negative_numbers = true)]
    pub split: SplitArg,
    /// Most rows that one person has in the table; with whole-number --weights, most weight
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rows_per_person: u32,
    /// Declare that the spec was made without these rows (from other, public data), so that publishing it
    /// costs nothing
    #[arg(long)]
    pub public_spec: bool,
    /// Record what is spent in this ledger, and refuse to pass its cap; made by `compressive ledger`
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
    /// Print what was promised as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is promised.
#[derive(Args, Clone, Copy)]
pub struct BudgetArgs {
    /// The privacy budget, what the spec has cost included: the smaller, the more private; 0.1 to 3 is usual
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: f64,
    /// Probability that the bound may fail, far below 1/rows; above 0 the noise is Gaussian, and smaller for
    /// large sketches
    #[arg(long, value_name = "D", default_value_t = 0.0, allow_negative_numbers = true)]
    pub delta: f64,
    /// Tables that nobody must be able to tell apart
    #[arg(long, value_parser = named::<Neighbours>(), default_value = "add-remove")]
    pub neighbours: Neighbours,
}

#[derive(Args)]
pub struct LedgerArgs {
    /// The ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Create the ledger: the most epsilon that all releases together may spend
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub cap_epsilon: Option<f64>,
    /// The most delta that all releases together may spend [default: 0, which allows no Gaussian noise]
    #[arg(long, value_name = "D", requires = "cap_epsilon", allow_negative_numbers = true)]
    pub cap_delta: Option<f64>,
    /// What the rows are, for people
    #[arg(long, value_name = "NAME", requires = "cap_epsilon")]
    pub dataset: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct PlanArgs {
    /// Rows that the table will have, roughly
    #[arg(long, value_name = "N", value_parser = parse_rows)]
    pub rows: f64,
    /// Number of columns
    #[arg(long, value_name = "D", value_parser = parse_positive)]
    pub dim: usize,
    /// Number of clusters or components
    #[arg(short, value_name = "K", value_parser = parse_positive)]
    pub k: usize,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// What will be learned
    #[arg(long, default_value = "kmeans", value_parser = named::<Task>())]
    pub task: Task,
    /// The feature that is summed
    #[arg(long, default_value = "fourier", value_parser = named::<FeatureName>())]
    pub feature: FeatureName,
    /// JSON array with one period of the feature, for --feature periodic
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Judge this number of frequencies, instead of the recommended one
    #[arg(long, value_name = "M", value_parser = parse_positive)]
    pub size: Option<usize>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// How epsilon is divided between the sums and the number of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitArg {
    Auto,
    Share(f64),
}

impl FromStr for SplitArg {
    type Err = String;

    fn from_str(text: &str) -> Result<SplitArg, String> {
        match text {
            "auto" => Ok(SplitArg::Auto),
            _ => {
                let share = text.parse().map(SplitArg::Share);
                share.map_err(|_| "give auto, or a number between 0 and 1".into())
            }
        }
    }
}

/// The cost of a look at the rows, from 0.
pub fn parse_cost(text: &str) -> Result<f64, String> {
    let cost = text.parse().ok().filter(|cost: &f64| *cost >= 0.0 && cost.is_finite());
    cost.ok_or_else(|| "give a part of the privacy budget, such as 0.1, or 0 to not look at the rows".into())
}

fn parse_rows(text: &str) -> Result<f64, String> {
    let rows = text.parse().ok().filter(|rows: &f64| (1.0..=1e12).contains(rows));
    rows.ok_or_else(|| "give a number of rows from 1 to 1e12".into())
}
