//! `design`: from a pilot sample, or from declared bounds, to a spec; also the first half of `sketch`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::design::{DesignParams, LawChoice, Task, design};
use compressive::{Bounds, Feature, LandmarkRule, SketchSpec};
use compressive_io::{Dataset, Pilot, ReadOptions, write_atomic};
use serde_json::json;

use super::private_design::{self, Look};
use crate::args::{DataArgs, DesignArgs, FeatureArg, PurposeArgs, RecipeArgs, ThreadArgs};
use crate::output::{self, count};
use compressive_report::words::recipe;

/// Rows of the pilot unless the user says otherwise.
pub const PILOT_ROWS: usize = 10_000;

/// What a sketch is for; sets its size.
#[derive(Clone, Copy)]
pub struct Purpose {
    pub task: Task,
    pub k: usize,
}

impl From<&PurposeArgs> for Purpose {
    fn from(args: &PurposeArgs) -> Purpose {
        let defaults = DesignParams::default();
        let task = args.task.unwrap_or(defaults.task);
        // A class is one component unless more are asked for.
        let k = if task == Task::Classify { 1 } else { defaults.k };
        Purpose { task, k: args.k.unwrap_or(k) }
    }
}

/// Writes a spec designed on a sample of the data.
pub fn run(args: &DesignArgs) -> Result<()> {
    let mut dataset = open(&args.data, args.data.columns.clone(), ReadOptions::default())?;
    let purpose = Purpose::from(&args.purpose);
    let look =
        Look { threads: ThreadArgs::default().count(), quiet: args.data.quiet, max_groups: 1, again: false };
    let Designed { spec, pilot, why } = design_on(&mut dataset, purpose, &args.recipe, args.seed.seed, look)?;
    write_atomic(&args.output, format!("{}\n", spec.to_json_pretty()).as_bytes())?;
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "fingerprint": spec.fingerprint(), "columns": spec.columns, "law": spec.law.name(),
            "scale": spec.scale, "size": spec.size, "feature": spec.feature.name(), "structured": spec.structured,
            "pilot_rows": pilot.map(|pilot| pilot.n_rows), "source": spec.source,
        }));
    }
    let lines = format!("{}: {}\n", args.output.display(), recipe(&spec));
    output::print(&lines)?;
    note(args.data.quiet, &why);
    Ok(())
}

/// Opens the data with the user's reading flags and says what was left out.
pub fn open(args: &DataArgs, columns: Option<Vec<String>>, options: ReadOptions) -> Result<Dataset> {
    let header = if args.no_header {
        Some(false)
    } else if args.header {
        Some(true)
    } else {
        None
    };
    let options = ReadOptions {
        columns,
        exclude: args.exclude.clone(),
        header,
        delimiter: args.delimiter,
        skip_bad_rows: args.skip_bad_rows,
        ..options
    };
    let dataset = Dataset::open(&args.data, &options)?;
    for left in dataset.left_out().iter().filter(|left| !left.asked) {
        note(args.quiet, &format!("left out column `{}`: {}", left.name, left.reason));
    }
    Ok(dataset)
}

/// A recipe, and how it was found.
pub struct Designed {
    pub spec: SketchSpec,
    /// The rows it was chosen on; none for a private recipe.
    pub pilot: Option<Pilot>,
    /// Why it is what it is.
    pub why: String,
}

/// Designs a spec on a pilot sample of the data or, with `--private`, without one.
pub fn design_on(
    dataset: &mut Dataset,
    purpose: Purpose,
    recipe: &RecipeArgs,
    seed: u64,
    look: Look,
) -> Result<Designed> {
    let params = design_params(purpose, recipe, seed, dataset.columns())?;
    if let Some(epsilon) = recipe.private {
        let spec = private_design::design(dataset, recipe, &params, epsilon, look)?;
        let why = private_design::reason(&spec, epsilon);
        return Ok(Designed { spec, pilot: None, why });
    }
    let pilot = sample(dataset, recipe, seed)?;
    let spec = design(&pilot.rows, &pilot.columns, &params)?;
    let why = reason(recipe, purpose, &spec, pilot.n_rows);
    Ok(Designed { spec, pilot: Some(pilot), why })
}

fn design_params(
    purpose: Purpose,
    recipe: &RecipeArgs,
    seed: u64,
    columns: &[String],
) -> Result<DesignParams> {
    let defaults = DesignParams::default();
    if purpose.task == Task::Pca {
        check_pca(recipe)?;
    }
    let feature = feature(purpose.task, recipe)?;
    Ok(DesignParams {
        task: purpose.task,
        k: purpose.k,
        size: recipe.size,
        law: recipe.law.unwrap_or(match (feature.is_kernel(), recipe.private) {
            (true, None) => LawChoice::Landmarks(LandmarkRule::Rpcholesky),
            (true, Some(_)) => LawChoice::Landmarks(LandmarkRule::Box),
            (false, None) if purpose.task == Task::Generate => LawChoice::MultiScale,
            (false, _) if feature.image().is_some() => LawChoice::Gaussian,
            (false, _) => defaults.law,
        }),
        scale: recipe.scale.unwrap_or(defaults.scale),
        feature,
        dither: recipe.dither,
        whiten: recipe.whiten,
        scaling: recipe.scaling.unwrap_or_default(),
        structured: recipe.structured,
        bounds: bounds(&recipe.bounds, columns)?,
        seed,
    })
}

/// The pilot sample of a data set.
pub fn sample(dataset: &mut Dataset, recipe: &RecipeArgs, seed: u64) -> Result<Pilot> {
    Ok(dataset.pilot(recipe.pilot.unwrap_or(PILOT_ROWS).max(2), seed)?)
}

/// Refuses flags that principal components have no use for.
fn check_pca(recipe: &RecipeArgs) -> Result<()> {
    if recipe.law.is_some_and(|law| law != LawChoice::Gaussian) {
        bail!("--law: the directions of --task pca are Gaussian; leave it out");
    }
    if recipe.scale.is_some() {
        bail!("--scale: the directions of --task pca have no scale; leave it out");
    }
    Ok(())
}

/// The feature asked for, or else the task's own.
fn feature(task: Task, recipe: &RecipeArgs) -> Result<Feature> {
    let feature = match (recipe.feature, &recipe.table) {
        (None, None) => task.feature(),
        (Some(FeatureArg::Conv), _) => recipe
            .image
            .clone()
            .context("--feature conv needs the shape of the images: --image HEIGHTxWIDTH[xCHANNELS]")?,
        (named, table) => read_feature(named, table.as_deref())?,
    };
    if recipe.image.is_some() && feature.image().is_none() {
        bail!("--image goes with --feature conv");
    }
    match feature {
        Feature::Quadratic { .. } => Ok(Feature::Quadratic { complex: recipe.complex }),
        _ if recipe.complex => bail!("--complex goes with the feature quadratic (--task pca)"),
        periodic => Ok(periodic),
    }
}

/// The feature of a name, with its table read from a file if it needs one.
pub fn read_feature(feature: Option<FeatureArg>, table: Option<&Path>) -> Result<Feature> {
    let feature = match feature.unwrap_or(FeatureArg::Fourier) {
        FeatureArg::Fourier => Feature::Fourier,
        FeatureArg::OneBit => Feature::OneBit,
        FeatureArg::Sawtooth => Feature::Sawtooth,
        FeatureArg::Cosine => Feature::Cosine,
        FeatureArg::Quadratic => Feature::Quadratic { complex: false },
        FeatureArg::Nystrom => Feature::Nystrom,
        FeatureArg::Conv => bail!("--feature conv is for classes of images; it has no use here"),
        FeatureArg::Periodic => {
            let path = table
                .context("--feature periodic needs --table FILE: a JSON array of the values of one period")?;
            return Ok(Feature::Periodic { table: read_table(path)? });
        }
    };
    if table.is_some() {
        bail!("--table goes with --feature periodic");
    }
    Ok(feature)
}

fn read_table(path: &Path) -> Result<Vec<f64>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a JSON array of numbers", path.display()))
}

/// The declared box, if all columns have one.
fn bounds(declared: &[String], columns: &[String]) -> Result<Option<Bounds>> {
    if declared.is_empty() {
        return Ok(None);
    }
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; columns.len()];
    for text in declared {
        let (name, range) = match text.rsplit_once('=') {
            Some((name, range)) => (Some(name), range),
            None => (None, text.as_str()),
        };
        let numbers = range.split_once(':').and_then(|(l, h)| Some((l.parse().ok()?, h.parse().ok()?)));
        let pair: (f64, f64) =
            numbers.with_context(|| format!("--bounds {text}: give LOW:HIGH or COLUMN=LOW:HIGH"))?;
        match name {
            None => ranges.fill(Some(pair)),
            Some(name) => {
                let column = columns.iter().position(|c| c == name);
                ranges[column.with_context(|| format!("--bounds {text}: there is no column `{name}`"))?] =
                    Some(pair);
            }
        }
    }
    if let Some(missing) = ranges.iter().position(Option::is_none) {
        bail!("--bounds are missing for column `{}`; give LOW:HIGH for all columns first", columns[missing]);
    }
    let (low, high) = ranges.into_iter().flatten().unzip();
    Ok(Some(Bounds { low, high }))
}

/// Why the recipe is what it is.
fn reason(recipe: &RecipeArgs, purpose: Purpose, spec: &SketchSpec, pilot_rows: usize) -> String {
    let Purpose { task, k } = purpose;
    let sample = format!("recipe chosen on a sample of {}", count(pilot_rows as u64, "row"));
    if recipe.size.is_some() || spec.feature.image().is_some() {
        return sample;
    }
    if task == Task::Generate {
        return format!("{sample}; size for --task generate; change with --size");
    }
    let parameters = task.parameters(k, spec.dim());
    format!(
        "{sample}; size for --task {} -k {k} ({} parameters); change with --task, -k or --size",
        task.name(),
        output::thousands(parameters as u64),
    )
}

/// A remark on standard error.
pub fn note(quiet: bool, text: &str) {
    if !quiet {
        eprintln!("note: {text}");
    }
}
