//! Commands that make data and run experiments.

use std::path::PathBuf;

use clap::Args;
use compressive_data::Kind;

use super::{named, parse_positive};

#[derive(Args)]
pub struct GenerateArgs {
    /// The distribution
    #[arg(value_name = "KIND", value_parser = named::<Kind>())]
    pub kind: Kind,
    /// Where to write the rows: .csv, .parquet or .npy; values are rounded to single precision in all three
    #[arg(short, long, value_name = "DATA")]
    pub output: PathBuf,
    /// Rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100_000, value_parser = parse_positive)]
    pub rows: usize,
    /// Columns of separated, unequal, mixture and stretched; the others have two
    #[arg(short = 'd', long, value_name = "D", default_value_t = 10, value_parser = parse_positive)]
    pub dim: usize,
    /// Components of separated, unequal, mixture and stretched, or circles
    #[arg(short, value_name = "K", default_value_t = 10, value_parser = parse_positive)]
    pub k: usize,
    /// Standard deviation of the centres of separated and unequal, in units of K^(1/D) cluster widths
    #[arg(long, value_name = "S", default_value_t = 2.5)]
    pub separation: f64,
    /// What the first half of the columns of stretched is divided by
    #[arg(long, value_name = "A", default_value_t = 10.0)]
    pub factor: f64,
    /// Standard deviation of the radius of spiral, ring and circles
    #[arg(long, value_name = "R", default_value_t = 0.05)]
    pub noise: f64,
    /// Seed of truth and rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write the mixture that the rows come from as a model
    #[arg(long, value_name = "MODEL.json")]
    pub truth: Option<PathBuf>,
    /// Add a column `label` with the component of each row
    #[arg(long)]
    pub labels: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Rows to make
    #[arg(long, default_value_t = 1_000_000, value_parser = parse_positive)]
    pub rows: usize,
    /// Keep the data and the sketches in this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Start a collector and fifty one-bit sensors instead, and learn from what they send
    #[arg(long)]
    #[cfg(feature = "collector")]
    pub fleet: bool,
    /// With --fleet: sensors answer at random such that this epsilon holds for each reading
    #[arg(long, value_name = "EPSILON", requires = "fleet")]
    #[cfg(feature = "collector")]
    pub local_epsilon: Option<f64>,
    /// With --fleet: keep the collector running until Ctrl-C
    #[arg(long, requires = "fleet")]
    #[cfg(feature = "collector")]
    pub stay: bool,
}
