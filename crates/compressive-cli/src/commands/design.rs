//! `design`: from a pilot sample to a spec; also the first half of `sketch`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::design::{DesignParams, Task, design};
use compressive::{Bounds, Feature, SketchSpec};
use compressive_io::{Dataset, ReadOptions, write_atomic};
use serde_json::json;

use crate::args::{DataArgs, DesignArgs, FeatureArg, RecipeArgs};
use crate::output::{self, count, number};

/// Rows of the pilot unless the user says otherwise.
const PILOT_ROWS: usize = 10_000;

/// Writes a spec designed on a sample of the data.
pub fn run(args: &DesignArgs) -> Result<()> {
    let mut dataset = open(&args.data, args.data.columns.clone(), ReadOptions::default())?;
    let (spec, pilot_rows) = design_on(&mut dataset, &args.recipe)?;
    write_atomic(&args.output, format!("{}\n", spec.to_json_pretty()).as_bytes())?;
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "fingerprint": spec.fingerprint(), "columns": spec.columns, "law": spec.law.name(),
            "scale": spec.scale, "size": spec.size, "feature": spec.feature.name(), "structured": spec.structured,
            "pilot_rows": pilot_rows,
        }));
    }
    let lines = format!("{}: {}\n", args.output.display(), describe(&spec));
    output::print(&lines)?;
    note(args.data.quiet, &reason(&args.recipe, &spec, pilot_rows));
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

/// Designs a spec on a pilot sample of the data.
pub fn design_on(dataset: &mut Dataset, recipe: &RecipeArgs) -> Result<(SketchSpec, usize)> {
    let seed = recipe.seed.unwrap_or(0);
    let pilot = dataset.pilot(recipe.pilot.unwrap_or(PILOT_ROWS).max(2), seed)?;
    let defaults = DesignParams::default();
    let params = DesignParams {
        task: recipe.task.map_or(defaults.task, Task::from),
        k: recipe.k.unwrap_or(defaults.k),
        size: recipe.size,
        law: recipe.law.unwrap_or(defaults.law),
        scale: recipe.scale.unwrap_or(defaults.scale),
        feature: feature(recipe)?,
        dither: recipe.dither,
        whiten: recipe.whiten,
        structured: recipe.structured,
        bounds: bounds(&recipe.bounds, &pilot.columns)?,
        seed,
    };
    Ok((design(&pilot.rows, &pilot.columns, &params)?, pilot.n_rows))
}

fn feature(recipe: &RecipeArgs) -> Result<Feature> {
    let feature = match recipe.feature.unwrap_or(FeatureArg::Fourier) {
        FeatureArg::Fourier => Feature::Fourier,
        FeatureArg::OneBit => Feature::OneBit,
        FeatureArg::Sawtooth => Feature::Sawtooth,
        FeatureArg::Cosine => Feature::Cosine,
        FeatureArg::Periodic => {
            let path = recipe
                .table
                .as_deref()
                .context("--feature periodic needs --table FILE: a JSON array of the values of one period")?;
            return Ok(Feature::Periodic { table: read_table(path)? });
        }
    };
    if recipe.table.is_some() {
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

/// The recipe in one line.
pub fn describe(spec: &SketchSpec) -> String {
    format!(
        "{} of {} frequencies over {}, law {}, scale {}{}",
        spec.feature.name(),
        output::thousands(spec.size as u64),
        count(spec.dim() as u64, "column"),
        spec.law.name(),
        number(spec.scale),
        if spec.structured { ", structured" } else { "" },
    )
}

/// Why the recipe is what it is.
pub fn reason(recipe: &RecipeArgs, spec: &SketchSpec, pilot_rows: usize) -> String {
    let defaults = DesignParams::default();
    let task = recipe.task.map_or(defaults.task, Task::from);
    let k = recipe.k.unwrap_or(defaults.k);
    let sample = format!("recipe chosen on a sample of {}", count(pilot_rows as u64, "row"));
    if recipe.size.is_some() {
        return sample;
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
