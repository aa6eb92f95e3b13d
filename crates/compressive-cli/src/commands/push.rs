//! `push`: the rows of a table to a collector.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive::SketchSpec;
use compressive::privacy::LocalResponse;
use compressive_client::{Client, Place, PushParams, Rows, Run, check_name, kind, push};
use compressive_io::{Dataset, ReadOptions};
use serde_json::json;

use super::design::{Way, find_recipe, job, note, open, open_job, request, tell_reasons};
use super::sketch::with_progress;
use super::{read_spec, reading_of};
use crate::args::{EveryArg, PushArgs};
use crate::output::{self, count, seconds};

/// Sends all rows, and what waits from an earlier run.
pub fn run(args: &PushArgs) -> Result<()> {
    check_name(&args.stream)?;
    if args.run.is_none() && args.data.data.iter().any(|input| input == "-") {
        bail!(
            "rows from standard input cannot be recognised later: name them with --run NAME, and use the name again for the same rows only"
        );
    }
    let token = token(args)?;
    let client = Client::new(&args.to, token.as_deref(), args.certificate.as_deref())?;
    let (spec, opened) = spec(args, &client)?;
    let operator = spec.build()?;
    let local = args.local_epsilon.map(|epsilon| LocalResponse::new(operator.spec(), epsilon)).transpose()?;
    let mut dataset = match opened {
        Some(dataset) => dataset,
        None => open(&args.data, Some(operator.spec().table_columns()), reading_of(operator.spec()))?,
    };
    let place =
        Place { stream: &args.stream, bucket: args.bucket.as_deref(), fingerprint: operator.fingerprint() };
    let params = PushParams {
        batch_rows: args.batch,
        connections: args.connections,
        patience: Duration::from_secs(args.patience as u64),
        place,
        local: local.as_ref(),
    };
    let mut spool = Run::new(&args.to, &params, &rows(args, &dataset)).spool(&args.spool, args.again)?;
    let finished = spool.is_finished()?;
    if spool.rows() > 0 && !finished {
        note(args.data.quiet, &format!("going on after {} of an earlier run", count(spool.rows(), "row")));
    }
    let start = Instant::now();
    let mut outcome = None;
    with_progress(&mut dataset, args.threads.count(), args.data.quiet, |dataset, options| {
        let mut rows = dataset.source()?;
        outcome = Some(push(&client, &operator, Some(&mut rows), &mut spool, &params, options));
        Ok(())
    })?;
    let pushed = outcome.context("nothing was pushed")??;
    if finished && pushed.batches == 0 {
        bail!(
            "these rows were pushed to `{}` before, and all of them were acknowledged; --again counts them once more",
            args.stream
        );
    }
    let elapsed = start.elapsed();
    if args.json {
        return output::print_json(&json!({
            "stream": args.stream, "rows": pushed.rows, "batches": pushed.batches, "repeated": pushed.repeated,
            "as": kind(&operator, local.is_some()).media_type(), "seconds": elapsed.as_secs_f64(),
        }));
    }
    if let Some(local) = &local {
        note(
            args.data.quiet,
            &format!(
                "each reading reported {} of its {} bits, randomised: epsilon {} a reading, and nobody has to be trusted with more",
                local.entries(),
                output::thousands(operator.sketch_len() as u64),
                local.epsilon()
            ),
        );
    }
    let rate = pushed.rows as f64 / elapsed.as_secs_f64().max(1e-9);
    output::print(&format!(
        "{}: {} in {} acknowledged in {} ({} rows/s)\n",
        args.stream,
        count(pushed.rows, "row"),
        count(pushed.batches, "batch"),
        seconds(elapsed),
        output::thousands(rate as u64),
    ))
}

/// The stream's spec: the user's, the collector's, or one designed here for a stream that is made, with the
/// data that it was designed on.
fn spec(args: &PushArgs, client: &Client) -> Result<(SketchSpec, Option<Dataset>)> {
    if let Some(path) = &args.spec {
        let spec = read_spec(path)?;
        if let Some(every) = args.make {
            make(args, client, &spec, every)?;
        }
        return Ok((spec, None));
    }
    if let Some(spec) = client.find_spec(&args.stream)? {
        let found = spec.map.name();
        if args.recipe.feature.is_some_and(|wanted| wanted != found) {
            bail!(
                "the stream `{}` exists, with the feature {found}; leave --feature out, or name another stream",
                args.stream
            );
        }
        return Ok((spec, None));
    }
    let Some(every) = args.make else {
        bail!("there is no stream `{}` at {}; an admin can create it with --make", args.stream, args.to);
    };
    if args.local_epsilon.is_some() && args.recipe.private != Some(0.0) {
        bail!(
            "a recipe designed on rows reveals something about them, and these are to stay private: give --spec with one made on public rows, or --private 0 and --bounds, which look at none"
        );
    }
    let request = request(&args.purpose, &args.recipe, args.seed.seed)?;
    let mut job = job(&args.data, &args.recipe, request, ReadOptions::default());
    let mut dataset = open_job(&job, args.data.quiet)?;
    let (threads, quiet) = (args.threads.count(), args.data.quiet);
    let way = Way { output: None, threads, quiet, max_groups: 1, again: true };
    let found = find_recipe(&mut job, &mut dataset, &args.recipe, way)?;
    tell_reasons(args.data.quiet, &found.reasons);
    make(args, client, &found.spec, every)?;
    Ok((found.spec, Some(dataset)))
}

fn make(args: &PushArgs, client: &Client, spec: &SketchSpec, every: EveryArg) -> Result<()> {
    if client.make_stream(&args.stream, spec, every.name(), args.local_epsilon)? {
        note(
            args.data.quiet,
            &format!("made the stream `{}`, with a bucket each {}", args.stream, every.name()),
        );
    }
    Ok(())
}

/// What a later run knows the rows by.
fn rows(args: &PushArgs, dataset: &Dataset) -> Rows {
    match &args.run {
        Some(name) => Rows::Named(name.clone()),
        None => Rows::Files(dataset.paths().map(str::to_owned).collect()),
    }
}

/// The token, from a file or the environment: never from the command line, which others can see.
fn token(args: &PushArgs) -> Result<Option<String>> {
    let text = match &args.token {
        Some(path) => {
            Some(std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?)
        }
        None => std::env::var("COMPRESSIVE_TOKEN").ok(),
    };
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}
