//! Commands that learn and use models.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use compressive::Named;
use compressive::design::Task;
use compressive::learn::Decoder;

use super::classify::RuleArgs;
use super::{DataArgs, GeneratorArgs, PassArgs, RecipeArgs, SeedArgs, ThreadArgs, named, parse_positive};

/// The help text of `--decoder`.
fn decoders() -> String {
    let names = |components: bool| {
        let chosen = Decoder::ALL.iter().filter(|decoder| decoder.is_for_components() == components);
        chosen.map(|decoder| decoder.name()).collect::<Vec<_>>().join(", ")
    };
    format!("The search: {}; for pca also {}", names(false), names(true))
}

/// How to search.
#[derive(Args, Clone)]
#[command(next_help_heading = "Learning")]
pub struct LearnArgs {
    #[arg(long, value_name = "NAME", default_value = "auto", help = decoders())]
    pub decoder: Decoder,
    /// Searches from different starting points, of which the best is kept [default: the decoder's own number]
    #[arg(long, value_name = "R", value_parser = parse_positive)]
    pub restarts: Option<usize>,
    /// Where cl-omp, cl-ompr and iht start: anywhere in the data box, at sampled rows, or at sampled rows far
    /// from what was found
    #[arg(long, value_enum, default_value_t = StartArg::Range)]
    pub start: StartArg,
    /// Stop searching after so many seconds and take the best model found by then; kmeans, kmedians, gmm,
    /// stable
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub seconds: Option<f64>,
}

#[derive(Args)]
pub struct FitArgs {
    /// The sketch to learn from; for classify the sketches of all classes, as FILE (named by its label, as
    /// `sketch --by` does), LABEL=FILE, or a folder of them
    #[arg(required = true, num_args = 1.., value_name = "SKETCH")]
    pub sketches: Vec<PathBuf>,
    /// What to learn
    #[arg(long, default_value = "kmeans", value_parser = named::<Task>())]
    pub task: Task,
    /// Number of clusters or components: a number, LOW:HIGH to choose within a range, or auto; for classify,
    /// components of each class [default: 1]; needed but for generate and classify
    #[arg(short, value_name = "K")]
    pub k: Option<KArg>,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Covariances of a mixture: iso, diag, full, or known:FILE with a JSON matrix in the table's units;
    /// scales of stable laws: iso, diag [default: diag]
    #[arg(long, value_name = "KIND")]
    pub covariance: Option<CovarianceArg>,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub generator: GeneratorArgs,
    /// Rows for --start sample and plusplus: a table with the sketch's columns; may be repeated
    #[arg(long, value_name = "DATA")]
    pub pilot: Vec<String>,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL.json")]
    pub output: Option<PathBuf>,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the model as JSON, with `seconds` and `candidates`
    #[arg(long)]
    pub json: bool,
}

/// From a table to a model in one go.
#[derive(Args)]
pub struct OneLinerArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Number of clusters or components: a number, LOW:HIGH to choose within a range, or auto
    #[arg(short, value_name = "K")]
    pub k: KArg,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub pass: PassArgs,
    /// Use the recipe of this spec (or of this sketch) instead of choosing one
    #[arg(long, value_name = "SPEC", conflicts_with = "design")]
    pub spec: Option<PathBuf>,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL.json")]
    pub output: Option<PathBuf>,
    /// Keep the sketch, for other models of the same rows
    #[arg(long, value_name = "OUT.sketch")]
    pub keep: Option<PathBuf>,
    /// Print the model as JSON, with `seconds` and `candidates`
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct KmeansArgs {
    #[command(flatten)]
    pub common: OneLinerArgs,
}

#[derive(Args)]
pub struct GmmArgs {
    #[command(flatten)]
    pub common: OneLinerArgs,
    /// Covariances: iso, diag, full, or known:FILE with a JSON matrix in the table's units [default: diag]
    #[arg(long, value_name = "KIND")]
    pub covariance: Option<CovarianceArg>,
}

#[derive(Args)]
pub struct PredictArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    #[command(flatten)]
    pub data: UseArgs,
    /// Where to write one row per row of the data, in their order: .csv, .parquet or .npy
    #[arg(short, long, value_name = "LABELS")]
    pub output: PathBuf,
    /// Write the probability of each component, too, as columns p_0, p_1, ... (mixtures)
    #[arg(long)]
    pub probabilities: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ScoreArgs {
    /// The model; with --anomaly a sketch or a mixture
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    #[command(flatten)]
    pub data: UseArgs,
    /// Compare with the classes in this column, numbers or text: adjusted Rand index
    #[arg(long, value_name = "COLUMN")]
    pub labels: Option<String>,
    /// The log-density of each row: the lowest are the least usual rows
    #[arg(long, conflicts_with = "labels")]
    pub anomaly: bool,
    /// Where to write the log-density of each row, in their order: .csv, .parquet or .npy
    #[arg(short, long, value_name = "SCORES", requires = "anomaly")]
    pub output: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The data that a model is applied to; the columns are found by their names in the model or spec.
#[derive(Args)]
pub struct UseArgs {
    /// Files, globs, folders, or - for standard input; columns are found by their names in the model or spec
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// The text files have no header line [default: look]
    #[arg(long, conflicts_with = "header")]
    pub no_header: bool,
    /// The text files have a header line [default: look]
    #[arg(long)]
    pub header: bool,
    /// Field delimiter of text files, one character or "tab" [default: look]
    #[arg(long, value_parser = super::parse_delimiter, value_name = "CHAR")]
    pub delimiter: Option<u8>,
    /// Go on at rows with missing or malformed values; `predict` gives them the label -1, `transform` empty
    /// cells, `score` leaves them out
    #[arg(long)]
    pub skip_bad_rows: bool,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
}

impl UseArgs {
    /// The same as reading flags of a table.
    pub fn data_args(&self) -> DataArgs {
        DataArgs {
            data: self.data.clone(),
            columns: None,
            exclude: Vec::new(),
            no_header: self.no_header,
            header: self.header,
            delimiter: self.delimiter,
            skip_bad_rows: self.skip_bad_rows,
            quiet: self.quiet,
        }
    }
}

#[derive(Args)]
pub struct DiagnoseArgs {
    /// The sketch
    #[arg(value_name = "SKETCH")]
    pub sketch: PathBuf,
    /// The model learned from it
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A model known to be good, for comparison [default: the best of a fresh search]
    #[arg(long, value_name = "MODEL")]
    pub truth: Option<PathBuf>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A time that a deadline can be made of.
fn parse_seconds(text: &str) -> Result<f64, String> {
    let given = text.parse().ok().filter(|s| (0.0..=1e9).contains(s));
    given.ok_or_else(|| "give a number of seconds, 0 or more".into())
}

/// A number of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KArg {
    Exactly(usize),
    Between(usize, usize),
    Auto,
}

impl FromStr for KArg {
    type Err = String;

    fn from_str(text: &str) -> Result<KArg, String> {
        let number = |text: &str| text.parse::<usize>().ok();
        let parsed = match text.split_once(':') {
            None if text == "auto" => Some(KArg::Auto),
            None => number(text).map(KArg::Exactly),
            Some((low, high)) => number(low).zip(number(high)).map(|(low, high)| KArg::Between(low, high)),
        };
        parsed.ok_or_else(|| "give a number, a range LOW:HIGH, or auto".into())
    }
}

/// A kind of covariance.
#[derive(Clone, Debug)]
pub enum CovarianceArg {
    Iso,
    Diag,
    Full,
    Known(PathBuf),
}

impl FromStr for CovarianceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<CovarianceArg, String> {
        match text {
            "iso" => Ok(CovarianceArg::Iso),
            "diag" => Ok(CovarianceArg::Diag),
            "full" => Ok(CovarianceArg::Full),
            _ => match text.strip_prefix("known:") {
                Some(file) if !file.is_empty() => Ok(CovarianceArg::Known(file.into())),
                _ => Err("the kinds are iso, diag, full and known:FILE".into()),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartArg {
    /// Anywhere in the data box
    Range,
    /// At sampled rows
    Sample,
    /// At sampled rows far from the atoms found so far
    Plusplus,
}
