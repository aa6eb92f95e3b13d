//! Likelihood, Kullback-Leibler divergence and maximum mean discrepancy of mixtures.

use crate::block::{LANES, for_blocks};
use crate::density::Density;
use crate::error::{Result, at_least_one, expect_len, positive};
use crate::mixture::{Mixture, Shape};
use crate::parallel::map_chunks;
use crate::random::Rng;
use crate::rows::Rows;

/// A Monte Carlo estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The mean of the draws.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Mean log-likelihood per row, $\tfrac1n \sum_i \ln p(x_i)$, on all cores. Cost: n k d, or n k d^2/2 for
/// full covariances.
pub fn log_likelihood(rows: Rows<'_>, mixture: &Mixture) -> Result<f64> {
    expect_len("columns of the mixture", mixture.dim, rows.dim())?;
    let density = Density::new(mixture)?;
    let parts = map_chunks(rows.n_rows(), 0, |_, range| {
        let mut scratch = vec![[0.0; LANES]; mixture.k()];
        let mut sum = 0.0;
        for_blocks(rows, range, |block| {
            sum += density.log_density(block, &mut scratch)[..block.len].iter().sum::<f64>();
        });
        sum
    });
    Ok(parts.iter().sum::<f64>() / rows.n_rows() as f64)
}

/// Symmetric Kullback-Leibler divergence $D(P\|Q) + D(Q\|P)$ exactly as \[KBGP18\] eq. 24 estimates it, from
/// draws of the true distribution P alone:
/// $$\frac1{n'} \sum_i \Bigl[\ln\frac{p(y_i)}{q(y_i)} + \frac{q(y_i)}{p(y_i)} \ln\frac{q(y_i)}{p(y_i)}\Bigr],\qquad y_i \sim P.$$
///
/// With $t = \ln (q/p)$ each term is $t\,(e^t - 1) \ge 0$, so that small divergences have a small relative
/// error. The paper takes n' = 5e5. Where Q has mass that P lacks, the draws miss it and the estimate is too
/// low: [`symmetric_kl_balanced`] sees it.
pub fn symmetric_kl(truth: &Mixture, estimate: &Mixture, n_draws: usize, seed: u64) -> Result<Estimate> {
    mean_over_draws(truth, truth, estimate, n_draws, seed, |log_p, log_q| {
        let t = log_q - log_p;
        t * t.exp_m1()
    })
}

/// The same divergence from n' draws of *each* mixture, which stays reliable when the two lie apart:
/// $$\frac1{n'} \sum_{y_i \sim P} h(y_i) + \frac1{n'} \sum_{y_i \sim Q} h(y_i),\qquad h = t \tanh\tfrac t2,\ t = \ln\frac pq .$$
///
/// $\int (p - q) \ln\tfrac pq$ with importance weights for the equal mixture of P and Q, whose ratios lie
/// between -1 and 1: every term is between 0 and |t|.
pub fn symmetric_kl_balanced(
    truth: &Mixture,
    estimate: &Mixture,
    n_draws: usize,
    seed: u64,
) -> Result<Estimate> {
    let term = |log_p: f64, log_q: f64| {
        let t = log_p - log_q;
        t * (0.5 * t).tanh()
    };
    let ours = mean_over_draws(truth, truth, estimate, n_draws, seed, term)?;
    let theirs = mean_over_draws(estimate, truth, estimate, n_draws, seed ^ 0x5EED, term)?;
    Ok(Estimate {
        value: ours.value + theirs.value,
        standard_error: ours.standard_error.hypot(theirs.standard_error),
    })
}

/// The mean of `term(ln p, ln q)` over draws of `source`; every chunk has its own stream, so threads change
/// nothing.
fn mean_over_draws(
    source: &Mixture,
    p: &Mixture,
    q: &Mixture,
    n_draws: usize,
    seed: u64,
    term: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<Estimate> {
    at_least_one("n_draws", n_draws)?;
    expect_len("columns of the second mixture", q.dim, p.dim)?;
    let (log_p, log_q) = (Density::new(p)?, Density::new(q)?);
    let parts = map_chunks(n_draws, 0, |chunk, range| -> Result<(f64, f64)> {
        let sample = source.sample(range.len(), &mut Rng::derived(seed, chunk as u64))?;
        let mut scratch = vec![[0.0; LANES]; p.k().max(q.k())];
        let mut sums = (0.0, 0.0);
        for_blocks(sample.rows()?, 0..range.len(), |block| {
            let ours = log_p.log_density(block, &mut scratch[..p.k()]);
            let theirs = log_q.log_density(block, &mut scratch[..q.k()]);
            for lane in 0..block.len {
                let value = term(ours[lane], theirs[lane]);
                sums.0 += value;
                sums.1 += value * value;
            }
        });
        Ok(sums)
    });
    let (mut first, mut second) = (0.0, 0.0);
    for part in parts {
        let (sum, square) = part?;
        first += sum;
        second += square;
    }
    let n = n_draws as f64;
    let value = first / n;
    let variance = (second / n - value * value).max(0.0);
    Ok(Estimate { value, standard_error: (variance / n).sqrt() })
}

/// Maximum mean discrepancy under a frequency law, from m frequencies drawn from it (m x d, row-major; those
/// of a sketching operator, or fresh ones):
/// $\gamma_\Lambda(P, Q) \approx \bigl(\tfrac1m \sum_j \lvert\psi_P(\omega_j) - \psi_Q(\omega_j)\rvert^2\bigr)^{1/2}$
/// (\[KBGP18\] eq. 22 and 23), with the characteristic function
/// $\psi(\omega) = \sum_l \alpha_l\, e^{i\omega^\top\mu_l - \omega^\top\Sigma_l\omega/2}$ in closed form.
///
/// Not a square: the distance itself. \[KBGP18\] figures 3 and 8 use 5e5 frequencies. Cost: m k d, or m k
/// d^2.
pub fn mmd(p: &Mixture, q: &Mixture, frequencies: &[f64]) -> Result<f64> {
    check_pair(p, q)?;
    let m = frequencies.len().div_ceil(p.dim).max(1);
    expect_len("frequencies", frequencies.len(), m * p.dim)?;
    let parts = map_chunks(m, 0, |_, range| {
        let chunk = &frequencies[range.start * p.dim..range.end * p.dim];
        chunk
            .chunks_exact(p.dim)
            .map(|omega| {
                let (ours, theirs) = (characteristic(p, omega), characteristic(q, omega));
                (ours.0 - theirs.0).powi(2) + (ours.1 - theirs.1).powi(2)
            })
            .sum::<f64>()
    });
    Ok((parts.iter().sum::<f64>() / m as f64).sqrt())
}

fn check_pair(p: &Mixture, q: &Mixture) -> Result<()> {
    p.validate()?;
    q.validate()?;
    expect_len("columns of the second mixture", q.dim, p.dim)
}

/// Real and imaginary part of the characteristic function.
pub fn characteristic(mixture: &Mixture, omega: &[f64]) -> (f64, f64) {
    let dot = |a: &[f64]| a.iter().zip(omega).map(|(x, w)| x * w).sum::<f64>();
    let mut value = (0.0, 0.0);
    for (component, &weight) in mixture.weights.iter().enumerate() {
        let covariance = mixture.covariance(component);
        let form: f64 = match mixture.shape {
            Shape::Diagonal => covariance.iter().zip(omega).map(|(variance, w)| variance * w * w).sum(),
            Shape::Full => covariance.chunks_exact(mixture.dim).zip(omega).map(|(row, w)| w * dot(row)).sum(),
        };
        let modulus = weight * (-0.5 * form).exp();
        let (sine, cosine) = dot(mixture.mean(component)).sin_cos();
        value = (value.0 + modulus * cosine, value.1 + modulus * sine);
    }
    value
}

/// Maximum mean discrepancy for the Gaussian kernel $\kappa(x, y) = e^{-\lVert x - y\rVert^2 / 2 w^2}$,
/// exactly: $\gamma^2 = \langle P, P\rangle - 2\langle P, Q\rangle + \langle Q, Q\rangle$, where two
/// Gaussians have
/// $\langle N(\mu, \Sigma), N(\mu', \Sigma')\rangle = (2\pi w^2)^{d/2} N(\mu - \mu'; 0, \Sigma + \Sigma' + w^2 I)$.
///
/// The limit of [`mmd`] for frequencies $N(0, w^{-2} I)$, without their sampling error; differences below
/// about 1e-8 are lost to rounding. Cost: k^2 d, or k^2 d^3/3.
pub fn mmd_gaussian(p: &Mixture, q: &Mixture, width: f64) -> Result<f64> {
    check_pair(p, q)?;
    positive("width", width)?;
    let squared =
        kernel_product(p, p, width)? - 2.0 * kernel_product(p, q, width)? + kernel_product(q, q, width)?;
    Ok(squared.max(0.0).sqrt())
}

/// $\sum_{l, l'} \alpha_l \alpha'_{l'} \langle P_l, Q_{l'}\rangle$.
fn kernel_product(p: &Mixture, q: &Mixture, width: f64) -> Result<f64> {
    let dim = p.dim;
    let (full_p, full_q) = (p.to_full(), q.to_full());
    let mut total = 0.0;
    for a in 0..p.k() {
        for b in 0..q.k() {
            // The density at 0 of one Gaussian, in units in which the kernel's width is 1.
            let mut covariances: Vec<f64> =
                full_p.covariance(a).iter().zip(full_q.covariance(b)).map(|(x, y)| x + y).collect();
            (0..dim).for_each(|i| covariances[i * dim + i] += width * width);
            covariances.iter_mut().for_each(|entry| *entry /= width * width);
            let means = p.mean(a).iter().zip(q.mean(b)).map(|(x, y)| (x - y) / width).collect();
            let pair = Mixture { dim, weights: vec![1.0], means, covariances, shape: Shape::Full };
            let mut log_density = 0.0;
            let density = Density::new(&pair)?;
            for_blocks(Rows::new(&vec![0.0; dim], dim)?, 0..1, |block| {
                log_density = density.log_density(block, &mut [[0.0; LANES]])[0];
            });
            let log_volume = 0.5 * dim as f64 * (2.0 * std::f64::consts::PI).ln();
            total += p.weights[a] * q.weights[b] * (log_volume + log_density).exp();
        }
    }
    Ok(total)
}
