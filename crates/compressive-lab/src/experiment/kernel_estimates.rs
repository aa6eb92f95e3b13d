//! Kernels estimated from random periodic features: without bias if one side is a cosine, and of another
//! shape if both are bits.

use compressive::features::{KernelPair, rows};
use compressive::{FrequencyLaw, RowsRef, Scratch, SketchSpec, Wave, Waves};

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, kernel_worst};
use crate::plot::{Lines, Series};
use compressive_data::Rng;

/// \[Sch21\] figures 3.3 and 3.4.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kernel-estimates",
    title: "Kernels from random features: cosines, bits, and one of each",
    reference: "[Sch21] figures 3.3 (kernels against the distance) and 3.4 (largest error against m and the number of rows)",
    work: run,
};

const DIM: usize = 5;
/// Pairs of rows in a draw, at distances from 0 to the largest.
const PAIRS: usize = 200;
const LARGEST: f64 = 5.0;
const BINS: usize = 10;
/// Which side has which feature: cosines, asymmetric, bits.
const PAIR_NAMES: [&str; 3] = ["cos, cos", "one-bit, cos", "one-bit, one-bit"];

/// A kernel, its width, its number of features.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    Gaussian,
    Laplace,
}

impl Kernel {
    const WIDTH: f64 = 1.5;

    fn name(self) -> &'static str {
        match self {
            Kernel::Gaussian => "Gaussian",
            Kernel::Laplace => "Laplace",
        }
    }

    /// Features in the thesis.
    fn size(self) -> usize {
        match self {
            Kernel::Gaussian => 200,
            Kernel::Laplace => 2000,
        }
    }

    fn value(self, distance: f64) -> f64 {
        match self {
            Kernel::Gaussian => (-0.5 * (distance / Kernel::WIDTH).powi(2)).exp(),
            Kernel::Laplace => (-distance / Kernel::WIDTH).exp(),
        }
    }

    /// The norm that its distance is in.
    fn norm(self, u: &[f64]) -> f64 {
        match self {
            Kernel::Gaussian => u.iter().map(|x| x * x).sum::<f64>().sqrt(),
            Kernel::Laplace => u.iter().map(|x| x.abs()).sum(),
        }
    }

    /// A recipe with its frequencies: Gaussian ones, or of independent Cauchy entries.
    fn spec(self, wave: Wave, draw: u64) -> SketchSpec {
        let names = (0..DIM).map(|c| format!("x{c}"));
        let (law, scale) = match self {
            Kernel::Gaussian => (FrequencyLaw::Gaussian, Kernel::WIDTH),
            Kernel::Laplace => {
                let mut rng = Rng::derived(332, draw);
                // An entry beyond 1e8 comes once in 2e8; its phase has no digits in f32, whatever it is.
                let mut entry =
                    || ((rng.uniform() - 0.5) * std::f64::consts::PI).tan().clamp(-1e8, 1e8) / Kernel::WIDTH;
                let frequencies = (0..self.size()).map(|_| (0..DIM).map(|_| entry()).collect()).collect();
                (FrequencyLaw::Explicit { frequencies }, 1.0)
            }
        };
        let plain = SketchSpec::new(names, Waves::dithered(wave, law), scale, self.size());
        SketchSpec { seed: draw, ..plain }
    }
}

/// Distance of a pair.
fn distance(pair: usize) -> f64 {
    LARGEST * pair as f64 / (PAIRS - 1) as f64
}

/// The bin of a pair.
fn bin(pair: usize) -> usize {
    pair * BINS / PAIRS
}

/// How the three estimates of a draw lie: means and mean squares of their errors in each bin.
struct Draw {
    /// By kind of pair, then bin: the mean of the estimate less the kernel.
    bias: [Vec<f64>; 3],
    square: [Vec<f64>; 3],
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let draws = options.draws(200, 20);
    let mut report = Report { text: text(draws), ..Report::default() };
    for kernel in [Kernel::Gaussian, Kernel::Laplace] {
        let outcomes =
            draws::map(draws, options.threads, kernel.name(), progress, |draw| one_draw(kernel, draw))?;
        let (table, figure) = kernel_table(kernel, &outcomes)?;
        report.tables.push(table);
        report.figures.push(figure);
    }
    kernel_worst::add(&mut report, options, progress)?;
    Ok(report)
}

fn pairs() -> Result<[KernelPair; 3]> {
    Ok([
        KernelPair::new(&Wave::Cosine, &Wave::Cosine)?,
        KernelPair::new(&Wave::OneBit, &Wave::Cosine)?,
        KernelPair::new(&Wave::OneBit, &Wave::OneBit)?,
    ])
}

fn one_draw(kernel: Kernel, draw: u64) -> Result<Draw> {
    let mut rng = Rng::derived(331, draw);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let u: Vec<f64> = (0..DIM).map(|_| rng.normal()).collect();
        let (length, start) = (kernel.norm(&u), x.len());
        x.extend((0..DIM).map(|_| rng.normal()));
        y.extend((0..DIM).map(|c| x[start + c] + distance(pair) * u[c] / length));
    }
    let m = kernel.size();
    let features = |feature: Wave, values: &[f64]| -> Result<Vec<Vec<f32>>> {
        let operator = kernel.spec(feature, draw).build()?;
        let mut out = Vec::new();
        rows(&operator, RowsRef::F64(values), &mut out, &mut Scratch::default())?;
        // The first block: with dither, the real features of the thesis.
        Ok(out.chunks_exact(operator.sketch_len()).map(|row| row[..m].to_vec()).collect())
    };
    let (cos_x, cos_y) = (features(Wave::Cosine, &x)?, features(Wave::Cosine, &y)?);
    let (bit_x, bit_y) = (features(Wave::OneBit, &x)?, features(Wave::OneBit, &y)?);
    let mut found = Draw { bias: Default::default(), square: Default::default() };
    let per_bin = (PAIRS / BINS) as f64;
    let sides = [(&cos_x, &cos_y), (&bit_x, &cos_y), (&bit_x, &bit_y)];
    for ((kind, pair), (a, b)) in pairs()?.iter().enumerate().zip(sides) {
        let (mut bias, mut square) = (vec![0.0; BINS], vec![0.0; BINS]);
        for i in 0..PAIRS {
            let error = pair.estimate(&a[i], &b[i])? - kernel.value(distance(i));
            bias[bin(i)] += error / per_bin;
            square[bin(i)] += error * error / per_bin;
        }
        (found.bias[kind], found.square[kind]) = (bias, square);
    }
    Ok(found)
}

/// Mean over the draws, and its standard error: rows of one draw share frequencies, draws share nothing.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let (n, middle) = (values.len() as f64, mean(values));
    let variance = values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (middle, (variance / n).sqrt())
}

fn kernel_table(kernel: Kernel, outcomes: &[Draw]) -> Result<(Table, Figure)> {
    let mut table = Table::new(
        format!("{} kernel, width {}, m = {}", kernel.name(), Kernel::WIDTH, kernel.size()),
        &[
            "distance",
            "kernel",
            "bias cos, cos (rms)",
            "bias one-bit, cos (rms)",
            "bias one-bit, one-bit (rms)",
            "its closed form",
        ],
    );
    let distorted = &pairs()?[2];
    let shape = |at: f64| distorted.expected(|k| kernel.value(f64::from(k) * at));
    let mut means: [Vec<(f64, f64)>; 3] = Default::default();
    for at in 0..BINS {
        let own: Vec<f64> = (0..PAIRS).filter(|i| bin(*i) == at).map(distance).collect();
        let (middle, exact) = (mean(&own), mean(&own.iter().map(|r| kernel.value(*r)).collect::<Vec<f64>>()));
        let closed = mean(&own.iter().map(|r| shape(*r)).collect::<Vec<f64>>()) - exact;
        let of = |kind: usize| {
            let (bias, error) =
                mean_and_error(&outcomes.iter().map(|d| d.bias[kind][at]).collect::<Vec<f64>>());
            let rms = mean(&outcomes.iter().map(|d| d.square[kind][at]).collect::<Vec<f64>>()).sqrt();
            (bias, error, rms)
        };
        let cell = |kind: usize| {
            let (bias, error, rms) = of(kind);
            Cell::text(format!("{bias:+.4} +- {error:.4} ({rms:.3})"))
                .with("bias", bias)
                .with("error", error)
                .with("rms", rms)
        };
        (0..3).for_each(|kind| means[kind].push((middle, exact + of(kind).0)));
        let ((bias, error, _), (bits, bits_error, _)) = (of(1), of(2));
        let (unbiased, known) = (bias.abs() < 3.0 * error, (bits - closed).abs() < 3.0 * bits_error);
        let mut cells = vec![Cell::number("distance", middle, 2), Cell::number("kernel", exact, 3)];
        cells.extend((0..3).map(cell));
        cells.push(Cell::text(format!("{closed:+.4}")).with("closed_form", closed));
        let claim = "both within 3 standard errors";
        table.push(cells, Some(Verdict::bar(unbiased && known, claim)));
    }
    Ok((table, figure(kernel, &means, &shape)?))
}

fn figure(kernel: Kernel, means: &[Vec<(f64, f64)>; 3], distorted: &dyn Fn(f64) -> f64) -> Result<Figure> {
    let curve = |f: &dyn Fn(f64) -> f64| (0..=20).map(|i| 0.25 * f64::from(i)).map(|r| (r, f(r))).collect();
    let mut series = vec![
        Series { name: "the kernel".into(), points: curve(&|r| kernel.value(r)) },
        Series { name: "distorted kernel".into(), points: curve(distorted) },
    ];
    let named = PAIR_NAMES.iter().zip(means);
    series.extend(named.map(|(name, points)| Series { name: (*name).into(), points: points.clone() }));
    let name = kernel.name().to_lowercase();
    let lines = Lines {
        title: format!("{} kernel: means of estimates", kernel.name()),
        x_label: "distance".into(),
        y_label: "kernel".into(),
        series,
    };
    Ok(Figure {
        file: format!("kernel-estimates-{name}.png"),
        alt: format!(
            "{} kernel against the distance: estimates from cosines, and from bits with cosines, lie on the kernel; estimates from bits alone lie on the distorted kernel below it.",
            kernel.name()
        ),
        png: lines.to_png()?,
    })
}

fn text(draws: usize) -> Vec<String> {
    vec![
        format!(
            "d = {DIM}, {PAIRS} pairs of rows a draw at distances 0 to {LARGEST} (Euclidean for the Gaussian kernel, sum of moduli for the Laplace kernel), {draws} draws of pairs, frequencies and dither. \
             Features are the first block of `cosine` and `one-bit` at the same dithered frequencies, m numbers or m bits a row; the factors are 2, pi/2 and 1."
        ),
        "Bias: the mean estimate less the kernel, and its standard error from the means of the draws, whose rows share frequencies. In brackets the root mean square error of one estimate. Closed form: the distorted \
         kernel 8/pi^2 sum over odd k of k^-2 kernel(k distance), less the kernel. The verdict is on the bias of one-bit with cosines, which should be zero, and on that of bits alone, which should be the closed form; \
         of 40 right numbers one is beyond 3 standard errors on every tenth page."
            .into(),
        "The largest errors are those over all ordered pairs of n rows N(0, 100 I) with a Gaussian kernel of width 0.25: in 32 columns for the number of features at which half of the draws succeed (the thesis has 21 values of n from 10 to 500, and its text says that bits with cosines need about \
         33% more features than cosines, and that both grow as O(log n)), in 5 columns for one set of 200 rows against m (its text: slope -1/2 in logarithms)."
            .into(),
    ]
}
