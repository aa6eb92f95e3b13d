//! Gaussian mixtures of the weighted landmarks of a Nystrom sketch, without any atoms:
//! expectation-maximisation with covariances drawn to their mean.
//!
//! Start: the clusters of the weighted landmarks (file `quadrature.rs`). Then, until the likelihood stands
//! still:
//!
//! 1. E: $r_{jl} \propto \pi_l\, \mathcal N(y_j; \mu_l, \Sigma_l)$;
//! 2. M: $\pi_l$ and $\mu_l$ as always, with $w_j r_{jl}$ in place of counts. The scatter $S_l$ of a
//!    component is that of about $n_l = (\sum_j w_j r_{jl})^2 / \sum_j (w_j r_{jl})^2$ landmarks, too few for
//!    a covariance, so it is drawn to the mean scatter $\bar S$ of all:
//!    $\Sigma_l = (n_l S_l + \nu \bar S) / (n_l + \nu)$.
//!
//! The mean scatter is that of n landmarks about k means and is multiplied by $n / (n - k)$. Cost: m k d an
//! iteration, m k d^2 for full covariances. The prior is the usual conjugate one; its use here is this
//! project's own.

use super::quadrature::Quadrature;
use crate::density::atom::{AtomFamily, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::num::linear::cholesky;
use crate::num::linear::dot;

/// Iterations at most.
const ITERATIONS: usize = 200;
/// An iteration that gains less, in nats a row, is the last.
const GAIN: f64 = 1e-7;
/// Landmarks that the mean scatter counts for; for full covariances as many more as there are columns.
const PRIOR: f64 = 4.0;
/// A variance is at least this part of the mean one of its column.
const FLOOR: f64 = 1e-3;

/// A Gaussian mixture in working coordinates.
pub(crate) struct Mixture {
    weights: Vec<f64>,
    /// k rows of d.
    means: Vec<f64>,
    /// For each component its d variances, or its covariance as d rows of d.
    scatters: Vec<Vec<f64>>,
}

impl Mixture {
    /// A mixture of the given shape of covariance; none if a covariance has no factor.
    pub fn of_landmarks(landmarks: &Quadrature, shape: &Shape) -> Option<Mixture> {
        let mut responsibilities = landmarks.memberships();
        let mut mixture = Mixture::maximised(landmarks, &responsibilities, shape);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..ITERATIONS {
            let likelihood = mixture.expectation(landmarks, &mut responsibilities)?;
            if !(likelihood > before + GAIN) {
                break;
            }
            before = likelihood;
            mixture = Mixture::maximised(landmarks, &responsibilities, shape);
        }
        Some(mixture)
    }

    /// The mixture of a fit; shared and given covariances become each atom's own.
    pub fn of_fit(family: &Gaussian, fit: &Fit) -> Mixture {
        let (d, p) = (family.dim(), family.n_params());
        let atoms = || fit.atoms.chunks_exact(p);
        Mixture {
            weights: fit.normalised_weights(),
            means: atoms().flat_map(|atom| &atom[..d]).copied().collect(),
            scatters: atoms().map(|atom| family.covariance_of(atom, &fit.shared)).collect(),
        }
    }

    /// As atoms of a family, with variances within its range.
    pub fn to_fit(&self, family: &Gaussian) -> Option<Fit> {
        let d = family.dim();
        let (low, high) = family.variance_range();
        let mut atoms = Vec::new();
        for (mean, scatter) in self.means.chunks_exact(d).zip(&self.scatters) {
            atoms.extend_from_slice(mean);
            match family.covariance() {
                Shape::Width => atoms.push((scatter.iter().sum::<f64>() / d as f64).clamp(low, high)),
                Shape::Diagonal => atoms.extend(scatter.iter().map(|v| v.clamp(low, high))),
                Shape::Full => {
                    let lower = factor(scatter, d)?;
                    (0..d).for_each(|i| atoms.extend_from_slice(&lower[i][..=i]));
                }
                Shape::Dirac | Shape::SharedWidth | Shape::SharedDiagonal | Shape::Known(_) => {}
            }
        }
        Some(Fit { atoms, shared: vec![low; family.n_shared()], weights: self.weights.clone() })
    }

    /// Mean log-density of the weighted landmarks.
    pub fn log_likelihood(&self, landmarks: &Quadrature) -> Option<f64> {
        self.expectation(landmarks, &mut Vec::new())
    }

    /// Step 1: m rows of k responsibilities; returns the mean log-density.
    fn expectation(&self, landmarks: &Quadrature, out: &mut Vec<f64>) -> Option<f64> {
        let (d, weights) = (landmarks.dim(), &landmarks.weights);
        let roots: Vec<Root> = self.scatters.iter().map(|s| Root::new(s, d)).collect::<Option<_>>()?;
        let mut total = 0.0;
        out.clear();
        for (x, w) in landmarks.points.chunks_exact(d).zip(weights) {
            let means = self.means.chunks_exact(d).zip(&self.weights);
            let logs: Vec<f64> =
                means.zip(&roots).map(|((mean, pi), root)| pi.ln() + root.log_density(x, mean)).collect();
            let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = logs.iter().map(|l| (l - most).exp()).sum();
            let density = most + sum.ln();
            total += w * density;
            out.extend(logs.iter().map(|l| (l - density).exp()));
        }
        Some(total / weights.iter().sum::<f64>())
    }

    /// Step 2.
    fn maximised(landmarks: &Quadrature, responsibilities: &[f64], shape: &Shape) -> Mixture {
        let (d, k) = (landmarks.dim(), landmarks.shares.len());
        let full = *shape == Shape::Full;
        let rows =
            || landmarks.points.chunks_exact(d).zip(&landmarks.weights).zip(responsibilities.chunks_exact(k));
        let (mut shares, mut squares, mut means) = (vec![0.0; k], vec![0.0; k], vec![0.0; k * d]);
        for ((x, w), r) in rows() {
            for l in 0..k {
                let share = w * r[l];
                shares[l] += share;
                squares[l] += share * share;
                means[l * d..(l + 1) * d].iter_mut().zip(x).for_each(|(t, x)| *t += share * x);
            }
        }
        let share = |l: usize| shares[l].max(1e-300);
        (0..k).for_each(|l| means[l * d..(l + 1) * d].iter_mut().for_each(|t| *t /= share(l)));
        let total: f64 = shares.iter().sum();
        let weights = (0..k).map(|l| share(l) / total).collect();
        if let Shape::Known(sigma) = shape {
            return Mixture { weights, means, scatters: vec![sigma.clone(); k] };
        }
        let mut scatters = vec![vec![0.0; if full { d * d } else { d }]; k];
        for ((x, w), r) in rows() {
            for l in 0..k {
                let away: Vec<f64> = x.iter().zip(&means[l * d..]).map(|(x, c)| x - c).collect();
                add_outer(&mut scatters[l], w * r[l], &away);
            }
        }
        let counts: Vec<f64> = (0..k).map(|l| shares[l] * shares[l] / squares[l].max(1e-300)).collect();
        Mixture { weights, means, scatters: drawn(&scatters, &shares, &counts, shape, d) }
    }
}

/// Adds $w\,a a^\top$, or its diagonal if that is what is kept.
fn add_outer(to: &mut [f64], w: f64, a: &[f64]) {
    if to.len() == a.len() {
        to.iter_mut().zip(a).for_each(|(t, a)| *t += w * a * a);
        return;
    }
    for (row, b) in to.chunks_exact_mut(a.len()).zip(a) {
        row.iter_mut().zip(a).for_each(|(t, a)| *t += w * a * b);
    }
}

/// The covariances of step 2, from sums of squares.
fn drawn(sums: &[Vec<f64>], shares: &[f64], counts: &[f64], shape: &Shape, d: usize) -> Vec<Vec<f64>> {
    let (n, k) = (counts.iter().sum::<f64>(), sums.len() as f64);
    let unbiased = n / (n - k).max(0.5 * n) / shares.iter().sum::<f64>().max(1e-300);
    let mut mean = vec![0.0; sums[0].len()];
    sums.iter().for_each(|s| mean.iter_mut().zip(s).for_each(|(t, s)| *t += unbiased * s));
    let full = mean.len() > d;
    let step = if full { d + 1 } else { 1 };
    let level = mean.iter().step_by(step).sum::<f64>() / d as f64;
    mean.iter_mut().step_by(step).for_each(|v| *v += FLOOR * level);
    let prior = PRIOR + if full { d as f64 } else { 0.0 };
    let one = |l: usize| -> Vec<f64> {
        let own = counts[l] / shares[l].max(1e-300);
        let both = sums[l].iter().zip(&mean).map(|(s, mean)| (own * s + prior * mean) / (counts[l] + prior));
        match shape {
            Shape::Width => vec![both.sum::<f64>() / d as f64; d],
            _ => both.collect(),
        }
    };
    (0..sums.len()).map(one).collect()
}

/// What a density takes: the inverse deviations or the lower factor, and its logarithm at the mean.
struct Root {
    deviations: Vec<f64>,
    lower: Vec<Vec<f64>>,
    peak: f64,
}

impl Root {
    fn new(scatter: &[f64], d: usize) -> Option<Root> {
        let lower = if scatter.len() == d { Vec::new() } else { factor(scatter, d)? };
        let deviations: Vec<f64> = match lower.is_empty() {
            true => scatter.iter().map(|v| v.sqrt()).collect(),
            false => (0..d).map(|i| lower[i][i]).collect(),
        };
        let peak =
            -deviations.iter().map(|s| s.ln()).sum::<f64>() - 0.5 * d as f64 * std::f64::consts::TAU.ln();
        Some(Root { deviations, lower, peak })
    }

    fn log_density(&self, x: &[f64], mean: &[f64]) -> f64 {
        let mut white: Vec<f64> = x.iter().zip(mean).map(|(x, c)| x - c).collect();
        for i in 0..white.len() {
            if !self.lower.is_empty() {
                white[i] -= dot(&self.lower[i][..i], &white[..i]);
            }
            white[i] /= self.deviations[i];
        }
        self.peak - 0.5 * dot(&white, &white)
    }
}

/// Lower factor of a matrix of d rows of d.
fn factor(matrix: &[f64], d: usize) -> Option<Vec<Vec<f64>>> {
    cholesky(&matrix.chunks_exact(d).map(<[f64]>::to_vec).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Stream};

    fn landmarks(points: Vec<f64>, centres: Vec<f64>, d: usize) -> Quadrature {
        let (n, k) = (points.len() / d, centres.len() / d);
        Quadrature {
            points,
            weights: vec![1.0 / n as f64; n],
            centres,
            shares: vec![1.0 / k as f64; k],
            sse: 0.0,
        }
    }

    #[test]
    fn the_scatter_of_a_component_is_drawn_to_the_mean_scatter() {
        // Two landmarks at -10 -+ 1 and four at 10 -+ 3: scatters 1 and 9 of 2 and 4 landmarks, mean (2 + 36)
        // / 6, times 6 / (6 - 2).
        let quadrature = landmarks(vec![-11.0, -9.0, 7.0, 13.0, 7.0, 13.0], vec![-10.0, 10.0], 1);
        let mixture = Mixture::maximised(&quadrature, &quadrature.memberships(), &Shape::Diagonal);
        let mean = 38.0 / 6.0 * 1.5 * (1.0 + FLOOR);
        let wanted = [(2.0 + PRIOR * mean) / (2.0 + PRIOR), (36.0 + PRIOR * mean) / (4.0 + PRIOR)];
        for (found, wanted) in mixture.scatters.iter().zip(wanted) {
            assert!((found[0] - wanted).abs() < 1e-12, "{found:?} {wanted}");
        }
        assert!((mixture.weights[0] - 1.0 / 3.0).abs() < 1e-12 && mixture.means == [-10.0, 10.0]);
    }

    #[test]
    fn many_landmarks_of_equal_weight_give_the_mixture_they_were_drawn_from() {
        let (mut stream, n) = (Stream::new(5, Purpose::PilotMixture, 7), 4000);
        // Covariances [[1, 0.6], [0.6, 1]] about (0, 0), and [[4, 0], [0, 0.25]] about (4, 3), which overlap.
        let draw = |i: usize, stream: &mut Stream| {
            let (a, b) = (stream.normal(), stream.normal());
            if i.is_multiple_of(2) { [a, 0.6 * a + 0.8 * b] } else { [4.0 + 2.0 * a, 3.0 + 0.5 * b] }
        };
        let points: Vec<f64> = (0..n).flat_map(|i| draw(i, &mut stream)).collect();
        let quadrature = landmarks(points, vec![0.0, 0.0, 4.0, 3.0], 2);
        let full = Mixture::of_landmarks(&quadrature, &Shape::Full).unwrap();
        // Deviations of a variance of 2000 rows: 3% of it; of a mean: 0.02 to 0.05. Five of them, and as much
        // for the overlap.
        let near = |found: &[f64], wanted: &[f64], off: f64| {
            assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < off), "{found:?} {wanted:?}");
        };
        near(&full.means, &[0.0, 0.0, 4.0, 3.0], 0.25);
        near(&full.scatters[0], &[1.0, 0.6, 0.6, 1.0], 0.15);
        near(&full.scatters[1], &[4.0, 0.0, 0.0, 0.25], 0.6);
        near(&full.weights, &[0.5, 0.5], 0.03);
        let diagonal = Mixture::of_landmarks(&quadrature, &Shape::Diagonal).unwrap();
        near(&diagonal.scatters[1], &[4.0, 0.25], 0.6);
        // Without the correlation of 0.6 half of the rows lose 0.5 ln(1 / (1 - 0.36)) = 0.22 nats.
        let lost = full.log_likelihood(&quadrature).unwrap() - diagonal.log_likelihood(&quadrature).unwrap();
        assert!((0.08..0.14).contains(&lost), "{lost}");
    }
}
