//! A mixture being fitted: its objective, its weights, its joint descent.
//!
//! Objective: $f(\theta, \alpha) = \sum_j w_j^2\,\lvert z_j - \sum_l \alpha_l a_j(\theta_l)\rvert^2$, or the
//! square in the target's [`Metric`](super::Metric) if it has one.

use std::ops::Range;

use compressive_kernels::{Layout, product};

use crate::density::atom::{AtomFamily, Batch};
use crate::density::target::Target;
use crate::num::linear::dot;
use crate::num::solve::{LbfgsInfo, LbfgsParams, NnlsParams, minimize, nnls};

/// Atoms with weights, in working coordinates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// k rows of the family's parameters.
    pub atoms: Vec<f64>,
    /// Parameters shared by all atoms.
    pub shared: Vec<f64>,
    /// k weights, not negative; normalised only at the end.
    pub weights: Vec<f64>,
}

impl Fit {
    /// Number of atoms.
    pub fn k(&self) -> usize {
        self.weights.len()
    }

    /// Weights scaled to sum to one; equal weights if all are zero.
    pub fn normalised_weights(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        if total > 0.0 {
            self.weights.iter().map(|w| w / total).collect()
        } else {
            vec![1.0 / self.k() as f64; self.k()]
        }
    }

    /// Keeps only the atoms listed.
    pub fn keep(&mut self, which: &[usize]) {
        let p = self.atoms.len() / self.k().max(1);
        self.atoms = which.iter().flat_map(|&l| self.atoms[l * p..(l + 1) * p].iter().copied()).collect();
        self.weights = which.iter().map(|&l| self.weights[l]).collect();
    }
}

/// A target with a family: what all greedy decoders minimise.
///
/// Everything runs over the frequencies in chunks, small enough that the values of all atoms stay in the
/// processor's cache.
pub struct Problem<'a> {
    /// The sketch.
    pub target: &'a Target,
    /// The atoms.
    pub family: &'a dyn AtomFamily,
    squares: Vec<f64>,
    chunks: Vec<Chunk>,
    values: Batch,
    cotangent: Batch,
}

/// Some of the frequencies.
struct Chunk {
    range: Range<usize>,
    family: Box<dyn AtomFamily>,
}

/// Frequencies in a chunk.
const CHUNK: usize = 256;
/// Iterations of [`Problem::settle`] at most.
const ITERATIONS: usize = 300;
/// Multiply-adds that it may take, some seconds' worth.
const WORK: usize = 3_000_000_000;
/// What a sine and a cosine cost beside the d multiply-adds of their phase.
const WAVE: usize = 20;
/// The least part of the cost that an iteration has to gain, near the end and for a misfit.
const NEARLY: f64 = 1e-7;
const ROUGHLY: f64 = 1e-5;

impl<'a> Problem<'a> {
    /// Joins a target and a family at the same frequencies.
    pub fn new(target: &'a Target, family: &'a dyn AtomFamily) -> Problem<'a> {
        let m = target.size();
        let squares = target.weights.iter().map(|w| w * w).collect();
        // A metric joins all entries, so that they must be in one chunk.
        let step = if target.metric.is_some() { m.max(1) } else { CHUNK };
        let chunk = |start: usize| {
            let range = start..m.min(start + step);
            let which: Vec<usize> = range.clone().collect();
            Chunk { range, family: family.restrict(&which) }
        };
        let chunks = (0..m).step_by(step).map(chunk).collect();
        Problem { target, family, squares, chunks, values: Batch::default(), cotangent: Batch::default() }
    }

    /// Residual $z - \sum_l \alpha_l a(\theta_l)$, real and imaginary parts.
    pub fn residual(&mut self, fit: &Fit) -> (Vec<f64>, Vec<f64>) {
        let (mut re, mut im) = (self.target.re.clone(), self.target.im.clone());
        for chunk in &self.chunks {
            let range = chunk.range.clone();
            chunk.family.sketch_batch(&fit.atoms, &fit.shared, &mut self.values);
            subtract(&mut re[range.clone()], &fit.weights, &self.values.re);
            if self.target.complex {
                subtract(&mut im[range], &fit.weights, &self.values.im);
            }
        }
        (re, im)
    }

    /// The objective.
    pub fn cost(&mut self, fit: &Fit) -> f64 {
        let (re, im) = self.residual(fit);
        match &self.target.metric {
            Some(metric) => metric.square(&re),
            None => energy(&self.squares, &re, &im),
        }
    }

    /// Drops atoms until k are left, each time the one that the others replace best: the cost of leaving out
    /// atom l, with the other weights fitted anew, is $\alpha_l^2 / (G^{-1})_{ll}$ for the Gram matrix G of
    /// the atoms. The weights are those of the others, fitted anew.
    pub fn prune(&mut self, fit: &mut Fit, k: usize) {
        let (gram, rhs) = self.normal_equations(fit);
        let n = rhs.len();
        let mut kept: Vec<usize> = (0..n).collect();
        loop {
            let size = kept.len();
            let sub: Vec<f64> = kept
                .iter()
                .flat_map(|&i| kept.iter().map(move |&j| (i, j)))
                .map(|(i, j)| gram[i * n + j])
                .collect();
            let b: Vec<f64> = kept.iter().map(|&i| rhs[i]).collect();
            let weights = nnls(&sub, &b, &NnlsParams::default()).0;
            if size <= k {
                fit.keep(&kept);
                fit.weights = weights;
                return;
            }
            let inverse = inverse_diagonal(&sub, size);
            let cost = |l: usize| weights[l] * weights[l] / inverse[l];
            let least = (0..size).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
            kept.remove(least);
        }
    }

    /// Non-negative least squares for the weights; with `unit_norm` the atoms are first scaled to norm one,
    /// and so are the weights returned.
    pub fn solve_weights(&mut self, fit: &Fit, unit_norm: bool) -> Vec<f64> {
        let (mut gram, mut rhs) = self.normal_equations(fit);
        let k = rhs.len();
        if unit_norm {
            let norms: Vec<f64> = (0..k).map(|l| gram[l * k + l].sqrt().max(1e-300)).collect();
            gram.iter_mut().enumerate().for_each(|(at, g)| *g /= norms[at / k] * norms[at % k]);
            rhs.iter_mut().zip(&norms).for_each(|(b, n)| *b /= n);
        }
        nnls(&gram, &rhs, &NnlsParams::default()).0
    }

    /// Gram matrix of the atoms, and their products with the sketch.
    fn normal_equations(&mut self, fit: &Fit) -> (Vec<f64>, Vec<f64>) {
        let k = fit.atoms.len() / self.family.n_params();
        if let Some(metric) = &self.target.metric {
            self.family.sketch_batch(&fit.atoms, &fit.shared, &mut self.values);
            return metric.normal_equations(&self.values.re, &self.target.re);
        }
        let (mut gram, mut rhs) = (vec![0.0; k * k], vec![0.0; k]);
        for chunk in &self.chunks {
            chunk.family.sketch_batch(&fit.atoms, &fit.shared, &mut self.values);
            let parts = [(&mut self.values.re, &self.target.re), (&mut self.values.im, &self.target.im)];
            for (values, z) in parts.into_iter().take(if self.target.complex { 2 } else { 1 }) {
                let range = chunk.range.clone();
                let (weights, n) = (&self.target.weights[range.clone()], chunk.range.len());
                for atom in values.chunks_exact_mut(n) {
                    atom.iter_mut().zip(weights).for_each(|(x, w)| *x *= w);
                }
                let z: Vec<f64> = z[range].iter().zip(weights).map(|(z, w)| z * w).collect();
                add_products(values, n, &mut gram);
                values.chunks_exact(n).zip(&mut rhs).for_each(|(atom, b)| *b += dot(atom, &z));
            }
        }
        (gram, rhs)
    }

    /// Joint descent over atoms, shared parameters and weights from `fit`, inside the bounds. Improves `fit`
    /// or leaves it.
    pub fn descend(&mut self, fit: &mut Fit, iterations: usize) -> LbfgsInfo {
        let params = LbfgsParams { iterations_max: iterations, ..LbfgsParams::default() };
        self.descend_inside(fit, &params, false)
    }

    /// The same from a fit that is nearly there, no closer than the noise of the sketch asks for, and not for
    /// longer than `WORK`.
    pub fn settle(&mut self, fit: &mut Fit) -> LbfgsInfo {
        let params =
            LbfgsParams { iterations_max: self.affordable(fit), ftol: NEARLY, ..LbfgsParams::default() };
        self.descend_inside(fit, &params, false)
    }

    /// The same, as closely as a misfit has to be known, with the locations held where they are.
    pub fn settle_shapes(&mut self, fit: &mut Fit) -> LbfgsInfo {
        let params =
            LbfgsParams { iterations_max: self.affordable(fit), ftol: ROUGHLY, ..LbfgsParams::default() };
        self.descend_inside(fit, &params, true)
    }

    /// Iterations that [`WORK`] is enough for.
    fn affordable(&self, fit: &Fit) -> usize {
        let one = fit.k() * self.target.size() * (self.target.dim() + WAVE);
        (WORK / one.max(1)).clamp(1, ITERATIONS)
    }

    fn descend_inside(&mut self, fit: &mut Fit, params: &LbfgsParams, hold: bool) -> LbfgsInfo {
        let (k, p, n_shared) = (fit.k(), self.family.n_params(), self.family.n_shared());
        let bounds = self.family.bounds(&self.target.low, &self.target.high);
        let mut lower = [bounds.low.repeat(k), bounds.shared_low, vec![0.0; k]].concat();
        let mut upper = [bounds.high.repeat(k), bounds.shared_high, vec![2.0; k]].concat();
        if hold {
            let d = self.family.dim();
            for (l, atom) in fit.atoms.chunks_exact(p).enumerate() {
                lower[l * p..l * p + d].copy_from_slice(&atom[..d]);
                upper[l * p..l * p + d].copy_from_slice(&atom[..d]);
            }
        }
        // In units in which the objective is about equally curved in every direction, else many atoms
        // converge slowly.
        let units = self.units(fit);
        let scaled = |v: Vec<f64>| v.iter().zip(&units).map(|(v, u)| v / u).collect::<Vec<f64>>();
        let mut x = scaled([&fit.atoms[..], &fit.shared, &fit.weights].concat());
        let (lower, upper) = (scaled(lower), scaled(upper));
        let mut point = vec![0.0; x.len()];
        let mut objective = |x: &[f64], gradient: &mut [f64]| {
            point.iter_mut().zip(x).zip(&units).for_each(|((p, x), u)| *p = x * u);
            let (atoms, rest) = point.split_at(k * p);
            let (shared, weights) = rest.split_at(n_shared);
            let cost = self.evaluate(atoms, shared, weights, gradient);
            gradient.iter_mut().zip(&units).for_each(|(g, u)| *g *= u);
            cost
        };
        let info = minimize(&mut objective, &mut x, &lower, &upper, params);
        x.iter_mut().zip(&units).for_each(|(x, u)| *x *= u);
        fit.atoms.copy_from_slice(&x[..k * p]);
        fit.shared.copy_from_slice(&x[k * p..k * p + n_shared]);
        fit.weights.copy_from_slice(&x[k * p + n_shared..]);
        info
    }

    /// Units of the variables (atoms, shared, weights): the second derivative is about $2 m$ in each.
    fn units(&self, fit: &Fit) -> Vec<f64> {
        let k = fit.k() as f64;
        let (own, shared) = self.family.units();
        let least = 0.1 / k;
        let atoms = fit.weights.iter().flat_map(|w| own.iter().map(move |u| u / w.clamp(least, 1.0)));
        let shared = shared.iter().map(|u| u * k.sqrt());
        atoms.chain(shared).chain(fit.weights.iter().map(|_| 1.0)).collect()
    }

    /// Objective and its gradient in (atoms, shared, weights).
    fn evaluate(&mut self, atoms: &[f64], shared: &[f64], weights: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let (grad_atoms, rest) = gradient.split_at_mut(atoms.len());
        let (grad_shared, grad_weights) = rest.split_at_mut(shared.len());
        let (mut own_atoms, mut own_shared) = (vec![0.0; atoms.len()], vec![0.0; shared.len()]);
        let mut cost = 0.0;
        for chunk in &self.chunks {
            let (range, n) = (chunk.range.clone(), chunk.range.len());
            chunk.family.sketch_batch(atoms, shared, &mut self.values);
            let (mut re, mut im) =
                (self.target.re[range.clone()].to_vec(), self.target.im[range.clone()].to_vec());
            subtract(&mut re, weights, &self.values.re);
            if self.target.complex {
                subtract(&mut im, weights, &self.values.im);
            }
            if let Some(metric) = &self.target.metric {
                let plain = re.clone();
                metric.apply(&mut re);
                cost += dot(&plain, &re);
                re.iter_mut().for_each(|r| *r *= -2.0);
            } else {
                let squares = &self.squares[range];
                cost += energy(squares, &re, &im);
                re.iter_mut().zip(squares).for_each(|(r, s)| *r *= -2.0 * s);
                im.iter_mut().zip(squares).for_each(|(r, s)| *r *= -2.0 * s);
            }
            self.cotangent.resize(weights.len(), n);
            for (l, &weight) in weights.iter().enumerate() {
                let rows = l * n..(l + 1) * n;
                scale_into(&mut self.cotangent.re[rows.clone()], weight, &re);
                scale_into(&mut self.cotangent.im[rows.clone()], weight, &im);
                grad_weights[l] += dot(&self.values.re[rows.clone()], &re) + dot(&self.values.im[rows], &im);
            }
            let cotangent = &mut self.cotangent;
            chunk.family.vjp_batch(atoms, shared, &self.values, cotangent, &mut own_atoms, &mut own_shared);
            grad_atoms.iter_mut().zip(&own_atoms).for_each(|(g, o)| *g += o);
            grad_shared.iter_mut().zip(&own_shared).for_each(|(g, o)| *g += o);
        }
        cost
    }
}

/// Takes $\sum_l \alpha_l a_l$ off, for the rows $a_l$ of `values`.
fn subtract(target: &mut [f64], weights: &[f64], values: &[f64]) {
    for (alpha, row) in weights.iter().zip(values.chunks_exact(target.len())) {
        target.iter_mut().zip(row).for_each(|(t, x)| *t -= alpha * x);
    }
}

/// Adds the products of all pairs of rows (of n) to a square matrix.
fn add_products(rows: &[f64], n: usize, gram: &mut [f64]) {
    let k = rows.len() / n;
    product((k, n, k), 1.0, rows, Layout::Plain, rows, Layout::Transposed, 1.0, gram);
}

fn energy(squares: &[f64], re: &[f64], im: &[f64]) -> f64 {
    re.iter().zip(im).zip(squares).map(|((a, b), s)| s * (a * a + b * b)).sum()
}

fn scale_into(target: &mut [f64], factor: f64, x: &[f64]) {
    target.iter_mut().zip(x).for_each(|(t, x)| *t = factor * x);
}

/// Diagonal of the inverse of a Gram matrix, a little ridge added.
fn inverse_diagonal(gram: &[f64], n: usize) -> Vec<f64> {
    let mean = (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64;
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| gram[i * n + j] + if i == j { 1e-9 * mean } else { 0.0 }).collect())
        .collect();
    let Some(lower) = crate::num::linear::cholesky(&rows) else { return vec![1.0; n] };
    // Columns of the inverse factor: (G^-1)_ll = sum_i (L^-1)_il^2.
    (0..n)
        .map(|l| {
            let mut column = vec![0.0; n];
            for i in l..n {
                let inner: f64 = (l..i).map(|j| lower[i][j] * column[j]).sum();
                column[i] = (if i == l { 1.0 } else { 0.0 } - inner) / lower[i][i];
            }
            column.iter().map(|x| x * x).sum()
        })
        .collect()
}
