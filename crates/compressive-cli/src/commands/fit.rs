//! `fit`: from a sketch to a model.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive::design::Task;
use compressive::learn::{Budget, Components, CovarianceKind, Decoder, LearnParams, Learned, Start, learn};
use compressive::{Moments, Named, SketchOperator, SketchSpec};
use compressive_io::{Dataset, ReadOptions};

use super::classify;
use compressive::design::PILOT_ROWS;

use super::design::note;
use super::{check_output, generator, missing_k, read_any_sketch, wrong_usage};
use crate::args::{CovarianceArg, FitArgs, KArg, LearnArgs, StartArg};
use crate::interrupt;
use crate::output;
use crate::words::Flags;
use compressive_report::text as report;

/// Learns from a sketch.
pub fn run(args: &FitArgs) -> Result<()> {
    let task = args.task;
    if args.learn.seconds.is_some() && matches!(task, Task::Classify | Task::Generate) {
        wrong_usage("--seconds goes with --task kmeans, kmedians, gmm and stable");
    }
    if task == Task::Classify {
        return classify::fit(args);
    }
    if args.rule.method.is_some() || args.rule.priors.is_some() {
        wrong_usage("--method and --priors go with --task classify");
    }
    if args.covariance.is_some() && (task.is_clustering() || task == Task::Generate) {
        wrong_usage("--covariance goes with --task gmm and --task stable");
    }
    let [path] = &args.sketches[..] else {
        wrong_usage("several sketches go with --task classify; merge them first, or fit them one by one");
    };
    if task == Task::Generate {
        return generator::fit(args, path);
    }
    if args.generator.any() {
        wrong_usage("--layers, --latent, --steps, --batch, --rate and --activation go with --task generate");
    }
    let Some(k) = args.k else { missing_k() };
    check_k(k)?;
    check_components(task, k, &args.learn)?;
    if let Some(output) = &args.output {
        check_output(output)?;
    }
    let sketch = read_any_sketch(path)?;
    let operator = sketch.spec().clone().build()?;
    let learning = Learning {
        params: LearnParams::new(task, components(k, task, sketch.spec(), args.quiet))
            .decoder(args.learn.decoder)
            .covariance(covariance(args.covariance.as_ref())?)
            .restarts(args.learn.restarts)
            .start(start_rows(args, sketch.spec())?)
            .seed(args.seed.seed)
            .threads(args.threads.count()),
        seconds: args.learn.seconds,
        quiet: args.quiet,
    };
    let found = sketch.moments().map_err(anyhow::Error::from);
    let found = found.and_then(|moments| learning.run(&operator, &moments));
    let found = found.with_context(|| path.display().to_string())?;
    found.finish(&operator, "", args.output.as_deref(), args.json)
}

/// A search to be made.
pub struct Learning {
    pub params: LearnParams,
    /// The time after which the best model so far is taken.
    pub seconds: Option<f64>,
    pub quiet: bool,
}

/// What a search found, and when.
pub struct Found {
    pub learned: Learned,
    pub elapsed: Duration,
}

impl Learning {
    /// Learns, with a sign of life on terminals. Ctrl-C ends the search with the best model so far.
    pub fn run(&self, operator: &SketchOperator, moments: &Moments) -> Result<Found> {
        let bar = output::spinner("learning", self.quiet);
        let start = Instant::now();
        let deadline = self.seconds.map(|seconds| start + Duration::from_secs_f64(seconds));
        let learned = interrupt::watched(|wanted| {
            let late = move || deadline.is_some_and(|end| Instant::now() >= end);
            let budget = Budget::new(move || wanted.load(Ordering::Relaxed) || late());
            learn(operator, moments, &self.params.clone().budget(budget))
        })?;
        let elapsed = start.elapsed();
        bar.finish_and_clear();
        Ok(Found { learned: learned?, elapsed })
    }
}

impl Found {
    /// Writes the model and prints what was learned, after `before`.
    pub fn finish(
        &self,
        operator: &SketchOperator,
        before: &str,
        path: Option<&Path>,
        json: bool,
    ) -> Result<()> {
        let model = &self.learned.model;
        if let Some(path) = path {
            output::write_result(path, format!("{}\n", model.to_json()).as_bytes())?;
        }
        if json {
            let mut value = serde_json::to_value(model)?;
            value["seconds"] = self.elapsed.as_secs_f64().into();
            value["candidates"] = serde_json::to_value(&self.learned.candidates)?;
            return output::print_json(&value);
        }
        let mut text = before.to_owned() + &report::learned(operator, &self.learned, self.elapsed, &Flags);
        let Some(path) = path else { return output::print(&text) };
        if !output::is_standard(path) {
            text.push_str(&format!("{}: the model\n", path.display()));
        }
        output::say(&text)
    }
}

/// Refuses impossible numbers of components before any work.
pub fn check_k(k: KArg) -> Result<()> {
    match k {
        KArg::Exactly(0) => bail!("-k 0: 0 components cannot be learned; ask for 1 or more"),
        KArg::Between(low, high) if low == 0 || high < low => {
            bail!("-k {low}:{high}: the range is empty; give LOW:HIGH with 1 <= LOW <= HIGH")
        }
        _ => Ok(()),
    }
}

/// Refuses what is for searches among mixtures when principal components are asked for.
pub fn check_components(task: Task, k: KArg, learn: &LearnArgs) -> Result<()> {
    if task != Task::Pca {
        return Ok(());
    }
    if !matches!(k, KArg::Exactly(_)) {
        bail!(
            "-k: principal components need a number; choose a generous one: their explained variances show how many are worth keeping"
        );
    }
    if learn.seconds.is_some() {
        bail!("--seconds: principal components are found at once; leave it out");
    }
    if learn.restarts.is_some() {
        bail!("--restarts: principal components are found without restarts; leave it out");
    }
    Ok(())
}

/// The numbers of components meant by `-k`; `auto` stops where the sketch could not carry more.
pub fn components(k: KArg, task: Task, spec: &SketchSpec, quiet: bool) -> Components {
    match k {
        KArg::Exactly(k) => Components::Exactly(k),
        KArg::Between(low, high) => Components::Between(low, high),
        KArg::Auto => {
            let range = Components::auto(task, spec);
            if let Components::Between(_, most) = range {
                note(quiet, &format!("-k auto looks for 1 to {most} components; change with -k LOW:HIGH"));
            }
            range
        }
    }
}

/// The kind of covariance, with the known one read from its file.
pub fn covariance(arg: Option<&CovarianceArg>) -> Result<CovarianceKind> {
    Ok(match arg {
        None | Some(CovarianceArg::Diag) => CovarianceKind::Diag,
        Some(CovarianceArg::Iso) => CovarianceKind::Iso,
        Some(CovarianceArg::Full) => CovarianceKind::Full,
        Some(CovarianceArg::Known(path)) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let matrix = serde_json::from_str(&text).with_context(|| {
                format!("{} is not a JSON matrix: give d rows of d numbers, [[..], ..]", path.display())
            })?;
            CovarianceKind::Known(matrix)
        }
    })
}

/// The starting rows of a search, from values in the table's units.
pub fn start_from(start: StartArg, rows: Vec<f64>) -> Start {
    match start {
        StartArg::Range => Start::Range,
        StartArg::Sample => Start::Sample(rows),
        StartArg::Plusplus => Start::PlusPlus(rows),
    }
}

/// Ends the program if the decoder could not use starting rows.
pub fn check_start(learn: &LearnArgs) {
    if learn.start != StartArg::Range && !learn.decoder.starts_at_rows() {
        let can = Decoder::ALL.iter().filter(|decoder| decoder.starts_at_rows());
        let names: Vec<&str> = can.map(|decoder| decoder.name()).collect();
        wrong_usage(&format!("--start sample and plusplus go with --decoder {}", names.join(", ")));
    }
}

fn start_rows(args: &FitArgs, spec: &SketchSpec) -> Result<Start> {
    check_start(&args.learn);
    if args.learn.start == StartArg::Range {
        return Ok(Start::Range);
    }
    if args.pilot.is_empty() {
        bail!("--start sample and plusplus need rows: name a table with --pilot DATA");
    }
    let options = ReadOptions { skip_bad_rows: true, ..ReadOptions::of(spec.table_columns()) };
    let pilot = Dataset::open(&args.pilot, &options)?.pilot(PILOT_ROWS, args.seed.seed)?;
    Ok(start_from(args.learn.start, pilot.rows))
}
