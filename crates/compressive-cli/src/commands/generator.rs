//! Generative networks: `fit --task generate`, and what `sample` and `score` do with them.

use std::time::Instant;

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::Column;
use compressive::learn::generator::{TrainParams, train};
use compressive::learn::{Decoder, Learned};
use compressive::model::Generator;
use compressive_data::Rows;
use compressive_data::metric::{Reference, median_distance};
use compressive_io::ReadOptions;
use serde_json::json;

use super::design::{note, open};
use super::fit::Found;
use super::sample::write_rows;
use super::{check_output, read_any_sketch};
use crate::args::{FitArgs, SampleArgs, ScoreArgs, StartArg};
use crate::interrupt;
use crate::output::{self, count, number};

/// Most rows of the data, and of each sample, that a score compares.
const SCORED_ROWS: usize = 5000;
/// Samples that a score is averaged over.
const SCORED_SAMPLES: u64 = 4;

/// Trains a network on a sketch.
pub fn fit(args: &FitArgs, path: &Path) -> Result<()> {
    check_flags(args)?;
    if let Some(path) = &args.output {
        check_output(path)?;
    }
    let sketch = read_any_sketch(path)?;
    let operator = sketch.spec().clone().build()?;
    let params = params(args);
    let moments = sketch.moments().with_context(|| path.display().to_string())?;
    let bar = output::spinner("training", args.quiet);
    let start = Instant::now();
    let model = train(&operator, &moments, &params, &mut |step, loss| {
        if step % 50 == 0 {
            bar.set_message(format!("training: step {step} of {}, loss {loss:.2e}", params.steps));
        }
    });
    bar.finish_and_clear();
    let model = model.with_context(|| path.display().to_string())?;
    if args.output.is_none() && !args.json {
        note(args.quiet, "the network was not saved; give -o MODEL.json");
    }
    let found = Found { learned: Learned { model, candidates: Vec::new() }, elapsed: start.elapsed() };
    found.finish(&operator, "", args.output.as_deref(), args.json)
}

/// Refuses flags of the other tasks.
fn check_flags(args: &FitArgs) -> Result<()> {
    if args.k.is_some() {
        bail!("-k: a generative network has no components; its size is set by --layers and --latent");
    }
    let searched = args.learn.restarts.is_some() || args.learn.decoder != Decoder::Auto;
    if searched || args.learn.start != StartArg::Range || !args.pilot.is_empty() {
        bail!(
            "--decoder, --restarts, --start and --pilot are for clusters and mixtures; a network is trained, see --steps and --rate"
        );
    }
    Ok(())
}

fn params(args: &FitArgs) -> TrainParams {
    let (flags, defaults) = (&args.generator, TrainParams::default());
    TrainParams::default()
        .layers(flags.layers.clone().unwrap_or(defaults.layers))
        .latent(flags.latent)
        .activation(flags.activation.unwrap_or(defaults.activation))
        .steps(flags.steps.unwrap_or(defaults.steps))
        .batch(flags.batch.unwrap_or(defaults.batch))
        .rate(flags.rate.unwrap_or(defaults.rate))
        .seed(args.seed.seed)
        .threads(args.threads.count())
}

/// Draws rows.
pub fn sample(args: &SampleArgs, generator: &Generator, table: &[Column]) -> Result<()> {
    let mut done = 0;
    interrupt::watched(|cancel| {
        write_rows(args, table, cancel, &mut |rows| {
            let values = generator.sample_from(done, rows, args.seed.seed)?;
            done += rows;
            Ok(values)
        })
    })?
}

/// Measures a network on rows: the discrepancy of its samples to them, beside what samples of the rows' own
/// law would have.
pub fn score(args: &ScoreArgs, generator: &Generator, columns: Vec<Column>) -> Result<()> {
    if let Some(column) = &args.labels {
        bail!("--labels {column}: a generative network gives rows no labels to compare with; leave it out");
    }
    let dim = generator.dim();
    let mut dataset = open(&args.data.data_args(), Some(columns), ReadOptions::default())?;
    let pilot = dataset.pilot(SCORED_ROWS, 0)?;
    let n = pilot.n_rows;
    if n < 2 {
        bail!("{} to score; a discrepancy needs at least 2", count(n as u64, "row"));
    }
    let scaled = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(generator.spread.iter().cycle()).map(|(x, s)| x / s).collect()
    };
    let data = scaled(&pilot.rows);
    let data = Rows::new(&data, dim)?;
    let bandwidth = median_distance(data)?;
    if bandwidth <= 0.0 {
        bail!("most of the {} are equal, so they have no scale to compare at", count(n as u64, "row"));
    }
    let reference = Reference::new(data, &[bandwidth])?;
    let mut square = 0.0;
    for seed in 0..SCORED_SAMPLES {
        let made = scaled(&generator.sample(n, seed)?);
        square += reference.mmd(Rows::new(&made, dim)?)?[0].powi(2) / SCORED_SAMPLES as f64;
    }
    let (mmd, fresh) = (square.sqrt(), reference.fresh(n)[0]);
    let ratio = if fresh > 0.0 { mmd / fresh } else { f64::NAN };
    if args.json {
        return output::print_json(
            &json!({ "rows": n, "mmd": mmd, "mmd_fresh": fresh, "ratio": ratio, "bandwidth": bandwidth }),
        );
    }
    output::print(&format!(
        "rows   {}\nMMD    {} of as many generated rows (root mean square of {SCORED_SAMPLES} samples)\nfresh  {} expected of other rows of the data's law\nratio  {ratio:.2}\n",
        output::thousands(n as u64),
        number(mmd),
        number(fresh),
    ))
}
