//! Flags of generative networks, and of drawing rows from models.

use std::path::PathBuf;

use clap::Args;
use compressive::model::Activation;

use super::{SeedArgs, named, parse_positive};

/// The network and its training.
#[derive(Args, Clone)]
#[command(next_help_heading = "Generative networks (--task generate)")]
#[group(id = "generator", multiple = true)]
pub struct GeneratorArgs {
    /// Widths of the hidden layers [default: 64,64,64]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', value_parser = parse_positive)]
    pub layers: Option<Vec<usize>>,
    /// Width of the latent rows that the network starts from [default: 3 more than the columns, up to 10]
    #[arg(long, value_name = "P", value_parser = parse_positive)]
    pub latent: Option<usize>,
    /// Training steps [default: 4000]
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub steps: Option<usize>,
    /// Rows made at each step; fewer than 1000 are noisy [default: 1000]
    #[arg(long, value_name = "ROWS", value_parser = parse_positive)]
    pub batch: Option<usize>,
    /// First learning rate [default: 0.005]
    #[arg(long, value_name = "R")]
    pub rate: Option<f64>,
    /// What follows each hidden layer [default: leaky-relu]
    #[arg(long, value_parser = named::<Activation>())]
    pub activation: Option<Activation>,
}

impl GeneratorArgs {
    /// Whether any of the flags is given.
    pub fn any(&self) -> bool {
        self.layers.is_some()
            || self.latent.is_some()
            || self.steps.is_some()
            || self.batch.is_some()
            || self.rate.is_some()
            || self.activation.is_some()
    }
}

#[derive(Args)]
pub struct SampleArgs {
    /// A sketch whose recipe has an outline, a generative network, or a mixture of Gaussians
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000, value_parser = parse_positive)]
    pub rows: usize,
    /// Where to write the rows: .csv, .parquet or .npy
    #[arg(short, long, value_name = "DATA")]
    pub output: PathBuf,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}
