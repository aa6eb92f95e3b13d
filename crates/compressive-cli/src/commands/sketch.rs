//! `sketch`: one pass over the data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use compressive::design::{Reason, Request};
use compressive::{Backend, Sketch, SketchOperator};
use compressive_io::{Cube, Dataset, DriveOptions, Outcome, Pilot, ReadOptions, Readable, Recipe};
use serde_json::json;

use super::design::{Way, find_recipe, job, note, open_job, request, tell_reasons};
use super::{check_folder, check_output, cube, read_spec};
use crate::args::{DataArgs, PassArgs, RecipeArgs, SketchArgs};
use crate::interrupt;
use crate::notes::few;
use crate::output::{self, bytes, count, seconds};
use compressive_report::words::recipe;

/// Sketches the data and writes one file, one for each value of `--by`, or a cube of them.
pub fn run(args: &SketchArgs) -> Result<()> {
    if args.by.is_none() {
        check_output(&args.output)?
    } else {
        check_folder(&args.output)?
    }
    let order = Order {
        data: &args.data,
        recipe: &args.recipe,
        request: request(&args.purpose, &args.recipe, args.seed.seed)?,
        pass: &args.pass,
        spec: args.spec.as_deref(),
        output: Some(&args.output),
        by: args.by.as_deref(),
        max_groups: args.max_groups,
    };
    let done = order.run()?;
    let files = write_all(args, &done.outcome.sketches)?;
    done.tell_skipped(args.data.quiet);
    if args.json {
        return output::print_json(&report(&done, &files));
    }
    tell_reasons(args.data.quiet, &done.reasons);
    output::say(&(done.summary() + &list(&done, &files)))
}

/// A pass to be made.
pub struct Order<'a> {
    pub data: &'a DataArgs,
    pub recipe: &'a RecipeArgs,
    pub request: Request,
    pub pass: &'a PassArgs,
    pub spec: Option<&'a Path>,
    pub output: Option<&'a Path>,
    pub by: Option<&'a str>,
    pub max_groups: usize,
}

/// A pass that was made.
pub struct Done {
    pub operator: SketchOperator,
    pub outcome: Outcome,
    pub elapsed: Duration,
    /// Why the recipe is what it is, if it was chosen here.
    pub reasons: Vec<Reason>,
    /// The rows it was chosen on.
    pub pilot: Option<Pilot>,
}

impl Order<'_> {
    /// Reads or designs the recipe and sketches every row.
    pub fn run(&self) -> Result<Done> {
        let options = ReadOptions {
            by: self.by.map(str::to_owned),
            weights: self.pass.weights.clone(),
            chunk_rows: self.pass.chunk,
            ..ReadOptions::default()
        };
        let mut job = job(self.data, self.recipe, self.request.clone(), options);
        job.spec = self.spec.map(read_spec).transpose()?;
        let mut dataset = open_job(&job, self.data.quiet)?;
        let (threads, quiet) = (self.pass.threads.count(), self.data.quiet);
        let way = Way { output: self.output, threads, quiet, max_groups: self.max_groups, again: true };
        let Recipe { spec, reasons, pilot } = find_recipe(&mut job, &mut dataset, self.recipe, way)?;
        let mut operator = spec.build()?;
        if let Some(name) = &self.pass.backend {
            operator = operator.with_backend(backend(name)?);
        }
        let start = Instant::now();
        let outcome = with_progress(&mut dataset, threads, quiet, |dataset, options| {
            dataset.sketch(&operator, &DriveOptions { max_groups: self.max_groups, ..*options })
        })?;
        Ok(Done { operator, outcome, elapsed: start.elapsed(), reasons, pilot })
    }
}

/// Runs a pass with a progress bar and an ear for Ctrl-C.
pub fn with_progress<T>(
    dataset: &mut Dataset,
    threads: usize,
    quiet: bool,
    pass: impl FnOnce(&mut Dataset, &DriveOptions<'_>) -> compressive_io::Result<T>,
) -> Result<T> {
    let (rows, size) = (dataset.n_rows(), dataset.n_bytes());
    let bar = output::progress_bar(rows, size, quiet);
    let advance =
        |p: compressive_io::Progress| bar.set_position(if rows.is_some() { p.rows } else { p.bytes });
    let result = interrupt::watched(|cancel| {
        let options = DriveOptions {
            threads,
            cancel: Some(cancel),
            progress: Some(&advance),
            ..DriveOptions::default()
        };
        pass(dataset, &options)
    });
    bar.finish_and_clear();
    let done = result??;
    dataset.strays().iter().for_each(|stray| note(quiet, &stray.to_string()));
    Ok(done)
}

fn backend(name: &str) -> Result<Backend> {
    let available = Backend::available();
    let found = available.iter().find(|b| b.name() == name);
    found.copied().with_context(|| {
        let names: Vec<&str> = available.iter().map(|b| b.name()).collect();
        format!("this machine has no backend `{name}`; it has {}", names.join(", "))
    })
}

/// A group and the file its sketch went to.
type Written = Vec<(String, PathBuf)>;

fn write_all(args: &SketchArgs, sketches: &BTreeMap<String, Sketch>) -> Result<Written> {
    let pattern = args.output.to_string_lossy();
    if let Some(key) = args.by.as_deref().filter(|_| Cube::is_cube(&args.output)) {
        cube::write(&args.output, key, sketches)?;
        return Ok(sketches.keys().map(|group| (group.clone(), args.output.clone())).collect());
    }
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
        output::write_result(&path, &sketch.to_bytes())?;
        files.push((group.clone(), path));
    }
    Ok(files)
}

/// A group's value as a file name: letters, digits, `-`, `_` and inner dots stay, every other byte becomes
/// %XX.
pub fn file_name(group: &str) -> String {
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

fn report(done: &Done, files: &Written) -> serde_json::Value {
    let files: Vec<_> = files
        .iter()
        .map(|(group, path)| {
            let sketch = &done.outcome.sketches[group];
            json!({ "group": group, "path": path, "rows": sketch.rows(), "weight": sketch.weight(), "bytes": file_size(path) })
        })
        .collect();
    let (spec, outcome) = (done.operator.spec(), &done.outcome);
    json!({
        "rows_read": outcome.rows_read, "rows_skipped": outcome.rows_skipped, "seconds": done.elapsed.as_secs_f64(),
        "fingerprint": done.operator.fingerprint(), "columns": spec.columns, "size": spec.size,
        "law": spec.map.law_name(), "scale": spec.scale, "feature": spec.map.name(),
        "files": files,
    })
}

impl Done {
    /// Rows, time and recipe in two lines.
    pub fn summary(&self) -> String {
        let rate = self.outcome.rows_read as f64 / self.elapsed.as_secs_f64().max(1e-9);
        format!(
            "sketched {} in {} ({} rows/s)\n{}\n",
            count(self.outcome.rows_read, "row"),
            seconds(self.elapsed),
            output::thousands(rate as u64),
            recipe(self.operator.spec()),
        )
    }

    /// Says how many rows were left out, if any were.
    pub fn tell_skipped(&self, quiet: bool) {
        if !self.outcome.filled.is_empty() {
            let total: u64 = self.outcome.filled.iter().map(|(_, n)| n).sum();
            let entries = if total == 1 { "entry" } else { "entries" };
            let columns: Vec<String> = self
                .outcome
                .filled
                .iter()
                .map(|(name, n)| format!("`{name}` {}", output::thousands(*n)))
                .collect();
            let text = format!(
                "filled {} missing {entries} with the column's centre: {}; --missing skip leaves such rows out",
                output::thousands(total),
                few(&columns)
            );
            note(quiet, &text);
        }
        if self.outcome.rows_skipped > 0 {
            note(
                quiet,
                &format!("left out {} with missing or bad values", count(self.outcome.rows_skipped, "row")),
            );
        }
    }
}

/// The files written, one a line.
fn list(done: &Done, files: &Written) -> String {
    let mut text = String::new();
    if let [(_, path), .., (_, last)] = &files[..]
        && path == last
    {
        let (many, size) = (files.len() as u64, bytes(file_size(path)));
        return format!("{}  {} in one file of {size}\n", path.display(), count(many, "sketch"));
    }
    for (group, path) in files.iter().filter(|(_, path)| !output::is_standard(path)) {
        let sketch = &done.outcome.sketches[group];
        let size = file_size(path);
        let ratio = sketch.rows() as f64 * done.operator.dim() as f64 * 8.0 / size.max(1) as f64;
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
