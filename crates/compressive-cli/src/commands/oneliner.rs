//! `kmeans`, `gmm` and `pca`: recipe, one pass and fit in one go.

use anyhow::{Context, Result, bail};
use compressive::design::{Request, Task};
use compressive::learn::{AUTO_MOST, Decoder, LearnParams, improve};
use compressive_io::ReadOptions;

use super::design::{job, open_job, request_for, tell_reasons};
use super::fit::{Learning, check_components, check_k, check_start, components, covariance, start_from};
use super::sketch::{Done, Order};
use super::{check_output, wrong_usage};
use crate::args::{CovarianceArg, GmmArgs, KArg, KmeansArgs, OneLinerArgs, PcaArgs, StartArg};
use crate::output;

/// Clusters a table.
pub fn kmeans(args: &KmeansArgs) -> Result<()> {
    run(Task::Kmeans, &args.common, None)
}

/// Models a table as a mixture of Gaussians.
pub fn gmm(args: &GmmArgs) -> Result<()> {
    run(Task::Gmm, &args.common, args.covariance.as_ref())
}

/// Finds the principal components of a table.
pub fn pca(args: &PcaArgs) -> Result<()> {
    run(Task::Pca, &args.common, None)
}

fn run(task: Task, args: &OneLinerArgs, shape: Option<&CovarianceArg>) -> Result<()> {
    check_start(&args.learn);
    if args.recipe.private.is_some() {
        wrong_usage(
            "--private is for `design` and `sketch`: here the model would be learned from exact sums and would not be private; use design, sketch, privatize, fit",
        );
    }
    if let Some(sketch) = args.data.data.iter().find(|input| input.ends_with(".sketch")) {
        bail!(
            "{sketch} is a sketch, whose rows are summed already; learn from it: compressive fit {sketch} --task {task} -k K"
        );
    }
    check_k(args.k)?;
    check_components(task, args.k, &args.learn)?;
    for path in args.output.iter().chain(&args.keep) {
        check_output(path)?;
    }
    let shape = covariance(shape)?;
    let done = sketch(task, args)?;
    let sketch = done.outcome.sketches.values().next().context("no sketch was made")?;
    if let Some(path) = &args.keep {
        output::write_result(path, &sketch.to_bytes())?;
    }
    let quiet = args.data.quiet;
    done.tell_skipped(quiet);
    tell_reasons(quiet || args.json, &done.reasons);
    let learning = Learning {
        params: LearnParams::new(task, components(args.k, task, sketch.spec(), quiet))
            .decoder(args.learn.decoder)
            .covariance(shape)
            .restarts(args.learn.restarts)
            .start(start_from(args.learn.start, start_rows(args, &done)?))
            .seed(args.seed.seed)
            .threads(args.pass.threads.count()),
        seconds: args.learn.seconds,
        quiet,
    };
    let moments = sketch.moments()?;
    let mut found = learning.run(&done.operator, &moments)?;
    // A published decoder is asked for by those who want to see what it finds.
    if let (Some(pilot), Decoder::Auto, None) = (&done.pilot, args.learn.decoder, &args.pass.weights) {
        found.learned = improve(&done.operator, &moments, found.learned, &pilot.rows)?;
    }
    found.finish(&done.operator, &done.summary(), args.output.as_deref(), args.json)
}

/// One pass, with a recipe for the largest number of components wanted.
fn sketch(task: Task, args: &OneLinerArgs) -> Result<Done> {
    let k = match args.k {
        KArg::Exactly(k) => k,
        KArg::Between(_, high) => high,
        KArg::Auto => AUTO_MOST,
    };
    let mut request = request_for(task, Some(k), &args.recipe, args.seed.seed)?;
    if args.learn.decoder.reads_directions() {
        request = request.moments(false);
    }
    let order = Order {
        data: &args.data,
        recipe: &args.recipe,
        request,
        pass: &args.pass,
        spec: args.spec.as_deref(),
        output: None,
        by: None,
        max_groups: 1,
    };
    order.run()
}

/// Rows to start searches from: those that the recipe was chosen on.
fn start_rows(args: &OneLinerArgs, done: &Done) -> Result<Vec<f64>> {
    if args.learn.start == StartArg::Range {
        return Ok(Vec::new());
    }
    match &done.pilot {
        Some(pilot) => Ok(pilot.rows.clone()),
        None => {
            let request = Request::default().seed(args.seed.seed);
            let mut job = job(&args.data, &args.recipe, request, ReadOptions::default());
            job.spec = Some(done.operator.spec().clone());
            Ok(job.pilot(&mut open_job(&job, args.data.quiet)?)?.rows)
        }
    }
}
