//! A page about sketches and a model.

use std::path::PathBuf;

use clap::Args;

use super::ThreadArgs;

#[derive(Args)]
pub struct ReportArgs {
    /// One sketch, or a series of them in order (drift is shown), and at most one model
    #[arg(required = true, value_name = "SKETCH|MODEL")]
    pub files: Vec<PathBuf>,
    /// Draw some rows of these files behind the model
    #[arg(long, value_name = "DATA", num_args = 1..)]
    pub data: Vec<String>,
    /// The page; a name that ends in .svg gives the map and the drift alone, as a picture
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Head of the page [default: the file names]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Learn again for fewer and for more components, to show how the fit changes with their number [default:
    /// where it takes seconds]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub sweep: Option<bool>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
