//! The largest error of kernel estimates over all pairs of a set of rows, against the number of features:
//! \[Sch21\] figure 3.4.

use compressive::Wave;

use crate::error::Result;
use crate::experiment::draws::{self, median};
use crate::experiment::kernel_errors::{Pair, Set, share_at, transition};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Options, Progress};
use crate::plot::{Heat, HeatMaps, Lines, Series};
use compressive_data::Rng;

const DIM: usize = 32;
/// Standard deviation of the rows, and width of the Gaussian kernel: two different rows have a kernel of next
/// to nothing.
const SPREAD: f64 = 10.0;
const WIDTH: f64 = 0.25;
/// Largest error that is a success.
const SUCCESS: f64 = 0.15;
/// Features added between two looks, and the most.
const STEP: usize = 20;
const MOST: usize = 1600;
/// Published ratio of sizes of bits with cosines to cosines alone.
const PUBLISHED: f64 = 1.33;
/// How far from it is a reproduction.
const TOLERANCE: f64 = 0.2;
/// Rows and columns of the second half of the figure.
const FIXED: (usize, usize) = (200, 5);

/// Rows of a Gaussian.
fn set(n: usize, dim: usize, rng: &mut Rng) -> Set {
    Set { values: (0..n * dim).map(|_| SPREAD * rng.normal()).collect(), dim, width: WIDTH }
}

fn pairs() -> [Pair; 2] {
    [Pair::real(Wave::Cosine, Wave::Cosine), Pair::real(Wave::OneBit, Wave::Cosine)]
}

/// Adds both halves of the figure to a report.
pub(super) fn add(report: &mut Report, options: &Options, progress: &mut Progress<'_>) -> Result<()> {
    let (tables, figure) = sizes(options, progress)?;
    report.tables.extend(tables);
    report.figures.push(figure);
    let (table, figure) = slope(options, progress)?;
    report.tables.push(table);
    report.figures.push(figure);
    Ok(())
}

/// Figure 3.4a: the smallest m at which half of the draws succeed, by the number of rows, and the share of
/// successes at each.
fn sizes(options: &Options, progress: &mut Progress<'_>) -> Result<([Table; 2], Figure)> {
    let sets: &[usize] = options.pick(&[10, 16, 30, 55, 100, 170, 300, 500], &[10, 30]);
    let draws = options.draws(50, 20);
    let looks: Vec<usize> = (STEP..=MOST).step_by(STEP).collect();
    let mut table = Table::new(
        format!(
            "Features for a largest error of {SUCCESS} over all pairs of n rows, in half of {draws} draws"
        ),
        &["n", "cos, cos", "one-bit, cos", "ratio", "one-bit, cos against cos, cos"],
    );
    let mut transitions: [Vec<f64>; 3] = Default::default();
    let mut shares: [Vec<Vec<f64>>; 2] = Default::default();
    for &n in sets {
        let label = format!("largest error, n = {n}");
        let outcomes =
            draws::map(draws, options.threads, &label, progress, |draw| one_draw(n, &looks, draw))?;
        let of = |kind: usize| outcomes.iter().map(|errors| &errors[kind][..]).collect::<Vec<&[f64]>>();
        let size: [f64; 3] = std::array::from_fn(|kind| transition(&of(kind), &looks, SUCCESS));
        transitions.iter_mut().zip(size).for_each(|(all, size)| all.push(size));
        for (kind, map) in shares.iter_mut().enumerate() {
            let at = |m: usize| share_at(&of(kind), m / STEP - 1, SUCCESS);
            map.push((100..=1300).step_by(100).map(at).collect());
        }
        let ratio = size[1] / size[0];
        let cells = vec![
            Cell::number("rows", n as f64, 0),
            Cell::number("size", size[0], 0),
            Cell::number("size", size[1], 0),
            Cell::number("ratio", ratio, 2).with("published", PUBLISHED),
            Cell::number("size", size[2], 0),
        ];
        table.push(cells, Some(Verdict::published(ratio, PUBLISHED, TOLERANCE)));
    }
    let growth = growth(sets, &transitions, options.quick);
    Ok(([table, growth], map_figure(sets, shares)?))
}

/// The largest error at every look, of cosines, of bits with cosines, and between the two.
fn one_draw(n: usize, looks: &[usize], draw: u64) -> Result<[Vec<f64>; 3]> {
    let set = set(n, DIM, &mut Rng::derived(341 + n as u64, draw));
    let [plain, bits] = &pairs();
    set.largest([plain, bits], looks, draw, |[plain, bits], exact| {
        [plain - exact, bits - exact, bits - plain]
    })
}

/// How well the sizes lie on a line in log n, as the union bound has it.
fn growth(sets: &[usize], transitions: &[Vec<f64>; 3], quick: bool) -> Table {
    let mut table = Table::new(
        "Growth of these sizes with log n: the line through them",
        &["features", "more for ten times the rows", "correlation with log n"],
    );
    let logs: Vec<f64> = sets.iter().map(|n| (*n as f64).log10()).collect();
    for (name, sizes) in ["cos, cos", "one-bit, cos", "one-bit, cos against cos, cos"].iter().zip(transitions)
    {
        let (slope, correlation) = line(&logs, sizes);
        let cells = vec![
            Cell::text(*name),
            Cell::number("slope", slope, 0),
            Cell::number("correlation", correlation, 3),
        ];
        let verdict = Verdict::bar(correlation > 0.98, "published: m grows as O(log n)");
        table.push(cells, (!quick).then_some(verdict));
    }
    table
}

/// Slope of the least-squares line, and the correlation.
fn line(x: &[f64], y: &[f64]) -> (f64, f64) {
    let (x_mean, y_mean) = (draws::mean(x), draws::mean(y));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - x_mean, y - y_mean)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (xy / xx, xy / (xx * yy).sqrt())
}

fn map_figure(sets: &[usize], shares: [Vec<Vec<f64>>; 2]) -> Result<Figure> {
    let titles = ["cos, cos", "one-bit, cos"];
    let map = |(title, values): (&str, Vec<Vec<f64>>)| Heat {
        title: title.into(),
        x_label: "m".into(),
        y_label: "n".into(),
        xs: (100..=1300).step_by(100).map(|m| m.to_string()).collect(),
        ys: sets.iter().map(usize::to_string).collect(),
        values,
    };
    let figure = HeatMaps {
        title: format!("Share of draws with all errors at most {SUCCESS}"),
        maps: titles.into_iter().zip(shares).map(map).collect(),
        across: 1,
        range: (0.0, 1.0),
        unit: "success".into(),
        digits: 2,
    };
    Ok(Figure {
        file: "kernel-estimates-success.png".into(),
        alt: "Two heat maps of the share of successes against the number m of features and the number n of rows, for cosines and for bits with cosines: both turn from none to all along a line in log n, the second at about a third more features.".into(),
        png: figure.to_png()?,
    })
}

/// Figure 3.4b: quartiles of the largest error of bits with cosines against m, for one set of rows.
fn slope(options: &Options, progress: &mut Progress<'_>) -> Result<(Table, Figure)> {
    let looks: &[usize] = options.pick(&[30, 100, 300, 1000, 3000, 10_000], &[30, 100, 300]);
    let draws = options.draws(50, 20);
    let (n, dim) = FIXED;
    let set = set(n, dim, &mut Rng::new(342));
    let outcomes = draws::map(draws, options.threads, "slope", progress, |draw| {
        let [errors] = set.largest([&pairs()[1]], looks, draw, |[bits], exact| [bits - exact])?;
        Ok(errors)
    })?;
    let mut table = Table::new(
        format!(
            "Largest error of bits with cosines over all pairs of {n} rows in {dim} columns, {draws} draws"
        ),
        &["m", "first quartile", "median", "third quartile", "median times root m"],
    );
    let mut curves: [Vec<(f64, f64)>; 3] = Default::default();
    for (at, look) in looks.iter().enumerate() {
        let mut errors: Vec<f64> = outcomes.iter().map(|errors| errors[at]).collect();
        errors.sort_by(f64::total_cmp);
        let half = errors.len() / 2;
        let quartiles = [median(&errors[..half]), median(&errors), median(&errors[errors.len() - half..])];
        let m = *look as f64;
        curves.iter_mut().zip(quartiles).for_each(|(c, error)| c.push((m.log10(), error.log10())));
        let mut cells = vec![Cell::number("size", m, 0)];
        cells.extend(quartiles.map(|error| Cell::number("error", error, 3)));
        cells.push(Cell::number("scaled", quartiles[1] * m.sqrt(), 2));
        table.push(cells, None);
    }
    let (x, y): (Vec<f64>, Vec<f64>) = curves[1].iter().copied().unzip();
    let found = line(&x, &y).0;
    let mut cells = vec![Cell::text("slope in logarithms"), Cell::text(""), Cell::number("slope", found, 3)];
    cells.extend([Cell::text(""), Cell::text("")]);
    table.push(cells, Some(Verdict::bar((found + 0.5).abs() < 0.05, "published: -1/2, within 0.05")));
    let reference = [x[0], x[x.len() - 1]].map(|x_end| (x_end, y[0] - 0.5 * (x_end - x[0])));
    let [low, middle, high] = curves;
    let mut series: Vec<Series> = [("first quartile", low), ("median", middle), ("third quartile", high)]
        .map(|(name, points)| Series { name: name.into(), points })
        .into();
    series.push(Series { name: "slope -1/2".into(), points: reference.into() });
    let lines = Lines {
        title: "Largest error of bits with cosines".into(),
        x_label: "log10 of m".into(),
        y_label: "log10 of the error".into(),
        series,
    };
    let figure = Figure {
        file: "kernel-estimates-slope.png".into(),
        alt: "Quartiles of the largest kernel error against the number of features, both in logarithms: parallel to the line of slope -1/2.".into(),
        png: lines.to_png()?,
    };
    Ok((table, figure))
}
