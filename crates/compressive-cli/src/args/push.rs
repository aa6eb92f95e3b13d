//! Sending rows to a collector.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DataArgs, PurposeArgs, RecipeArgs, SeedArgs, ThreadArgs, parse_positive};

#[derive(Args)]
pub struct PushArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// The collector
    #[arg(long, env = "COMPRESSIVE_PUSH_TO", value_name = "URL")]
    pub to: String,
    /// The stream
    #[arg(long, env = "COMPRESSIVE_PUSH_STREAM", value_name = "NAME")]
    pub stream: String,
    /// The stream's spec [default: asked from the collector]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["design", "purpose"])]
    pub spec: Option<PathBuf>,
    /// Make the stream if it is not there, with buckets of an hour or a day; its spec is --spec, or is
    /// designed on these rows as by `sketch`
    #[arg(long, value_enum, value_name = "EVERY", num_args = 0..=1, default_missing_value = "day")]
    pub make: Option<EveryArg>,
    /// The bucket of the rows [default: that of the moment each batch arrives]
    #[arg(long, value_name = "TIME")]
    pub bucket: Option<String>,
    /// Local privacy: each reading tells a few of its bits at random, such that this epsilon holds against
    /// the collector too (feature `one-bit`)
    #[arg(long, value_name = "EPSILON")]
    pub local_epsilon: Option<f64>,
    /// Rows of a batch
    #[arg(long, env = "COMPRESSIVE_PUSH_BATCH", value_name = "ROWS", default_value_t = 1000, value_parser = parse_positive)]
    pub batch: usize,
    /// Batches under way at once
    #[arg(long, env = "COMPRESSIVE_PUSH_CONNECTIONS", value_name = "N", default_value_t = 4, value_parser = parse_positive)]
    pub connections: usize,
    /// Folder for batches that are not acknowledged yet; the same command takes them up again
    #[arg(long, env = "COMPRESSIVE_PUSH_SPOOL", value_name = "DIR", default_value = "compressive-spool")]
    pub spool: PathBuf,
    /// A name for these rows, by which a later run knows them [default: the paths of the files; rows that are
    /// added at their end are sent, too]
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Push rows that were pushed before once more
    #[arg(long)]
    pub again: bool,
    /// Seconds for which a batch is tried
    #[arg(long, env = "COMPRESSIVE_PUSH_PATIENCE", value_name = "SECONDS", default_value_t = 300, value_parser = parse_positive)]
    pub patience: usize,
    /// File with the token [default: the variable COMPRESSIVE_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Trust the certificates of this PEM file
    #[arg(long, env = "COMPRESSIVE_PUSH_CERTIFICATE", value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub purpose: PurposeArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lengths of buckets.
#[derive(Clone, Copy, ValueEnum)]
pub enum EveryArg {
    Hour,
    Day,
}

impl EveryArg {
    pub fn name(self) -> &'static str {
        match self {
            EveryArg::Hour => "hour",
            EveryArg::Day => "day",
        }
    }
}
