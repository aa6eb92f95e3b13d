//! `amp`: approximate message passing for centres, in the manner of CL-AMP \[BCGS19\].
//!
//! With $\omega_j = g_j a_j$, $|a_j| = 1$, the sketch is modelled as
//! $z_j \approx \sum_k \beta_{jk}\, e^{i (g_j s_{jk} + \xi_j)}$ with $s_{jk} = a_j^\top c_k$ and
//! $\beta_{jk} = \alpha_k e^{-g_j^2 \tau_k / 2}$. Each iteration:
//!
//! 1. $P = A C - S\,\mathrm{diag}(q)$: predictions of s, each with variance $q_k$;
//! 2. for each (j, k) the other atoms are Gaussian interference with the moments of $e^{i\theta}$ for
//!    $\theta \sim N(\mu, u)$, $\mu = g P + \xi$, $u = g^2 q$: mean $e^{i\mu - u/2}$,
//!    $\mathrm{Var} \cos = \tfrac12 (1-e^{-u})(1-e^{-u}\cos 2\mu)$,
//!    $\mathrm{Var} \sin = \tfrac12 (1-e^{-u})(1+e^{-u}\cos 2\mu)$,
//!    $\mathrm{Cov} = -\tfrac12 (1-e^{-u})\, e^{-u}\sin 2\mu$, and the noise floor $\varepsilon$ is added;
//! 3. the posterior of $\theta_{jk}$ on a grid gives its mean $e_1$ and variance $e_2$ in prior deviations;
//! 4. $S = e_1/\sqrt q$, $q^s_k = (1 - \overline{e_2})/q_k$, $q^r = (d/m)/q^s$,
//!    $R = C + A^\top S\,\mathrm{diag}(q^r)$;
//! 5. $C = R\,v/(v + q^r)$ about the middle of the box, $q = q^r v/(v + q^r)$, the prior being
//!    $N(\text{middle}, v I)$.
//!
//! Between blocks of iterations the weights (non-negative, at least 0.2/k) and the widths $\tau$ (shared, or
//! one for each atom where the family has them) are fitted. The floor falls from 0.03 to the sampling noise;
//! a second run of each restart keeps it at the noise, which is better for very small sketches and worse for
//! others. The fits are polished by joint descent, and the one with the lowest cost is kept.
//!
//! Cost: an iteration has 2 k m d multiply-adds and 48 k m exponentials; about 320 iterations a run.
//!
//! References: \[BCGS19\] for the idea and the hybrid scalar-variance structure; the formulas are derived
//! anew for this project, and the floor's schedule and the grid are its own. The entries' weights count only
//! in the fits of weights and widths and in the polish.

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::{Fit, Problem};
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::pursuit::{Pursuit, assemble, cluster_variance};
use crate::model::DecodeInfo;
use crate::num::random::{Purpose, Stream};
use crate::num::solve::golden_section;

mod pass;
use pass::Messages;

pub(super) const AMP: Published = Published {
    centres: Shape::SharedWidth,
    starts_at_rows: false,
    needs_phases: true,
    run: |target, family, wanted| {
        let defaults = AmpParams::new(wanted.k, wanted.seed);
        let restarts = wanted.restarts.unwrap_or(defaults.restarts);
        amp(target, family, &AmpParams { restarts, ..defaults })
    },
};

/// Parameters of [`amp`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AmpParams {
    /// Atoms wanted.
    pub k: usize,
    /// Noise floors of the annealed run, falling; the sampling noise follows. Default 3e-2, 3e-3, 3e-4.
    pub floors: Vec<f64>,
    /// Fits of weights and widths at each floor. At least 1; default 20.
    pub rounds: usize,
    /// Iterations between them. Default 4.
    pub iterations: usize,
    /// Part of a new message that is taken over. In (0, 1]; default 0.7.
    pub damping: f64,
    /// Iterations of the joint descent at most. Default 1000.
    pub last_descent: usize,
    /// Restarts, each an annealed run and one without annealing. At least 1; default 2.
    pub restarts: usize,
    /// Seed of the starting centres.
    pub seed: u64,
}

impl AmpParams {
    /// The defaults for k atoms.
    pub fn new(k: usize, seed: u64) -> AmpParams {
        AmpParams {
            k,
            floors: vec![3e-2, 3e-3, 3e-4],
            rounds: 20,
            iterations: 4,
            damping: 0.7,
            last_descent: 1000,
            restarts: 2,
            seed,
        }
    }
}

/// Decodes a sketch by approximate message passing; steps, cost and reference: see the module.
pub fn amp(target: &Target, family: &Gaussian, params: &AmpParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    if params.k == 0 {
        return pursuit.finish();
    }
    let noise = target.noise.max(1e-12);
    let annealed: Vec<f64> = params.floors.iter().copied().filter(|f| *f > noise).chain([noise]).collect();
    let flat = vec![noise; annealed.len()];
    for restart in 0..params.restarts.max(1) {
        for (run, floors) in [&annealed, &flat].into_iter().enumerate() {
            let mut stream = Stream::new(params.seed, Purpose::Decode, 2 * restart as u64 + run as u64);
            let (centres, widths, weights) = run_once(target, family, params, floors, &mut stream);
            pursuit.iterations += floors.len() * params.rounds.max(1) * params.iterations;
            let mut fit = assemble(family, &centres, &widths, &weights);
            pursuit.project(&mut fit);
            pursuit.offer(fit, params.last_descent);
        }
    }
    pursuit.finish()
}

/// One run from random centres: centres, widths, weights.
fn run_once(
    target: &Target,
    family: &Gaussian,
    params: &AmpParams,
    floors: &[f64],
    stream: &mut Stream,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let own_width = family.n_params() > family.dim();
    let wide = target.points.with_covariance(Shape::Width);
    let mut problem = Problem::new(target, &wide);
    let mut messages = Messages::new(target, params.k, stream);
    let mut widths = vec![cluster_variance(target); params.k];
    let mut weights = vec![1.0 / params.k as f64; params.k];
    for &floor in floors {
        for _ in 0..params.rounds.max(1) {
            for _ in 0..params.iterations {
                messages.pass(&weights, &widths, floor, params.damping);
            }
            let centres = messages.centres();
            let mut fit = assemble(&wide, &centres, &widths, &weights);
            fit.weights = problem.solve_weights(&fit, false);
            let least = 0.2 / params.k as f64;
            weights = fit.weights.iter().map(|w| w.max(least)).collect();
            fit_widths(target, &centres, &weights, own_width, &mut widths);
        }
    }
    (messages.centres(), widths, weights)
}

/// Least-squares widths at fixed centres and weights: one for all atoms, or then one for each in turn.
fn fit_widths(target: &Target, centres: &[f64], weights: &[f64], each: bool, widths: &mut [f64]) {
    let (k, m) = (weights.len(), target.size());
    let mut points = Batch::default();
    target.points.sketch_batch(centres, &[], &mut points);
    let mut search = WidthSearch { target, sum: (vec![0.0; m], vec![0.0; m]) };
    search.collect(&points, weights, None, 0..k);
    let shared = search.best((&target.re, &target.im));
    widths.fill(shared);
    for l in 0..if each { k } else { 0 } {
        let (mut re, mut im) = (target.re.clone(), target.im.clone());
        for other in (0..k).filter(|&other| other != l) {
            search.collect(&points, weights, Some(widths[other]), other..other + 1);
            re.iter_mut().zip(&search.sum.0).for_each(|(r, s)| *r -= s);
            im.iter_mut().zip(&search.sum.1).for_each(|(r, s)| *r -= s);
        }
        search.collect(&points, weights, None, l..l + 1);
        widths[l] = search.best((&re, &im));
    }
}

/// $\arg\min_\tau \sum_j w_j^2 |r_j - e^{-\tau |\omega_j|^2/2} s_j|^2$ for a sum s of undamped atoms.
struct WidthSearch<'a> {
    target: &'a Target,
    sum: (Vec<f64>, Vec<f64>),
}

impl WidthSearch<'_> {
    /// Sums weighted atoms into s, damped if a width is given.
    fn collect(
        &mut self,
        points: &Batch,
        weights: &[f64],
        width: Option<f64>,
        atoms: std::ops::Range<usize>,
    ) {
        let m = self.target.size();
        let norms = self.target.points.norms();
        self.sum.0.fill(0.0);
        self.sum.1.fill(0.0);
        for l in atoms {
            for (j, norm) in norms.iter().enumerate() {
                let amplitude = weights[l] * width.map_or(1.0, |width| (-0.5 * width * norm).exp());
                self.sum.0[j] += amplitude * points.re[l * m + j];
                self.sum.1[j] += amplitude * points.im[l * m + j];
            }
        }
    }

    /// The width that fits a residual best: a logarithmic grid, then golden section.
    fn best(&self, (re, im): (&[f64], &[f64])) -> f64 {
        let target = self.target;
        let terms: Vec<(f64, f64, f64)> = (0..target.size())
            .map(|j| {
                let (s_re, s_im) = (self.sum.0[j], if target.complex { self.sum.1[j] } else { 0.0 });
                let square = target.weights[j] * target.weights[j];
                let half_norm = -0.5 * target.points.norms()[j];
                (half_norm, square * (s_re * re[j] + s_im * im[j]), square * (s_re * s_re + s_im * s_im))
            })
            .collect();
        let cost = |log: f64| {
            let width = log.exp();
            let entry = |&(h, product, energy): &(f64, f64, f64)| {
                let e = (h * width).exp();
                e * (e * energy - 2.0 * product)
            };
            terms.iter().map(entry).sum::<f64>()
        };
        let (smallest, largest) = target.points.variance_range();
        const CELLS: usize = 24;
        let lowest = (1e-4 * largest).max(smallest).ln();
        let step = (largest.ln() - lowest) / CELLS as f64;
        let grid = (0..=CELLS).map(|i| lowest + i as f64 * step);
        let best = grid.map(|x| (cost(x), x)).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(lowest, |(_, x)| x);
        golden_section(cost, best - step, (best + step).min(largest.ln()), 20).exp()
    }
}
