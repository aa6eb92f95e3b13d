//! `transform`: one row per row of the data, with its coordinates along principal components, or its random
//! features.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive::model::Projector;
use compressive_io::{
    CellType, Cells, Dataset, Encoded, Ready, RowChunk, TableFormat, TableWriter, pass_in_order,
};
use serde_json::json;

use super::design::{note, open};
use super::inspect::is_model;
use super::sketch::with_progress;
use super::{check_output, read, read_model, reading};
use crate::args::TransformArgs;
use crate::output::{self, count, seconds};

/// Writes the coordinates or the features of each row, as the first argument's content asks.
pub fn run(args: &TransformArgs) -> Result<()> {
    check_output(&args.output)?;
    if !is_model(&read(&args.source)?) {
        return super::transform_features::run(args);
    }
    if let Some(flag) = args.features.given() {
        bail!(
            "{flag} is for random features, and {} is a model; give a spec or a sketch",
            args.source.display()
        );
    }
    coordinates(args)
}

/// Writes the coordinates of each row.
fn coordinates(args: &TransformArgs) -> Result<()> {
    let model = read_model(&args.source)?;
    let projector = model.projector().with_context(|| args.source.display().to_string())?;
    let columns: Vec<(String, CellType)> = (1..=model.k).map(|l| (format!("pc{l}"), CellType::F64)).collect();
    let format = TableFormat::of(&args.output, &columns)?;
    let mut dataset = open(&args.data.data_args(), Some(model.table_columns()), reading(&model))?;
    let new_worker = || |chunk: &RowChunk| work(&projector, &format, chunk);
    let Written { rows, bad, elapsed } = write_rows(args, &mut dataset, &format, &new_worker)?;
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": rows, "rows_bad": bad, "columns": model.k, "seconds": elapsed.as_secs_f64(),
        }));
    }
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    output::say(&format!(
        "{}: {} of {} in {} ({} rows/s)\n",
        args.output.display(),
        count(model.k as u64, "coordinate"),
        count(rows, "row"),
        seconds(elapsed),
        output::thousands(rate as u64),
    ))
}

/// What a pass wrote.
pub(super) struct Written {
    pub rows: u64,
    /// Rows without numbers, because they had bad values.
    pub bad: u64,
    pub elapsed: Duration,
}

/// Passes over the data and writes what the workers make of its chunks, in order.
pub(super) fn write_rows<W>(
    args: &TransformArgs,
    dataset: &mut Dataset,
    format: &TableFormat,
    new_worker: &(impl Fn() -> W + Sync),
) -> Result<Written>
where
    W: FnMut(&RowChunk) -> compressive_io::Result<Ready<(Encoded, u64)>>,
{
    let mut writer = TableWriter::create(&args.output, format)?;
    let mut bad = 0u64;
    let start = Instant::now();
    with_progress(dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        pass_in_order(&mut dataset.source()?, options, new_worker, &mut |(rows, skipped): (Encoded, u64)| {
            bad += skipped;
            writer.write(&rows)
        })
    })?;
    let rows = writer.finish()?;
    if bad > 0 {
        note(args.data.quiet, &format!("{} with bad values got empty cells", count(bad, "row")));
    }
    Ok(Written { rows, bad, elapsed: start.elapsed() })
}

/// The columns of one chunk; rows left out as bad are in their place, with no numbers.
fn work(
    projector: &Projector,
    format: &TableFormat,
    chunk: &RowChunk,
) -> compressive_io::Result<Ready<(Encoded, u64)>> {
    let mut coordinates = Vec::with_capacity(chunk.n_rows() * projector.k());
    projector.project(chunk.rows(), &mut coordinates)?;
    let n = chunk.n_rows() + chunk.n_skipped();
    let whole = chunk.n_skipped() == 0;
    let mut columns = vec![vec![f64::NAN; n]; projector.k()];
    for (i, row) in coordinates.chunks_exact(projector.k()).enumerate() {
        let place = if whole { i } else { chunk.place(i) };
        columns.iter_mut().zip(row).for_each(|(column, x)| column[place] = *x);
    }
    let rows = format.encode(columns.into_iter().map(Cells::F64).collect())?;
    Ok(Ready { bytes: rows.bytes(), value: (rows, chunk.n_skipped() as u64) })
}
