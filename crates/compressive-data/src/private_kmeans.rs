//! DP-Lloyd: k-means under pure $\varepsilon$-differential privacy, the baseline of private compressive
//! k-means.
//!
//! Lloyd's iteration in which a centre sees its rows only through a noisy sum and a noisy count. Neighbouring
//! tables differ by one row more or less. Rows are clipped to a box with middle $o$ and half-widths $r_j$,
//! declared by the caller; $S_{lj}$ is the sum of $x_j - o_j$ over the rows of centre $l$, $C_l$ their
//! number:
//!
//! 1. every row goes to its nearest centre (in the user's units);
//! 2. $\hat S_{lj} = S_{lj} + \mathrm{Lap}(r_j/\varepsilon_1)$ and
//!    $\hat C_l = C_l + \mathrm{Lap}(1/\varepsilon_0)$;
//! 3. $c_l = o + \hat S_l / \hat C_l$, clipped to the box. A centre whose noisy count is below one, or below
//!    the noise's standard deviation, keeps its place;
//! 4. stop after T iterations.
//!
//! **Budget.** One row belongs to one centre: it moves the d sums by at most $r_j$ each and the count by 1,
//! so that an iteration costs $\varepsilon_t = d\,\varepsilon_1 + \varepsilon_0$ and the whole run
//! $\varepsilon = T \varepsilon_t$.
//!
//! **Split.** To first order the mean squared error of a centre, in half-widths, is
//! $\tfrac{2}{C^2}\big(d/\varepsilon_1^2 + d\,\bar c^2/\varepsilon_0^2\big)$ with $\bar c$ the root mean
//! square of its coordinates. Under $d\,\varepsilon_1 + \varepsilon_0 = \varepsilon_t$ it is least at
//! $\varepsilon_0/\varepsilon_1 = q = (d\,\bar c^2)^{1/3}$, where it is $2(d + q)^3/(C\varepsilon_t)^2$.
//! \[SCL16\] writes $q = (4 d \rho^2)^{1/3}$ with $\rho = 0.225$, that is $\bar c = 0.45$.
//!
//! **Iterations.** The rule of \[SCL16\]: $T = \varepsilon/\varepsilon_m$, rounded down, at least 2 and at
//! most 7, where $\varepsilon_m = \sqrt{500\,k^3 (d + q)^3}/n$ is the budget of an iteration whose noise in k
//! equal clusters adds 0.004 to the squared errors of the centres, summed over the centres. It treats n as
//! public, as the paper does.
//!
//! Cost: T passes of 3 n k d operations, over all threads; no copy of the rows. What it does not do: protect
//! anyone. The noise is made of floating-point numbers from the lab's generator: good for measuring utility,
//! not for a release. Reference: \[BDMN05\] for the algorithm; \[SCL16\] for split, iterations and start.

mod start;

use crate::block::{Block, for_blocks};
use crate::error::{Error, Result, at_least_one, expect_len, positive};
use crate::parallel::map_chunks;
use crate::random::Rng;
use crate::rows::Rows;

/// Fewest and most iterations of the rule of \[SCL16\].
const ITERATIONS: (f64, f64) = (2.0, 7.0);

/// The box to which rows are clipped: it must not depend on the private rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The d lower ends.
    pub low: Vec<f64>,
    /// The d upper ends, each above its lower end.
    pub high: Vec<f64>,
}

impl Bounds {
    /// The cube $[-h, h]^d$.
    pub fn cube(dim: usize, half_width: f64) -> Bounds {
        Bounds { low: vec![-half_width; dim], high: vec![half_width; dim] }
    }

    /// Checks that there are `dim` intervals, all finite and of positive length.
    pub fn validate(&self, dim: usize) -> Result<()> {
        expect_len("lower bounds", self.low.len(), dim)?;
        expect_len("upper bounds", self.high.len(), dim)?;
        for (&low, &high) in self.low.iter().zip(&self.high) {
            if !(low.is_finite() && high - low > 0.0 && (high - low).is_finite()) {
                return Err(Error::Parameter {
                    name: "width of the bounds of a column",
                    value: high - low,
                    allowed: "positive and finite",
                });
            }
        }
        Ok(())
    }

    /// The d middles.
    fn middle(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(low, high)| low + (high - low) / 2.0).collect()
    }

    /// The d half-widths.
    fn half_width(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(low, high)| (high - low) / 2.0).collect()
    }
}

/// Where the centres begin; neither start looks at the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PrivateStart {
    /// Independent and uniform in the box.
    Uniform,
    /// Spread by sphere packing \[SCL16\]: with the box scaled to $[-1, 1]^d$, random centres at least a from
    /// the boundary and 2a from each other, for the largest a that a bisection finds.
    #[default]
    Spread,
}

/// How to run DP-Lloyd.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateKMeansParams {
    /// The whole budget $\varepsilon$, positive. Default 1.
    pub epsilon: f64,
    /// Iterations T, at least 1; `None`, the default, for the rule of \[SCL16\].
    pub iterations: Option<usize>,
    /// The start. Default [`PrivateStart::Spread`].
    pub start: PrivateStart,
    /// $\bar c$, the expected root mean square of a centre's coordinates in half-widths of the box, positive:
    /// it sets the split. Default 0.45.
    pub coordinate_rms: f64,
    /// Seed of start and noise. Default 0.
    pub seed: u64,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for PrivateKMeansParams {
    fn default() -> PrivateKMeansParams {
        PrivateKMeansParams {
            epsilon: 1.0,
            iterations: None,
            start: PrivateStart::Spread,
            coordinate_rms: 0.45,
            seed: 0,
            threads: 0,
        }
    }
}

/// How a run of DP-Lloyd went.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateKMeansInfo {
    /// The k x d centres of the start.
    pub start: Vec<f64>,
    /// Iterations T.
    pub iterations: usize,
    /// Laplace scales $r_j/\varepsilon_1$ of the d sums of a centre, in every iteration.
    pub sum_scales: Vec<f64>,
    /// Laplace scale $1/\varepsilon_0$ of a count, in every iteration.
    pub count_scale: f64,
    /// How often a centre kept its place for want of rows.
    pub kept: usize,
}

/// The centres that DP-Lloyd found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrivateKMeans {
    /// k x d centres in the user's units, row-major; all in the box.
    pub centers: Vec<f64>,
    /// How the run went.
    pub info: PrivateKMeansInfo,
}

/// DP-Lloyd with k centres on rows clipped to `bounds`. Cost: see the [module](mod@crate::private_kmeans).
pub fn private_kmeans(
    rows: Rows<'_>,
    k: usize,
    bounds: &Bounds,
    params: &PrivateKMeansParams,
) -> Result<PrivateKMeans> {
    check(k, params)?;
    bounds.validate(rows.dim())?;
    let budget = Budget::new(rows, k, params);
    let mut rng = Rng::new(params.seed);
    let start = start::centers(k, bounds, params.start, &mut rng);
    let mut centers = start.clone();
    let middle = bounds.middle();
    let sum_scales: Vec<f64> = bounds.half_width().iter().map(|width| width / budget.sum).collect();
    let count_scale = 1.0 / budget.count;
    let mut kept = 0;
    for _ in 0..budget.iterations {
        let mut tally = tally(rows, &centers, bounds, &middle, params.threads);
        tally.add_noise(&sum_scales, count_scale, &mut rng);
        // Below one standard deviation of the count's noise, a quotient says more about the noise than about
        // the rows.
        let count_min = (std::f64::consts::SQRT_2 * count_scale).max(1.0);
        kept += move_centers(&mut centers, &tally, bounds, &middle, count_min);
    }
    let info = PrivateKMeansInfo { start, iterations: budget.iterations, sum_scales, count_scale, kept };
    Ok(PrivateKMeans { centers, info })
}

fn check(k: usize, params: &PrivateKMeansParams) -> Result<()> {
    at_least_one("k", k)?;
    at_least_one("iterations", params.iterations.unwrap_or(1))?;
    positive("epsilon", params.epsilon)?;
    positive("coordinate_rms", params.coordinate_rms)
}

/// What every iteration may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Budget {
    iterations: usize,
    /// $\varepsilon_1$, for one column of the sums.
    sum: f64,
    /// $\varepsilon_0$, for the counts.
    count: f64,
}

impl Budget {
    fn new(rows: Rows<'_>, k: usize, params: &PrivateKMeansParams) -> Budget {
        let (dim, k) = (rows.dim() as f64, k as f64);
        let ratio = (dim * params.coordinate_rms.powi(2)).cbrt();
        let least = (500.0 * (k * (dim + ratio)).powi(3)).sqrt() / rows.n_rows() as f64;
        let rule = (params.epsilon / least).clamp(ITERATIONS.0, ITERATIONS.1) as usize;
        let iterations = params.iterations.unwrap_or(rule);
        let sum = params.epsilon / iterations as f64 / (dim + ratio);
        Budget { iterations, sum, count: ratio * sum }
    }
}

/// Sums of the clipped rows about the middle of the box, and their number, for every centre.
struct Tally {
    counts: Vec<f64>,
    sums: Vec<f64>,
}

impl Tally {
    fn zeros(k: usize, dim: usize) -> Tally {
        Tally { counts: vec![0.0; k], sums: vec![0.0; k * dim] }
    }

    /// Step 2.
    fn add_noise(&mut self, sum_scales: &[f64], count_scale: f64, rng: &mut Rng) {
        for (count, sums) in self.counts.iter_mut().zip(self.sums.chunks_exact_mut(sum_scales.len())) {
            *count += count_scale * rng.laplace();
            sums.iter_mut().zip(sum_scales).for_each(|(sum, scale)| *sum += scale * rng.laplace());
        }
    }
}

/// Step 1, on clipped rows.
fn tally(rows: Rows<'_>, centers: &[f64], bounds: &Bounds, middle: &[f64], threads: usize) -> Tally {
    let (dim, k) = (rows.dim(), centers.len() / rows.dim());
    let parts = map_chunks(rows.n_rows(), threads, |_, range| {
        let mut part = Tally::zeros(k, dim);
        let mut clipped = Block { start: 0, len: 0, columns: Vec::new() };
        for_blocks(rows, range, |block| {
            clip(block, bounds, &mut clipped);
            let (index, _) = clipped.nearest(centers);
            for (lane, &center) in index[..block.len].iter().enumerate() {
                let center = center as usize;
                part.counts[center] += 1.0;
                let sums = &mut part.sums[center * dim..(center + 1) * dim];
                for ((sum, column), origin) in sums.iter_mut().zip(&clipped.columns).zip(middle) {
                    *sum += column[lane] - origin;
                }
            }
        });
        part
    });
    parts.iter().fold(Tally::zeros(k, dim), |mut total, part| {
        total.counts.iter_mut().zip(&part.counts).for_each(|(sum, value)| *sum += value);
        total.sums.iter_mut().zip(&part.sums).for_each(|(sum, value)| *sum += value);
        total
    })
}

/// Copies a block with its rows clipped to the box.
fn clip(block: &Block, bounds: &Bounds, clipped: &mut Block) {
    clipped.start = block.start;
    clipped.len = block.len;
    clipped.columns.clone_from(&block.columns);
    for ((column, &low), &high) in clipped.columns.iter_mut().zip(&bounds.low).zip(&bounds.high) {
        column.iter_mut().for_each(|value| *value = value.clamp(low, high));
    }
}

/// Step 3; returns how many centres kept their place.
fn move_centers(
    centers: &mut [f64],
    tally: &Tally,
    bounds: &Bounds,
    middle: &[f64],
    count_min: f64,
) -> usize {
    let dim = middle.len();
    let mut kept = 0;
    let sums = tally.sums.chunks_exact(dim);
    for ((center, sums), &count) in centers.chunks_exact_mut(dim).zip(sums).zip(&tally.counts) {
        if count < count_min {
            kept += 1;
            continue;
        }
        for (j, (coordinate, sum)) in center.iter_mut().zip(sums).enumerate() {
            *coordinate = (middle[j] + sum / count).clamp(bounds.low[j], bounds.high[j]);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
