//! `sketch`: one pass over the data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive::{Backend, Sketch, SketchOperator, SketchSpec};
use compressive_io::{Dataset, DriveOptions, Outcome, ReadOptions, sketch_dataset, write_atomic};
use serde_json::json;

use super::design::{describe, design_on, note, open, reason};
use super::read_spec;
use crate::args::SketchArgs;
use crate::output::{self, bytes, count, seconds};

/// Sketches the data and writes one file, or one for each value of `--by`.
pub fn run(args: &SketchArgs) -> Result<()> {
    check_destination(args)?;
    let given = args.spec.as_deref().map(read_spec).transpose()?;
    let columns = wanted_columns(args, given.as_ref())?;
    let options = ReadOptions {
        by: args.by.clone(),
        weights: args.weights.clone(),
        chunk_rows: args.chunk,
        ..ReadOptions::default()
    };
    let mut dataset = open(&args.data, columns, options)?;
    let (spec, why) = match given {
        Some(spec) => (spec, None),
        None => {
            let (spec, pilot_rows) = design_on(&mut dataset, &args.recipe)?;
            let why = reason(&args.recipe, &spec, pilot_rows);
            (spec, Some(why))
        }
    };
    let mut operator = spec.build()?;
    if let Some(name) = &args.backend {
        operator = operator.with_backend(backend(name)?);
    }
    let start = Instant::now();
    let outcome = drive(&mut dataset, &operator, args)?;
    let elapsed = start.elapsed();
    let files = write_all(args, &outcome.sketches)?;
    if outcome.rows_skipped > 0 {
        note(args.data.quiet, &format!("left out {} with bad values", count(outcome.rows_skipped, "row")));
    }
    if args.json {
        return output::print_json(&report(&operator, &outcome, &files, elapsed));
    }
    if let Some(why) = why {
        note(args.data.quiet, &why);
    }
    output::print(&summary(&operator, &outcome, &files, elapsed))
}

/// Fails before the pass, not after it, if the result could not be written.
fn check_destination(args: &SketchArgs) -> Result<()> {
    let parent = args.output.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|p| !p.is_dir()) {
        bail!(
            "cannot write {}: there is no folder {}; make it first",
            args.output.display(),
            parent.display()
        );
    }
    if args.by.is_none() && args.output.is_dir() {
        bail!(
            "{} is a folder; name a file, for example {}",
            args.output.display(),
            args.output.join("out.sketch").display()
        );
    }
    Ok(())
}

fn wanted_columns(args: &SketchArgs, given: Option<&SketchSpec>) -> Result<Option<Vec<String>>> {
    let asked = args.data.columns.clone();
    match (given, asked) {
        (Some(spec), Some(asked)) if asked != spec.columns => {
            bail!(
                "--columns {} are not those of the spec ({}); leave --columns out",
                asked.join(","),
                spec.columns.join(",")
            )
        }
        (Some(spec), _) => Ok(Some(spec.columns.clone())),
        (None, asked) => Ok(asked),
    }
}

fn backend(name: &str) -> Result<Backend> {
    let available = Backend::available();
    let found = available.iter().find(|b| b.name() == name);
    found.copied().with_context(|| {
        let names: Vec<&str> = available.iter().map(|b| b.name()).collect();
        format!("this machine has no backend `{name}`; it has {}", names.join(", "))
    })
}

fn drive(dataset: &mut Dataset, operator: &SketchOperator, args: &SketchArgs) -> Result<Outcome> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = cancel.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).context("cannot listen for Ctrl-C")?;
    let (rows, size) = (dataset.n_rows(), dataset.n_bytes());
    let bar = output::progress_bar(rows, size, args.data.quiet);
    let advance =
        |p: compressive_io::Progress| bar.set_position(if rows.is_some() { p.rows } else { p.bytes });
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let options = DriveOptions {
        threads: args.threads.map_or_else(cores, usize::from),
        max_groups: args.max_groups,
        cancel: Some(&cancel),
        progress: Some(&advance),
    };
    let outcome = sketch_dataset(dataset, operator, &options);
    bar.finish_and_clear();
    Ok(outcome?)
}

/// A group and the file its sketch went to.
type Written = Vec<(String, PathBuf)>;

fn write_all(args: &SketchArgs, sketches: &BTreeMap<String, Sketch>) -> Result<Written> {
    let pattern = args.output.to_string_lossy();
    if args.by.is_some() && !pattern.contains("{}") {
        std::fs::create_dir_all(&args.output).with_context(|| format!("cannot make the folder {pattern}"))?;
    }
    let mut files = Vec::new();
    for (group, sketch) in sketches {
        let path = if args.by.is_none() {
            args.output.clone()
        } else if pattern.contains("{}") {
            PathBuf::from(pattern.replace("{}", &file_name(group)))
        } else {
            args.output.join(format!("{}.sketch", file_name(group)))
        };
        write_atomic(&path, &sketch.to_bytes())?;
        files.push((group.clone(), path));
    }
    Ok(files)
}

/// A group's value as a file name: letters, digits, `-`, `_` and inner dots stay, every other byte becomes %XX.
fn file_name(group: &str) -> String {
    let mut name = String::new();
    for (i, byte) in group.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || (byte == b'.' && i > 0) {
            name.push(byte as char);
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.is_empty() { "%".into() } else { name }
}

fn file_size(path: &Path) -> u64 {
    path.metadata().map_or(0, |m| m.len())
}

fn report(
    operator: &SketchOperator,
    outcome: &Outcome,
    files: &Written,
    elapsed: Duration,
) -> serde_json::Value {
    let files: Vec<_> = files
        .iter()
        .map(|(group, path)| {
            let sketch = &outcome.sketches[group];
            json!({ "group": group, "path": path, "rows": sketch.rows(), "weight": sketch.weight(), "bytes": file_size(path) })
        })
        .collect();
    json!({
        "rows_read": outcome.rows_read, "rows_skipped": outcome.rows_skipped, "seconds": elapsed.as_secs_f64(),
        "fingerprint": operator.fingerprint(), "columns": operator.spec().columns, "size": operator.spec().size,
        "law": operator.spec().law.name(), "scale": operator.spec().scale, "feature": operator.spec().feature.name(),
        "files": files,
    })
}

fn summary(operator: &SketchOperator, outcome: &Outcome, files: &Written, elapsed: Duration) -> String {
    let rate = outcome.rows_read as f64 / elapsed.as_secs_f64().max(1e-9);
    let mut text = format!(
        "sketched {} in {} ({} rows/s)\n{}\n",
        count(outcome.rows_read, "row"),
        seconds(elapsed),
        output::thousands(rate as u64),
        describe(operator.spec()),
    );
    for (group, path) in files {
        let sketch = &outcome.sketches[group];
        let size = file_size(path);
        let ratio = sketch.rows() as f64 * operator.dim() as f64 * 8.0 / size.max(1) as f64;
        let smaller = if ratio >= 2.0 {
            format!(", {} times smaller than the rows", output::thousands(ratio as u64))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "{}  {}, {}{smaller}\n",
            path.display(),
            count(sketch.rows(), "row"),
            bytes(size)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn group_values_become_safe_file_names() {
        assert_eq!(file_name("north-1.5"), "north-1.5");
        assert_eq!(file_name("../etc/passwd"), "%2E.%2Fetc%2Fpasswd");
        assert_eq!(file_name("ä b"), "%C3%A4%20b");
        assert_eq!(file_name(""), "%");
    }
}
