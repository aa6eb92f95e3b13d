//! What a decoder is given: the sketch to be matched, the frequencies, and the box to search in.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::metric::Metric;
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::sketch::map::Map;
use crate::sketch::map::images::ONLY_CLASSIFIES;
use crate::sketch::map::landmarks::KernelMap;
use crate::sketch::operator::SketchOperator;
use crate::sketch::outline::Outline;
use crate::sketch::spec::Source;
use crate::sketch::{ExactMoments, Moments};

/// A sketch brought to the form all decoders share.
///
/// The mean features are centred ([`Map::centred`]), divided by the feature's gain and turned back by its
/// angle, so that they estimate $z_j = \mathbb E\, e^{i(\omega_j^\top u + \xi_j)}$ in working coordinates u
/// whatever the feature was (\[SJ22\]).
#[derive(Clone, Debug)]
pub struct Target {
    /// Real parts of z.
    pub re: Vec<f64>,
    /// Imaginary parts of z; zero, and not to be matched, for the cosine feature.
    pub im: Vec<f64>,
    /// False for the cosine feature, which has no imaginary parts.
    pub complex: bool,
    /// Weight of each entry in the objective.
    pub weights: Vec<f64>,
    /// Lower corner of the data box, in working coordinates.
    pub low: Vec<f64>,
    /// Upper corner of the data box.
    pub high: Vec<f64>,
    /// Lower corner of where searches start: the data box, or the part of it that a private look found the
    /// rows in.
    pub start_low: Vec<f64>,
    /// Upper corner of where searches start.
    pub start_high: Vec<f64>,
    /// Rows behind the sketch.
    pub rows: f64,
    /// Variance of one entry (real or imaginary part) of z from sampling and added noise, averaged over the
    /// entries.
    pub noise: f64,
    /// The part of it that was added on purpose.
    pub added: f64,
    /// The frequencies, as the family of point atoms.
    pub points: Gaussian,
    /// Other harmonics of the feature in z, relative to the first: (h, real part, imaginary part).
    pub harmonics: Vec<(i32, f64, f64)>,
    /// What joins the entries of a sketch of kernel values in the objective, in place of their weights.
    pub(crate) metric: Option<Metric>,
    /// Where the rows of a pilot were, if the recipe remembers it.
    pub(crate) outline: Option<Arc<Outline>>,
    /// Mean and covariance of the rows, where the sketch keeps them.
    pub(crate) exact: Option<ExactMoments>,
}

/// Spreads from the centre within which searches start.
const START_REACH: f64 = 3.0;

/// Working units from the centre within which atoms are looked for, beside the whole box.
const REACHES: [f64; 2] = [4.0, 10.0];
/// A box is wide if it reaches so many times as far.
const WIDE: f64 = 1.5;

impl Target {
    /// Brings a sketch's moments to the decoders' form. Cost: O(m d).
    pub fn new(operator: &SketchOperator, moments: &Moments) -> Result<Target> {
        let spec = operator.spec();
        let (m, dim) = (spec.size, spec.dim());
        if moments.rows < 1.0 || moments.mean.len() != spec.sketch_len() {
            return Err(Error::TooFewRows {
                what: "decoding a sketch",
                rows: moments.rows as u64,
                needed: 1,
            });
        }
        let fail = |problem: &str| Error::Task { field: "task", problem: problem.into() };
        let waves = match (&spec.map, operator.kernel()) {
            (_, Some(kernel)) => return Target::of_kernel(operator, kernel, moments),
            (Map::Waves(waves), None) => waves,
            (Map::Images(_), None) => return Err(fail(ONLY_CLASSIFIES).advise(Remedy::of_waves())),
            (Map::Moments(_) | Map::Landmarks(_), None) => {
                let problem = "a sketch of the feature `quadratic` holds first and second moments only: \
                               it gives principal components, no clusters or mixtures";
                return Err(fail(problem)
                    .advise(Remedy::FitAgain(vec![Remedy::set(Parameter::Task, "pca")]))
                    .advise(Remedy::SketchAgain(
                        ["kmeans", "gmm"].map(|task| Remedy::set(Parameter::Task, task)).into(),
                    )));
            }
        };
        let surrogate = waves.wave.surrogate();
        let complex = waves.wave.blocks().len() == 2;
        let (turn_re, turn_im) =
            (surrogate.angle.cos() / surrogate.gain, -surrogate.angle.sin() / surrogate.gain);
        let mean = spec.map.centred(&moments.mean);
        let (mut re, mut im) = (vec![0.0; m], vec![0.0; m]);
        for j in 0..m {
            let (a, b) = (mean[j], if complex { mean[m + j] } else { 0.0 });
            re[j] = a * turn_re - b * turn_im;
            im[j] = if complex { a * turn_im + b * turn_re } else { 0.0 };
        }
        let (low, high) = working_box(operator);
        let (start_low, start_high) = start_box(spec.source, &low, &high);
        let widest = low.iter().zip(&high).map(|(l, h)| h - l).fold(0.0, f64::max);
        let dither: Vec<f64> = operator.dither().iter().map(|&xi| f64::from(xi) * TAU).collect();
        let points =
            Gaussian::new(Shape::Dirac, dim, operator.frequencies(), &dither, 0.25 * widest * widest);
        let weights =
            operator.radii().iter().map(|&r| waves.law.feature_weight(r, spec.scale, dim)).collect();
        let energy = mean.iter().map(|x| x * x).sum::<f64>() / mean.len() as f64;
        let sampling = (waves.wave.variance() - energy).max(0.0) / moments.rows;
        let power = surrogate.gain * surrogate.gain;
        let added = moments.noise_std * moments.noise_std / power;
        let noise = sampling / power + added;
        Ok(Target {
            re,
            im,
            complex,
            weights,
            low,
            high,
            start_low,
            start_high,
            rows: moments.rows,
            noise,
            added,
            points,
            harmonics: waves.wave.harmonics(),
            metric: None,
            outline: spec.outline.clone(),
            exact: moments.exact.clone(),
        })
    }

    /// The target of a sketch of kernel values: $z_j = \mathbb E\,\kappa(u, y_j)$, in the metric of the
    /// kernel. Cost: $m^3/6$.
    ///
    /// A row's kernel values have a square of at most m in that metric, which bounds the sampling noise.
    fn of_kernel(operator: &SketchOperator, kernel: &KernelMap, moments: &Moments) -> Result<Target> {
        let (spec, m) = (operator.spec(), operator.spec().size);
        let (low, high) = working_box(operator);
        let (start_low, start_high) = start_box(spec.source, &low, &high);
        let widest = low.iter().zip(&high).map(|(l, h)| h - l).fold(0.0, f64::max);
        let (points, width) = (kernel.points(), kernel.variance());
        let metric = Metric::new(points, spec.dim(), width, moments.noise_std * moments.noise_std)?;
        let re: Vec<f64> = moments.mean.iter().zip(kernel.gains()).map(|(z, g)| z / g).collect();
        let sampling = (1.0 - metric.square(&re) / m as f64).max(0.0) / moments.rows;
        let added = metric.added_noise();
        Ok(Target {
            re,
            im: vec![0.0; m],
            complex: false,
            weights: vec![1.0; m],
            low,
            high,
            start_low,
            start_high,
            rows: moments.rows,
            noise: sampling + added,
            added,
            points: Gaussian::at_landmarks(Shape::Dirac, spec.dim(), points, width, 0.25 * widest * widest),
            harmonics: Vec::new(),
            metric: Some(metric),
            outline: spec.outline.clone(),
            exact: moments.exact.clone(),
        })
    }

    /// A vector times the squared weights, or times the metric: $W r$ for the objective $r^\top W r$.
    pub(crate) fn weigh(&self, r: &[f64]) -> Vec<f64> {
        match &self.metric {
            Some(metric) => {
                let mut out = r.to_vec();
                metric.apply(&mut out);
                out
            }
            None => r.iter().zip(&self.weights).map(|(r, w)| r * (w * w)).collect(),
        }
    }

    /// Whether most of the noise was added on purpose.
    pub fn is_noisy(&self) -> bool {
        self.added > 0.5 * self.noise
    }

    /// Number d of working coordinates.
    pub fn dim(&self) -> usize {
        self.low.len()
    }

    /// Number m of frequencies.
    pub fn size(&self) -> usize {
        self.re.len()
    }

    /// The target without the other harmonics of a quantised feature, as a fitted mixture predicts them: a
    /// model of characteristic function $\psi$ adds $\sum_{h \ne 1} r_h\, \psi(h\omega_j) e^{ih\xi_j}$ to
    /// $z_j$. Cost: O(k m d) for each harmonic.
    pub fn without_harmonics(&self, family: &Gaussian, fit: &Fit) -> Target {
        let mut clean = self.clone();
        let weights = fit.normalised_weights();
        let (m, mut values) = (self.size(), Batch::default());
        for &(h, ratio_re, ratio_im) in &self.harmonics {
            family.harmonic(h.abs()).sketch_batch(&fit.atoms, &fit.shared, &mut values);
            let sign = f64::from(h.signum());
            for j in 0..m {
                let part = |v: &[f64]| weights.iter().enumerate().map(|(l, w)| w * v[l * m + j]).sum::<f64>();
                let (a, b) = (part(&values.re), sign * part(&values.im));
                clean.re[j] -= ratio_re * a - ratio_im * b;
                clean.im[j] -= ratio_re * b + ratio_im * a;
            }
        }
        clean
    }

    /// The target with boxes of several sizes, the whole one last: the range of rows with heavy tails or
    /// outliers is set by few of them, and a declared one may be far too wide, so that searches all over it
    /// miss where most rows are. The whole one alone if it is not wide.
    pub(crate) fn boxes(&self) -> impl Iterator<Item = Target> {
        let widest = self.low.iter().zip(&self.high).map(|(l, h)| l.abs().max(h.abs())).fold(0.0, f64::max);
        let narrower = REACHES.into_iter().filter(move |reach| WIDE * reach < widest);
        narrower.map(|reach| self.near(reach)).chain(std::iter::once_with(|| self.clone()))
    }

    /// The target of the first frequencies; none if there are no more than that, or landmarks in their place,
    /// which are joined by a metric.
    pub(crate) fn first(&self, size: usize) -> Option<Target> {
        if self.size() <= size || self.metric.is_some() {
            return None;
        }
        let which: Vec<usize> = (0..size).collect();
        let mut part = Target { points: self.points.at(&which), ..self.clone() };
        for entries in [&mut part.re, &mut part.im, &mut part.weights] {
            entries.truncate(size);
        }
        Some(part)
    }

    /// The same target with its box cut to so many working units around the centre.
    pub(crate) fn near(&self, reach: f64) -> Target {
        let mut near = self.clone();
        for side in [&mut near.low, &mut near.high, &mut near.start_low, &mut near.start_high] {
            side.iter_mut().for_each(|x| *x = x.clamp(-reach, reach));
        }
        let widest = near.low.iter().zip(&near.high).map(|(l, h)| h - l).fold(1e-3, f64::max);
        near.points = self.points.with_variance_max(0.25 * widest * widest);
        near
    }

    /// Squared distance $\sum_j |z_j - z'_j|^2$ to another target of the same frequencies.
    pub(crate) fn distance(&self, other: &Target) -> f64 {
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        square(&self.re, &other.re) + square(&self.im, &other.im)
    }

    /// Refuses a number of components that no decoder could find.
    pub fn check_components(&self, k: usize) -> Result<()> {
        let refuse = |problem: String| Error::Task { field: "k", problem };
        if k == 0 {
            return Err(refuse("0 components cannot be learned; ask for 1 or more".into()));
        }
        if k as f64 > self.rows {
            let rows = self.rows;
            return Err(refuse(format!("{k} components cannot be learned from {rows} rows; ask for fewer")));
        }
        if self.size() < k {
            let size = self.size();
            return Err(refuse(format!(
                "{k} components need a sketch of at least {k} frequencies, and this one has {size}"
            ))
            .advise(Remedy::sketch_with(Parameter::Size, 5 * k * self.dim())));
        }
        Ok(())
    }

    /// Number of real entries: 2m, or m for the features `cosine` and `nystrom`.
    pub fn entries(&self) -> usize {
        self.size() * if self.complex { 2 } else { 1 }
    }

    /// Weighted energy $\sum_j w_j^2 |z_j|^2$.
    pub fn energy(&self) -> f64 {
        if let Some(metric) = &self.metric {
            return metric.square(&self.re);
        }
        let entries = self.re.iter().zip(&self.im).zip(&self.weights);
        entries.map(|((a, b), w)| w * w * (a * a + b * b)).sum()
    }
}

/// Where searches start, within the box.
fn start_box(source: Option<Source>, low: &[f64], high: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let reach = match source {
        // Centre and spread of such a spec are those of the rows, while its box is what was declared, often
        // far too wide.
        Some(Source::Private { .. }) => START_REACH,
        _ => f64::INFINITY,
    };
    let start_low = low.iter().zip(high).map(|(l, h)| l.max(-reach).min(*h)).collect();
    let start_high = low.iter().zip(high).map(|(l, h)| h.min(reach).max(*l)).collect();
    (start_low, start_high)
}

/// The spec's box in working coordinates; with whitening, the smallest box around its image. Ten units each
/// way if there is none.
fn working_box(operator: &SketchOperator) -> (Vec<f64>, Vec<f64>) {
    let spec = operator.spec();
    let dim = spec.dim();
    let Some(bounds) = &spec.bounds else { return (vec![-10.0; dim], vec![10.0; dim]) };
    let t = &spec.transform;
    let scaled = |corner: &[f64]| -> Vec<f64> {
        corner.iter().zip(&t.centre).zip(&t.spread).map(|((x, c), s)| (x - c) / s).collect()
    };
    let (low, high) = (scaled(&bounds.low), scaled(&bounds.high));
    let Some(matrix) = &t.whiten else { return (low, high) };
    let side = |upper: bool| {
        let extreme = |row: &Vec<f64>| {
            let ends = row.iter().zip(low.iter().zip(&high));
            ends.map(|(w, (l, h))| if (*w > 0.0) == upper { w * h } else { w * l }).sum::<f64>()
        };
        matrix.iter().map(extreme).collect::<Vec<f64>>()
    };
    (side(false), side(true))
}
