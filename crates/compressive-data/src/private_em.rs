//! DP-EM: expectation-maximisation under $(\varepsilon, \delta)$-differential privacy, the baseline of
//! private compressive mixture models.
//!
//! Rows lie in the unit ball of $\mathbb R^d$; neighbouring tables differ by the value of one row, so that n
//! is public. From a start that does not look at the rows, each of I iterations
//!
//! 1. computes responsibilities $r_{il}$ and the sums $N_l = \sum_i r_{il}$, $F_l = \sum_i r_{il} x_i$,
//!    $Q_l = \sum_i r_{il}\, x_i^2$ (squares by coordinate);
//! 2. weights: $\hat\alpha_l = (N_l + N(0, \sigma_0^2))/n$, raised to `weight_floor`/k and divided by their
//!    sum; from here on $\hat N_l = n \hat\alpha_l$;
//! 3. means: $\hat\mu_l = (F_l + N(0, \sigma_1^2 I))/\hat N_l$, pulled back to the unit ball;
//! 4. variances: $(Q_l + N(0, \sigma_2^2 I))/\hat N_l - \hat\mu_l^2$, at least `variance_floor` and at most
//!    1.
//!
//! **Sensitivities** (L2, of the sums; only the changed row's terms change, because the parameters of the
//! last iteration are already released):
//!
//! | sum | bound | why |
//! |---|---|---|
//! | $(N_l)_l$ | $\Delta_0 = \sqrt2$ | two points of the probability simplex |
//! | $F_l$, and all of $(F_l)_l$ | $\Delta_1 = 2$ | each term has norm at most 1 |
//! | $Q_l$, and all of $(Q_l)_l$ | $\Delta_2 = \sqrt2$ | non-negative vectors of norm at most 1: $\lVert a - b\rVert^2 \le \lVert a\rVert^2 + \lVert b\rVert^2$ |
//!
//! **Composition.** A release with noise $\sigma$ costs $\rho = \Delta^2/(2\sigma^2)$ of zero-concentrated
//! privacy, costs add, and $\rho$ in all gives $\varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}$, that is
//! $\sqrt\rho = \sqrt{\ln(1/\delta) + \varepsilon} - \sqrt{\ln(1/\delta)}$. Every release gets the same
//! share. \[PFCW16\] counts 2k + 1 releases per iteration ([`Composition::PerComponent`]). Since the
//! responsibilities of a row sum to one, the bounds hold for all components at once, and three releases are
//! enough ([`Composition::Joint`]): the noise falls by $\sqrt{(2k + 1)/3}$.
//!
//! Cost: I passes of expectation-maximisation with diagonal covariances. What it does not do: protect anyone
//! (floating-point noise from the lab's generator: good for measuring utility only), full covariances,
//! restarts: to choose the best of several runs would have a price. Reference: \[PFCW16\], variant zCDP-GGG
//! (Gaussian noise on weights, means and covariances); \[Sch21\] section 5.3.2; \[BS16\] for the composition.
//!
//! Differs from \[PFCW16\]: diagonal covariances; $\Delta_0$ is the L2 value (the paper has its L1 bound 2);
//! the sums are divided by the *noisy* $\hat N_l$, where the authors' program scales noise by $1/N_l$ of the
//! private rows; no conjugate prior; weights have a floor, without which a component that noise has emptied
//! never comes back (\[Sch21\] reports this failure).

use std::f64::consts::SQRT_2;

use crate::em::step::{Moments, expect};
use crate::error::{Error, Result, at_least_one, expect_len, positive};
use crate::mixture::{Mixture, Shape};
use crate::random::Rng;
use crate::rows::Rows;

/// L2 sensitivities of the sums of responsibilities, rows and squares.
const SENSITIVITIES: [f64; 3] = [SQRT_2, 2.0, SQRT_2];

/// How many releases an iteration counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Composition {
    /// 2k + 1: the weights together, and each component's mean and variances by themselves, as in \[PFCW16\].
    #[default]
    PerComponent,
    /// 3: weights, means and variances, each for all components at once.
    Joint,
}

/// How to run DP-EM.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateEmParams {
    /// $\varepsilon$ of the whole run, positive. Default 1.
    pub epsilon: f64,
    /// $\delta$ of the whole run, between 0 and 1. Default 1e-7.
    pub delta: f64,
    /// Iterations I, at least 1. Default 5; \[Sch21\] has 5 and 10.
    pub iterations: usize,
    /// How the cost is counted. Default as in the paper.
    pub composition: Composition,
    /// Least weight times k, before the weights are divided by their sum; between 0 and 1. Default 0.01.
    pub weight_floor: f64,
    /// Least variance, positive. Default 1e-3, the least eigenvalue in the authors' program.
    pub variance_floor: f64,
    /// Variance of every coordinate of every component at the start, times d; positive. Default 0.5: wide
    /// components find more of the clusters than narrow ones.
    pub start_variance: f64,
    /// Seed of start and noise. Default 0.
    pub seed: u64,
    /// Threads; 0, the default, for all cores. Does not change the result.
    pub threads: usize,
}

impl Default for PrivateEmParams {
    fn default() -> PrivateEmParams {
        PrivateEmParams {
            epsilon: 1.0,
            delta: 1e-7,
            iterations: 5,
            composition: Composition::PerComponent,
            weight_floor: 0.01,
            variance_floor: 1e-3,
            start_variance: 0.5,
            seed: 0,
            threads: 0,
        }
    }
}

/// How a run of DP-EM went.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateEmInfo {
    /// The mixture of the start.
    pub start: Mixture,
    /// The zero-concentrated cost $\rho$ of the whole run.
    pub rho: f64,
    /// Standard deviations $\sigma_0, \sigma_1, \sigma_2$ of the noise on the sums, in every iteration.
    pub noise_stds: [f64; 3],
}

/// The mixture that DP-EM found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PrivateEm {
    /// Weights, means and variances.
    pub mixture: Mixture,
    /// How the run went.
    pub info: PrivateEmInfo,
}

/// $\rho$ of zero-concentrated privacy that gives $(\varepsilon, \delta)$: the root of
/// $\varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}$ (\[BS16\] proposition 1.3).
pub fn zero_concentrated_cost(epsilon: f64, delta: f64) -> f64 {
    let log = -delta.ln();
    // The difference of the two roots, without its cancellation.
    (epsilon / ((log + epsilon).sqrt() + log.sqrt())).powi(2)
}

/// DP-EM with k components from a random start: equal weights, equal variances, means with uniform direction
/// and uniform norm in the unit ball.
///
/// A row outside the unit ball is refused. Cost: see the [module](mod@crate::private_em).
pub fn private_em(rows: Rows<'_>, k: usize, params: &PrivateEmParams) -> Result<PrivateEm> {
    at_least_one("k", k)?;
    positive("start_variance", params.start_variance)?;
    let dim = rows.dim();
    let mut rng = Rng::derived(params.seed, 0);
    let start = Mixture {
        dim,
        weights: vec![1.0 / k as f64; k],
        means: (0..k).flat_map(|_| ball_point(dim, &mut rng)).collect(),
        covariances: vec![params.start_variance / dim as f64; k * dim],
        shape: Shape::Diagonal,
    };
    private_em_from(rows, &start, params)
}

/// DP-EM from a given mixture with diagonal covariances, which must not depend on the rows.
pub fn private_em_from(rows: Rows<'_>, start: &Mixture, params: &PrivateEmParams) -> Result<PrivateEm> {
    check(rows, start, params)?;
    let k = start.k();
    let releases = match params.composition {
        Composition::PerComponent => 2 * k + 1,
        Composition::Joint => 3,
    };
    let rho = zero_concentrated_cost(params.epsilon, params.delta);
    let share = rho / (releases * params.iterations) as f64;
    let noise_stds = SENSITIVITIES.map(|sensitivity| sensitivity / (2.0 * share).sqrt());
    let mut rng = Rng::derived(params.seed, 1);
    let mut mixture = start.clone();
    for _ in 0..params.iterations {
        let (moments, _) = expect(rows, &mixture, params.threads)?;
        let mut sums = Sums::about_origin(&moments, &mixture);
        sums.add_noise(&noise_stds, &mut rng);
        mixture = sums.maximize(rows.n_rows(), &mixture, params);
    }
    Ok(PrivateEm { mixture, info: PrivateEmInfo { start: start.clone(), rho, noise_stds } })
}

fn check(rows: Rows<'_>, start: &Mixture, params: &PrivateEmParams) -> Result<()> {
    start.validate()?;
    expect_len("columns of the start", start.dim, rows.dim())?;
    expect_len("variances of the start", start.covariances.len(), start.k() * start.dim)?;
    at_least_one("iterations", params.iterations)?;
    positive("epsilon", params.epsilon)?;
    positive("variance_floor", params.variance_floor)?;
    let inside = |name, value: f64| match value > 0.0 && value < 1.0 {
        true => Ok(()),
        false => Err(Error::Parameter { name, value, allowed: "between 0 and 1, ends excluded" }),
    };
    inside("delta", params.delta)?;
    inside("weight_floor", params.weight_floor)?;
    inside("variance_floor", params.variance_floor)?;
    let norm_max = (0..rows.n_rows()).map(|row| norm(rows.row(row))).fold(0.0, f64::max);
    // A row scaled to norm 1 may end a few roundings above it.
    if norm_max > 1.0 + 1e-12 {
        return Err(Error::Parameter {
            name: "largest norm of a row",
            value: norm_max,
            allowed: "at most 1: scale the rows into the unit ball",
        });
    }
    Ok(())
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// A point of the unit ball with uniform direction and uniform norm.
fn ball_point(dim: usize, rng: &mut Rng) -> Vec<f64> {
    let direction: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let scale = rng.uniform() / norm(&direction);
    direction.iter().map(|value| value * scale).collect()
}

/// The three sums of step 1, about the origin.
struct Sums {
    /// $N_l$: k entries.
    weight: Vec<f64>,
    /// $F_l$: k x d.
    first: Vec<f64>,
    /// $Q_l$: k x d.
    second: Vec<f64>,
}

impl Sums {
    /// Moves the moments from the old means to the origin, where the sensitivities are least.
    fn about_origin(moments: &Moments, old: &Mixture) -> Sums {
        let mut sums = Sums {
            weight: moments.weight.clone(),
            first: moments.first.clone(),
            second: moments.second.clone(),
        };
        for (index, mean) in old.means.iter().enumerate() {
            let weight = moments.weight[index / old.dim];
            sums.second[index] += mean * (2.0 * moments.first[index] + mean * weight);
            sums.first[index] += mean * weight;
        }
        sums
    }

    fn add_noise(&mut self, stds: &[f64; 3], rng: &mut Rng) {
        for (sums, std) in [&mut self.weight, &mut self.first, &mut self.second].into_iter().zip(stds) {
            sums.iter_mut().for_each(|sum| *sum += std * rng.normal());
        }
    }

    /// Steps 2 to 4: what follows from the noisy sums costs nothing more.
    fn maximize(&self, n_rows: usize, old: &Mixture, params: &PrivateEmParams) -> Mixture {
        let (k, dim, n) = (old.k(), old.dim, n_rows as f64);
        let floor = params.weight_floor / k as f64;
        let mut new = old.clone();
        let raised: Vec<f64> = self.weight.iter().map(|weight| (weight / n).max(floor)).collect();
        let total: f64 = raised.iter().sum();
        new.weights = raised.iter().map(|weight| weight / total).collect();
        for component in 0..k {
            let rows = n * new.weights[component];
            let range = component * dim..(component + 1) * dim;
            let mean = &mut new.means[range.clone()];
            mean.iter_mut().zip(&self.first[range.clone()]).for_each(|(mean, sum)| *mean = sum / rows);
            let shrink = norm(mean).max(1.0);
            mean.iter_mut().for_each(|value| *value /= shrink);
            let variances = new.covariances[range.clone()].iter_mut().zip(&self.second[range]);
            for ((variance, square), mean) in variances.zip(mean) {
                *variance = (square / rows - *mean * *mean).clamp(params.variance_floor, 1.0);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests;
