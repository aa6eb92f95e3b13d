//! `shift`: the greedy frame with a mean-shift search, in the spirit of sketch and shift \[BG24\].
//!
//! The correlation $f(c) = \tfrac1m \sum_j w_j^2\,\mathrm{Re}(\bar a_j(c)\, r_j)$ of an isotropic atom with
//! the residual is, for the sketch itself, a kernel density estimate of the data whose kernel is the Fourier
//! transform of the frequency law. For a Gaussian kernel of width h, $h^2 \nabla f / f$ is the mean-shift
//! displacement, so step 1 of the frame becomes, for all starting points at once,
//!
//! $$ c \leftarrow P\big(c + h^2 \nabla f / f\big) \text{ where } f > 0, \qquad c \leftarrow P\big(c + h \nabla f / |\nabla f|\big) \text{ elsewhere}, $$
//!
//! with steps of at most h and P the projection on the box. The other steps are those of
//! [`greedy`](super::greedy). It knows nothing of line searches, and needs no step size.
//! $h^2 = d / \overline{|\omega|^2} + \tau$.
//!
//! Cost: `starts` m d multiply-adds a sweep, in one product of matrices and one back; the descents as in
//! [`greedy`](super::greedy). Reference: \[BG24\] for the idea; the step rule, the width and the constants
//! are this project's own.

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::target::Target;
use crate::learn::propose::Published;
use crate::learn::propose::greedy::{Climb, GreedyParams, pursue};
use crate::learn::propose::pursuit::{kernel_variance, uniform_point};
use crate::model::DecodeInfo;
use crate::num::budget;
use crate::num::linear::dot;
use crate::num::random::Stream;

pub(super) const SHIFT: Published = Published {
    centres: Shape::SharedWidth,
    starts_at_rows: false,
    needs_phases: false,
    run: |target, family, wanted| shift(target, family, &defaults(wanted.k, wanted.seed).wanted(wanted)),
};

/// 30 starts of 40 sweeps.
pub fn defaults(k: usize, seed: u64) -> GreedyParams {
    GreedyParams { starts: 30, sweeps: 40, ..GreedyParams::new(k, seed) }
}

/// Decodes a sketch by greedy mean shift; steps, cost and reference: see the module.
pub fn shift(target: &Target, family: &Gaussian, params: &GreedyParams) -> (Fit, DecodeInfo) {
    pursue(target, family, params, (2 * params.k, Climb::Shift))
}

/// The correlation of isotropic atoms of one width with a residual.
pub(crate) struct Correlation<'a> {
    target: &'a Target,
    family: Gaussian,
    shared: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
    /// $h^2$.
    width_squared: f64,
}

impl<'a> Correlation<'a> {
    pub fn new(target: &'a Target, (re, im): (&[f64], &[f64]), width: f64) -> Correlation<'a> {
        let m = target.size() as f64;
        let scaled = |r: &[f64]| target.weigh(r).iter().map(|r| r / m).collect::<Vec<f64>>();
        Correlation {
            target,
            family: target.points.with_covariance(Shape::SharedWidth),
            shared: vec![width],
            re: scaled(re),
            im: scaled(im),
            width_squared: kernel_variance(target) + width,
        }
    }

    /// The best location from uniform starts, and the evaluations of single atoms spent.
    pub fn search(&self, starts: usize, sweeps: usize, stream: &mut Stream) -> (Vec<f64>, usize) {
        let dim = self.target.dim();
        let starts = starts.max(1);
        let mut points: Vec<f64> = (0..starts).flat_map(|_| uniform_point(self.target, stream)).collect();
        let (values, evaluations) = self.mean_shift(&mut points, sweeps);
        let best = (0..starts).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
        (points[best * dim..(best + 1) * dim].to_vec(), evaluations)
    }

    /// Up to `wanted` distinct maxima reached from uniform starts, the highest first, and the evaluations
    /// spent. Maxima closer than the kernel's width are one.
    pub fn maxima(
        &self,
        starts: usize,
        sweeps: usize,
        wanted: usize,
        stream: &mut Stream,
    ) -> (Vec<Vec<f64>>, usize) {
        let dim = self.target.dim();
        let mut points: Vec<f64> = (0..starts).flat_map(|_| uniform_point(self.target, stream)).collect();
        let (values, evaluations) = self.mean_shift(&mut points, sweeps);
        let mut order: Vec<usize> = (0..starts).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let mut found: Vec<Vec<f64>> = Vec::new();
        for l in order {
            let point = &points[l * dim..(l + 1) * dim];
            let square = |y: &Vec<f64>| point.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
            if found.len() < wanted && found.iter().all(|y| square(y) > self.width_squared) {
                found.push(point.to_vec());
            }
        }
        (found, evaluations)
    }

    /// Values and gradients at points, row-major.
    fn evaluate(
        &self,
        points: &[f64],
        values: &mut Vec<f64>,
        gradients: &mut [f64],
        batch: &mut (Batch, Batch),
    ) {
        let m = self.target.size();
        let n = points.len() / self.target.dim();
        let (waves, cotangent) = batch;
        self.family.sketch_batch(points, &self.shared, waves);
        cotangent.resize(n, m);
        cotangent.re.chunks_exact_mut(m).for_each(|row| row.copy_from_slice(&self.re));
        cotangent.im.chunks_exact_mut(m).for_each(|row| row.copy_from_slice(&self.im));
        values.clear();
        let rows = waves.re.chunks_exact(m).zip(waves.im.chunks_exact(m));
        values.extend(rows.map(|(a, b)| dot(a, &self.re) + dot(b, &self.im)));
        self.family.vjp_batch(points, &self.shared, waves, cotangent, gradients, &mut [0.0]);
    }

    /// Mean-shift sweeps of all points inside the box; returns the final correlations and the evaluations of
    /// single atoms.
    fn mean_shift(&self, points: &mut [f64], sweeps: usize) -> (Vec<f64>, usize) {
        let dim = self.target.dim();
        let h = self.width_squared.sqrt();
        let (mut values, mut gradients, mut batch) =
            (Vec::new(), vec![0.0; points.len()], Default::default());
        let mut evaluations = 0;
        for _ in 0..sweeps {
            self.evaluate(points, &mut values, &mut gradients, &mut batch);
            evaluations += values.len();
            let mut moved = 0.0f64;
            for ((point, gradient), &f) in
                points.chunks_exact_mut(dim).zip(gradients.chunks_exact(dim)).zip(&values)
            {
                let longest = h / dot(gradient, gradient).sqrt().max(1e-300);
                let step = if f > 0.0 { (self.width_squared / f).min(longest) } else { longest };
                let ends = self.target.low.iter().zip(&self.target.high);
                for ((x, g), (l, u)) in point.iter_mut().zip(gradient).zip(ends) {
                    let next = (*x + step * g).clamp(*l, *u);
                    moved = moved.max((next - *x).abs());
                    *x = next;
                }
            }
            if moved < 1e-2 * h || budget::spent() {
                break;
            }
        }
        self.evaluate(points, &mut values, &mut gradients, &mut batch);
        evaluations += values.len();
        (values, evaluations)
    }
}
