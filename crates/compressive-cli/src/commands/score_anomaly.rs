//! `score --anomaly`: the log-density of each row under a sketch or a mixture, and the least usual rows.

use anyhow::{Context, Result, bail};
use compressive::Column;
use compressive::RowsRef;
use compressive::ask::Distribution;
use compressive::model::{Content, Predictor, Scores, Wanted};
use compressive_io::{
    CellType, Cells, ReadOptions, Ready, RowChunk, TableFormat, TableWriter, pass_in_order,
};
use serde_json::json;

use super::design::{note, open};
use super::sketch::with_progress;
use super::{check_output, is_sketch, read_distribution, read_model, reading, reading_of};
use crate::args::ScoreArgs;
use crate::output::{self, count, number};

/// Rows that are shown.
const SHOWN: usize = 10;

/// What gives rows a log-density.
enum Law {
    Sketch(Box<Distribution>),
    Mixture(Predictor),
}

impl Law {
    fn read(args: &ScoreArgs) -> Result<(Law, Vec<Column>, ReadOptions)> {
        if is_sketch(&args.model)? {
            let (distribution, spec) = read_distribution(&args.model)?;
            return Ok((Law::Sketch(Box::new(distribution)), spec.table_columns(), reading_of(&spec)));
        }
        let model = read_model(&args.model)?;
        if !matches!(model.content, Content::Gmm { .. }) {
            bail!(
                "--anomaly: rows have a density under a sketch with an outline or a mixture (--task gmm), not under a model of --task {}",
                model.task()
            );
        }
        let predictor = model.predictor().with_context(|| args.model.display().to_string())?;
        Ok((Law::Mixture(predictor), model.table_columns(), reading(&model)))
    }

    fn log_densities(&self, rows: RowsRef<'_>) -> compressive::Result<Vec<f64>> {
        match self {
            Law::Sketch(distribution) => distribution.log_densities(rows),
            Law::Mixture(predictor) => {
                let mut scores = Scores::default();
                let wanted = Wanted { log_densities: true, ..Wanted::default() };
                predictor.measure(rows, wanted, &mut scores)?;
                Ok(scores.log_densities)
            }
        }
    }
}

/// Sums over the rows, in their order.
#[derive(Default)]
struct Total {
    /// Rows of the data, bad ones included.
    places: u64,
    bad: u64,
    log_likelihood: f64,
    /// Row from 1 and log-density of the least usual rows, lowest first.
    lowest: Vec<(u64, f64)>,
}

impl Total {
    /// Adds the scores of a chunk; NaN for rows that could not be read.
    fn add(&mut self, scores: &[f64]) {
        for (i, score) in scores.iter().enumerate() {
            if score.is_nan() {
                self.bad += 1;
                continue;
            }
            self.log_likelihood += score;
            let at = self.lowest.partition_point(|(_, known)| known <= score);
            if at < SHOWN {
                self.lowest.insert(at, (self.places + i as u64 + 1, *score));
                self.lowest.truncate(SHOWN);
            }
        }
        self.places += scores.len() as u64;
    }
}

/// Scores rows.
pub fn run(args: &ScoreArgs) -> Result<()> {
    if let Some(path) = &args.output {
        check_output(path)?;
    }
    let (law, columns, options) = Law::read(args)?;
    let mut dataset = open(&args.data.data_args(), Some(columns), options)?;
    let named = [("log_density".to_owned(), CellType::F64)];
    let mut out = match &args.output {
        Some(path) => {
            let format = TableFormat::of(path, &named)?;
            Some((TableWriter::create(path, &format)?, format))
        }
        None => None,
    };
    let mut total = Total::default();
    with_progress(&mut dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        let new_worker = || |chunk: &RowChunk| scores(&law, chunk);
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |part: Vec<f64>| {
            total.add(&part);
            match &mut out {
                Some((writer, format)) => writer.write(&format.encode(vec![Cells::F64(part)])?),
                None => Ok(()),
            }
        })
    })?;
    if total.places == total.bad {
        bail!("no row to score: {} with bad values", count(total.bad, "row"));
    }
    if let Some((writer, _)) = out {
        writer.finish()?;
    }
    if total.bad > 0 {
        let got = if args.output.is_some() { "got an empty score" } else { "left out" };
        note(args.data.quiet, &format!("{} with bad values {got}", count(total.bad, "row")));
    }
    report(args, &total)
}

/// Log-densities of the rows of a chunk, bad ones NaN in their place.
fn scores(law: &Law, chunk: &RowChunk) -> compressive_io::Result<Ready<Vec<f64>>> {
    let found = law.log_densities(chunk.rows())?;
    let whole = chunk.n_skipped() == 0;
    let mut all = vec![f64::NAN; chunk.n_rows() + chunk.n_skipped()];
    for (i, score) in found.into_iter().enumerate() {
        all[if whole { i } else { chunk.place(i) }] = score;
    }
    Ok(Ready { bytes: 8 * all.len(), value: all })
}

fn report(args: &ScoreArgs, total: &Total) -> Result<()> {
    let rows = total.places - total.bad;
    let mean = total.log_likelihood / rows as f64;
    if args.json {
        let lowest: Vec<_> =
            total.lowest.iter().map(|(row, score)| json!({ "row": row, "log_density": score })).collect();
        return output::print_json(&json!({
            "rows": rows, "rows_skipped": total.bad, "log_likelihood": total.log_likelihood,
            "log_likelihood_per_row": mean, "lowest": lowest, "output": args.output,
        }));
    }
    let mut text = format!(
        "rows            {}\nlog-likelihood  {}\nper row         {}\nleast usual     row: log-density\n",
        output::thousands(rows),
        number(total.log_likelihood),
        number(mean),
    );
    for (row, score) in &total.lowest {
        text.push_str(&format!("{:>15} {row}: {}\n", "", number(*score)));
    }
    output::print(&text)
}
