//! `design`: from a pilot sample, or from declared bounds, to a spec; also the first half of `sketch`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::design::scale::ScaleRule;
use compressive::design::{Reason, Request, Task};
use compressive::{Bounds, Column};
use compressive_io::{Charge, Dataset, DriveOptions, Job, Ledger, ReadOptions, Recipe};
use serde_json::json;

use super::sketch::with_progress;
use super::wrong_usage;
use crate::args::{DataArgs, DesignArgs, PurposeArgs, RecipeArgs, ThreadArgs};
use crate::{notes, output};
use compressive_report::words::recipe;

/// Writes a spec designed on a sample of the data.
pub fn run(args: &DesignArgs) -> Result<()> {
    let request = request(&args.purpose, &args.recipe, args.seed.seed)?;
    let mut job = job(&args.data, &args.recipe, request, ReadOptions::default());
    let mut dataset = open_job(&job, args.data.quiet)?;
    let way = Way {
        output: Some(&args.output),
        threads: ThreadArgs::default().count(),
        quiet: args.data.quiet,
        max_groups: 1,
        again: false,
    };
    let Recipe { spec, reasons, pilot } = find_recipe(&mut job, &mut dataset, &args.recipe, way)?;
    output::write_result(&args.output, format!("{}\n", spec.to_json_pretty()).as_bytes())?;
    if args.json {
        let reasons: Vec<String> = reasons.iter().map(Reason::to_string).collect();
        return output::print_json(&json!({
            "output": args.output, "fingerprint": spec.fingerprint(), "columns": spec.columns, "law": spec.map.law_name(),
            "scale": spec.scale, "size": spec.size, "feature": spec.map.name(), "structured": spec.map.structured(),
            "pilot_rows": pilot.map(|pilot| pilot.n_rows), "source": spec.source, "reasons": reasons,
        }));
    }
    let lines = format!("{}: {}\n", args.output.display(), recipe(&spec));
    output::say(&lines)?;
    tell_reasons(args.data.quiet, &reasons);
    Ok(())
}

/// How the user's reading flags are meant.
fn read_options(args: &DataArgs, options: ReadOptions) -> ReadOptions {
    let header = if args.no_header {
        Some(false)
    } else if args.header {
        Some(true)
    } else {
        None
    };
    ReadOptions {
        columns: args.columns.clone(),
        exclude: args.exclude.clone(),
        header,
        delimiter: args.delimiter,
        skip_bad_rows: args.skip_bad_rows,
        ..options
    }
}

/// Opens the data with the user's reading flags and says what was left out; with the columns of a recipe or a
/// model, if they are given.
pub fn open(args: &DataArgs, readings: Option<Vec<Column>>, options: ReadOptions) -> Result<Dataset> {
    let options = ReadOptions { readings, ..read_options(args, options) };
    tell_left_out(Dataset::open(&args.data, &options)?, args.quiet)
}

/// Opens the data of a job and says what was left out.
pub fn open_job(job: &Job, quiet: bool) -> Result<Dataset> {
    tell_left_out(job.open()?, quiet)
}

fn tell_left_out(dataset: Dataset, quiet: bool) -> Result<Dataset> {
    dataset.remarks().iter().for_each(|text| note(quiet, text));
    notes::left_out(dataset.left_out(), "").iter().for_each(|text| note(quiet, text));
    Ok(dataset)
}

/// How the rows may be looked at.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// What the recipe is for, if it is known: a file that a ledger can name.
    pub output: Option<&'a Path>,
    pub threads: usize,
    pub quiet: bool,
    /// Most distinct values of a `--by` column.
    pub max_groups: usize,
    /// Whether the rows are needed once more after the look.
    pub again: bool,
}

/// The job that the flags describe.
pub fn job(data: &DataArgs, recipe: &RecipeArgs, request: Request, options: ReadOptions) -> Job {
    Job {
        inputs: data.data.clone(),
        read: ReadOptions {
            leave_out_unfit: true,
            cyclic: recipe.cyclic.clone(),
            ..read_options(data, options)
        },
        request,
        pilot_rows: recipe.pilot,
        private: recipe.private,
        ..Job::default()
    }
}

/// What the flags ask of a recipe, but for the bounds, which need the columns.
pub fn request(purpose: &PurposeArgs, recipe: &RecipeArgs, seed: u64) -> Result<Request> {
    request_for(purpose.task.unwrap_or(Request::default().task), purpose.k, recipe, seed)
}

/// The same for a task that the command knows.
pub fn request_for(task: Task, k: Option<usize>, recipe: &RecipeArgs, seed: u64) -> Result<Request> {
    let named =
        recipe.feature.is_some() || recipe.table.is_some() || recipe.image.is_some() || recipe.complex;
    let table = read_table(recipe.table.as_deref())?;
    let feature = recipe.feature.unwrap_or(task.map()).with(table, recipe.image, recipe.complex);
    let mut request =
        Request::default().task(task).k(k).size(recipe.size).law(recipe.law).scale(recipe.scale);
    request = request.dither(recipe.dither).whiten(recipe.whiten).structured(recipe.structured).seed(seed);
    request = request.scaling(recipe.scaling.unwrap_or_default());
    request = request.moments((recipe.moments || recipe.no_moments).then_some(recipe.moments));
    request = request.missing(recipe.missing).category_weight(recipe.category_weight);
    request = request.outline(recipe.no_outline.then_some(false));
    Ok(if named { request.feature(feature?) } else { request })
}

/// The recipe of a job, given or found on its rows.
pub fn find_recipe(job: &mut Job, dataset: &mut Dataset, asked: &RecipeArgs, way: Way<'_>) -> Result<Recipe> {
    if job.spec.is_none() {
        job.request.bounds = bounds(&asked.bounds, dataset.columns())?;
    }
    match job.private {
        Some(epsilon) => {
            check_private(asked, epsilon);
            let ledger = asked.ledger.as_deref().filter(|_| epsilon > 0.0 && job.spec.is_none());
            let output = way.output.unwrap_or(Path::new(""));
            if let Some(ledger) = ledger {
                Ledger::check(ledger, Charge::Look { epsilon, spec: None }, output)?;
            }
            let recipe = with_progress(dataset, way.threads, way.quiet, |dataset, options| {
                job.recipe(dataset, way.again, &DriveOptions { max_groups: way.max_groups, ..*options })
            })?;
            // What the look has shown is still in here alone; it is paid for before anything is written.
            if let Some(ledger) = ledger {
                Ledger::spend(ledger, Charge::Look { epsilon, spec: Some(&recipe.spec) }, output)?;
            }
            Ok(recipe)
        }
        None => {
            let known = dataset.left_out().len();
            let recipe = job.recipe(dataset, way.again, &DriveOptions::default())?;
            let found =
                notes::left_out(&dataset.left_out()[known..], "; --columns names what to use all the same");
            found.iter().for_each(|text| note(way.quiet, text));
            if job.spec.is_none() {
                notes::readings(&recipe.spec.readings).iter().for_each(|text| note(way.quiet, text));
            }
            Ok(recipe)
        }
    }
}

fn check_private(recipe: &RecipeArgs, epsilon: f64) {
    if let Some(law) = recipe.law.filter(|law| law.looks_at_rows()) {
        wrong_usage(&format!(
            "--law {law} is taken from the rows, which --private rules out; leave --law out"
        ));
    }
    match recipe.scale {
        Some(ScaleRule::Fixed(_)) if epsilon > 0.0 => {
            wrong_usage("--scale NUMBER leaves nothing for --private to pay for; use it with --private 0")
        }
        None | Some(ScaleRule::Fixed(_)) => {}
        Some(_) => wrong_usage(
            "the rules of --scale look at a sample of the rows, which --private rules out; give a number, or leave --scale out",
        ),
    }
}

/// The table of a periodic feature.
pub fn read_table(path: Option<&Path>) -> Result<Option<Vec<f64>>> {
    let Some(path) = path else { return Ok(None) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table = serde_json::from_str(&text);
    table.map(Some).with_context(|| format!("{} is not a JSON array of numbers", path.display()))
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

/// Says why a recipe is what it is, and how to have another.
pub fn tell_reasons(quiet: bool, reasons: &[Reason]) {
    for reason in reasons {
        let remedy = match reason {
            Reason::Size { task: Task::Generate | Task::Drift, .. } => "; change with --size",
            Reason::Size { .. } => "; change with --task, -k or --size",
            Reason::OwnSpreads { .. } => "; --scaling common keeps their proportions",
            Reason::Whitened { asked: false } => "; --scaling columns keeps them",
            Reason::WidthHeld { .. } => "; change with --scale",
            Reason::Bounds { .. } | Reason::PrivateLook { .. } => {
                "; a sketch made with it still has exact sums until `compressive privatize`"
            }
            _ => "",
        };
        note(quiet, &format!("{reason}{remedy}"));
    }
}

/// A remark on standard error.
pub fn note(quiet: bool, text: &str) {
    if !quiet {
        eprintln!("note: {}", output::visible(text));
    }
}
