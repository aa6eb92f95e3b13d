//! `transform SPEC` or `transform SKETCH`: one row per row of the data, with its random features.

use anyhow::{Context, Result, bail};
use compressive::features;
use compressive::{Map, Scratch, SketchOperator, SketchSpec, Wave};
use compressive_io::{CellType, Encoded, ReadOptions, Ready, RowChunk, RowMajor, TableFormat};
use serde_json::json;

use super::design::{note, open};
use super::read_spec;
use super::transform::{Written, write_rows};
use super::wrong_usage;
use crate::args::{RandomFeatureArgs, TransformArgs};
use crate::output::{self, count, seconds};

/// Features of a chunk, which is small enough for several of them to be held in memory.
const CHUNK_FEATURES: usize = 1 << 20;

/// Writes the features of each row.
pub fn run(args: &TransformArgs) -> Result<()> {
    if args.features.bits && args.data.skip_bad_rows {
        wrong_usage("--bits does not go with --skip-bad-rows: a row of bits cannot say that it is missing");
    }
    let spec = wanted(read_spec(&args.source)?, &args.features)?;
    let operator = spec.build().with_context(|| args.source.display().to_string())?;
    let spec = operator.spec();
    let blocks = blocks(spec, &args.features)?;
    let columns = columns(spec, blocks, args.features.bits);
    let format = TableFormat::of(&args.output, &columns)?.matrix();
    let chunk_rows = (CHUNK_FEATURES / spec.sketch_len()).clamp(1, ReadOptions::default().chunk_rows);
    let options = ReadOptions { chunk_rows, ..ReadOptions::default() };
    let mut dataset = open(&args.data.data_args(), Some(spec.table_columns()), options)?;
    let new_worker = || Worker::new(&operator, &format, blocks, args.features.bits).into_fn();
    let Written { rows, bad, elapsed } = write_rows(args, &mut dataset, &format, &new_worker)?;
    if !estimates_a_kernel(spec, blocks) {
        note(
            args.data.quiet,
            "the spec has no dither, without which only cosines with their sines estimate a kernel; `design --dither true` adds it",
        );
    }
    let n_features = blocks * spec.size;
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": rows, "rows_bad": bad, "columns": columns.len(), "feature": spec.map.name(),
            "features": n_features, "bits": args.features.bits, "seconds": elapsed.as_secs_f64(),
        }));
    }
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    let what = if args.features.bits { "bit" } else { "feature" };
    output::say(&format!(
        "{}: {} ({}) of {} in {} ({} rows/s)\n",
        args.output.display(),
        count(n_features as u64, what),
        spec.map.name(),
        count(rows, "row"),
        seconds(elapsed),
        output::thousands(rate as u64),
    ))
}

/// The spec with the feature that was asked for.
fn wanted(mut spec: SketchSpec, args: &RandomFeatureArgs) -> Result<SketchSpec> {
    let (own, has_frequencies) = (spec.map.name(), spec.map.waves().is_some());
    if let Some(wave) = args.feature.and_then(|name| name.wave()) {
        let Map::Waves(waves) = &mut spec.map else {
            bail!(
                "--feature: the spec's feature `{own}` has no frequencies of the columns for another one; leave --feature out, or design a spec with `--feature fourier`"
            );
        };
        waves.wave = wave;
    }
    if args.bits && spec.map.wave() != Some(&Wave::OneBit) {
        let remedy = if has_frequencies { "add" } else { "design a spec with" };
        bail!(
            "--bits: only one-bit features are bits, and these are `{}`; {remedy} `--feature one-bit`",
            spec.map.name()
        );
    }
    Ok(spec)
}

/// Whether inner products of these features have a kernel as their mean; what is not periodic makes no such
/// promise.
fn estimates_a_kernel(spec: &SketchSpec, blocks: usize) -> bool {
    spec.map.wave().is_none_or(|wave| spec.map.dithered() || (*wave == Wave::Fourier && blocks == 2))
}

/// Blocks to write.
fn blocks(spec: &SketchSpec, args: &RandomFeatureArgs) -> Result<usize> {
    let all = spec.map.blocks().len();
    let asked = args.blocks.map_or(if args.bits { 1 } else { all }, usize::from);
    if asked > all {
        bail!("--blocks {asked}: the feature `{}` has {all} block; leave --blocks out", spec.map.name());
    }
    Ok(asked)
}

/// The columns of the result: a number for each feature, or a byte for eight of them.
fn columns(spec: &SketchSpec, blocks: usize, bits: bool) -> Vec<(String, CellType)> {
    let n_features = blocks * spec.size;
    if bits {
        let bytes = 1..=features::packed_len(n_features);
        return bytes.map(|i| (format!("bits{i}"), CellType::U8)).collect();
    }
    features::columns(spec).into_iter().take(n_features).map(|name| (name, CellType::F32)).collect()
}

/// One worker.
struct Worker<'a> {
    operator: &'a SketchOperator,
    format: &'a TableFormat,
    blocks: usize,
    bits: bool,
    buffer: Scratch,
    bytes: Vec<u8>,
    values: Vec<f32>,
    placed: Vec<f32>,
}

impl<'a> Worker<'a> {
    fn new(operator: &'a SketchOperator, format: &'a TableFormat, blocks: usize, bits: bool) -> Worker<'a> {
        let (bytes, values, placed) = Default::default();
        Worker { operator, format, blocks, bits, buffer: Scratch::default(), bytes, values, placed }
    }

    fn into_fn(mut self) -> impl FnMut(&RowChunk) -> compressive_io::Result<Ready<(Encoded, u64)>> {
        move |chunk| self.work(chunk)
    }

    fn work(&mut self, chunk: &RowChunk) -> compressive_io::Result<Ready<(Encoded, u64)>> {
        let rows = if self.bits {
            features::packed(self.operator, self.blocks, chunk.rows(), &mut self.bytes, &mut self.buffer)?;
            self.format.encode_rows(RowMajor::U8(&self.bytes))?
        } else {
            features::rows(self.operator, chunk.rows(), &mut self.values, &mut self.buffer)?;
            self.place(chunk);
            self.format.encode_rows(RowMajor::F32(&self.placed))?
        };
        Ok(Ready { bytes: rows.bytes(), value: (rows, chunk.n_skipped() as u64) })
    }

    /// The blocks to write, with rows left out as bad in their place, without numbers.
    fn place(&mut self, chunk: &RowChunk) {
        let (len, wanted) = (self.operator.sketch_len(), self.blocks * self.operator.spec().size);
        if len == wanted && chunk.n_skipped() == 0 {
            return std::mem::swap(&mut self.values, &mut self.placed);
        }
        self.placed.clear();
        self.placed.resize((chunk.n_rows() + chunk.n_skipped()) * wanted, f32::NAN);
        for (i, row) in self.values.chunks_exact(len).enumerate() {
            self.placed[chunk.place(i) * wanted..][..wanted].copy_from_slice(&row[..wanted]);
        }
    }
}
