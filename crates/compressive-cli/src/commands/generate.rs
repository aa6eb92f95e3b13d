//! `generate`: synthetic tables with a known truth.

use anyhow::{Result, bail};
use compressive::model::Model;
use compressive_data::{KindParams, Mixture, Rng, Sample, Source};
use compressive_io::{CellType, Cells, TableFormat, TableWriter, write_atomic};
use serde_json::json;

use super::check_output;
use crate::args::GenerateArgs;
use crate::interrupt;
use crate::output::{self, count};

/// Values made at a time.
const CHUNK_VALUES: usize = 1 << 18;

/// Writes rows of a known distribution.
pub fn run(args: &GenerateArgs) -> Result<()> {
    for path in std::iter::once(&args.output).chain(&args.truth) {
        check_output(path)?;
    }
    if !(args.noise >= 0.0 && args.noise.is_finite()) {
        bail!("--noise {}: give a number of at least 0", args.noise);
    }
    let GenerateArgs { dim, k, separation, factor, noise, seed, .. } = *args;
    let source = Source::new(args.kind, &KindParams { dim, k, separation, factor, noise, seed })?;
    let truth = match (source.mixture(), &args.truth) {
        (_, None) => None,
        (Some(mixture), Some(path)) => Some((path, truth_model(mixture)?)),
        (None, Some(_)) => {
            bail!("{} is not a mixture of Gaussians, so it has no model; leave --truth out", args.kind.name())
        }
    };
    let dim = source.dim();
    let mut columns: Vec<(String, CellType)> = (0..dim).map(|c| (column(c), CellType::F32)).collect();
    if args.labels {
        columns.push(("label".into(), CellType::I32));
    }
    let format = TableFormat::of(&args.output, &columns)?;
    let mut writer = TableWriter::create(&args.output, &format)?;
    // The truth has the seed's own stream, the rows another: the same truth whatever the number of rows.
    let mut rng = Rng::derived(args.seed, 1);
    interrupt::watched(|cancel| -> Result<()> {
        let mut left = args.rows;
        while left > 0 {
            if cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(compressive_io::Error::Interrupted { rows: (args.rows - left) as u64 }.into());
            }
            let rows = left.min((CHUNK_VALUES / dim).max(1));
            writer.write(&format.encode(cells(&source.sample(rows, &mut rng)?, args.labels))?)?;
            left -= rows;
        }
        Ok(())
    })??;
    writer.finish()?;
    if let Some((path, model)) = truth {
        write_atomic(path, format!("{}\n", model.to_json()).as_bytes())?;
    }
    if args.json {
        return output::print_json(
            &json!({ "output": args.output, "kind": args.kind.name(), "rows": args.rows, "columns": dim }),
        );
    }
    let size = count(dim as u64, "column");
    output::print(&format!("{}: {} of {size}\n", args.output.display(), count(args.rows as u64, "row")))
}

/// Names as readers give them to npy columns, so that a model fits the table in every format.
pub fn column(index: usize) -> String {
    format!("x{index}")
}

/// The columns of a sample, in single precision.
pub fn cells(sample: &Sample, labels: bool) -> Vec<Cells> {
    let column = |c: usize| sample.values.iter().skip(c).step_by(sample.dim).map(|x| *x as f32).collect();
    let mut cells: Vec<Cells> = (0..sample.dim).map(|c| Cells::F32(column(c))).collect();
    if labels {
        cells.push(Cells::I32(sample.labels.iter().map(|label| *label as i32).collect()));
    }
    cells
}

/// A mixture as a model.
fn truth_model(mixture: &Mixture) -> Result<Model> {
    let model = mixture.to_model((0..mixture.dim).map(column).collect());
    model.validate()?;
    Ok(model)
}
