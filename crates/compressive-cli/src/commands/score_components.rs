//! `score` of principal components: how much of the rows they leave.

use anyhow::{Result, bail};
use compressive::model::Model;
use compressive_io::{Ready, RowChunk, pass_in_order};
use serde_json::json;

use super::design::{note, open};
use super::reading;
use super::sketch::with_progress;
use crate::args::ScoreArgs;
use crate::output::{self, count, number};

/// Sums over the rows, in their order.
#[derive(Default)]
struct Total {
    rows: u64,
    bad: u64,
    /// Squared distances from the mean.
    all: f64,
    /// What the components leave of them.
    left: f64,
}

/// Measures principal components on rows.
pub fn run(args: &ScoreArgs, model: &Model) -> Result<()> {
    if let Some(column) = &args.labels {
        bail!("--labels {column}: principal components give rows no labels to compare with; leave it out");
    }
    let projector = model.projector()?;
    let data = args.data.data_args();
    let mut dataset = open(&data, Some(model.table_columns()), reading(model))?;
    let mut total = Total::default();
    with_progress(&mut dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        let new_worker = || {
            |chunk: &RowChunk| -> compressive_io::Result<Ready<Total>> {
                let (all, left) = projector.errors(chunk.rows())?;
                let (rows, bad) = (chunk.n_rows() as u64, chunk.n_skipped() as u64);
                Ok(Ready { bytes: 32, value: Total { rows, bad, all, left } })
            }
        };
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |part: Total| {
            total.rows += part.rows;
            total.bad += part.bad;
            total.all += part.all;
            total.left += part.left;
            Ok(())
        })
    })?;
    if total.rows == 0 {
        bail!("no row to score: {} with bad values", count(total.bad, "row"));
    }
    if total.bad > 0 {
        note(args.data.quiet, &format!("left out {} with bad values", count(total.bad, "row")));
    }
    report(args, &total)
}

fn report(args: &ScoreArgs, total: &Total) -> Result<()> {
    let rows = total.rows as f64;
    let (variance, error) = (total.all / rows, total.left / rows);
    // Rows that are all at the mean have nothing to explain.
    let share = if total.all > 0.0 { 1.0 - total.left / total.all } else { 1.0 };
    if args.json {
        return output::print_json(&json!({
            "rows": total.rows, "rows_skipped": total.bad, "reconstruction_error": error, "total_variance": variance,
            "explained_share": share,
        }));
    }
    output::print(&format!(
        "rows                  {}\nvariance              {}\nreconstruction error  {} per row\nexplained             {:.2}%\n",
        output::thousands(total.rows),
        number(variance),
        number(error),
        100.0 * share,
    ))
}
