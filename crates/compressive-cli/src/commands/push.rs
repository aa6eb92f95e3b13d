//! `push`: the rows of a table to a collector.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive_collector::{Client, Place, PushParams, Spool, check_name, kind, push};
use compressive_io::ReadOptions;
use serde_json::json;

use super::design::{note, open};
use super::read_spec;
use super::sketch::with_progress;
use crate::args::PushArgs;
use crate::output::{self, count, seconds};

/// Sends all rows, and what waits from an earlier run.
pub fn run(args: &PushArgs) -> Result<()> {
    check_name(&args.stream)?;
    let token = token(args)?;
    let client = Client::new(&args.to, token.as_deref(), args.certificate.as_deref())?;
    let spec = match &args.spec {
        Some(path) => read_spec(path)?,
        None => client.spec(&args.stream)?,
    };
    let operator = spec.build()?;
    let columns = operator.spec().columns.clone();
    let mut dataset = open(&args.data, Some(columns), ReadOptions::default())?;
    let purpose = purpose(args, operator.fingerprint());
    let folder = args.spool.join(&compressive_collector::digest(&purpose)[..16]);
    if args.again && Spool::open(&folder, &purpose)?.is_finished()? {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot delete {}", folder.display()))?;
    }
    let mut spool = Spool::open(&folder, &purpose)?;
    if spool.is_finished()? {
        bail!(
            "these rows were pushed to `{}` before, and all of them were acknowledged; --again counts them once more",
            args.stream
        );
    }
    if spool.rows() > 0 {
        note(args.data.quiet, &format!("going on after {} of an earlier run", count(spool.rows(), "row")));
    }
    let place =
        Place { stream: &args.stream, bucket: args.bucket.as_deref(), fingerprint: operator.fingerprint() };
    let params = PushParams {
        batch_rows: args.batch,
        connections: args.connections,
        patience: Duration::from_secs(args.patience as u64),
        place,
    };
    let start = Instant::now();
    let mut outcome = None;
    with_progress(&mut dataset, args.threads.count(), args.data.quiet, |dataset, options| {
        outcome = Some(push(&client, &operator, Some(dataset), &mut spool, &params, options));
        Ok(())
    })?;
    let pushed = outcome.context("nothing was pushed")??;
    let elapsed = start.elapsed();
    if args.json {
        return output::print_json(&json!({
            "stream": args.stream, "rows": pushed.rows, "batches": pushed.batches, "repeated": pushed.repeated,
            "as": kind(&operator).media_type(), "seconds": elapsed.as_secs_f64(),
        }));
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

/// What a run is for: the same command on the same files takes it up again.
fn purpose(args: &PushArgs, fingerprint: &str) -> String {
    let file = |path: &String| {
        let data = std::fs::metadata(Path::new(path)).ok();
        let changed =
            data.as_ref().and_then(|m| m.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok());
        format!("{path} {} {}", data.map_or(0, |m| m.len()), changed.map_or(0, |d| d.as_nanos()))
    };
    let files: Vec<String> = args.data.data.iter().map(file).collect();
    let bucket = args.bucket.as_deref().unwrap_or("now");
    format!("{} {} {fingerprint} {bucket} {} {}", args.to, args.stream, args.batch, files.join("; "))
}
