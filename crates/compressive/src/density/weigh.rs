//! Weights of the cells of an outline from a sketch, by Bayes' rule with normal errors:
//!
//! $$ \min_{w \ge 0}\; \sum_j \frac{|z_j - \sum_a w_a \psi_{aj}|^2}{s_j}
//!    + \text{(the same for the exact moments)} + \frac{N}{f} \sum_a \frac{(w_a - p_a)^2}{p_a} . $$
//!
//! 1. $\psi_{aj}$ is what entry j would be if all rows were in cell a. Its error $s_j$ is that of n rows that
//!    scatter within their cells, plus noise that was added, plus the *blur*: what Gaussian cells miss in the
//!    pilot's own sketch.
//! 2. The shares $p_a$ of N pilot rows scatter by $p_a / N$, if the sketch is of rows like those. Rows that
//!    moved since call for a weaker pull: the factor f is that of highest evidence, from 1 upwards.
//! 3. Non-negative weights by block pivoting.
//!
//! Cost: A^2 m for the normal equations and some A^3 / 6 for each f. This project's own.

use crate::density::cells::Blocks;
use crate::density::target::Target;
use crate::num::linear::{dot, gram};
use crate::num::math::ln;
use crate::num::solve::pivot::{Pivoted, pivot};
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;

/// How far the weights' sum may be from 1.
const SUM_TOLERANCE: f64 = 1e-4;
/// Cells do not match moments closer than this part of a deviation.
const MOMENT_TOLERANCE: f64 = 1e-3;
/// Each step of step 2 weakens the pull by this factor, so many times at most.
const WEAKER: (f64, usize) = (30.0, 4);

/// Rows moved since the pilot where the pull to its shares is weaker by more than this.
const MOVED: f64 = 30.0;
/// They did as well above this mean of residual^2 over its expectation.
const UNEXPLAINED: f64 = 10.0;

/// What is known of the cells before the sketch is seen.
pub(crate) struct Prior<'a> {
    /// Share of each cell.
    pub shares: &'a [f64],
    /// Rows behind the shares.
    pub rows: f64,
    /// Mean square of what cells miss in an entry.
    pub blur: f64,
}

/// Weights of the cells and how certain they are.
pub(crate) struct Weighed {
    /// Weights, 1 in all.
    pub weights: Vec<f64>,
    /// Mean of residual^2 / s.
    pub chi_square: f64,
    /// The factor f.
    pub weaker: f64,
    /// Twice the negative logarithm of the probability of the sketch under the prior, up to a constant.
    pub evidence: f64,
    scale: Vec<f64>,
    solved: Pivoted,
}

impl Weighed {
    /// Whether the rows behind the target are where those of the pilot were not.
    pub fn moved(&self, target: &Target) -> bool {
        self.weaker > MOVED || (target.metric.is_none() && self.chi_square > UNEXPLAINED)
    }

    /// Gives the last cells these shares, and the others the rest.
    pub fn keep_last(&mut self, shares: &[f64]) {
        let at = self.weights.len() - shares.len();
        let (others, last) = self.weights.split_at_mut(at);
        last.copy_from_slice(shares);
        let (sum, rest): (f64, f64) = (others.iter().sum(), 1.0 - shares.iter().sum::<f64>());
        if sum > 0.0 {
            others.iter_mut().for_each(|w| *w *= rest / sum);
        }
    }

    /// Weights that are as likely as these: their error is normal, with the inverse of the normal equations
    /// as covariance, for the cells that have a weight. `noise` gives standard normal numbers.
    pub fn draw(&self, mut noise: impl FnMut() -> f64) -> Vec<f64> {
        let Pivoted { passive, factor, .. } = &self.solved;
        let n = passive.len();
        // R x = e has the covariance (R^T R)^-1.
        let mut e: Vec<f64> = (0..n).map(|_| noise()).collect();
        for i in (0..n).rev() {
            let row = &factor[i * n..(i + 1) * n];
            e[i] = (e[i] - dot(&row[i + 1..], &e[i + 1..])) / row[i];
        }
        let mut weights = self.weights.clone();
        passive.iter().zip(&e).for_each(|(&a, e)| weights[a] = (weights[a] + self.scale[a] * e).max(0.0));
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        weights
    }
}

/// Equations for the weights: a row of coefficients for each cell.
pub(crate) struct System {
    /// A rows of R coefficients, each divided by the deviation of its equation.
    pub left: Vec<f64>,
    right: Vec<f64>,
    /// One over the deviation of each entry.
    errors: Vec<f64>,
    /// Equations of the sketch; those of moments and of the sum follow.
    entries: usize,
    /// Mean variance of an entry, without the blur.
    scatter: f64,
}

/// Steps 1 to 3; none if the equations cannot be solved.
pub(crate) fn weigh(
    target: &Target,
    blocks: &Blocks,
    exact: Option<&ExactMoments>,
    prior: &Prior<'_>,
) -> Option<Weighed> {
    let system = System::new(target, blocks, exact, prior);
    let (a, r) = (blocks.len(), system.right.len());
    let mut gram = gram(&system.left, r);
    let rhs: Vec<f64> = system.left.chunks_exact(r).map(|row| dot(row, &system.right)).collect();
    let scale: Vec<f64> = prior.shares.iter().map(|p| p.sqrt()).collect();
    for (row, s) in gram.chunks_exact_mut(a).zip(&scale) {
        row.iter_mut().zip(&scale).for_each(|(value, t)| *value *= s * t);
    }
    let mut best: Option<Weighed> = None;
    let mut weaker = 1.0;
    for _ in 0..=WEAKER.1 {
        // Step 2.
        let pull = prior.rows / weaker;
        let h: Vec<f64> = (0..a).map(|i| (rhs[i] + pull) * scale[i]).collect();
        // Step 3.
        let solved = pivot(&gram, pull, &h)?;
        let mut weights: Vec<f64> = solved.x.iter().zip(&scale).map(|(x, s)| x * s).collect();
        let (cost, chi_square) = system.cost(&weights);
        let off = weights.iter().zip(prior.shares).map(|(w, p)| pull * (w - p) * (w - p) / p).sum::<f64>();
        let n = solved.passive.len();
        let determinant: f64 = (0..n).map(|i| 2.0 * ln(solved.factor[i * n + i])).sum();
        let evidence = cost + off + determinant - n as f64 * ln(pull);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        if best.as_ref().is_some_and(|best| evidence >= best.evidence) {
            break;
        }
        best = Some(Weighed { weights, chi_square, weaker, evidence, scale: scale.clone(), solved });
        weaker *= WEAKER.0;
    }
    best
}

/// Mean square of what cells of given shares miss in an entry of a sketch of the same rows. Cells have the
/// means and deviations of their rows, so that little of it is chance.
pub(crate) fn blur(target: &Target, blocks: &Blocks, shares: &[f64]) -> f64 {
    let system = System::new(target, blocks, None, &Prior { shares, rows: 1.0, blur: 0.0 });
    let (_, chi_square) = system.cost(shares);
    chi_square * system.scatter
}

/// Variance of each entry's sampling error for rows that scatter within cells, and of added noise; `within` is
/// the mean of $1 - |\psi_{aj}|^2$ over the cells.
fn variances(target: &Target, within: &[f64]) -> Vec<f64> {
    let m = target.size();
    if target.metric.is_some() {
        return vec![target.noise; m];
    }
    // A quantised feature scatters more than its first harmonic.
    let energy = target.re.iter().zip(&target.im).map(|(a, b)| 1.0 - a * a - b * b).sum::<f64>() / m as f64;
    let all = (target.noise - target.added).max(0.0);
    let each = if energy > 1e-9 { all / energy } else { 0.0 };
    within.iter().map(|v| each * v.max(1e-6) + target.added).collect()
}

/// The entries that a sketch with these parts is matched in. Those of a kernel's sketch have errors of one
/// variance in the metric of the kernel.
fn push_entries(target: &Target, re: &[f64], im: &[f64], out: &mut Vec<f64>) {
    let from = out.len();
    out.extend_from_slice(re);
    match &target.metric {
        Some(metric) => metric.whiten(&mut out[from..]),
        None if target.complex => out.extend_from_slice(im),
        None => {}
    }
}

/// Cells whose sketches are held at a time.
const CHUNK: usize = 32;

impl System {
    pub fn new(target: &Target, blocks: &Blocks, exact: Option<&ExactMoments>, prior: &Prior<'_>) -> System {
        let (a, m, entries) = (blocks.len(), target.size(), target.entries());
        let moments = exact.map(|exact| MomentRows::new(blocks, exact, prior.shares, target.rows));
        let r = entries + moments.as_ref().map_or(0, MomentRows::len) + 1;
        let (mut left, mut within) = (Vec::with_capacity(a * r), vec![0.0; m]);
        for first in (0..a).step_by(CHUNK) {
            let cells: Vec<usize> = (first..a.min(first + CHUNK)).collect();
            let values = blocks.select(&cells).sketches(target);
            for (&cell, (re, im)) in
                cells.iter().zip(values.re.chunks_exact(m).zip(values.im.chunks_exact(m)))
            {
                let p = prior.shares[cell];
                for (sum, (a, b)) in within.iter_mut().zip(re.iter().zip(im)) {
                    *sum += p * (1.0 - a * a - b * b).max(0.0);
                }
                push_entries(target, re, im, &mut left);
                left.extend(moments.iter().flat_map(|rows| rows.of(blocks, cell)));
                left.push(1.0 / SUM_TOLERANCE);
            }
        }
        let mut right = Vec::with_capacity(r);
        push_entries(target, &target.re, &target.im, &mut right);
        right.extend(moments.iter().flat_map(|rows| rows.wanted()));
        right.push(1.0 / SUM_TOLERANCE);
        let scatter = variances(target, &within);
        let errors: Vec<f64> = scatter.iter().map(|v| 1.0 / (v + prior.blur).max(1e-30).sqrt()).collect();
        for row in left.chunks_exact_mut(r).chain([&mut right[..]]) {
            row[..entries].iter_mut().zip(errors.iter().cycle()).for_each(|(x, e)| *x *= e);
        }
        System { left, right, errors, entries, scatter: scatter.iter().sum::<f64>() / m as f64 }
    }

    /// The right-hand side for a difference of two sketches, of weights that sum to 0; without moments.
    pub fn right_of_difference(&self, target: &Target, re: &[f64], im: &[f64]) -> Vec<f64> {
        let mut right = Vec::with_capacity(self.entries + 1);
        push_entries(target, re, im, &mut right);
        right.iter_mut().zip(self.errors.iter().cycle()).for_each(|(x, e)| *x *= e);
        right.push(0.0);
        right
    }

    /// Entries as they were before they were divided by their deviations.
    pub fn undivided(&self, entries: &[f64]) -> Vec<f64> {
        entries[..self.entries].iter().zip(self.errors.iter().cycle()).map(|(x, e)| x / e).collect()
    }

    /// The sum of squares of all equations, and the mean of those of the sketch.
    fn cost(&self, weights: &[f64]) -> (f64, f64) {
        let r = self.right.len();
        let mut left: Vec<f64> = self.right.iter().map(|b| -b).collect();
        for (row, w) in self.left.chunks_exact(r).zip(weights).filter(|(_, w)| **w != 0.0) {
            left.iter_mut().zip(row).for_each(|(s, x)| *s += w * x);
        }
        let squares = |part: &[f64]| part.iter().map(|x| x * x).sum::<f64>();
        let sketch = squares(&left[..self.entries]);
        (squares(&left), sketch / self.entries as f64)
    }
}

/// Equations of the exact moments, about the mean of the prior density.
struct MomentRows {
    dim: usize,
    about: Vec<f64>,
    /// Pairs of coordinates.
    pairs: Vec<(usize, usize)>,
    /// One over the deviation of each equation: means, then pairs.
    inverse: Vec<f64>,
    wanted: Vec<f64>,
}

impl MomentRows {
    fn new(blocks: &Blocks, exact: &ExactMoments, shares: &[f64], rows: f64) -> MomentRows {
        let d = blocks.dim;
        let mut about = vec![0.0; d];
        for (centre, p) in blocks.centres.chunks_exact(d).zip(shares) {
            about.iter_mut().zip(centre).for_each(|(t, x)| *t += p * x);
        }
        let full = matches!(exact.covariance, Covariance::Full(_)) && !blocks.factors.is_empty();
        let pairs: Vec<(usize, usize)> = match full {
            true => (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).collect(),
            false => (0..d).map(|i| (i, i)).collect(),
        };
        let off: Vec<f64> = exact.mean.iter().zip(&about).map(|(x, c)| x - c).collect();
        let second = |&(i, j): &(usize, usize)| match &exact.covariance {
            Covariance::Full(rows) => rows[i][j] + off[i] * off[j],
            Covariance::Diagonal(variances) => variances[i] + off[i] * off[i],
        };
        let wanted: Vec<f64> = off.iter().copied().chain(pairs.iter().map(second)).collect();
        let mut equations = MomentRows { dim: d, about, inverse: vec![1.0; wanted.len()], pairs, wanted };
        let mut squares = vec![0.0; equations.len()];
        for (a, p) in shares.iter().enumerate() {
            squares.iter_mut().zip(equations.of(blocks, a)).for_each(|(s, x)| *s += p * x * x);
        }
        // Means scatter by the deviations, which the first of the pairs (i, i) hold.
        for (i, square) in squares[..d].iter_mut().enumerate() {
            *square = equations.wanted[d..][equations.place(i)].max(0.0);
        }
        let tolerance = 1.0 / rows + MOMENT_TOLERANCE * MOMENT_TOLERANCE;
        equations.inverse = squares.iter().map(|s| 1.0 / (s * tolerance + 1e-18).sqrt()).collect();
        equations
    }

    /// Where the pair (i, i) is.
    fn place(&self, i: usize) -> usize {
        if self.pairs.len() == self.dim { i } else { i * (i + 1) / 2 + i }
    }

    fn len(&self) -> usize {
        self.wanted.len()
    }

    fn wanted(&self) -> Vec<f64> {
        self.wanted.iter().zip(&self.inverse).map(|(x, e)| x * e).collect()
    }

    /// The coefficients of a cell.
    fn of(&self, blocks: &Blocks, a: usize) -> Vec<f64> {
        let d = self.dim;
        let away: Vec<f64> =
            blocks.centres[a * d..(a + 1) * d].iter().zip(&self.about).map(|(x, c)| x - c).collect();
        let mut spread = vec![0.0; d * d];
        if self.pairs.len() > d {
            blocks.covariance(a, &mut spread);
        } else {
            (0..d).for_each(|c| spread[c * d + c] = blocks.variances[a * d + c]);
        }
        let second = self.pairs.iter().map(|&(i, j)| away[i] * away[j] + spread[i * d + j]);
        let second: Vec<f64> = second.collect();
        away.iter().chain(&second).zip(&self.inverse).map(|(x, e)| x * e).collect()
    }
}
