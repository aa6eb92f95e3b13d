//! One file a command.

pub mod classify;
pub mod combine;
pub mod compare;
pub mod cube;
pub mod demo;
#[cfg(feature = "collector")]
pub mod demo_fleet;
pub mod design;
pub mod diagnose;
pub mod fit;
pub mod generate;
pub mod generator;
pub mod inspect;
pub mod ledger;
pub mod oneliner;
pub mod plan;
pub mod predict;
pub mod predict_classes;
pub mod privatize;
pub mod push;
pub mod query;
pub mod report;
pub mod sample;
pub mod score;
pub mod score_anomaly;
pub mod score_classes;
pub mod score_components;
#[cfg(feature = "collector")]
pub mod serve;
pub mod sketch;
pub mod transform;
pub mod transform_features;
pub mod watch;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap::error::ErrorKind;
use compressive::ask::Distribution;
use compressive::model::Model;
use compressive::privacy::AnySketch;
use compressive::{Missing, Sketch, SketchSpec};
use compressive_io::{ReadOptions, sweep};

use crate::output::bytes as bytes_text;

/// Bytes that a sketch, recipe or model has at most: the largest have some 270 MB of sums and moments.
const FILE_MAX: u64 = 512 << 20;

/// The first bytes of a JSON object, which no sketch starts with.
fn looks_like_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if let Some(slice) = cube::Slice::named(path)? {
        return Ok(slice.sum()?.to_bytes());
    }
    let with = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    if crate::output::is_standard(path) {
        std::io::stdin().take(FILE_MAX + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        File::open(path)
            .and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes))
            .with_context(with)?;
    }
    if bytes.len() as u64 > FILE_MAX {
        bail!(
            "{} has more than {}, which no sketch, recipe or model has",
            path.display(),
            bytes_text(FILE_MAX)
        );
    }
    Ok(bytes)
}

/// How rows for a model are read: with missing entries where it fills them.
pub fn reading(model: &Model) -> ReadOptions {
    let missing = if model.fill.is_empty() { Missing::Error } else { Missing::Fill };
    ReadOptions { missing, ..ReadOptions::default() }
}

/// How rows for a sketch are read: with missing entries as its recipe has them.
pub fn reading_of(spec: &SketchSpec) -> ReadOptions {
    ReadOptions { missing: spec.missing, ..ReadOptions::default() }
}

/// Reads a sketch file of either kind.
pub fn read_any_sketch(path: &Path) -> Result<AnySketch> {
    if path.is_dir() {
        bail!(
            "{} is a folder, not a sketch; name one of its files, or add them up with `compressive merge`; only fit --task classify takes folders, of class sketches",
            path.display()
        );
    }
    let bytes = read(path)?;
    if looks_like_json(&bytes) {
        bail!(
            "{} is a JSON file, not a sketch; make one with `compressive sketch DATA -o NAME.sketch`",
            path.display()
        );
    }
    if begins_otherwise(&bytes) {
        bail!(
            "{0} is not a sketch; if it is a table, sketch it first: compressive sketch {0} -o NAME.sketch",
            path.display()
        );
    }
    AnySketch::from_bytes(&bytes).with_context(|| path.display().to_string())
}

/// Whether bytes cannot be a sketch, even a damaged one, but may be text or a table's binary format: a sketch
/// begins with the length of its header, in eight bytes of which the upper ones are 0.
fn begins_otherwise(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && bytes[4..8] != [0; 4]
}

/// Reads a plain sketch, or says why a private one will not do.
pub fn read_plain_sketch(path: &Path, why_not_private: &str) -> Result<Sketch> {
    match read_any_sketch(path)? {
        AnySketch::Plain(sketch) => Ok(sketch),
        AnySketch::Private(_) => bail!("{} is a private sketch: {why_not_private}", path.display()),
    }
}

/// Whether a file can only be a sketch: it is no JSON.
pub fn is_sketch(path: &Path) -> Result<bool> {
    Ok(!looks_like_json(&read(path)?))
}

/// The distribution of the rows behind a sketch, and its recipe.
pub fn read_distribution(path: &Path) -> Result<(Distribution, SketchSpec)> {
    let sketch = read_any_sketch(path)?;
    let operator = sketch.spec().clone().build()?;
    let found = sketch.moments().and_then(|moments| Distribution::new(&operator, &moments));
    Ok((found.with_context(|| path.display().to_string())?, sketch.spec().clone()))
}

/// Reads a spec from its JSON, or from a sketch made with it.
pub fn read_spec(path: &Path) -> Result<SketchSpec> {
    let bytes = read(path)?;
    if !looks_like_json(&bytes) {
        let sketch = AnySketch::from_bytes(&bytes);
        return Ok(sketch
            .with_context(|| format!("{} is neither a spec nor a sketch", path.display()))?
            .spec()
            .clone());
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8 text", path.display()))?;
    SketchSpec::from_json(&text).with_context(|| path.display().to_string())
}

/// Reads a model.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = read(path)?;
    if !looks_like_json(&bytes) {
        bail!("{} is not a model; make one with `compressive fit SKETCH -k K -o NAME.json`", path.display());
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8 text", path.display()))?;
    Model::from_json(&text).with_context(|| path.display().to_string())
}

/// Fails before the work, not after it, if the folder of a result is missing; removes what killed programs
/// have left in it.
pub fn check_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}; make it first", path.display(), folder.display());
    }
    sweep(folder);
    Ok(())
}

/// Fails before the work, not after it, if a result could not be written under its name.
pub fn check_output(path: &Path) -> Result<()> {
    check_folder(path)?;
    if path.is_dir() {
        bail!("{} is a folder; name a file, for example {}", path.display(), path.join("out").display());
    }
    Ok(())
}

/// Ends the program as the argument parser does: the flags do not go together.
pub fn wrong_usage(problem: &str) -> ! {
    crate::args::Cli::command().error(ErrorKind::ArgumentConflict, problem).exit()
}

/// Ends the program as the argument parser does: `-k` is missing.
pub fn missing_k() -> ! {
    let problem = "the following required arguments were not provided:\n  -k <K>";
    crate::args::Cli::command().error(ErrorKind::MissingRequiredArgument, problem).exit()
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::args::Cli::command(), "compressive", &mut script);
    crate::output::print(&String::from_utf8_lossy(&script))
}
