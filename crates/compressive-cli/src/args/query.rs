//! Questions to a sketch.

use std::path::PathBuf;

use clap::Args;

use super::{SeedArgs, ThreadArgs};

#[derive(Args)]
#[command(
    after_help = "Queries: mean(x^2), sum(x), var(x), std(x), cov(x, y), corr(x, y), share(x < 3 and y >= 2), count(x > 0), \
quantile(x, 0.9), histogram(x, 20), histogram(x, 0, 100, 20), and arithmetic such as mean(x * y) / mean(y). Inside: + - * / ^, abs, exp, log, sqrt, \
< <= > >=, and, or, not. Column names other than letters, digits and _ go in `backticks`."
)]
pub struct QueryArgs {
    /// The sketch
    #[arg(value_name = "SKETCH")]
    pub sketch: PathBuf,
    /// The questions
    #[arg(required = true, value_name = "QUERY")]
    pub queries: Vec<String>,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
