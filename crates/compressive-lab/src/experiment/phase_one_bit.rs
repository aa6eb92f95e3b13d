//! The phase transition of k-means from one-bit sketches.

use compressive::Wave;
use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::draws::{self, share};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Heat, HeatMaps};
use compressive_data::{KMeansParams, Rng, kmeans, sse};
use compressive_data::{Mixture, Shape};

/// \[Sch21\] figure 4.4.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "phase-one-bit",
    title: "One-bit k-means: phase transition in the size of the sketch",
    reference: "[Sch21] figure 4.4 (success: SSE at most 1.2 times that of k-means; one-bit needs 1.13 and 1.23 times the m)",
    work: run,
};

/// A relative SSE up to this is a success in the thesis.
const SUCCESS: f64 = 1.2;
/// Feature and decoder of each map.
const VARIANTS: [(&str, bool, bool); 3] =
    [("auto, one-bit", true, true), ("cl-ompr, one-bit", true, false), ("auto, Fourier", false, true)];

/// One-bit over Fourier sizes in the thesis, by panel, and how near is a reproduction.
const PUBLISHED: [f64; 2] = [1.13, 1.23];
const TOLERANCE: f64 = 0.15;

/// What varies, the pairs (k, d), and the head of a row.
type Panel = (&'static str, Vec<(usize, usize)>, fn(&(usize, usize)) -> usize);

fn panels(options: &Options) -> [Panel; 2] {
    let dims: &[usize] = options.pick(&[2, 5, 10, 15, 20, 25], &[5]);
    let ks: &[usize] = options.pick(&[2, 4, 6, 8, 10, 12], &[4]);
    [
        ("d (K = 2)", dims.iter().map(|dim| (2, *dim)).collect(), |problem| problem.1),
        ("K (d = 5)", ks.iter().map(|k| (*k, 5)).collect(), |problem| problem.0),
    ]
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let ratios: &[f64] = options.pick(&[0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0], &[1.0, 10.0]);
    let draws = options.draws(20, 2);
    let columns: Vec<&str> = ["panel", "m/(kd)", "d or K"].into_iter().chain(VARIANTS.map(|v| v.0)).collect();
    let mut table = Table::new("Share of draws with an SSE of at most 1.2 times that of k-means", &columns);
    let mut halves = Table::new(
        "Sizes m/(kd) at which half of the draws succeed, between the sizes of the grid on a logarithmic scale",
        &["panel", "d or K", VARIANTS[0].0, VARIANTS[1].0, VARIANTS[2].0, "one-bit over Fourier, `auto`"],
    );
    let mut maps = Vec::new();
    for ((label, problems, head), published) in panels(options).into_iter().zip(PUBLISHED) {
        let mut values: [Vec<Vec<f64>>; 3] = Default::default();
        for problem in &problems {
            let name = format!("{label} = {}", head(problem));
            let outcomes =
                draws::map(draws, options.threads, &name, progress, |draw| one_draw(*problem, ratios, draw))?;
            values.iter_mut().for_each(|map| map.push(Vec::new()));
            for (at, ratio) in ratios.iter().enumerate() {
                let mut cells = vec![
                    Cell::text(label),
                    Cell::number("size", *ratio, 1),
                    Cell::text(head(problem).to_string()),
                ];
                for (variant, map) in values.iter_mut().enumerate() {
                    let rsse: Vec<f64> = outcomes.iter().map(|outcome| outcome[at][variant]).collect();
                    let success = share(&rsse, SUCCESS);
                    map.last_mut().expect("pushed above").push(success);
                    cells.push(Cell::text(format!("{:.0}%", 100.0 * success)).with("share", success));
                }
                table.push(cells, None);
            }
        }
        let heads: Vec<usize> = problems.iter().map(head).collect();
        let published = (!options.quick).then_some(published);
        add_halves(&mut halves, label, &heads, ratios, &values, published);
        for ((name, ..), values) in VARIANTS.into_iter().zip(values) {
            maps.push(Heat {
                title: name.into(),
                x_label: "m/(kd)".into(),
                y_label: label.into(),
                xs: ratios.iter().map(|r| format!("{r}")).collect(),
                ys: problems.iter().map(|p| head(p).to_string()).collect(),
                values,
            });
        }
    }
    let figure = HeatMaps {
        title: "Share of successes (bright is good)".into(),
        maps,
        across: 3,
        range: (0.0, 1.0),
        unit: "success".into(),
        digits: 2,
    };
    let alt = "Six heat maps of the share of successes against m/(kd) and d or K: auto and cl-ompr on one-bit sketches, auto on Fourier sketches.";
    let figures = vec![Figure { file: "phase-one-bit.png".into(), alt: alt.into(), png: figure.to_png()? }];
    let text = format!(
        "10,000 rows of K isotropic Gaussians of covariance (d/20) I: K = 2 with means +-(1, ..., 1) and varying d, or d = 5 with K different means drawn from the corners of the cube; {draws} draws a cell \
         (the thesis: 100), on a coarser grid. Law, scale and transform are the program's own; `cl-ompr` has point atoms and one start an atom, as published. The thesis decodes both \
         kinds of sketches by `cl-ompr`, and says that one-bit sketches need 1.13 (over d) and 1.23 (over K) times the frequencies; within {TOLERANCE} is a reproduction."
    );
    let report = Report { text: vec![text], tables: vec![table, halves], figures, ..Report::default() };
    Ok(report.explain(
        "K (d = 5)",
        "the ratio is larger because its lower side is smaller: `auto` finds ten clusters in 0.7 kd waves, about 1.5 numbers for each coordinate of a centre, and in 1.2 kd pairs of bits. Bits carry higher harmonics beside the wave, which probably \
         tell most where equations hardly outnumber unknowns. Both are far below the 5 kd and more that `cl-ompr` needs of bits here.",
    ))
}

/// The size at which the share of successes passes one half, on a line between the logarithms of its
/// neighbours; NaN if it does not, and the first size if it begins above.
fn half(ratios: &[f64], shares: &[f64]) -> f64 {
    let Some(above) = shares.iter().position(|share| *share >= 0.5) else { return f64::NAN };
    let Some(below) = above.checked_sub(1) else { return ratios[0] };
    let t = (0.5 - shares[below]) / (shares[above] - shares[below]);
    (ratios[below].ln() * (1.0 - t) + ratios[above].ln() * t).exp()
}

/// Adds a row for each problem, and the mean ratio of a panel beside the published one.
fn add_halves(
    table: &mut Table,
    label: &str,
    heads: &[usize],
    ratios: &[f64],
    values: &[Vec<Vec<f64>>; 3],
    published: Option<f64>,
) {
    let known = |name, value: f64| {
        if value.is_nan() { Cell::text("none").with(name, value) } else { Cell::number(name, value, 2) }
    };
    let mut all = Vec::new();
    for (at, head) in heads.iter().enumerate() {
        let sizes = [0, 1, 2].map(|variant: usize| half(ratios, &values[variant][at]));
        let mut cells = vec![Cell::text(label), Cell::text(head.to_string())];
        cells.extend(sizes.map(|size| known("size", size)));
        cells.push(known("ratio", sizes[0] / sizes[2]));
        table.push(cells, None);
        all.push(sizes[0] / sizes[2]);
    }
    let mut cells = vec![Cell::text(label), Cell::text("mean ratio")];
    cells.extend([Cell::text(""), Cell::text(""), Cell::text(""), known("ratio", draws::mean(&all))]);
    table.push(cells, published.map(|p| Verdict::published(draws::mean(&all), p, TOLERANCE)));
}

/// The thesis' mixture; the K means on the corners are different ones.
fn truth((k, dim): (usize, usize), rng: &mut Rng) -> Mixture {
    let mut means: Vec<Vec<f64>> = vec![vec![1.0; dim], vec![-1.0; dim]];
    if k != 2 {
        means.clear();
    }
    while means.len() < k {
        let corner: Vec<f64> = (0..dim).map(|_| if rng.uniform() < 0.5 { -1.0 } else { 1.0 }).collect();
        if !means.contains(&corner) {
            means.push(corner);
        }
    }
    Mixture {
        dim,
        weights: vec![1.0 / k as f64; k],
        means: means.concat(),
        covariances: vec![dim as f64 / 20.0; k * dim],
        shape: Shape::Diagonal,
    }
}

/// Relative SSE of the variants at every size.
fn one_draw(problem: (usize, usize), ratios: &[f64], draw: u64) -> Result<Vec<[f64; 3]>> {
    let (k, dim) = problem;
    let mut rng = Rng::derived(7000, draw);
    let sample = truth(problem, &mut rng).sample(10_000, &mut rng)?;
    let rows = sample.rows()?;
    let reference = kmeans(rows, k, &KMeansParams { threads: 1, seed: draw, ..KMeansParams::default() })?.sse;
    let mut outcome = Vec::new();
    for ratio in ratios {
        let size = ((ratio * (k * dim) as f64).round() as usize).max(k);
        let mut cells = [0.0; 3];
        for (value, (_, one_bit, auto)) in cells.iter_mut().zip(VARIANTS) {
            let feature = if one_bit { Wave::OneBit } else { Wave::Fourier };
            let params = Request::new(Task::Kmeans, k).outline(false).size(size).feature(feature).seed(draw);
            let sketched = fits::designed(&sample.values, dim, &params)?;
            let centers = if auto {
                sketched.centers(k, Decoder::Auto, 1)?
            } else {
                sketched.published_centers(k, 1)?
            };
            *value = sse(rows, &centers)? / reference;
        }
        outcome.push(cells);
    }
    Ok(outcome)
}
