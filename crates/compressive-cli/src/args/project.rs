//! Commands of principal components.

use std::path::PathBuf;

use clap::Args;

use super::OneLinerArgs;
use super::learn::UseArgs;

#[derive(Args)]
pub struct PcaArgs {
    #[command(flatten)]
    pub common: OneLinerArgs,
}

#[derive(Args)]
pub struct TransformArgs {
    /// The model: principal components
    #[arg(value_name = "MODEL")]
    pub source: PathBuf,
    #[command(flatten)]
    pub data: UseArgs,
    /// Where to write one row per row of the data, in their order, with columns pc1, pc2, ...: .csv, .parquet or .npy
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}
