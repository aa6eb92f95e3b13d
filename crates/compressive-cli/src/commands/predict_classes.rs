//! `predict` with a classifier: one row per row of the data, with its class.

use std::time::Instant;

use anyhow::{Result, bail};
use compressive::model::{Classifier, Model};
use compressive_io::{
    CellType, Cells, ReadOptions, Ready, RowChunk, TableFormat, TableWriter, pass_in_order,
};
use serde_json::json;

use super::design::{note, open};
use super::sketch::with_progress;
use crate::args::PredictArgs;
use crate::output::{self, count, seconds};

/// Writes the class of each row: its label, or in an npy file, which holds numbers only, its place among the
/// model's classes.
pub fn run(args: &PredictArgs, model: &Model, classifier: &Classifier) -> Result<()> {
    if args.probabilities {
        bail!("--probabilities goes with mixtures, not with classifiers; leave it out");
    }
    let numbers = args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    let cell = if numbers { CellType::I32 } else { CellType::Text };
    let format = TableFormat::of(&args.output, &[("label".to_owned(), cell)])?;
    let predictor = classifier.predictor(&model.columns)?;
    let data = args.data.data_args();
    let mut dataset = open(&data, Some(model.table_columns()), ReadOptions::default())?;
    let mut writer = TableWriter::create(&args.output, &format)?;
    let (mut counts, mut bad) = (vec![0u64; model.k], 0u64);
    let start = Instant::now();
    with_progress(&mut dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        let new_worker = || {
            |chunk: &RowChunk| {
                let labels = predictor.classify(chunk.rows())?;
                let rows = format.encode(vec![cells(chunk, &labels, classifier, numbers)])?;
                Ok(Ready { bytes: rows.bytes(), value: (rows, labels, chunk.n_skipped() as u64) })
            }
        };
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |(rows, labels, skipped)| {
            bad += skipped;
            labels.iter().for_each(|label| counts[*label as usize] += 1);
            writer.write(&rows)
        })
    })?;
    let rows = writer.finish()?;
    let elapsed = start.elapsed();
    if bad > 0 {
        let label = if numbers { "the label -1" } else { "an empty label" };
        note(args.data.quiet, &format!("{} with bad values got {label}", count(bad, "row")));
    }
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": rows, "rows_bad": bad, "classes": classifier.classes, "counts": counts,
            "seconds": elapsed.as_secs_f64(),
        }));
    }
    output::say(&format!(
        "{}: classes of {} in {} ({} rows/s)\n",
        args.output.display(),
        count(rows, "row"),
        seconds(elapsed),
        output::thousands((rows as f64 / elapsed.as_secs_f64().max(1e-9)) as u64),
    ))
}

/// The result's column; rows left out as bad are in their place.
fn cells(chunk: &RowChunk, labels: &[u32], classifier: &Classifier, numbers: bool) -> Cells {
    let n = chunk.n_rows() + chunk.n_skipped();
    let whole = chunk.n_skipped() == 0;
    let places = labels.iter().enumerate().map(|(i, label)| (if whole { i } else { chunk.place(i) }, *label));
    if numbers {
        let mut cells = vec![-1; n];
        places.for_each(|(place, label)| cells[place] = label as i32);
        return Cells::I32(cells);
    }
    let mut cells = vec![String::new(); n];
    places.for_each(|(place, label)| cells[place].clone_from(&classifier.classes[label as usize]));
    Cells::Text(cells)
}
