//! Maximum mean discrepancy of two samples.
//!
//! For the kernel $\kappa(x, y) = e^{-\lVert x - y\rVert^2 / 2h^2}$, biased (each row is paired with itself,
//! too):
//! $$\mathrm{MMD}^2 = \frac1{n^2}\sum_{i,i'} \kappa(x_i, x_{i'}) + \frac1{n'^2}\sum_{j,j'} \kappa(y_j, y_{j'}) - \frac2{n n'}\sum_{i,j} \kappa(x_i, y_j).$$
//! Two samples of one law have an expected square of $(1/n + 1/n')(1 - \mathbb E\,\kappa)$.
//!
//! Kernel values are in single precision, within 2e-7, and summed in double precision, so that squares below
//! about 1e-7 are rounding. Cost: $n n' (d + 20)$ for each sum, on all cores.

use crate::error::{Error, Result, expect_len, positive};
use crate::parallel::map_chunks;
use crate::rows::Rows;

/// Rows that a median distance is taken over.
const MEDIAN_ROWS: usize = 1000;
/// Kernel values computed at a time.
const BLOCK: usize = 256;

/// Median distance between rows, over at most 1000 of them evenly spread: the usual bandwidth. Cost: 5e5 d.
pub fn median_distance(rows: Rows<'_>) -> Result<f64> {
    let n = rows.n_rows();
    if n < 2 {
        return Err(Error::TooFewRows { what: "a median distance", rows: n, needed: 2 });
    }
    let kept = n.min(MEDIAN_ROWS);
    let row = |i: usize| rows.row(i * n / kept);
    let pairs = (0..kept).flat_map(|i| (0..i).map(move |j| (i, j)));
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    let mut all: Vec<f64> = pairs.map(|(i, j)| distance(row(i), row(j))).collect();
    let middle = all.len() / 2;
    let (_, median, _) = all.select_nth_unstable_by(middle, f64::total_cmp);
    Ok(*median)
}

/// A sample that others are compared with, at several bandwidths.
pub struct Reference {
    centre: Vec<f64>,
    columns: Columns,
    bandwidths: Vec<f64>,
    within: Vec<f64>,
}

impl Reference {
    /// Prepares a sample.
    pub fn new(rows: Rows<'_>, bandwidths: &[f64]) -> Result<Reference> {
        if rows.n_rows() == 0 {
            return Err(Error::TooFewRows { what: "a discrepancy", rows: 0, needed: 1 });
        }
        bandwidths.iter().try_for_each(|h| positive("bandwidth", *h))?;
        let centre = rows.row(0).to_vec();
        let columns = Columns::new(rows, &centre);
        let within = columns.kernel_means(&columns, bandwidths);
        Ok(Reference { centre, columns, bandwidths: bandwidths.to_vec(), within })
    }

    /// The discrepancy of another sample to this one, at each bandwidth.
    pub fn mmd(&self, rows: Rows<'_>) -> Result<Vec<f64>> {
        expect_len("columns of the second sample", rows.dim(), self.centre.len())?;
        if rows.n_rows() == 0 {
            return Err(Error::TooFewRows { what: "a discrepancy", rows: 0, needed: 1 });
        }
        let other = Columns::new(rows, &self.centre);
        let (own, between) = (
            other.kernel_means(&other, &self.bandwidths),
            other.kernel_means(&self.columns, &self.bandwidths),
        );
        let means = self.within.iter().zip(own).zip(between);
        Ok(means.map(|((x, y), xy)| (x + y - 2.0 * xy).max(0.0).sqrt()).collect())
    }
}

impl Reference {
    /// Root mean square of the discrepancy of fresh samples of so many rows of the same law, at each
    /// bandwidth: $((1/n + 1/n')(1 - \mathbb E\,\kappa))^{1/2}$, the mean taken over the pairs of different
    /// rows.
    pub fn fresh(&self, n_rows: usize) -> Vec<f64> {
        let (n, other) = (self.columns.n as f64, n_rows as f64);
        let pairs = |within: &f64| (within * n - 1.0) / (n - 1.0).max(1.0);
        self.within.iter().map(|k| ((1.0 / n + 1.0 / other) * (1.0 - pairs(k)).max(0.0)).sqrt()).collect()
    }
}

/// Rows column by column.
struct Columns {
    n: usize,
    values: Vec<Vec<f32>>,
}

impl Columns {
    fn new(rows: Rows<'_>, centre: &[f64]) -> Columns {
        let n = rows.n_rows();
        let column = |c: usize| (0..n).map(|i| (rows.row(i)[c] - centre[c]) as f32).collect();
        Columns { n, values: (0..rows.dim()).map(column).collect() }
    }

    /// Mean of the kernel over all pairs of a row here and one there, at each bandwidth.
    fn kernel_means(&self, other: &Columns, bandwidths: &[f64]) -> Vec<f64> {
        let scales: Vec<f32> = bandwidths.iter().map(|h| (0.5 / (h * h)) as f32).collect();
        let parts = map_chunks(self.n, 0, |_, range| {
            let mut sums = vec![0.0; scales.len()];
            for i in range {
                self.add_row(i, other, &scales, &mut sums);
            }
            sums
        });
        let pairs = self.n as f64 * other.n as f64;
        (0..scales.len()).map(|s| parts.iter().map(|part| part[s]).sum::<f64>() / pairs).collect()
    }

    /// Adds the kernel values of row i with all rows there.
    fn add_row(&self, i: usize, other: &Columns, scales: &[f32], sums: &mut [f64]) {
        let mut squares = [0.0f32; BLOCK];
        for start in (0..other.n).step_by(BLOCK) {
            let squares = &mut squares[..BLOCK.min(other.n - start)];
            squares.fill(0.0);
            for (own, there) in self.values.iter().zip(&other.values) {
                let x = own[i];
                for (square, y) in squares.iter_mut().zip(&there[start..]) {
                    *square += (x - y) * (x - y);
                }
            }
            for (scale, sum) in scales.iter().zip(sums.iter_mut()) {
                let mut lanes = [0.0f32; 8];
                let (blocks, rest) = squares.as_chunks::<8>();
                for block in blocks {
                    for l in 0..8 {
                        lanes[l] += falling(block[l] * scale);
                    }
                }
                let rest: f32 = rest.iter().map(|q| falling(q * scale)).sum();
                *sum += f64::from(lanes.iter().sum::<f32>() + rest);
            }
        }
    }
}

/// $e^{-q}$ for $q \ge 0$; below $e^{-80}$ it stays there. $2^{-k} 2^{-f}$ with a whole k and $|f| \le 1/2$,
/// the second by its Taylor polynomial of degree 7: plain code that becomes vectors.
fn falling(q: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0;
    let t = (if q < 80.0 { q } else { 80.0 }) * std::f32::consts::LOG2_E;
    let shifted = t + MAGIC;
    let r = (t - (shifted - MAGIC)) * -std::f32::consts::LN_2;
    let high = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    let power = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * high)));
    // The low bits of the shifted number are k.
    power * f32::from_bits((127u32 << 23).wrapping_sub(shifted.to_bits() << 23))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn normals(n: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..2 * n).map(|i| rng.normal() + if i % 2 == 0 { shift } else { 0.0 }).collect()
    }

    fn mmd(x: &[f64], y: &[f64], bandwidth: f64) -> f64 {
        let (x, y) = (Rows::new(x, 2).expect("rows"), Rows::new(y, 2).expect("rows"));
        Reference::new(x, &[bandwidth]).expect("prepared").mmd(y).expect("measured")[0]
    }

    #[test]
    fn the_exponential_is_right_to_single_precision() {
        for i in 0..4000 {
            let q = i as f32 * 0.02;
            let exact = (-f64::from(q)).exp();
            assert!((f64::from(falling(q)) / exact - 1.0).abs() < 1e-5, "{q}");
            assert!((f64::from(falling(q)) - exact).abs() < 3e-7, "{q}");
        }
        assert!(falling(1e30) < 1e-30 && falling(0.0) == 1.0);
    }

    #[test]
    fn two_points_have_the_discrepancy_of_the_formula() {
        let expected = (2.0 - 2.0 * (-0.5f64 * 25.0 / 4.0).exp()).sqrt();
        assert!((mmd(&[1e6, 0.0], &[1e6 + 3.0, 4.0], 2.0) - expected).abs() < 1e-6);
        assert_eq!(mmd(&[0.0, 0.0], &[0.0, 0.0], 2.0), 0.0);
    }

    #[test]
    fn samples_of_shifted_gaussians_have_their_closed_form() {
        // For N(0, I) and N(s, I) in the plane: MMD^2 = 2 h^2/(h^2 + 2) (1 - exp(-s^2 / (2 (h^2 + 2)))); 4000
        // rows leave a square of about 5e-4 (1 - 1/3).
        let expected = 2.0 / 3.0 * (1.0 - (-1.0f64 / 6.0).exp()) + 5e-4 * 2.0 / 3.0;
        let found = mmd(&normals(4000, 0.0, 1), &normals(4000, 1.0, 2), 1.0).powi(2);
        assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
    }

    #[test]
    fn fresh_samples_have_the_discrepancy_expected_of_them() {
        let x = normals(500, 0.0, 9);
        let reference = Reference::new(Rows::new(&x, 2).expect("rows"), &[1.0]).expect("prepared");
        let square = |seed: u64| {
            let fresh = normals(800, 0.0, 100 + seed);
            reference.mmd(Rows::new(&fresh, 2).expect("rows")).expect("measured")[0].powi(2)
        };
        // Forty squares to one reference: those of the reference's own noise vary by about a fifth, and half
        // is allowed.
        let mean = (0..40).map(square).sum::<f64>() / 40.0;
        assert!(
            (mean / reference.fresh(800)[0].powi(2) - 1.0).abs() < 0.5,
            "{mean} {:?}",
            reference.fresh(800)
        );
    }

    #[test]
    fn the_median_distance_of_plane_gaussians_is_known() {
        // The distance is 2^(1/2) times a Rayleigh variable: median (4 ln 2)^(1/2).
        let x = normals(5000, 0.0, 3);
        let median = median_distance(Rows::new(&x, 2).expect("rows")).expect("a median");
        assert!((median - (4.0 * 2.0f64.ln()).sqrt()).abs() < 0.08, "{median}");
        let bad = Reference::new(Rows::new(&x, 2).expect("rows"), &[1.0, 0.0]);
        assert!(matches!(bad, Err(Error::Parameter { name: "bandwidth", .. })));
    }
}
