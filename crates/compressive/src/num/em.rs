//! Expectation-maximisation of Gaussian mixtures on weighted points or small Gaussians ("blobs").
//!
//! A blob of centre x, spread S and weight w counts by its expected log-density,
//! $\ln \pi_l + \ln \mathcal N(x; \mu_l, \Sigma_l) - \tfrac12 \mathrm{tr}(\Sigma_l^{-1} S)$:
//!
//! 1. E: responsibilities $r_l$ proportional to the exponential of that;
//! 2. M: $\pi_l$, $\mu_l$ and $S_l = \sum w r_l\,\bigl((x - \mu_l)(x - \mu_l)^\top + S\bigr) / \sum w r_l$. Of n
//!    rows $n_l = n \pi_l$ are in a component, which may be too few for a covariance, so it is drawn to the
//!    mean $\bar S$ of all, as it is or scaled to the geometric means of their variances: $\Sigma_l = (n_l S_l + \nu \bar S) / (n_l + \nu)$.
//!
//! For points, S = 0, this is the usual algorithm. Blobs that are small beside the components give the same
//! mixture at the cost of their number. Cost: n k d an iteration, n k d^2 for full covariances.

use crate::num::budget;
use crate::num::linear::dot;
use crate::num::math::{exp, ln};

/// Shape of the components' covariances.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scatter {
    /// One variance for all coordinates.
    Width,
    /// A variance for each coordinate.
    Diagonal,
    /// Any covariance.
    Full,
    /// This one for all components, d rows of d.
    Known(Vec<f64>),
}

/// Weighted points with spreads of their own.
#[derive(Clone, Copy)]
pub(crate) struct Blobs<'a> {
    pub dim: usize,
    /// n rows of d.
    pub centres: &'a [f64],
    /// n weights, not negative.
    pub weights: &'a [f64],
    /// n rows of d variances.
    pub variances: &'a [f64],
    /// n covariances of d x d, for full scatters; empty if coordinates are uncorrelated within a blob.
    pub covariances: &'a [f64],
}

/// A Gaussian mixture.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    pub dim: usize,
    pub weights: Vec<f64>,
    /// k rows of d.
    pub means: Vec<f64>,
    /// For each component d variances, or d rows of d.
    pub scatters: Vec<Vec<f64>>,
}

/// What a component's log-density takes.
struct Root {
    log_weight: f64,
    /// Inverse deviations, or rows of the inverse lower factor.
    inverse: Vec<f64>,
    /// $\Sigma^{-1}$, d rows of d; empty for variances alone.
    precision: Vec<f64>,
}

impl Blobs<'_> {
    /// Mean and variance of each coordinate over all blobs.
    pub fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let total: f64 = self.weights.iter().sum();
        let d = self.dim;
        let (mut mean, mut square) = (vec![0.0; d], vec![0.0; d]);
        for ((x, v), w) in self.centres.chunks_exact(d).zip(self.variances.chunks_exact(d)).zip(self.weights)
        {
            for c in 0..d {
                mean[c] += w / total * x[c];
                square[c] += w / total * (x[c] * x[c] + v[c]);
            }
        }
        let variance = mean.iter().zip(&square).map(|(m, s)| (s - m * m).max(0.0)).collect();
        (mean, variance)
    }
}

/// What keeps covariances regular.
#[derive(Clone, Copy)]
pub(crate) struct Regular<'a> {
    /// Rows n behind the blobs.
    pub rows: f64,
    /// Rows $\nu$ that the mean scatter counts for.
    pub pull: f64,
    /// Whether the mean scatter keeps its variances, rather than have the geometric means of the components',
    /// which a wide one does not rule.
    pub wide: bool,
    /// Added to the variances.
    pub floor: &'a [f64],
}

/// Runs until an iteration gains less than `gain` nats or `iterations` are done. The mixture with its mean
/// expected log-density; none if a covariance has no factor.
pub(crate) fn em(
    blobs: Blobs<'_>,
    start: Start<'_>,
    scatter: &Scatter,
    regular: Regular<'_>,
    (iterations, gain): (usize, f64),
) -> Option<(Mixture, f64)> {
    let n = blobs.weights.len();
    let mut mixture = match start {
        Start::Memberships(labels, k) => {
            let mut r = vec![0.0; n * k];
            labels.iter().enumerate().for_each(|(i, &l)| r[i * k + l] = 1.0);
            Mixture::maximised(blobs, &r, k, scatter, regular)
        }
        Start::At(mixture) => mixture,
    };
    let k = mixture.weights.len();
    let (mut r, mut before) = (vec![0.0; n * k], f64::NEG_INFINITY);
    for _ in 0..iterations {
        let likelihood = mixture.expectation(blobs, &mut r)?;
        if !(likelihood > before + gain) {
            return Some((mixture, likelihood.max(before)));
        }
        before = likelihood;
        mixture = Mixture::maximised(blobs, &r, k, scatter, regular);
        if budget::spent() {
            break;
        }
    }
    let likelihood = mixture.expectation(blobs, &mut r)?;
    Some((mixture, likelihood))
}

/// Where [`em`] starts.
pub(crate) enum Start<'a> {
    /// A component for each point, and how many there are.
    Memberships(&'a [usize], usize),
    /// A mixture.
    At(Mixture),
}

impl Mixture {
    /// Number of components.
    pub fn k(&self) -> usize {
        self.weights.len()
    }

    /// Mean expected log-density of blobs.
    pub fn log_likelihood(&self, blobs: Blobs<'_>) -> Option<f64> {
        self.expectation(blobs, &mut vec![0.0; blobs.weights.len() * self.k()])
    }

    /// Covariance of a component, d rows of d.
    pub fn covariance(&self, l: usize) -> Vec<f64> {
        let d = self.dim;
        if self.scatters[l].len() == d * d && d > 1 {
            return self.scatters[l].clone();
        }
        let mut out = vec![0.0; d * d];
        (0..d).for_each(|c| out[c * d + c] = self.scatters[l][c]);
        out
    }

    /// Step 1: n rows of k responsibilities; returns the mean expected log-density.
    fn expectation(&self, blobs: Blobs<'_>, out: &mut [f64]) -> Option<f64> {
        let (d, k) = (self.dim, self.k());
        let roots: Vec<Root> =
            (0..k).map(|l| Root::new(&self.scatters[l], self.weights[l], d)).collect::<Option<_>>()?;
        let (mut total, mut sum, mut away) = (0.0, 0.0, vec![0.0; d]);
        for (i, r) in out.chunks_exact_mut(k).enumerate() {
            let x = &blobs.centres[i * d..(i + 1) * d];
            let mut most = f64::NEG_INFINITY;
            for (l, root) in roots.iter().enumerate() {
                let mean = &self.means[l * d..(l + 1) * d];
                away.iter_mut().zip(x.iter().zip(mean)).for_each(|(a, (x, m))| *a = x - m);
                r[l] = root.log_density(&away, blobs, i);
                most = most.max(r[l]);
            }
            let mut scale = 0.0;
            for value in r.iter_mut() {
                *value = exp((*value - most).max(-700.0));
                scale += *value;
            }
            r.iter_mut().for_each(|value| *value /= scale);
            total += blobs.weights[i] * (most + ln(scale));
            sum += blobs.weights[i];
        }
        Some(total / sum)
    }

    /// Step 2.
    fn maximised(blobs: Blobs<'_>, r: &[f64], k: usize, scatter: &Scatter, regular: Regular<'_>) -> Mixture {
        let d = blobs.dim;
        let rows = || blobs.centres.chunks_exact(d).zip(blobs.weights).zip(r.chunks_exact(k));
        let (mut shares, mut means) = (vec![0.0; k], vec![0.0; k * d]);
        for ((x, w), r) in rows() {
            for l in 0..k {
                let share = w * r[l];
                shares[l] += share;
                means[l * d..(l + 1) * d].iter_mut().zip(x).for_each(|(t, x)| *t += share * x);
            }
        }
        for (mean, share) in means.chunks_exact_mut(d).zip(&shares) {
            mean.iter_mut().for_each(|m| *m /= share.max(1e-300));
        }
        let total: f64 = shares.iter().sum();
        let weights: Vec<f64> = shares.iter().map(|s| (s / total).max(1e-12)).collect();
        if let Scatter::Known(sigma) = scatter {
            return Mixture { dim: d, weights, scatters: vec![sigma.clone(); k], means };
        }
        let own = |l: usize| {
            let (mean, share) = (&means[l * d..(l + 1) * d], shares[l]);
            match scatter {
                Scatter::Full => covariance_of(blobs, r, (l, k), mean, share),
                _ => variances_of(blobs, r, (l, k), mean, share),
            }
        };
        let mut scatters: Vec<Vec<f64>> = (0..k).map(own).collect();
        regularise(&mut scatters, &weights, regular, d);
        if *scatter == Scatter::Width {
            for scatter in &mut scatters {
                let mean = scatter.iter().sum::<f64>() / d as f64;
                scatter.fill(mean);
            }
        }
        Mixture { dim: d, weights, scatters, means }
    }
}

/// Draws scatters to their mean.
fn regularise(scatters: &mut [Vec<f64>], weights: &[f64], regular: Regular<'_>, d: usize) {
    let mut mean = vec![0.0; scatters[0].len()];
    for (scatter, w) in scatters.iter().zip(weights) {
        mean.iter_mut().zip(scatter).for_each(|(m, s)| *m += w * s);
    }
    let step = if mean.len() > d { d + 1 } else { 1 };
    let shrink: Vec<f64> = (0..d)
        .map(|c| {
            if regular.wide {
                return 1.0;
            }
            let log = |(s, w): (&Vec<f64>, &f64)| w * ln(s[c * step].max(regular.floor[c]).max(1e-300));
            let geometric = exp(scatters.iter().zip(weights).map(log).sum::<f64>());
            (geometric / mean[c * step].max(1e-300)).min(1.0).sqrt()
        })
        .collect();
    for (at, m) in mean.iter_mut().enumerate() {
        *m *= if step > 1 { shrink[at / d] * shrink[at % d] } else { shrink[at] * shrink[at] };
    }
    for (scatter, w) in scatters.iter_mut().zip(weights) {
        let rows = regular.rows * w;
        let drawn = |(s, m): (&mut f64, &f64)| *s = (rows * *s + regular.pull * m) / (rows + regular.pull);
        scatter.iter_mut().zip(&mean).for_each(drawn);
        scatter.iter_mut().step_by(step).zip(regular.floor).for_each(|(s, f)| *s += f);
    }
}

fn variances_of(blobs: Blobs<'_>, r: &[f64], (l, k): (usize, usize), mean: &[f64], share: f64) -> Vec<f64> {
    let d = blobs.dim;
    let mut sums = vec![0.0; d];
    for (i, w) in blobs.weights.iter().enumerate() {
        let weight = w * r[i * k + l];
        if weight <= 0.0 {
            continue;
        }
        let (x, v) = (&blobs.centres[i * d..(i + 1) * d], &blobs.variances[i * d..(i + 1) * d]);
        for c in 0..d {
            sums[c] += weight * ((x[c] - mean[c]) * (x[c] - mean[c]) + v[c]);
        }
    }
    sums.iter().map(|s| s / share.max(1e-300)).collect()
}

fn covariance_of(blobs: Blobs<'_>, r: &[f64], (l, k): (usize, usize), mean: &[f64], share: f64) -> Vec<f64> {
    let d = blobs.dim;
    let (mut sums, mut away) = (vec![0.0; d * d], vec![0.0; d]);
    for (i, w) in blobs.weights.iter().enumerate() {
        let weight = w * r[i * k + l];
        if weight <= 1e-300 {
            continue;
        }
        let x = &blobs.centres[i * d..(i + 1) * d];
        away.iter_mut().zip(x.iter().zip(mean)).for_each(|(a, (x, m))| *a = x - m);
        for a in 0..d {
            let scaled = weight * away[a];
            sums[a * d..a * d + a + 1].iter_mut().zip(&away).for_each(|(s, b)| *s += scaled * b);
        }
        if blobs.covariances.is_empty() {
            (0..d).for_each(|c| sums[c * d + c] += weight * blobs.variances[i * d + c]);
        } else {
            let own = &blobs.covariances[i * d * d..(i + 1) * d * d];
            for a in 0..d {
                let row = &own[a * d..a * d + a + 1];
                sums[a * d..a * d + a + 1].iter_mut().zip(row).for_each(|(s, c)| *s += weight * c);
            }
        }
    }
    for a in 0..d {
        for b in 0..=a {
            let value = sums[a * d + b] / share.max(1e-300);
            (sums[a * d + b], sums[b * d + a]) = (value, value);
        }
    }
    sums
}

impl Root {
    fn new(scatter: &[f64], weight: f64, d: usize) -> Option<Root> {
        let constant = ln(weight) - 0.5 * d as f64 * ln(std::f64::consts::TAU);
        if scatter.len() == d {
            if !scatter.iter().all(|v| *v > 0.0 && v.is_finite()) {
                return None;
            }
            let inverse: Vec<f64> = scatter.iter().map(|v| 1.0 / v).collect();
            let log_weight = constant - 0.5 * scatter.iter().map(|v| ln(*v)).sum::<f64>();
            return Some(Root { log_weight, inverse, precision: Vec::new() });
        }
        let inverse = inverse_factor(scatter, d)?;
        let log_weight = constant + (0..d).map(|i| ln(inverse[i * d + i])).sum::<f64>();
        let mut precision = vec![0.0; d * d];
        for row in inverse.chunks_exact(d) {
            for a in (0..d).filter(|&a| row[a] != 0.0) {
                precision[a * d..(a + 1) * d].iter_mut().zip(row).for_each(|(p, b)| *p += row[a] * b);
            }
        }
        Some(Root { log_weight, inverse, precision })
    }

    fn log_density(&self, away: &[f64], blobs: Blobs<'_>, i: usize) -> f64 {
        let d = away.len();
        let variances = &blobs.variances[i * d..(i + 1) * d];
        let mut square = 0.0;
        if self.precision.is_empty() {
            for c in 0..d {
                square += (away[c] * away[c] + variances[c]) * self.inverse[c];
            }
            return self.log_weight - 0.5 * square;
        }
        for (a, row) in self.inverse.chunks_exact(d).enumerate() {
            let along = dot(&row[..=a], &away[..=a]);
            square += along * along;
        }
        square += match blobs.covariances.is_empty() {
            true => (0..d).map(|c| self.precision[c * d + c] * variances[c]).sum::<f64>(),
            false => dot(&self.precision, &blobs.covariances[i * d * d..(i + 1) * d * d]),
        };
        self.log_weight - 0.5 * square
    }
}

/// Inverse of the lower Cholesky factor, d rows of d; none if there is no factor.
pub(crate) fn inverse_factor(matrix: &[f64], d: usize) -> Option<Vec<f64>> {
    let rows: Vec<Vec<f64>> = matrix.chunks_exact(d).map(<[f64]>::to_vec).collect();
    let lower = crate::num::linear::cholesky(&rows)?;
    let mut inverse = vec![0.0; d * d];
    for i in 0..d {
        inverse[i * d + i] = 1.0 / lower[i][i];
        for j in 0..i {
            let sum: f64 = (j..i).map(|l| lower[i][l] * inverse[l * d + j]).sum();
            inverse[i * d + j] = -sum / lower[i][i];
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};

    /// Covariances [[1, 0.6], [0.6, 1]] about (0, 0), and [[4, 0], [0, 0.25]] about (5, 4).
    fn rows(n: usize) -> Vec<f64> {
        let mut stream = Stream::new(5, Purpose::PilotMixture, 7);
        let draw = |i: usize| {
            let (a, b) = (stream.normal(), stream.normal());
            if i.is_multiple_of(2) { [a, 0.6 * a + 0.8 * b] } else { [5.0 + 2.0 * a, 4.0 + 0.5 * b] }
        };
        (0..n).flat_map(draw).collect()
    }

    fn regular(rows: f64) -> Regular<'static> {
        Regular { rows, pull: 4.0, wide: false, floor: &[1e-9; 2] }
    }

    fn near(found: &[f64], wanted: &[f64], off: f64) {
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < off), "{found:?} {wanted:?}");
    }

    #[test]
    fn points_give_the_mixture_they_were_drawn_from() {
        let rows = rows(4000);
        let (weights, none) = (vec![1.0; 4000], vec![0.0; 8000]);
        let blobs = Blobs { dim: 2, centres: &rows, weights: &weights, variances: &none, covariances: &[] };
        let labels: Vec<usize> = rows.chunks_exact(2).map(|x| usize::from(x[0] + x[1] > 4.5)).collect();
        let run = |scatter| {
            em(blobs, Start::Memberships(&labels, 2), &scatter, regular(4000.0), (200, 1e-8)).unwrap()
        };
        let (full, best) = run(Scatter::Full);
        // Deviations of a variance of 2000 rows: 3% of it; five of them, and as much for the overlap.
        near(&full.means, &[0.0, 0.0, 5.0, 4.0], 0.25);
        near(&full.scatters[0], &[1.0, 0.6, 0.6, 1.0], 0.15);
        near(&full.scatters[1], &[4.0, 0.0, 0.0, 0.25], 0.6);
        let (diagonal, lost) = run(Scatter::Diagonal);
        near(&diagonal.scatters[1], &[4.0, 0.25], 0.6);
        // Without the correlation of 0.6 half of the rows lose 0.5 ln(1 / (1 - 0.36)) = 0.22 nats.
        assert!((0.08..0.14).contains(&(best - lost)), "{best} {lost}");
    }

    #[test]
    fn a_blob_counts_as_the_points_that_it_stands_for() {
        // Pairs of points at a distance of 2 s become blobs of variance s^2: the M step is the same.
        let rows = rows(2000);
        let s = 0.01;
        let (mut pairs, mut twice) = (Vec::new(), Vec::new());
        for x in rows.chunks_exact(2) {
            pairs.extend([x[0] - s, x[1] + s, x[0] + s, x[1] - s]);
            twice.extend([s * s, -s * s, -s * s, s * s]);
        }
        let (w, v) = (vec![1.0; 2000], vec![s * s; 4000]);
        let blobs = Blobs { dim: 2, centres: &rows, weights: &w, variances: &v, covariances: &twice };
        let (w, none) = (vec![1.0; 4000], vec![0.0; 8000]);
        let points = Blobs { dim: 2, centres: &pairs, weights: &w, variances: &none, covariances: &[] };
        let label = |x: &[f64]| usize::from(x[0] + x[1] > 4.5);
        let of = |rows: &[f64]| rows.chunks_exact(2).map(label).collect::<Vec<_>>();
        let run = |blobs, rows: &[f64]| {
            em(blobs, Start::Memberships(&of(rows), 2), &Scatter::Full, regular(1e9), (100, 1e-10)).unwrap()
        };
        let ((a, la), (b, lb)) = (run(blobs, &rows), run(points, &pairs));
        near(&a.means, &b.means, 1e-3);
        near(&a.scatters[0], &b.scatters[0], 1e-3);
        assert!((la - lb).abs() < 1e-3, "{la} {lb}");
    }
}
