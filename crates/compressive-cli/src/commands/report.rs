//! `report`: sketches and a model as one page.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::learn::Candidate;
use compressive::model::Model;
use compressive::privacy::AnySketch;
use compressive::{Moments, SketchOperator};
use compressive_io::{Dataset, ReadOptions, write_atomic};
use compressive_report::{Material, page, picture, sweep};
use serde_json::json;

use super::combine::{Named, add};
use super::cube::Slice;
use super::inspect::is_model;
use super::{check_output, read, read_any_sketch, read_model};
use crate::args::ReportArgs;
use crate::output::{self, bytes, count};
use crate::words::Flags;

/// Rows of the sample that are drawn.
const SAMPLE: usize = 1500;

/// Writes the page.
pub fn run(args: &ReportArgs) -> Result<()> {
    check_output(&args.output)?;
    let (series, models) = read_all(args)?;
    let model = models.first();
    let Some((first, _)) = series.first() else {
        bail!("no sketch among {}; a report needs the sketch that the model was learned from", names(args));
    };
    let total = add(&series).with_context(|| format!("cannot add {}", names(args)))?;
    let operator = total.spec().clone().build()?;
    if let Some(model) = model {
        check_columns(model, &total, first)?;
    }
    let sample = sample(args, &total)?;
    let moments = total.moments().with_context(|| first.clone())?;
    let candidates = match model {
        Some(model) => swept(args, &operator, &moments, model),
        None => Vec::new(),
    };
    let stems: Vec<Named> =
        series.into_iter().map(|(name, sketch)| (stem(Path::new(&name)), sketch)).collect();
    let title = args.title.clone().unwrap_or_else(|| title(&stems, model));
    let size = match &total {
        AnySketch::Plain(sketch) => sketch.to_bytes().len(),
        AnySketch::Private(sketch) => sketch.to_bytes().len(),
    };
    let material = Material {
        title: &title,
        operator: &operator,
        total: &total,
        bytes: size,
        series: &stems,
        model,
        candidates: &candidates,
        sample: sample.as_deref(),
        commands: &commands(args, model),
        vocabulary: &Flags,
    };
    let (text, what) = if is_picture(&args.output) {
        let found = picture(&material)?;
        (found.context("there is nothing to draw: give a model, or two sketches and more")?, "picture")
    } else {
        (page(&material)?, "file")
    };
    write_atomic(&args.output, text.as_bytes())?;
    if args.json {
        return output::print_json(
            &json!({ "output": args.output, "bytes": text.len(), "sketches": stems.len(), "candidates": candidates }),
        );
    }
    output::say(&format!(
        "{}: {}, one {what} of {}; open it in a browser\n",
        args.output.display(),
        count(stems.len() as u64, "sketch"),
        bytes(text.len() as u64)
    ))
}

/// Whether a picture is wanted rather than a page.
fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"))
}

/// The sketches with their paths, and the models.
fn read_all(args: &ReportArgs) -> Result<(Vec<Named>, Vec<Model>)> {
    let (mut series, mut models) = (Vec::new(), Vec::new());
    for path in &args.files {
        if let Some(slice) = Slice::named(path)? {
            series.extend(slice.series()?);
        } else if !path.is_dir() && is_model(&read(path)?) {
            models.push(read_model(path)?);
        } else {
            series.push((path.display().to_string(), read_any_sketch(path)?));
        }
    }
    if models.len() > 1 {
        bail!("{} models are given; a report shows one", models.len());
    }
    Ok((series, models))
}

fn names(args: &ReportArgs) -> String {
    args.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn check_columns(model: &Model, sketch: &AnySketch, path: &str) -> Result<()> {
    if model.columns != sketch.spec().columns {
        bail!(
            "the model has the columns {}, and {path} has {}: they do not belong together",
            model.columns.join(", "),
            sketch.spec().columns.join(", ")
        );
    }
    Ok(())
}

fn title(series: &[Named], model: Option<&Model>) -> String {
    let sketches = match series {
        [(one, _)] => one.clone(),
        [(first, _), .., (last, _)] => format!("{first} to {last}"),
        [] => String::new(),
    };
    match model {
        Some(model) => format!("{}: {}", sketches, compressive_report::text::named(model)),
        None => sketches,
    }
}

/// Some rows of the columns that were sketched.
fn sample(args: &ReportArgs, sketch: &AnySketch) -> Result<Option<Vec<f64>>> {
    if args.data.is_empty() {
        return Ok(None);
    }
    let options = ReadOptions::of(sketch.spec().table_columns());
    Ok(Some(Dataset::open(&args.data, &options)?.pilot(SAMPLE, 0)?.rows))
}

/// The fit for other numbers of components, where it is wanted.
fn swept(args: &ReportArgs, operator: &SketchOperator, moments: &Moments, model: &Model) -> Vec<Candidate> {
    if is_picture(&args.output) || !args.sweep.unwrap_or_else(|| sweep::is_quick(model, operator)) {
        return Vec::new();
    }
    let bar = output::spinner("learning for other numbers of components", args.quiet);
    let found = sweep::sweep(operator, moments, model, args.threads.count());
    bar.finish_and_clear();
    found
}

/// How to get here, as far as the files tell.
fn commands(args: &ReportArgs, model: Option<&Model>) -> Vec<String> {
    let quoted = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let files: Vec<String> = args.files.iter().map(|path| quoted(&path.display().to_string())).collect();
    let mut all =
        vec!["compressive sketch DATA -o NAME.sketch --spec SPEC    # SPEC: the recipe below".to_owned()];
    if let Some(origin) = model.and_then(|model| model.origin.as_ref()) {
        let covariance = if origin.covariance == "none" {
            String::new()
        } else {
            format!(" --covariance {}", origin.covariance)
        };
        let (task, k) = model.map_or(("kmeans", 0), |model| (model.task(), model.k));
        let k = if task == "generate" { String::new() } else { format!(" -k {k}") };
        all.push(format!(
            "compressive fit NAME.sketch --task {task}{k}{covariance} --decoder {} --seed {} -o MODEL.json",
            origin.decoder, origin.seed
        ));
    }
    let mut words = vec!["compressive report".to_owned()];
    words.extend(files);
    words
        .extend((!args.data.is_empty()).then(|| {
            format!("--data {}", args.data.iter().map(|d| quoted(d)).collect::<Vec<_>>().join(" "))
        }));
    words.extend(args.title.as_ref().map(|title| format!("--title {}", quoted(title))));
    words.extend(args.sweep.map(|sweep| format!("--sweep {sweep}")));
    words.push(format!("-o {}", quoted(&args.output.display().to_string())));
    all.push(words.join(" "));
    all
}
