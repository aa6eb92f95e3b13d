//! The command line: every command and flag, with the words `--help` shows.

mod classify;
#[cfg(feature = "collector")]
mod collect;
mod generator;
mod learn;
mod make;
mod named;
mod private;
mod project;
mod push;
mod query;
mod report;
mod watch;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};
use compressive::design::scale::ScaleRule;
use compressive::design::{LawChoice, Scaling, Task};
use compressive::reading::PERIODS;
use compressive::{FeatureName, ImageShape, Missing};
use compressive_io::Cyclic;

pub use classify::{ClassifyArgs, MethodArg, PriorsArg, RuleArgs};
#[cfg(feature = "collector")]
pub use collect::{ServeArgs, TokenArgs, TokenCommand};
pub use generator::{GeneratorArgs, SampleArgs};
pub use learn::{
    CovarianceArg, DiagnoseArgs, FitArgs, GmmArgs, KArg, KmeansArgs, LearnArgs, OneLinerArgs, PredictArgs,
    ScoreArgs, StartArg,
};
pub use make::{DemoArgs, GenerateArgs};
use named::{named, named_if};
pub use private::{BudgetArgs, LedgerArgs, PlanArgs, PrivatizeArgs, SplitArg};
pub use project::{PcaArgs, RandomFeatureArgs, TransformArgs};
pub use push::{EveryArg, PushArgs};
pub use query::QueryArgs;
pub use report::ReportArgs;
pub use watch::{CompareArgs, WatchArgs};

/// One pass over a table of any size makes a sketch of a few kilobytes; models are learned from the sketch
/// alone.
#[derive(Parser)]
#[command(name = "compressive", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Choose a sketch's recipe from a sample of the data and write it as a spec
    Design(DesignArgs),
    /// Sketch every row of a table, file, folder or stream
    Sketch(SketchArgs),
    /// Add sketches of one spec: the exact sketch of all their rows
    Merge(MergeArgs),
    /// Take the rows of one sketch out of another, exactly
    Subtract(SubtractArgs),
    /// Show what a sketch, spec or model holds
    Inspect(InspectArgs),
    /// Tell whether two sketches come from the same distribution, how many rows differ, and what moved
    Compare(CompareArgs),
    /// Watch a stream of rows or sketches, and tell when it changes
    Watch(WatchArgs),
    /// Add noise to a sketch so that it may be published: differential privacy
    Privatize(PrivatizeArgs),
    /// Tell what a privacy budget will buy, before it is spent and without data
    Plan(PlanArgs),
    /// Create or show a ledger of the privacy budget spent on a data set
    Ledger(LedgerArgs),
    /// Answer questions about the rows from their sketch: means, variances, shares, quantiles, histograms
    Query(QueryArgs),
    /// Learn clusters, a mixture, principal components or a generative network from a sketch
    Fit(FitArgs),
    /// Draw rows from a mixture or a generative network
    Sample(SampleArgs),
    /// Cluster a table in one go: sketch every row, then learn k centres from the sketch
    Kmeans(KmeansArgs),
    /// Model a table as a mixture of Gaussians in one go
    Gmm(GmmArgs),
    /// Find the principal components of a table in one go
    Pca(PcaArgs),
    /// Learn to tell classes apart in one go: one sketch for each class, then a classifier
    Classify(ClassifyArgs),
    /// Give each row of a table its cluster, component or class
    Predict(PredictArgs),
    /// Write the coordinates of each row along the principal components of a model, or its random features
    Transform(TransformArgs),
    /// Measure how well a model describes a table
    Score(ScoreArgs),
    /// Tell why a model is not good enough: the sketch, its scale, or the search
    Diagnose(DiagnoseArgs),
    /// Write one page with pictures of sketches and a model, to be opened in any browser
    Report(ReportArgs),
    /// Collect one-bit contributions, rows and sketches of a fleet over HTTP
    #[cfg(feature = "collector")]
    Serve(ServeArgs),
    /// Send the rows of a table to a collector, as bits or sketches, until it has them all
    Push(PushArgs),
    /// Make, list and revoke the tokens of a collector
    #[cfg(feature = "collector")]
    Token(TokenArgs),
    /// Write a synthetic table with a known truth
    Generate(GenerateArgs),
    /// Make a million rows, sketch them, and find their clusters in the sketch
    Demo(DemoArgs),
    /// Print a completion script for a shell
    Completions(CompletionArgs),
}

/// The data, and how to read them.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Files, globs, folders, or - for standard input: CSV (also .gz), Parquet, .npy, Arrow IPC
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// Use these columns, in this order [default: every numeric column]
    #[arg(long, value_delimiter = ',', value_name = "A,B,..")]
    pub columns: Option<Vec<String>>,
    /// Leave these columns out
    #[arg(long, value_delimiter = ',', value_name = "A,B,..")]
    pub exclude: Vec<String>,
    /// The text files have no header line [default: look]
    #[arg(long, conflicts_with = "header")]
    pub no_header: bool,
    /// The text files have a header line [default: look]
    #[arg(long)]
    pub header: bool,
    /// Field delimiter of text files, one character or "tab" [default: look]
    #[arg(long, value_parser = parse_delimiter, value_name = "CHAR")]
    pub delimiter: Option<u8>,
    /// Leave out and count rows with missing or malformed values, instead of stopping at the first
    #[arg(long)]
    pub skip_bad_rows: bool,
    /// Print nothing but errors, and results that go to no file
    #[arg(long, short)]
    pub quiet: bool,
}

/// What the sketch is for.
#[derive(Args, Clone)]
#[command(next_help_heading = "Recipe")]
#[group(id = "purpose", multiple = true)]
pub struct PurposeArgs {
    /// What will be learned; sets the sketch size [default: kmeans]
    #[arg(long, value_parser = named::<Task>())]
    pub task: Option<Task>,
    /// Number of clusters or components the sketch should carry [default: 10, or 1 a class for classify]
    #[arg(short, value_name = "K")]
    pub k: Option<usize>,
}

/// How the recipe is chosen.
#[derive(Args, Clone)]
#[command(next_help_heading = "Recipe")]
#[group(id = "design", multiple = true)]
pub struct RecipeArgs {
    /// Number of frequencies m, or of landmarks [default: 10 per parameter of the task up to 1000, then 5; 4
    /// for pca; 1000 for drift]
    #[arg(long, value_name = "M")]
    pub size: Option<usize>,
    /// Law of the frequencies: gaussian, folded-gaussian, adapted-radius, weighted, pilot-mixture,
    /// multi-scale [default: adapted-radius, multi-scale for generate, folded-gaussian for drift]; for
    /// --feature nystrom how the landmarks are chosen: rpcholesky, greedy, leverage, uniform [default:
    /// rpcholesky]
    #[arg(long, value_name = "NAME")]
    pub law: Option<LawChoice>,
    /// Scale of the law, or width of the kernel: mean-sigma, data-variance, entropy, or a number [default:
    /// mean-sigma]
    #[arg(long, value_name = "RULE")]
    pub scale: Option<ScaleRule>,
    /// The feature that is summed [default: fourier; for pca without exact moments quadratic]
    #[arg(long, value_parser = named::<FeatureName>())]
    pub feature: Option<FeatureName>,
    /// Complex directions, for the feature quadratic
    #[arg(long)]
    pub complex: bool,
    /// JSON array with one period of the feature, for --feature periodic
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Shape of the images, for --feature conv: the columns are pixels in the order row, column, channel
    #[arg(long, value_name = "HxW[xC]", value_parser = classify::parse_image)]
    pub image: Option<ImageShape>,
    /// Add a random phase to each frequency [default: yes for one-bit, sawtooth, cosine and periodic]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub dither: Option<bool>,
    /// Remove correlations between the columns, too [default: for --task classify, unless --scaling is given]
    #[arg(long)]
    pub whiten: bool,
    /// Scaling of the columns: columns (each by its spread), common (all by one number), auto (common for
    /// pca, and for kmeans while the spreads are within a factor of 30, else columns) [default: auto]
    #[arg(long, value_name = "HOW")]
    pub scaling: Option<Scaling>,
    /// Fast structured frequencies [default: where they win, from about 45 columns on]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub structured: Option<bool>,
    /// Keep exact means, variances and correlations beside the features, also for --feature one-bit
    #[arg(long, overrides_with = "no_moments")]
    pub moments: bool,
    /// Keep no exact means, variances and correlations beside the features: for recipes whose features are
    /// sent in place of rows
    #[arg(long)]
    pub no_moments: bool,
    /// Remember no outline of the sample in the recipe: smaller files, less precise clusters and mixtures
    #[arg(long)]
    pub no_outline: bool,
    /// What becomes of missing entries (empty, NA, NaN, null): fill (with the column's centre), skip (leave
    /// their rows out), error [default: fill where the sample has some, else error]
    #[arg(long, value_parser = named::<Missing>())]
    pub missing: Option<Missing>,
    /// How far apart rows are that differ in one category, in standard deviations of a column
    #[arg(long, value_name = "DEVIATIONS", default_value_t = 1.0, value_parser = parse_weight)]
    pub category_weight: f64,
    /// Read dates as their place in an hour, a day, a week or a year, so that its end is next to its start;
    /// with COLUMN= that column alone, whose PERIOD may also be a number in its own units (hour=24)
    #[arg(long, value_name = "[COLUMN=]PERIOD", value_delimiter = ',', value_parser = parse_cyclic)]
    pub cyclic: Vec<Cyclic>,
    /// Declare the data box: LOW:HIGH for all columns, or COLUMN=LOW:HIGH; may be repeated [default: the
    /// sample's range, twice as wide for pca]
    #[arg(long, value_name = "BOX", allow_hyphen_values = true)]
    pub bounds: Vec<String>,
    /// Rows sampled to choose the recipe [default: 10000]
    #[arg(long, value_name = "ROWS")]
    pub pilot: Option<usize>,
    /// Choose the recipe for a private release, from --bounds and a private look at all rows that costs this
    /// part of the budget; with 0 without any look. Column names come from the data and are taken as public
    #[arg(long, value_name = "EPSILON", value_parser = private::parse_cost, conflicts_with_all = ["whiten", "pilot"])]
    pub private: Option<f64>,
    /// Charge the look of --private to this ledger, and refuse to pass its cap; releases with the recipe then
    /// cost the rest
    #[arg(long, value_name = "FILE", requires = "private")]
    pub ledger: Option<PathBuf>,
}

/// Where randomness comes from.
#[derive(Args, Clone, Copy)]
pub struct SeedArgs {
    /// Seed of everything random: the sample, the frequencies, the search
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// How the rows are summed.
#[derive(Args, Clone)]
pub struct PassArgs {
    /// Count each row this many times
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Rows per chunk; changes speed and memory, never the result
    #[arg(long, value_name = "ROWS", default_value_t = 4096, value_parser = parse_positive)]
    pub chunk: usize,
    /// Kernel to use: scalar, avx2, avx512, neon; all give the same bytes [default: the fastest here]
    #[arg(long, value_name = "NAME", hide = true)]
    pub backend: Option<String>,
}

/// How many threads.
#[derive(Args, Clone, Copy, Default)]
pub struct ThreadArgs {
    /// Threads; they change the time, never the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ThreadArgs {
    /// The number of threads.
    pub fn count(self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, usize::from)
    }
}

#[derive(Args)]
pub struct DesignArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub purpose: PurposeArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Where to write the spec
    #[arg(short, long, value_name = "SPEC.json")]
    pub output: PathBuf,
    /// Print what was chosen as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SketchArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub purpose: PurposeArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub pass: PassArgs,
    /// Use the recipe of this spec (or of this sketch) instead of choosing one
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["design", "purpose", "seed"])]
    pub spec: Option<PathBuf>,
    /// Where to write the sketch; with --by a folder, a name with {} for the value, or a cube, one file of all
    /// that ends in .parquet
    #[arg(short, long, value_name = "OUT.sketch")]
    pub output: PathBuf,
    /// Make one sketch for each distinct value of this column
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// Most distinct values that --by accepts
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "by")]
    pub max_groups: usize,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct MergeArgs {
    /// The sketches to add
    #[arg(required = true, num_args = 1.., value_name = "SKETCH")]
    pub sketches: Vec<PathBuf>,
    /// Where to write their sum
    #[arg(short, long, value_name = "OUT.sketch")]
    pub output: PathBuf,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SubtractArgs {
    /// The sketch of all rows
    #[arg(value_name = "WHOLE")]
    pub whole: PathBuf,
    /// The sketch of the rows to take out
    #[arg(value_name = "PART")]
    pub part: PathBuf,
    /// Where to write the sketch of the remaining rows
    #[arg(short, long, value_name = "OUT.sketch")]
    pub output: PathBuf,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct InspectArgs {
    /// A sketch, a spec or a model
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// With --json: list the frequencies, in radians per working unit, and last in each row the dither in
    /// radians; for nystrom the landmarks, in working units
    #[arg(long, requires = "json")]
    pub frequencies: bool,
    /// Print the spec alone, ready for `sketch --spec`
    #[arg(long, conflicts_with = "json")]
    pub spec: bool,
}

#[derive(Args)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum, action = ArgAction::Set)]
    pub shell: clap_complete::Shell,
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ if text.len() == 1 && text != "\"" => Ok(text.as_bytes()[0]),
        _ => Err("give one character other than a quote, or tab".into()),
    }
}

fn parse_weight(text: &str) -> Result<f64, String> {
    let weight: Option<f64> = text.parse().ok();
    weight.filter(|w| *w > 0.0 && w.is_finite()).ok_or_else(|| "give a number above 0".into())
}

fn parse_cyclic(text: &str) -> Result<Cyclic, String> {
    let (column, period) = match text.rsplit_once('=') {
        Some((column, period)) => (Some(column.to_owned()), period),
        None => (None, text),
    };
    let named = PERIODS.iter().find(|(name, _)| *name == period).map(|(_, seconds)| *seconds);
    let number = || period.parse().ok().filter(|p: &f64| *p > 0.0 && p.is_finite() && column.is_some());
    let names: Vec<&str> = PERIODS.iter().map(|(name, _)| *name).collect();
    let period = named.or_else(number);
    let period = period.ok_or_else(|| format!("give {}, or COLUMN=NUMBER", names.join(", ")))?;
    Ok(Cyclic { column, period })
}

fn parse_positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "give a whole number of at least 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_spec_excludes_the_flags_that_would_choose_one() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|_| ());
        assert!(parse("compressive sketch d.csv -o s --spec a.json").is_ok());
        assert!(parse("compressive sketch d.csv -o s --spec a.json --size 5").is_err());
        assert!(parse("compressive sketch d.csv -o s --spec a.json --whiten").is_err());
        assert!(parse("compressive sketch d.csv -o s --bounds -1:1 --structured --dither false").is_ok());
        assert!(parse("compressive sketch d.csv -o s --spec a.json -k 5").is_err());
        assert!(parse("compressive sketch d.csv -o s --spec a.json --seed 5").is_err());
        assert!(parse("compressive kmeans d.csv -k 5 --spec a.json --seed 5").is_ok());
        assert!(parse("compressive kmeans d.csv -k 5 --spec a.json --size 5").is_err());
        assert!(parse("compressive sketch d.csv -o s --threads 0").is_err());
    }

    #[test]
    fn a_private_recipe_excludes_what_looks_at_the_rows() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|_| ());
        assert!(parse("compressive design d.csv -o s --bounds -1:1 --private 0 --scale 2").is_ok());
        for wrong in ["-1", "nan", "inf", "x", "0.1 --whiten", "0.1 --pilot 9", "0.1 --spec s.json"] {
            assert!(
                parse(&format!("compressive sketch d.csv -o s --bounds 0:1 --private {wrong}")).is_err(),
                "{wrong}"
            );
        }
        let privatize = |flags: &str| parse(&format!("compressive privatize s -o p --epsilon 1 {flags}"));
        assert!(privatize("--split 0.9 --neighbours replace --ledger l.json").is_ok());
        assert!(privatize("--split half").is_err() && privatize("--neighbours all").is_err());
        assert!(privatize("--seed 1").is_err(), "noise that a seed repeats can be taken away again");
        assert!(parse("compressive plan --rows 1e6 --dim 10 -k 10 --epsilon 1").is_ok());
        assert!(parse("compressive plan --rows 0 --dim 10 -k 10 --epsilon 1").is_err());
    }

    #[test]
    fn a_number_of_components_is_a_number_a_range_or_auto() {
        assert!(matches!("7".parse(), Ok(KArg::Exactly(7))));
        assert!(matches!("2:9".parse(), Ok(KArg::Between(2, 9))));
        assert!(matches!("auto".parse(), Ok(KArg::Auto)));
        for wrong in ["", "x", "-1", "3:", ":4", "1.5"] {
            assert!(wrong.parse::<KArg>().is_err(), "{wrong}");
        }
    }
}
