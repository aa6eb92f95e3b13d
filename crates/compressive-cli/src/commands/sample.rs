//! `sample`: rows drawn from a sketch or a model.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use compressive::SketchSpec;
use compressive::model::{Content, Covariances, Model};
use compressive_data::{Mixture, Rng, Shape};
use compressive_io::{CellType, Cells, TableFormat, TableWriter};
use serde_json::json;

use super::{check_output, generator, is_sketch, read_distribution, read_model};
use crate::args::SampleArgs;
use crate::interrupt;
use crate::output::{self, count};

/// Values made at a time.
const CHUNK_VALUES: usize = 1 << 18;

/// Draws rows from the density of a sketch, a mixture or a generative network.
pub fn run(args: &SampleArgs) -> Result<()> {
    check_output(&args.output)?;
    if is_sketch(&args.model)? {
        return sample_sketch(args);
    }
    let model = read_model(&args.model)?;
    if let Content::Generator(network) = &model.content {
        return generator::sample(args, network, &model.columns);
    }
    let mixture = mixture(&model)?;
    let mut rng = Rng::derived(args.seed.seed, 2);
    interrupt::watched(|cancel| {
        write_rows(args, &model.columns, cancel, &mut |rows| {
            let sample = mixture.sample(rows, &mut rng)?;
            let column =
                |c: usize| Cells::F64(sample.values.iter().skip(c).step_by(sample.dim).copied().collect());
            Ok((0..sample.dim).map(column).collect())
        })
    })?
}

/// Draws rows from the density of a sketch.
fn sample_sketch(args: &SampleArgs) -> Result<()> {
    let (distribution, SketchSpec { columns, .. }) = read_distribution(&args.model)?;
    let (dim, mut done) = (columns.len(), 0);
    interrupt::watched(|cancel| {
        write_rows(args, &columns, cancel, &mut |rows| {
            let values = distribution.sample_from(done, rows, args.seed.seed);
            done += rows;
            let column = |c: usize| Cells::F64(values.iter().skip(c).step_by(dim).copied().collect());
            Ok((0..dim).map(column).collect())
        })
    })?
}

/// Writes rows that `draw` makes, so many at a call, and says so.
pub fn write_rows(
    args: &SampleArgs,
    names: &[String],
    cancel: &AtomicBool,
    draw: &mut dyn FnMut(usize) -> Result<Vec<Cells>>,
) -> Result<()> {
    let columns: Vec<(String, CellType)> = names.iter().map(|name| (name.clone(), CellType::F64)).collect();
    let format = TableFormat::of(&args.output, &columns)?;
    let mut writer = TableWriter::create(&args.output, &format)?;
    let mut left = args.rows;
    while left > 0 {
        if cancel.load(Ordering::Relaxed) {
            return Err(compressive_io::Error::Interrupted { rows: (args.rows - left) as u64 }.into());
        }
        let rows = left.min((CHUNK_VALUES / names.len().max(1)).max(1));
        writer.write(&format.encode(draw(rows)?)?)?;
        left -= rows;
    }
    writer.finish()?;
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": args.rows, "columns": names, "seed": args.seed.seed,
        }));
    }
    let size = count(names.len() as u64, "column");
    output::print(&format!("{}: {} of {size}\n", args.output.display(), count(args.rows as u64, "row")))
}

/// The mixture to draw from.
fn mixture(model: &Model) -> Result<Mixture> {
    let Content::Gmm { weights, means, covariances } = &model.content else {
        bail!(
            "rows are drawn from mixtures of Gaussians (--task gmm) and generative networks (--task generate); a model of --task {} says too little about the rows around its parameters",
            model.task()
        );
    };
    let (shape, covariances) = match covariances {
        Covariances::Diagonal(all) => (Shape::Diagonal, all.concat()),
        Covariances::Full(all) => (Shape::Full, all.iter().flatten().flatten().copied().collect()),
    };
    Ok(Mixture { dim: model.dim(), weights: weights.clone(), means: means.concat(), covariances, shape })
}
