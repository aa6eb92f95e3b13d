//! `report`: sketches and a model as one page.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::design::Task;
use compressive::learn::{Candidate, CovarianceKind, LearnParams, learn};
use compressive::model::{Content, Covariances, Model};
use compressive::privacy::AnySketch;
use compressive::{Moments, SketchOperator};
use compressive_io::{Dataset, ReadOptions, write_atomic};
use compressive_report::{Material, page};
use serde_json::json;

use super::combine::{Named, add};
use super::inspect::is_model;
use super::{check_output, read, read_any_sketch, read_model};
use crate::args::ReportArgs;
use crate::output::{self, bytes, count};
use crate::words::Flags;

/// Rows of the sample that are drawn.
const SAMPLE: usize = 1500;
/// Components times frequencies times columns up to which the fit for other numbers of components takes
/// seconds.
const QUICK: usize = 300_000;

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
        Some(model) if wants_sweep(args, model, &operator) => sweep(args, &operator, &moments, model),
        _ => Vec::new(),
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
    let html = page(&material)?;
    write_atomic(&args.output, html.as_bytes())?;
    if args.json {
        return output::print_json(
            &json!({ "output": args.output, "bytes": html.len(), "sketches": stems.len(), "candidates": candidates }),
        );
    }
    output::print(&format!(
        "{}: {}, one file of {}; open it in a browser\n",
        args.output.display(),
        count(stems.len() as u64, "sketch"),
        bytes(html.len() as u64)
    ))
}

/// The sketches with their paths, and the models.
fn read_all(args: &ReportArgs) -> Result<(Vec<Named>, Vec<Model>)> {
    let (mut series, mut models) = (Vec::new(), Vec::new());
    for path in &args.files {
        if !path.is_dir() && is_model(&read(path)?) {
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

fn wants_sweep(args: &ReportArgs, model: &Model, operator: &SketchOperator) -> bool {
    let mixture =
        matches!(model.content, Content::Kmeans { .. } | Content::Kmedians { .. } | Content::Gmm { .. });
    let work = model.k * operator.spec().size * operator.dim();
    mixture && args.sweep.unwrap_or(work <= QUICK)
}

/// The fit for some numbers of components around the model's own.
fn sweep(args: &ReportArgs, operator: &SketchOperator, moments: &Moments, model: &Model) -> Vec<Candidate> {
    let k = model.k;
    let mut all =
        vec![1, k / 4, k / 2, 3 * k / 4, k.saturating_sub(1), k, k + 1, k + k.div_ceil(4), k + k.div_ceil(2)];
    all.retain(|&k| k > 0);
    all.sort_unstable();
    all.dedup();
    let (task, covariance) = match &model.content {
        Content::Gmm { covariances: Covariances::Full(_), .. } => (Task::Gmm, CovarianceKind::Full),
        Content::Gmm { .. } => (Task::Gmm, CovarianceKind::Diag),
        Content::Kmedians { .. } => (Task::Kmedians, CovarianceKind::Diag),
        _ => (Task::Kmeans, CovarianceKind::Diag),
    };
    let bar = output::spinner("learning for other numbers of components", args.quiet);
    let one = |k: usize| {
        let params = LearnParams::new(task, k).covariance(covariance.clone()).threads(args.threads.count());
        // A number of components that the sketch cannot carry is left out of the picture.
        learn(operator, moments, &params).ok().and_then(|learned| learned.candidates.into_iter().next())
    };
    let found = all.into_iter().filter_map(one).collect();
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
