//! `predict`: one row per row of the data, with its component.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use compressive::model::{Content, Model, Predictor, Scores, Wanted};
use compressive_io::{CellType, Cells, Encoded, Ready, RowChunk, TableFormat, TableWriter, pass_in_order};
use serde_json::json;

use super::design::{note, open};
use super::sketch::with_progress;
use super::{check_output, read_model, reading};
use crate::args::PredictArgs;
use crate::output::{self, count, seconds};

/// The label of a row that could not be read.
const BAD_LABEL: i32 = -1;

/// Writes the component of each row.
pub fn run(args: &PredictArgs) -> Result<()> {
    check_output(&args.output)?;
    let model = read_model(&args.model)?;
    if let Content::Classify(classifier) = &model.content {
        return super::predict_classes::run(args, &model, classifier);
    }
    let predictor = model.predictor().with_context(|| args.model.display().to_string())?;
    if args.probabilities && matches!(model.content, Content::Kmeans { .. } | Content::Kmedians { .. }) {
        bail!(
            "{} is a model of centres, which has no probabilities; leave --probabilities out",
            args.model.display()
        );
    }
    let format = TableFormat::of(&args.output, &columns(&model, args.probabilities))?;
    let mut dataset = open(&args.data.data_args(), Some(model.table_columns()), reading(&model))?;
    let mut writer = TableWriter::create(&args.output, &format)?;
    let (mut counts, mut bad) = (vec![0u64; model.k], 0u64);
    let start = Instant::now();
    with_progress(&mut dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        let new_worker = || Labeller::new(&predictor, &format, model.k, args.probabilities).into_worker();
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |done: Labelled| {
            bad += done.bad;
            counts.iter_mut().zip(&done.counts).for_each(|(total, n)| *total += n);
            writer.write(&done.rows)
        })
    })?;
    let rows = writer.finish()?;
    let elapsed = start.elapsed();
    if bad > 0 {
        note(args.data.quiet, &format!("{} with bad values got the label {BAD_LABEL}", count(bad, "row")));
    }
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": rows, "rows_bad": bad, "counts": counts, "seconds": elapsed.as_secs_f64(),
        }));
    }
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    let text = format!(
        "{}: labels of {} in {} ({} rows/s)\n",
        args.output.display(),
        count(rows, "row"),
        seconds(elapsed),
        output::thousands(rate as u64),
    );
    output::say(&text)
}

/// The columns of the result.
fn columns(model: &Model, probabilities: bool) -> Vec<(String, CellType)> {
    let mut columns = vec![("label".to_owned(), CellType::I32)];
    if probabilities {
        columns.extend((0..model.k).map(|l| (format!("p_{l}"), CellType::F64)));
    }
    columns
}

/// What a worker made of a chunk.
struct Labelled {
    rows: Encoded,
    /// Rows of each component.
    counts: Vec<u64>,
    bad: u64,
}

/// One worker.
struct Labeller<'a> {
    predictor: &'a Predictor,
    format: &'a TableFormat,
    k: usize,
    wanted: Wanted,
    scores: Scores,
}

impl<'a> Labeller<'a> {
    fn new(predictor: &'a Predictor, format: &'a TableFormat, k: usize, probabilities: bool) -> Labeller<'a> {
        let wanted = Wanted { responsibilities: probabilities, ..Wanted::default() };
        Labeller { predictor, format, k, wanted, scores: Scores::default() }
    }

    fn into_worker(mut self) -> impl FnMut(&RowChunk) -> compressive_io::Result<Ready<Labelled>> {
        move |chunk| self.label(chunk)
    }

    fn label(&mut self, chunk: &RowChunk) -> compressive_io::Result<Ready<Labelled>> {
        self.scores.labels.clear();
        self.scores.responsibilities.clear();
        self.predictor.measure(chunk.rows(), self.wanted, &mut self.scores)?;
        let mut counts = vec![0; self.k];
        self.scores.labels.iter().for_each(|label| counts[*label as usize] += 1);
        let rows = self.format.encode(self.cells(chunk))?;
        Ok(Ready { bytes: rows.bytes(), value: Labelled { rows, counts, bad: chunk.n_skipped() as u64 } })
    }

    /// The result's columns; rows left out as bad are in their place.
    fn cells(&self, chunk: &RowChunk) -> Vec<Cells> {
        let n = chunk.n_rows() + chunk.n_skipped();
        let whole = chunk.n_skipped() == 0;
        let place = |i: usize| if whole { i } else { chunk.place(i) };
        let mut labels = vec![BAD_LABEL; n];
        for (i, label) in self.scores.labels.iter().enumerate() {
            labels[place(i)] = *label as i32;
        }
        let mut cells = vec![Cells::I32(labels)];
        if self.wanted.responsibilities {
            let mut columns = vec![vec![f64::NAN; n]; self.k];
            for (i, row) in self.scores.responsibilities.chunks_exact(self.k).enumerate() {
                let place = place(i);
                columns.iter_mut().zip(row).for_each(|(column, p)| column[place] = *p);
            }
            cells.extend(columns.into_iter().map(Cells::F64));
        }
        cells
    }
}
