//! `merge` and `subtract`: arithmetic on sketches, exact for plain ones.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::Sketch;
use compressive::privacy::{AnySketch, PrivateSketch};
use serde_json::json;

use super::{read_any_sketch, read_plain_sketch};
use crate::args::{MergeArgs, SubtractArgs};
use crate::output;
use compressive_report::promise;

/// Adds sketches of one kind and writes the sum.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let mut all = Vec::new();
    for path in &args.sketches {
        all.push((path.display().to_string(), read_any_sketch(path)?));
    }
    match add(&all)? {
        AnySketch::Plain(sum) => finish(&sum, &args.output, args.json),
        AnySketch::Private(sum) => finish_private(&sum, &args.output, args.json),
    }
}

/// A sketch with the name of its file.
pub type Named = (String, AnySketch);

/// The sum of sketches of one kind.
pub fn add(all: &[Named]) -> Result<AnySketch> {
    let ((first, sketch), others) = all.split_first().context("no sketch to merge")?;
    match sketch {
        AnySketch::Plain(sketch) => {
            let mut sum = sketch.clone();
            for (name, more) in others {
                let AnySketch::Plain(more) = more else { return mixed(first, name) };
                sum.merge(more).with_context(|| format!("cannot merge {name} into {first}"))?;
            }
            warn_of_twins(all);
            Ok(AnySketch::Plain(sum))
        }
        AnySketch::Private(sketch) => {
            let mut holders = vec![sketch.clone()];
            for (name, more) in others {
                let AnySketch::Private(more) = more else { return mixed(name, first) };
                holders.push(more.clone());
            }
            let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            let sum = merge_private(&holders);
            Ok(AnySketch::Private(sum.with_context(|| format!("cannot merge {}", names.join(", ")))?))
        }
    }
}

/// Different rows never have the same sums, but a file can be named twice.
fn warn_of_twins(all: &[Named]) {
    let mut known: HashMap<&[i64], &str> = HashMap::new();
    for (name, sketch) in all {
        let AnySketch::Plain(sketch) = sketch else { continue };
        if sketch.rows() == 0 {
            continue;
        }
        if let Some(twin) = known.insert(sketch.sums(), name) {
            output::warn(&format!(
                "{twin} and {name} have exactly the same sums: these look like the same {}, which now count twice",
                output::count(sketch.rows(), "row")
            ));
        }
    }
}

fn mixed(plain: &str, private: &str) -> Result<AnySketch> {
    bail!(
        "cannot merge a plain sketch into a private one: privatize the plain one first ({plain} is plain, {private} is private)"
    )
}

/// Adds the releases of several holders.
fn merge_private(all: &[PrivateSketch]) -> Result<PrivateSketch> {
    let (first, others) = all.split_first().context("no sketch to merge")?;
    let mut sum = first.clone();
    for (i, more) in others.iter().enumerate() {
        // Fresh noise never repeats, so equal sums are one release, whose noise would be taken for that of
        // two.
        if all[..=i].contains(more) {
            bail!("the same release is given twice; a merge adds the rows of different holders");
        }
        sum.merge(more)?;
    }
    Ok(sum)
}

/// Takes one sketch out of another.
pub fn subtract(args: &SubtractArgs) -> Result<()> {
    const WHY: &str = "the rows cannot be taken out of a private sketch: its noise would stay, and the difference would reveal more about single rows than was promised; \
                       subtract the plain sketches, then privatize the result";
    let mut whole = read_plain_sketch(&args.whole, WHY)?;
    let with = || format!("cannot subtract {} from {}", args.part.display(), args.whole.display());
    whole.subtract(&read_plain_sketch(&args.part, WHY)?).with_context(with)?;
    finish(&whole, &args.output, args.json)
}

fn finish(sketch: &Sketch, path: &Path, json: bool) -> Result<()> {
    output::write_result(path, &sketch.to_bytes())?;
    if json {
        return output::print_json(&json!({
            "output": path, "rows": sketch.rows(), "weight": sketch.weight(), "fingerprint": sketch.fingerprint(),
        }));
    }
    output::print(&format!("{}: {}\n", path.display(), output::count(sketch.rows(), "row")))
}

fn finish_private(sketch: &PrivateSketch, path: &Path, json: bool) -> Result<()> {
    output::write_result(path, &sketch.to_bytes())?;
    if json {
        return output::print_json(&json!({
            "output": path, "rows": sketch.rows(), "rows_std": sketch.rows_std(), "noise_std": sketch.moments().noise_std,
            "privacy": sketch.releases(), "fingerprint": sketch.fingerprint(),
        }));
    }
    output::print(&format!(
        "{}: {}; {}, each holder's promise as it was\n",
        path.display(),
        promise::row_count(sketch),
        output::count(sketch.releases().len() as u64, "release"),
    ))
}
