//! A mixture being fitted: its objective, its weights, its joint descent.
//!
//! Objective: $f(\theta, \alpha) = \sum_j w_j^2\,\lvert z_j - \sum_l \alpha_l a_j(\theta_l)\rvert^2$.

use crate::atom::{AtomFamily, Batch};
use crate::decode::target::Target;
use crate::linear::dot;
use crate::solve::{LbfgsInfo, LbfgsParams, NnlsParams, minimize, nnls};

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

/// A target with a family: what all greedy decoders minimise. Holds the buffers of its evaluations.
pub struct Problem<'a> {
    /// The sketch.
    pub target: &'a Target,
    /// The atoms.
    pub family: &'a dyn AtomFamily,
    squares: Vec<f64>,
    values: Batch,
    cotangent: Batch,
}

impl<'a> Problem<'a> {
    /// Joins a target and a family at the same frequencies.
    pub fn new(target: &'a Target, family: &'a dyn AtomFamily) -> Problem<'a> {
        let squares = target.weights.iter().map(|w| w * w).collect();
        Problem { target, family, squares, values: Batch::default(), cotangent: Batch::default() }
    }

    /// Residual $z - \sum_l \alpha_l a(\theta_l)$, real and imaginary parts.
    pub fn residual(&mut self, fit: &Fit) -> (Vec<f64>, Vec<f64>) {
        self.family.sketch_batch(&fit.atoms, &fit.shared, &mut self.values);
        self.residual_of_values(&fit.weights)
    }

    fn residual_of_values(&self, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let m = self.target.size();
        let (mut re, mut im) = (self.target.re.clone(), self.target.im.clone());
        for (l, &alpha) in weights.iter().enumerate() {
            subtract(&mut re, alpha, &self.values.re[l * m..(l + 1) * m]);
            if self.target.complex {
                subtract(&mut im, alpha, &self.values.im[l * m..(l + 1) * m]);
            }
        }
        (re, im)
    }

    /// The objective.
    pub fn cost(&mut self, fit: &Fit) -> f64 {
        let (re, im) = self.residual(fit);
        self.energy(&re, &im)
    }

    fn energy(&self, re: &[f64], im: &[f64]) -> f64 {
        re.iter().zip(im).zip(&self.squares).map(|((a, b), s)| s * (a * a + b * b)).sum()
    }

    /// Non-negative least squares for the weights; with `unit_norm` the atoms are first scaled to norm one, and so are the weights returned.
    pub fn solve_weights(&mut self, fit: &Fit, unit_norm: bool) -> Vec<f64> {
        self.family.sketch_batch(&fit.atoms, &fit.shared, &mut self.values);
        let (m, k) = (self.target.size(), fit.atoms.len() / self.family.n_params());
        let row = |v: &'_ [f64], l: usize| -> Vec<f64> {
            v[l * m..(l + 1) * m].iter().zip(&self.target.weights).map(|(x, w)| x * w).collect()
        };
        let mut atoms: Vec<Vec<f64>> = (0..k)
            .map(|l| {
                let mut atom = row(&self.values.re, l);
                if self.target.complex {
                    atom.extend(row(&self.values.im, l));
                }
                atom
            })
            .collect();
        if unit_norm {
            for atom in &mut atoms {
                let norm = dot(atom, atom).sqrt().max(1e-300);
                atom.iter_mut().for_each(|x| *x /= norm);
            }
        }
        let mut z = row(&self.target.re, 0);
        if self.target.complex {
            z.extend(row(&self.target.im, 0));
        }
        let mut gram = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                gram[i * k + j] = dot(&atoms[i], &atoms[j]);
                gram[j * k + i] = gram[i * k + j];
            }
        }
        let rhs: Vec<f64> = atoms.iter().map(|a| dot(a, &z)).collect();
        nnls(&gram, &rhs, &NnlsParams::default()).0
    }

    /// Joint descent over atoms, shared parameters and weights from `fit`, inside the bounds. Improves `fit` or leaves it.
    pub fn descend(&mut self, fit: &mut Fit, iterations: usize) -> LbfgsInfo {
        let (k, p, n_shared) = (fit.k(), self.family.n_params(), self.family.n_shared());
        let bounds = self.family.bounds(&self.target.low, &self.target.high);
        let lower = [bounds.low.repeat(k), bounds.shared_low, vec![0.0; k]].concat();
        let upper = [bounds.high.repeat(k), bounds.shared_high, vec![2.0; k]].concat();
        let mut x = [&fit.atoms[..], &fit.shared, &fit.weights].concat();
        let params = LbfgsParams { iterations_max: iterations, ..LbfgsParams::default() };
        let mut objective = |x: &[f64], gradient: &mut [f64]| {
            let (atoms, rest) = x.split_at(k * p);
            let (shared, weights) = rest.split_at(n_shared);
            self.evaluate(atoms, shared, weights, gradient)
        };
        let info = minimize(&mut objective, &mut x, &lower, &upper, &params);
        fit.atoms.copy_from_slice(&x[..k * p]);
        fit.shared.copy_from_slice(&x[k * p..k * p + n_shared]);
        fit.weights.copy_from_slice(&x[k * p + n_shared..]);
        info
    }

    /// Objective and its gradient in (atoms, shared, weights).
    fn evaluate(&mut self, atoms: &[f64], shared: &[f64], weights: &[f64], gradient: &mut [f64]) -> f64 {
        let m = self.target.size();
        let k = weights.len();
        self.family.sketch_batch(atoms, shared, &mut self.values);
        let (mut re, mut im) = self.residual_of_values(weights);
        let cost = self.energy(&re, &im);
        re.iter_mut().zip(&self.squares).for_each(|(r, s)| *r *= -2.0 * s);
        im.iter_mut().zip(&self.squares).for_each(|(r, s)| *r *= -2.0 * s);
        self.cotangent.resize(k, m);
        let (grad_atoms, rest) = gradient.split_at_mut(atoms.len());
        let (grad_shared, grad_weights) = rest.split_at_mut(shared.len());
        for l in 0..k {
            let rows = l * m..(l + 1) * m;
            scale_into(&mut self.cotangent.re[rows.clone()], weights[l], &re);
            scale_into(&mut self.cotangent.im[rows.clone()], weights[l], &im);
            grad_weights[l] = dot(&self.values.re[rows.clone()], &re) + dot(&self.values.im[rows], &im);
        }
        self.family.vjp_batch(atoms, shared, &self.values, &self.cotangent, grad_atoms, grad_shared);
        cost
    }
}

fn subtract(target: &mut [f64], factor: f64, x: &[f64]) {
    target.iter_mut().zip(x).for_each(|(t, x)| *t -= factor * x);
}

fn scale_into(target: &mut [f64], factor: f64, x: &[f64]) {
    target.iter_mut().zip(x).for_each(|(t, x)| *t = factor * x);
}
