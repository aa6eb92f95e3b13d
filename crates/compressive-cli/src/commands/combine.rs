//! `merge` and `subtract`: exact arithmetic on sketches.

use std::path::Path;

use anyhow::{Context, Result};
use compressive::Sketch;
use compressive_io::write_atomic;
use serde_json::json;

use super::read_sketch;
use crate::args::{MergeArgs, SubtractArgs};
use crate::output;

/// Adds sketches.
pub fn merge(args: &MergeArgs) -> Result<()> {
    let (first, others) = args.sketches.split_first().context("no sketch to merge")?;
    let mut sum = read_sketch(first)?;
    for path in others {
        let with = || format!("cannot merge {} into {}", path.display(), first.display());
        sum.merge(&read_sketch(path)?).with_context(with)?;
    }
    finish(&sum, &args.output, args.json)
}

/// Takes one sketch out of another.
pub fn subtract(args: &SubtractArgs) -> Result<()> {
    let mut whole = read_sketch(&args.whole)?;
    let with = || format!("cannot subtract {} from {}", args.part.display(), args.whole.display());
    whole.subtract(&read_sketch(&args.part)?).with_context(with)?;
    finish(&whole, &args.output, args.json)
}

fn finish(sketch: &Sketch, path: &Path, json: bool) -> Result<()> {
    write_atomic(path, &sketch.to_bytes())?;
    if json {
        return output::print_json(&json!({
            "output": path, "rows": sketch.rows(), "weight": sketch.weight(), "fingerprint": sketch.fingerprint(),
        }));
    }
    output::print(&format!("{}: {}\n", path.display(), output::count(sketch.rows(), "row")))
}
