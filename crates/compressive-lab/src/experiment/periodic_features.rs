//! Kernel estimates from combinations of periodic features, at equal numbers of real coefficients.

use compressive::Wave;

use crate::error::Result;
use crate::experiment::kernel_errors::{Pair, Set, share_at, transition};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, draws};
use crate::plot::{Lines, Series};
use compressive_data::Rng;

/// \[Sch21\] figure 3.8.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "periodic-features",
    title: "Kernels from combinations of periodic features, real and complex",
    reference: "[Sch21] figure 3.8 (curves alone; the text says that real and complex features do alike, and the modulo map worse)",
    work: run,
};

const DIM: usize = 32;
const ROWS: usize = 100;
/// Standard deviation of the two modes, and width of the kernel, those of figure 3.4.
const SPREAD: f64 = 10.0;
const WIDTH: f64 = 0.25;
/// Largest error that is a success.
const SUCCESS: f64 = 0.1;
/// Real and complex features need the same number of coefficients up to this share.
const ALIKE: f64 = 0.1;

/// The features beside cosines, with what the thesis calls them.
const FEATURES: [(&str, Wave); 3] =
    [("cos", Wave::Cosine), ("one-bit", Wave::OneBit), ("sawtooth", Wave::Sawtooth)];

/// The pair of a feature with cosines, or of its complex extension with exponentials; cosines with themselves
/// need no dither if complex.
fn pair(feature: &Wave, complex: bool) -> Pair {
    let wave = if complex { Wave::Fourier } else { Wave::Cosine };
    let cosine = *feature == Wave::Cosine;
    let side = if cosine { wave.clone() } else { feature.clone() };
    Pair { sides: [side, wave], complex, dither: !(cosine && complex) }
}

fn name(feature: &str, complex: bool) -> String {
    match (feature, complex) {
        ("cos", true) => "exp, exp".into(),
        (_, true) => format!("{feature}, exp"),
        (_, false) => format!("{feature}, cos"),
    }
}

/// Rows of two Gaussian modes.
fn set(draw: u64) -> Set {
    let mut rng = Rng::derived(380, draw);
    let middle: Vec<f64> = (0..DIM).map(|_| SPREAD * rng.normal()).collect();
    let mut values = Vec::with_capacity(ROWS * DIM);
    for row in 0..ROWS {
        let sign = if row % 2 == 0 { 1.0 } else { -1.0 };
        values.extend(middle.iter().map(|mean| sign * mean + SPREAD * rng.normal()));
    }
    Set { values, dim: DIM, width: WIDTH }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let looks: Vec<usize> = options.pick(500..=4000, 1000..=3000).step_by(options.pick(100, 200)).collect();
    let draws = options.draws(100, 10);
    // By draw: real and complex, for every feature.
    let outcomes = draws::map(draws, options.threads, "features", progress, |draw| {
        let set = set(draw);
        let mut errors = Vec::new();
        for (_, feature) in &FEATURES {
            for complex in [false, true] {
                let pair = pair(feature, complex);
                errors.extend(set.largest([&pair], &looks, draw, |[estimate], exact| [estimate - exact])?);
            }
        }
        Ok(errors)
    })?;
    let of = |at: usize| outcomes.iter().map(|errors| &errors[at][..]).collect::<Vec<&[f64]>>();
    let needed = |at: usize| transition(&of(at), &looks, SUCCESS);
    let columns = ["features", "m', real", "m', complex", "complex / real", "real, times cos, cos"];
    let mut table = Table::new(
        format!(
            "Real coefficients m' for a largest error of {SUCCESS} over all pairs, in half of {draws} draws"
        ),
        &columns,
    );
    for (at, (feature, _)) in FEATURES.iter().enumerate() {
        let [real, complex] = [needed(2 * at), needed(2 * at + 1)];
        let cells = vec![
            Cell::text(format!("{}; {}", name(feature, false), name(feature, true))),
            Cell::number("size", real, 0),
            Cell::number("size", complex, 0),
            Cell::number("ratio", complex / real, 2),
            Cell::number("ratio", real / needed(0), 2),
        ];
        let alike = (complex / real - 1.0).abs() <= ALIKE;
        let worse = *feature != "sawtooth" || (0..4).all(|other| needed(other) < real.min(complex));
        let claim = if *feature == "sawtooth" { ", and more than all others" } else { "" };
        let claim = format!("real and complex alike, within {:.0}%{claim}", 100.0 * ALIKE);
        table.push(cells, Some(Verdict::bar(alike && worse, claim)));
    }
    let figures = vec![figure(&looks, &of)?];
    Ok(Report { text: text(draws), tables: vec![table], figures, ..Report::default() })
}

fn figure<'a>(looks: &[usize], of: &dyn Fn(usize) -> Vec<&'a [f64]>) -> Result<Figure> {
    let series = |at: usize| {
        let (feature, _) = &FEATURES[at / 2];
        let point = |(look, m): (usize, &usize)| (*m as f64, share_at(&of(at), look, SUCCESS));
        Series { name: name(feature, at % 2 == 1), points: looks.iter().enumerate().map(point).collect() }
    };
    let lines = Lines {
        title: format!("Share of draws with all errors at most {SUCCESS}"),
        x_label: "real coefficients m'".into(),
        y_label: "share".into(),
        series: (0..2 * FEATURES.len()).map(series).collect(),
    };
    Ok(Figure {
        file: "periodic-features.png".into(),
        alt: "Share of successes against the number of real coefficients for six pairs of features: real and complex features of a kind lie close together, cosines first, then bits, then the modulo map.".into(),
        png: lines.to_png()?,
    })
}

fn text(draws: usize) -> Vec<String> {
    vec![
        format!(
            "{ROWS} rows of two Gaussian modes in {DIM} columns, Gaussian kernel, {draws} draws of rows, frequencies and dither. m' counts real numbers a row: m for real features, 2m for complex ones, which are f(t) + i f(t - pi/2) with \
             exponentials on the other side, and of whose inner product the real part is taken. The largest error is over all ordered pairs of rows. The pair exp, exp has no dither. `sawtooth` is the thesis' modulo map in phase with the cosine."
        ),
        format!(
            "The thesis prints neither the modes nor the width of the kernel; modes of standard deviation {SPREAD}, as far apart as their means N(0, {SPREAD}^2 I) make them, and a width of {WIDTH} are those of its figure 3.4, of which it calls this a small version. \
             Its figure is of curves alone; its text says that real and complex features perform similarly at equal m', and that the modulo map is worse than bits. The verdicts are on these sentences."
        ),
    ]
}
