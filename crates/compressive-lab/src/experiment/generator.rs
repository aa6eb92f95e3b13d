//! Generative networks from a sketch: how far what they make is from held-out rows.

use compressive::design::{LawChoice, Request, Task};
use compressive::learn::generator::{TrainParams, train};
use compressive::model::Content;
use compressive::model::Generator;

use crate::error::Result;
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Cloud, Clouds};
use compressive_data::Rows;
use compressive_data::metric::{Reference, median_distance};
use compressive_data::parallel::thread_count;
use compressive_data::{Rng, generate};

/// \[Sch21\] section 6.2.4.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "generator",
    title: "Generative networks from a sketch",
    reference: "[Sch21] section 6.2, figure 6.4 (pictures only, no numbers are printed)",
    work: run,
};

const SETS: [&str; 3] = ["spiral", "six Gaussians", "ring"];
/// Largest MMD to held-out rows, relative to that of a fresh sample.
const BAR: f64 = 1.5;
/// The same in a quick run, whose networks are small and trained for seconds.
const QUICK_BAR: f64 = 2.0;
/// Width of the spiral and the ring.
const WIDTH: f64 = 0.05;
/// Samples that a discrepancy is averaged over.
const SAMPLES: u64 = 10;
/// Points of a picture.
const SHOWN: usize = 3000;
/// The fine bandwidth, as a share of the median distance.
const FINE: f64 = 0.125;

fn rows_of(set: usize, n: usize, rng: &mut Rng) -> Result<Vec<f64>> {
    Ok(match set {
        0 => generate::spiral(n, WIDTH, rng).values,
        1 => generate::six_gaussians().sample(n, rng)?.values,
        _ => generate::ring(n, 1.0, WIDTH, rng).values,
    })
}

/// What one draw on one set gave; discrepancies at the median distance and at the fine bandwidth.
struct Outcome {
    generated: [f64; 2],
    fresh: [f64; 2],
    generator: Generator,
    size: usize,
    misfit: f64,
}

impl Outcome {
    fn ratio(&self, bandwidth: usize) -> f64 {
        self.generated[bandwidth] / self.fresh[bandwidth]
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let (n, measured) = options.pick((100_000, 10_000), (20_000, 2000));
    let draws = options.draws(3, 1);
    let bar = options.pick(BAR, QUICK_BAR);
    let columns = ["data", "draw", "m", "MMD, generated", "MMD, fresh", "ratio", "fine ratio", "misfit"];
    let title = format!(
        "Biased MMD of {measured} rows to as many held-out rows, Gaussian kernel of the median distance (fine: an eighth of it); lower is better"
    );
    let mut table = Table::new(title, &columns);
    let mut clouds = Vec::new();
    for (set, name) in SETS.iter().enumerate() {
        for draw in 0..draws as u64 {
            let outcome = one(set, draw, (n, measured), options)?;
            let ratio = outcome.ratio(0);
            progress(&format!("{name}, draw {}: ratio {ratio:.2}, fine {:.2}", draw + 1, outcome.ratio(1)));
            let cells = vec![
                Cell::text(*name),
                Cell::number("draw", (draw + 1) as f64, 0),
                Cell::number("size", outcome.size as f64, 0),
                Cell::number("mmd_generated", outcome.generated[0], 5),
                Cell::number("mmd_fresh", outcome.fresh[0], 5),
                Cell::number("ratio", ratio, 2),
                Cell::number("fine_ratio", outcome.ratio(1), 2),
                Cell::number("misfit", outcome.misfit, 1),
            ];
            table.push(cells, Some(Verdict::bar(ratio <= bar, format!("ratio at most {bar}"))));
            if draw == 0 {
                let real = rows_of(set, SHOWN, &mut Rng::derived(7300 + set as u64, 99))?;
                clouds.push(cloud(&format!("{name}: data"), &real));
                clouds.push(cloud(&format!("{name}: generated"), &outcome.generator.sample(SHOWN, 99)?));
            }
        }
    }
    let figure = Clouds { title: "Data, and rows made from their sketch alone".into(), clouds, across: 2 };
    let alt =
        "Points of the data on the left and of the network on the right: a spiral, six Gaussians and a ring.";
    let figure = Figure { file: "generator.png".into(), alt: alt.into(), png: figure.to_png()? };
    let text = vec![describe(n, &params(options, 0))];
    Ok(Report { text, tables: vec![table], figures: vec![figure], ..Report::default() })
}

fn describe(n: usize, params: &TrainParams) -> String {
    let widths: Vec<String> = params.layers.iter().map(ToString::to_string).collect();
    format!(
        "{n} rows in the plane, sketched once with `design --task generate`: a one-turn spiral and a ring of width {WIDTH}, and six Gaussians on a hexagon. A network with hidden layers of {} units is trained on the \
         sketch alone ({} steps of {} latent rows). The MMD is the biased one, so that a fresh sample of the data's own law sets the scale: a ratio of 1 cannot be beaten but by luck. Both are root mean squares over \
         {SAMPLES} samples against the same held-out rows. The misfit is the squared distance of the sketches in units of the data sketch's own sampling noise: 1 would be the data's own law.",
        widths.join(", "),
        params.steps,
        params.batch
    )
}

fn params(options: &Options, draw: u64) -> TrainParams {
    let defaults = TrainParams::default().seed(draw).threads(thread_count(options.threads));
    let quick = defaults.clone().layers(vec![32; 2]).steps(600).rate(1e-2);
    options.pick(defaults, quick)
}

fn one(set: usize, draw: u64, (n, measured): (usize, usize), options: &Options) -> Result<Outcome> {
    let rng = |stream: u64| Rng::derived(7000 + 10 * draw + set as u64, stream);
    let values = rows_of(set, n, &mut rng(0))?;
    let law = LawChoice::MultiScale;
    let design = Request::new(Task::Generate, 10).law(law).seed(draw);
    let sketched = fits::designed(&values, 2, &design)?;
    let model = train(&sketched.operator, &sketched.moments, &params(options, draw), &mut |_, _| ())?;
    let misfit = model.origin.as_ref().map_or(f64::NAN, |origin| origin.misfit.value());
    let Content::Generator(generator) = model.content else { unreachable!("training gives a generator") };
    let held_out = rows_of(set, measured, &mut rng(1))?;
    let held_out = Rows::new(&held_out, 2)?;
    let median = median_distance(held_out)?;
    let reference = Reference::new(held_out, &[median, FINE * median])?;
    let mut squares = [[0.0; 2]; 2];
    for sample in 0..SAMPLES {
        let made = generator.sample(measured, 1 + sample)?;
        let other = rows_of(set, measured, &mut rng(2 + sample))?;
        for (sums, rows) in squares.iter_mut().zip([&made, &other]) {
            let mmd = reference.mmd(Rows::new(rows, 2)?)?;
            sums.iter_mut().zip(mmd).for_each(|(sum, x)| *sum += x * x / SAMPLES as f64);
        }
    }
    let [generated, fresh] = squares.map(|all| all.map(f64::sqrt));
    Ok(Outcome { generated, fresh, generator, size: sketched.operator.spec().size, misfit })
}

fn cloud(title: &str, values: &[f64]) -> Cloud {
    Cloud { title: title.into(), points: values.chunks_exact(2).map(|row| [row[0], row[1]]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_meets_its_bar_on_all_three_sets() {
        let report = EXPERIMENT.run(&Options::quick(), &mut |_| ()).expect("a run");
        assert_eq!(report.tables[0].rows.len(), 3);
        for row in &report.tables[0].rows {
            let ratio = row.cells[5].numbers["ratio"];
            assert!(ratio > 0.5 && ratio <= QUICK_BAR, "{}: {ratio}", row.cells[0].text);
        }
        assert_eq!(report.figures.len(), 1);
    }
}
