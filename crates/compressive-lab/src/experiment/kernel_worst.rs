//! The largest error of kernel estimates over all pairs of a set of rows, against the number of features.

use compressive::features::{Buffer, KernelPair, rows};
use compressive::{Feature, FrequencyLaw, RowsRef, SketchSpec};

use crate::Rng;
use crate::error::Result;
use crate::experiment::report::{Cell, Table, Verdict};
use crate::experiment::{Options, Progress, draws};

const DIM: usize = 32;
/// Standard deviation of the rows, and width of the Gaussian kernel: two different rows have a kernel of zero.
const SPREAD: f64 = 10.0;
const WIDTH: f64 = 0.25;
/// Largest error that is a success.
const SUCCESS: f64 = 0.15;
/// Features added between two looks, and the most.
const STEP: usize = 20;
const MOST: usize = 1600;
/// Published ratio of sizes of bits with cosines to cosines alone.
const PUBLISHED: f64 = 1.33;

/// The smallest m from which on half of the draws succeed, by the number of rows.
pub(super) fn table(options: &Options, progress: &mut Progress<'_>) -> Result<Table> {
    let sets: &[usize] = options.pick(&[10, 30, 100, 300], &[10, 30]);
    let draws = options.draws(50, 20);
    let mut table = Table::new(
        format!(
            "Features for a largest error of {SUCCESS} over all pairs of n rows, in half of {draws} draws"
        ),
        &["n", "cos, cos", "one-bit, cos", "ratio", "one-bit, cos against cos, cos"],
    );
    for &n in sets {
        let outcomes =
            draws::map(draws, options.threads, &format!("largest error, n = {n}"), progress, |draw| {
                one_draw(n, draw)
            })?;
        let size = |kind: usize| {
            let success = |at: &usize| outcomes.iter().filter(|o| o[kind][*at] <= SUCCESS).count();
            let looks = outcomes.first().map_or(0, |o| o[kind].len());
            let first = (0..looks).find(|at| 2 * success(at) >= draws);
            first.map_or(f64::NAN, |at| ((at + 1) * STEP) as f64)
        };
        let ratio = size(1) / size(0);
        let cells = vec![
            Cell::number("rows", n as f64, 0),
            Cell::number("size", size(0), 0),
            Cell::number("size", size(1), 0),
            Cell::number("ratio", ratio, 2).with("published", PUBLISHED),
            Cell::number("size", size(2), 0),
        ];
        let told = format!("ratio 1.1 to 1.5; published about {PUBLISHED}");
        table.push(cells, Some(Verdict::bar((1.1..=1.5).contains(&ratio), told)));
    }
    Ok(table)
}

/// The largest error after every step of m, of cosines, of bits with cosines, and between the two.
fn one_draw(n: usize, draw: u64) -> Result<[Vec<f64>; 3]> {
    let mut rng = Rng::derived(341 + n as u64, draw);
    let values: Vec<f64> = (0..n * DIM).map(|_| SPREAD * rng.normal()).collect();
    let features = |feature: Feature| -> Result<Vec<f32>> {
        let mut spec =
            SketchSpec::new((0..DIM).map(|c| format!("x{c}")), FrequencyLaw::Gaussian, WIDTH, MOST);
        (spec.dither, spec.feature, spec.seed) = (true, feature, draw);
        let operator = spec.build()?;
        let mut out = Vec::new();
        rows(&operator, RowsRef::F64(&values), &mut out, &mut Buffer::default())?;
        Ok(out.chunks_exact(operator.sketch_len()).flat_map(|row| row[..MOST].to_vec()).collect())
    };
    let (cosines, bits) = (features(Feature::Cosine)?, features(Feature::OneBit)?);
    let factor = |a: &Feature| -> Result<f64> { Ok(KernelPair::new(a, &Feature::Cosine)?.factor()) };
    let factors = [factor(&Feature::Cosine)?, factor(&Feature::OneBit)?];
    let mut sums = vec![[0.0f64; 2]; n * n];
    let mut largest: [Vec<f64>; 3] = Default::default();
    for first in (0..MOST).step_by(STEP) {
        let mut most = [0.0f64; 3];
        for (at, sums) in sums.iter_mut().enumerate() {
            let (i, j) = (at / n, at % n);
            let part = |all: &'_ [f32], row: usize| -> [f32; STEP] {
                std::array::from_fn(|c| all[row * MOST + first + c])
            };
            let (other, m) = (part(&cosines, j), (first + STEP) as f64);
            let product = |a: [f32; STEP]| a.iter().zip(&other).map(|(a, b)| a * b).sum::<f32>();
            sums[0] += f64::from(product(part(&cosines, i)));
            sums[1] += f64::from(product(part(&bits, i)));
            let [plain, asymmetric] = [factors[0] * sums[0] / m, factors[1] * sums[1] / m];
            // The kernel of two different rows is below e^-1000.
            let exact = if i == j { 1.0 } else { 0.0 };
            let errors = [plain - exact, asymmetric - exact, asymmetric - plain];
            most.iter_mut().zip(errors).for_each(|(most, error)| *most = most.max(error.abs()));
        }
        largest.iter_mut().zip(most).for_each(|(all, most)| all.push(most));
    }
    Ok(largest)
}
