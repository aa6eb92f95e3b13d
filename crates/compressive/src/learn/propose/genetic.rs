//! `genetic`: a genetic search for the global minimum of the objective, for research.
//!
//! After GenetiCL of \[Sch21\] section 6.3.3, which gives the principle: a population of candidate solutions,
//! "mutations" (noise) and "crossover" (swapping centroids), and the fitness
//! $\lVert z - \mathcal A(P_\theta) \rVert^{-\gamma}$. The choices it leaves open are made here:
//!
//! 1. start: atoms uniform in the box;
//! 2. weights of every candidate by non-negative least squares;
//! 3. the best tenth survives unchanged; every other child has two parents drawn with probability
//!    proportional to fitness;
//! 4. crossover: each atom of the child comes from one parent or the other, each with probability one half;
//! 5. mutation: each atom, with probability 1/k, is drawn anew or moves by Gaussian noise, whose size falls
//!    geometrically with the generations from the kernel width to a tenth of it; shapes are multiplied by
//!    log-normal noise;
//! 6. after the last generation a joint descent from the best candidate.
//!
//! Cost: `population` times `generations` evaluations of k m d + k^2 m; orders of magnitude slower than the
//! other decoders. What it is good for: telling whether another decoder failed, by finding a lower cost.

use crate::density::atom::{AtomFamily, Gaussian, ParamBounds, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::pursuit::{Pursuit, cluster_variance, kernel_variance, uniform_point};
use crate::model::DecodeInfo;
use crate::num::math::exp;
use crate::num::random::{Purpose, Stream, roulette};

pub(super) const GENETIC: Published = Published {
    centres: Shape::Dirac,
    starts_at_rows: false,
    needs_phases: false,
    run: |target, family, wanted| genetic(target, family, &GeneticParams::new(wanted.k, wanted.seed)),
};

/// Parameters of [`genetic`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GeneticParams {
    /// Atoms wanted.
    pub k: usize,
    /// Candidates. At least 2; default 100.
    pub population: usize,
    /// Generations. Default 300.
    pub generations: usize,
    /// $\gamma$, the exponent of the fitness. Above 0; default 2.
    pub pressure: f64,
    /// Part of the mutations that draw an atom anew instead of moving it. In [0, 1]; default 0.5.
    pub redraw: f64,
    /// Last deviation of the noise on locations, as a part of the first (the kernel width). In (0, 1];
    /// default 0.1.
    pub noise_last: f64,
    /// Iterations of the last joint descent at most. Default 1000.
    pub last_descent: usize,
    /// Seed of everything random.
    pub seed: u64,
}

impl GeneticParams {
    /// The defaults for k atoms.
    pub fn new(k: usize, seed: u64) -> GeneticParams {
        GeneticParams {
            k,
            population: 100,
            generations: 300,
            pressure: 2.0,
            redraw: 0.5,
            noise_last: 0.1,
            last_descent: 1000,
            seed,
        }
    }
}

/// Decodes a sketch by a genetic search; steps, cost and reference: see the module.
pub fn genetic(target: &Target, family: &Gaussian, params: &GeneticParams) -> (Fit, DecodeInfo) {
    let mut pursuit = Pursuit::new(target, family);
    if params.k == 0 {
        return pursuit.finish();
    }
    let mut stream = Stream::new(params.seed, Purpose::Decode, 0);
    let size = params.population.max(2);
    let nature = Nature {
        target,
        family,
        bounds: family.bounds(&target.low, &target.high),
        variance: cluster_variance(target),
        k: params.k,
        redraw: params.redraw,
    };
    // Steps 1 and 2.
    let mut population: Vec<(f64, Fit)> =
        (0..size).map(|_| weighed(&mut pursuit, nature.create(&mut stream))).collect();
    let survivors = (size / 10).max(1);
    let kernel = kernel_variance(target).sqrt();
    for generation in 0..params.generations {
        pursuit.iterations += 1;
        // A stable sort: of equals the older stays first.
        population.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lowest = population[0].0.max(1e-300);
        // Fitness relative to the best; the cost is a squared norm, hence half the exponent.
        let fitness: Vec<f64> = population
            .iter()
            .map(|(cost, _)| (lowest / cost.max(1e-300)).powf(0.5 * params.pressure))
            .collect();
        let noise = kernel * params.noise_last.powf(generation as f64 / params.generations as f64);
        let mut next: Vec<(f64, Fit)> = population[..survivors].to_vec();
        // Steps 3 to 5.
        while next.len() < size {
            let mother = &population[roulette(&fitness, &mut stream)].1;
            let father = &population[roulette(&fitness, &mut stream)].1;
            let mut child = nature.cross(mother, father, &mut stream);
            nature.mutate(&mut child, noise, noise / kernel, &mut stream);
            next.push(weighed(&mut pursuit, child));
        }
        population = next;
    }
    // Step 6.
    population.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = population.swap_remove(0).1;
    pursuit.offer(best, params.last_descent);
    pursuit.finish()
}

/// The candidate with its best weights, and its cost.
fn weighed(pursuit: &mut Pursuit<'_>, mut fit: Fit) -> (f64, Fit) {
    pursuit.project(&mut fit);
    pursuit.evaluations += 1;
    (pursuit.problem.cost(&fit), fit)
}

/// How candidates come about.
struct Nature<'a> {
    target: &'a Target,
    family: &'a Gaussian,
    bounds: ParamBounds,
    variance: f64,
    k: usize,
    redraw: f64,
}

impl Nature<'_> {
    fn atom(&self, stream: &mut Stream) -> Vec<f64> {
        self.family.init(&uniform_point(self.target, stream), (0.5 + stream.uniform()) * self.variance)
    }

    fn create(&self, stream: &mut Stream) -> Fit {
        Fit {
            atoms: (0..self.k).flat_map(|_| self.atom(stream)).collect(),
            shared: (0..self.family.n_shared()).map(|_| 2.0 * stream.uniform() * self.variance).collect(),
            weights: vec![0.0; self.k],
        }
    }

    fn cross(&self, mother: &Fit, father: &Fit, stream: &mut Stream) -> Fit {
        let p = self.family.n_params();
        let mut child = mother.clone();
        for (atom, other) in child.atoms.chunks_exact_mut(p).zip(father.atoms.chunks_exact(p)) {
            if stream.uniform() < 0.5 {
                atom.copy_from_slice(other);
            }
        }
        child
    }

    /// Noise of deviation `noise` on locations, and of `relative` on the logarithm of shapes.
    fn mutate(&self, fit: &mut Fit, noise: f64, relative: f64, stream: &mut Stream) {
        let (d, p) = (self.family.dim(), self.family.n_params());
        let rate = 1.0 / self.k as f64;
        for atom in fit.atoms.chunks_exact_mut(p) {
            if stream.uniform() >= rate {
                continue;
            }
            if stream.uniform() < self.redraw {
                atom.copy_from_slice(&self.atom(stream));
                continue;
            }
            for (i, x) in atom.iter_mut().enumerate() {
                let moved =
                    if i < d { *x + noise * stream.normal() } else { *x * exp(relative * stream.normal()) };
                *x = moved.clamp(self.bounds.low[i], self.bounds.high[i]);
            }
        }
        for (i, x) in fit.shared.iter_mut().enumerate() {
            let moved = *x * exp(relative * stream.normal());
            *x = moved.clamp(self.bounds.shared_low[i], self.bounds.shared_high[i]);
        }
    }
}
