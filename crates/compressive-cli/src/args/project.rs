//! Commands of principal components and of random features.

use std::path::PathBuf;

use clap::Args;
use compressive::FeatureName;

use super::learn::UseArgs;
use super::{OneLinerArgs, named_if};

#[derive(Args)]
pub struct PcaArgs {
    #[command(flatten)]
    pub common: OneLinerArgs,
}

#[derive(Args)]
pub struct TransformArgs {
    /// A model of principal components, or a spec or sketch, for its random features
    #[arg(value_name = "MODEL|SPEC|SKETCH")]
    pub source: PathBuf,
    #[command(flatten)]
    pub data: UseArgs,
    #[command(flatten)]
    pub features: RandomFeatureArgs,
    /// Where to write one row per row of the data, in their order: .csv, .parquet or .npy
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is written of a spec's features.
#[derive(Args)]
#[command(next_help_heading = "Random features")]
pub struct RandomFeatureArgs {
    /// Use this feature with the frequencies and dither of the spec [default: the spec's own]
    #[arg(long, value_name = "NAME", value_parser = named_if(|name: FeatureName| name.wave().is_some()))]
    pub feature: Option<FeatureName>,
    /// Write one-bit features as bits, eight a byte, first feature in the highest bit (as numpy.packbits), 1
    /// for +1 and 0 for -1
    #[arg(long)]
    pub bits: bool,
    /// Write the first block only (cosines), or both (cosines and sines) [default: both, and 1 with --bits]
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub blocks: Option<u8>,
}

impl RandomFeatureArgs {
    /// The first flag that was given, if any.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.feature.is_some(), "--feature"),
            (self.bits, "--bits"),
            (self.blocks.is_some(), "--blocks"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}
