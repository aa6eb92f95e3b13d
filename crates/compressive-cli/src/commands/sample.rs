//! `sample`: rows drawn from a sketch or a model.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use compressive::model::{Content, Covariances, Model};
use compressive::reading::OTHER;
use compressive::{Column, Reading, calendar};
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
        return generator::sample(args, network, &model.table_columns());
    }
    let mixture = mixture(&model)?;
    let mut rng = Rng::derived(args.seed.seed, 2);
    interrupt::watched(|cancel| {
        write_rows(args, &model.table_columns(), cancel, &mut |rows| {
            Ok(mixture.sample(rows, &mut rng)?.values)
        })
    })?
}

/// Draws rows from the density of a sketch.
fn sample_sketch(args: &SampleArgs) -> Result<()> {
    let (distribution, spec) = read_distribution(&args.model)?;
    let mut done = 0;
    interrupt::watched(|cancel| {
        write_rows(args, &spec.table_columns(), cancel, &mut |rows| {
            let values = distribution.sample_from(done, rows, args.seed.seed);
            done += rows;
            Ok(values)
        })
    })?
}

/// Writes rows whose coordinates `draw` makes, so many at a call, in the table's terms, and says so.
pub fn write_rows(
    args: &SampleArgs,
    table: &[Column],
    cancel: &AtomicBool,
    draw: &mut dyn FnMut(usize) -> Result<Vec<f64>>,
) -> Result<()> {
    // An array has numbers alone, so it has the coordinates.
    let numbers = args.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    let columns: Vec<(String, CellType, Drawn<'_>)> = if numbers {
        let names = compressive::reading::coordinates(table);
        names.into_iter().enumerate().map(|(c, name)| (name, CellType::F64, Drawn::Number(c))).collect()
    } else {
        compressive::reading::places(table).flat_map(|(column, at)| in_terms(column, at)).collect()
    };
    let dim = table.iter().map(|column| column.reading.width()).sum::<usize>().max(1);
    let named: Vec<(String, CellType)> =
        columns.iter().map(|(name, cell, _)| (name.clone(), *cell)).collect();
    let format = TableFormat::of(&args.output, &named)?;
    let mut writer = TableWriter::create(&args.output, &format)?;
    let mut left = args.rows;
    while left > 0 {
        if cancel.load(Ordering::Relaxed) {
            return Err(compressive_io::Error::Interrupted { rows: (args.rows - left) as u64 }.into());
        }
        let rows = left.min((CHUNK_VALUES / dim).max(1));
        let values = draw(rows)?;
        let cells = columns.iter().map(|(_, _, drawn)| drawn.cells(&values, dim)).collect();
        writer.write(&format.encode(cells)?)?;
        left -= rows;
    }
    writer.finish()?;
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    if args.json {
        return output::print_json(&json!({
            "output": args.output, "rows": args.rows, "columns": names, "seed": args.seed.seed,
        }));
    }
    let size = count(names.len() as u64, "column");
    output::print(&format!("{}: {} of {size}\n", args.output.display(), count(args.rows as u64, "row")))
}

/// What a column of the output shows of a row's coordinates.
enum Drawn<'a> {
    Number(usize),
    Time(usize),
    /// The level whose coordinate is largest of these.
    Level(Range<usize>, &'a [String]),
}

/// The columns that a column of the table is written as: places on circles and vectors by their coordinates.
fn in_terms(column: &Column, at: Range<usize>) -> Vec<(String, CellType, Drawn<'_>)> {
    let name = column.column.clone();
    match &column.reading {
        Reading::Category { levels, .. } => vec![(name, CellType::Text, Drawn::Level(at, levels))],
        Reading::Time { periods, .. } if periods.is_empty() => {
            vec![(name, CellType::Text, Drawn::Time(at.start))]
        }
        _ => {
            let number = |(i, name)| (name, CellType::F64, Drawn::Number(at.start + i));
            column.coordinates().into_iter().enumerate().map(number).collect()
        }
    }
}

impl Drawn<'_> {
    fn cells(&self, values: &[f64], dim: usize) -> Cells {
        let rows = values.chunks_exact(dim);
        match self {
            Drawn::Number(at) => Cells::F64(rows.map(|row| row[*at]).collect()),
            Drawn::Time(at) => Cells::Text(rows.map(|row| calendar::show(row[*at], true)).collect()),
            Drawn::Level(at, levels) => {
                Cells::Text(rows.map(|row| level(&row[at.clone()], levels).into()).collect())
            }
        }
    }
}

/// The level of a row with these coordinates, the last of which may be that of all others.
fn level<'a>(coordinates: &[f64], levels: &'a [String]) -> &'a str {
    let largest =
        coordinates.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(place, _)| place);
    levels.get(largest).map_or(OTHER, String::as_str)
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
