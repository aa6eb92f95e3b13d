//! Random moments: squares of projections and projections of clipped rows, scaled so that none leaves
//! $[-1, 1]$.
//!
//! Rows are clipped to the spec's box column by column, in the user's units; $u$ are their working
//! coordinates. With $w_j \sim N(0, I/\sigma^2)$ the kernel sums $t_j^2$ and $t_j$ of
//!
//! $$ t_j = v_j^\top u, \qquad v_j = w_j / R_j, \qquad R_j = \sup_{u \in \text{box}} |w_j^\top u| + \text{slack}_j, $$
//!
//! $v_j$ rounded to f32. The slack is several times what the f32 arithmetic of the projection can be wrong
//! by, so that the kernel's clamp never acts and sums of n rows never exceed n: with $U_c = \max |u_c|$ over
//! the box it is $2^{-22} (d + 8) \sum_c |w_{jc}| U_c$ for independent directions and
//! $2^{-22} (3 \log_2 p + 8)\, g_j p^{3/2} \lVert U \rVert$ for structured ones of width p and gain $g_j$.
//!
//! Complex directions $w_j = a_j + i b_j$ have $R_j = \sqrt{R(a_j)^2 + R(b_j)^2}$ and sum
//! $|w_j^H u|^2 / R_j^2$, two rounded squares, and $a_j^\top u / R_j$.
//!
//! Cost of the scaling: m d. Reference: \[GBKT17\] section 3.

use compressive_kernels::{Backend, Projection, Scratch, Wave};

use super::{GAUSSIAN, fail};
use crate::error::Result;
use crate::sketch::Sketch;
use crate::sketch::frequency::Sampler;
use crate::sketch::operator::{
    SketchOperator, WORKING_LIMIT, for_each_structured_row, structured_frequencies, structured_signs,
};
use crate::sketch::spec::{Bounds, SketchSpec, Transform};

/// Gaussian directions whose squared projections are summed in the first block, and the projections in the
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions {
    /// Complex directions: the first block holds $|\omega^H u|^2$, the second the real part's projection.
    pub complex: bool,
    /// Products of Hadamard and sign matrices instead of independent draws: faster for many columns.
    pub structured: bool,
}

/// Checks the box, which rows are clipped to.
pub(super) fn validate(spec: &SketchSpec) -> Result<()> {
    let Some(bounds) = &spec.bounds else {
        return fail(
            "bounds",
            "the feature `quadratic` clips rows to the data box, and there is none; \
             give `low` and `high` for every column, as a design for principal components does"
                .into(),
        );
    };
    let reach = DataBox::of(&spec.transform, bounds).norms_max();
    match reach.iter().position(|u| !(*u <= WORKING_LIMIT)) {
        Some(c) => fail(
            "bounds",
            format!(
                "working coordinate {} reaches {:.1e} units from the centre, and the most is {WORKING_LIMIT:e}; give a narrower box or larger spreads",
                c + 1,
                reach[c]
            ),
        ),
        None => Ok(()),
    }
}

/// The data box as the projections see it.
pub(crate) struct DataBox<'a> {
    transform: &'a Transform,
    /// Ends of each column, centred and divided by its spread.
    low: Vec<f64>,
    high: Vec<f64>,
}

impl<'a> DataBox<'a> {
    /// The box behind a transform.
    pub(crate) fn of(transform: &'a Transform, bounds: &Bounds) -> DataBox<'a> {
        let scaled = |ends: &[f64]| -> Vec<f64> {
            let columns = ends.iter().zip(&transform.centre).zip(&transform.spread);
            columns.map(|((x, c), s)| (x - c) * (1.0 / s)).collect()
        };
        DataBox { transform, low: scaled(&bounds.low), high: scaled(&bounds.high) }
    }

    /// The least and the largest $v^\top y$ over the box, y before whitening.
    fn range(&self, v: impl Iterator<Item = f64>) -> (f64, f64) {
        let ends = v.zip(self.low.iter().zip(&self.high));
        ends.fold((0.0, 0.0), |(least, most), (v, (low, high))| {
            let (a, b) = (v * low, v * high);
            (least + a.min(b), most + a.max(b))
        })
    }

    /// The largest $|w^\top u|$ over the box.
    fn reach(&self, w: &[f64]) -> f64 {
        let (least, most) = match &self.transform.whiten {
            None => self.range(w.iter().copied()),
            Some(matrix) => {
                let column = |c: usize| w.iter().zip(matrix).map(|(w, row)| w * row[c]).sum::<f64>();
                self.range((0..w.len()).map(column))
            }
        };
        most.max(-least)
    }

    /// The largest $|u_c|$ over the box.
    pub(crate) fn norms_max(&self) -> Vec<f64> {
        self.coordinates(|(least, most)| most.max(-least))
    }

    /// The largest $|u_c - u'_c|$ between two points of the box.
    pub(crate) fn widths(&self) -> Vec<f64> {
        self.coordinates(|(least, most)| most - least)
    }

    fn coordinates(&self, measure: impl Fn((f64, f64)) -> f64) -> Vec<f64> {
        match &self.transform.whiten {
            None => self.low.iter().zip(&self.high).map(|(low, high)| measure((*low, *high))).collect(),
            Some(matrix) => matrix.iter().map(|row| measure(self.range(row.iter().copied()))).collect(),
        }
    }
}

/// Clips rows to the box.
pub(crate) fn clip(bounds: &Bounds, rows: &mut [f64]) {
    for row in rows.chunks_exact_mut(bounds.low.len()) {
        for ((x, low), high) in row.iter_mut().zip(&bounds.low).zip(&bounds.high) {
            *x = x.max(*low).min(*high);
        }
    }
}

/// The scaled directions in the kernel's layout; phases there are in half turns, so that one is the unit of
/// $t_j$.
pub(crate) fn projection(spec: &SketchSpec) -> Projection {
    let start = vec![0.0; spec.projections()];
    let scaled = scaled(spec);
    if spec.map.structured() {
        Projection::structured(spec.dim(), &structured_signs(spec), &scaled, &start)
    } else {
        Projection::dense(spec.dim(), &scaled, &start)
    }
}

/// The rows $v_j$ as the kernel uses them: the real parts, then the imaginary parts of complex ones.
pub(crate) fn directions(spec: &SketchSpec) -> Vec<f64> {
    let scaled = scaled(spec);
    if spec.map.structured() {
        return structured_frequencies(spec, &scaled, 2.0);
    }
    scaled.iter().map(|&w| 2.0 * f64::from(w)).collect()
}

/// Half of $w_j / R_j$ (half of $g_j / R_j$ for structured directions), in f32.
fn scaled(spec: &SketchSpec) -> Vec<f32> {
    let (drawn, own) = drawn(spec);
    let radii = radii(&own, spec.size);
    let width = drawn.len() / own.len();
    drawn.iter().enumerate().map(|(i, w)| (0.5 * (w / radii[i / width])) as f32).collect()
}

/// A bound of the error of a projection $t_j$ in the kernel's f32 arithmetic.
pub(crate) fn projection_error(spec: &SketchSpec) -> f64 {
    let (_, own) = drawn(spec);
    let radii = radii(&own, spec.size);
    own.iter().zip(&radii).map(|(own, radius)| own.slack / radius).fold(0.0, f64::max)
}

/// How far a direction reaches over the box, and the slack for f32 arithmetic.
struct Reach {
    supremum: f64,
    slack: f64,
}

fn drawn(spec: &SketchSpec) -> (Vec<f64>, Vec<Reach>) {
    let Some(bounds) = &spec.bounds else { unreachable!("validated") };
    let data_box = DataBox::of(&spec.transform, bounds);
    if spec.map.structured() { structured(spec, &data_box) } else { dense(spec, &data_box) }
}

/// $R_j$ of every real direction; the two parts of a complex one share theirs.
fn radii(own: &[Reach], m: usize) -> Vec<f64> {
    let alone = |j: usize| own[j].supremum + own[j].slack;
    let radius = |j: usize| {
        let both = if own.len() > m { hypotenuse(alone(j % m), alone(m + j % m)) } else { alone(j) };
        // A box that is a point at the centre has projections 0, whatever they are divided by.
        if both > 0.0 { both } else { 1.0 }
    };
    (0..own.len()).map(radius).collect()
}

/// $\sqrt{a^2 + b^2}$ of IEEE operations alone, which the standard library's `hypot` is not.
fn hypotenuse(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// The slack's factor: four times the unit roundoff of f32.
const SLACK: f64 = 1.0 / 4_194_304.0;

/// Independent directions $w_j$, row by row, and the reach of each with its slack.
fn dense(spec: &SketchSpec, data_box: &DataBox<'_>) -> (Vec<f64>, Vec<Reach>) {
    let dim = spec.dim();
    let sampler = Sampler::new(&GAUSSIAN, spec.scale, spec.seed, dim);
    let most = data_box.norms_max();
    let mut drawn = vec![0.0; spec.projections() * dim];
    let mut own = Vec::with_capacity(spec.projections());
    for (j, w) in drawn.chunks_exact_mut(dim).enumerate() {
        sampler.frequency(j, w);
        let sum: f64 = w.iter().zip(&most).map(|(w, u)| w.abs() * u).sum();
        own.push(Reach { supremum: data_box.reach(w), slack: SLACK * (dim + 8) as f64 * sum });
    }
    (drawn, own)
}

/// Gains $g_j$ of structured directions, and the reach of each with its slack.
fn structured(spec: &SketchSpec, data_box: &DataBox<'_>) -> (Vec<f64>, Vec<Reach>) {
    let (dim, padded) = (spec.dim(), Projection::padded_dim(spec.dim()));
    let sampler = Sampler::new(&GAUSSIAN, spec.scale, spec.seed, dim);
    let row_norm = padded as f64 * (dim as f64).sqrt();
    let gains: Vec<f64> = (0..spec.projections()).map(|j| sampler.structured_radius(j) / row_norm).collect();
    let most = data_box.norms_max().iter().map(|u| u * u).sum::<f64>().sqrt();
    let stages = 3.0 * f64::from(padded.trailing_zeros()) + 8.0;
    let length = (padded as f64).sqrt() * padded as f64;
    let mut own = Vec::with_capacity(gains.len());
    // The rows are whole numbers of at most p^2, exact in f64.
    for_each_structured_row(
        spec,
        |_| 1.0,
        |j, row| {
            own.push(Reach {
                supremum: gains[j] * data_box.reach(row),
                slack: SLACK * stages * (gains[j] * length * most),
            });
        },
    );
    (gains, own)
}

/// $t_j^2$ (of complex directions the sum of two squares), then $t_j$.
pub(crate) fn features(operator: &SketchOperator, u: &[f64], out: &mut [f64]) {
    let (m, dim) = (operator.spec().size, operator.dim());
    out.fill(0.0);
    for (j, v) in operator.frequencies().chunks_exact(dim).enumerate() {
        let t: f64 = v.iter().zip(u).map(|(a, b)| a * b).sum();
        out[j % m] += t * t;
        if j < m {
            out[m + j] = t;
        }
    }
}

/// Gradient of $\langle v, \text{features}(u) \rangle$.
pub(crate) fn features_vjp(operator: &SketchOperator, u: &[f64], v: &[f64], gradient: &mut [f64]) {
    let (m, dim) = (operator.spec().size, operator.dim());
    gradient.fill(0.0);
    for (j, w) in operator.frequencies().chunks_exact(dim).enumerate() {
        let t: f64 = w.iter().zip(u).map(|(a, b)| a * b).sum();
        let slope = 2.0 * t * v[j % m] + if j < m { v[m + j] } else { 0.0 };
        for (g, w) in gradient.iter_mut().zip(w) {
            *g += slope * w;
        }
    }
}

/// Sums of complex directions: the kernel sees 2m real ones, whose squares are added in pairs.
#[derive(Default)]
pub(crate) struct Folded {
    sums: Vec<i64>,
    features: Vec<i32>,
}

/// Rows whose features are kept at a time for weighting.
const ROWS_TOGETHER: usize = 64;

impl Folded {
    /// The features of each row, row-major: sums of two rounded squares, then the real parts' projections.
    pub(crate) fn quantize(
        &mut self,
        backend: Backend,
        p: &Projection,
        rows: &[f32],
        out: &mut [i32],
        scratch: &mut Scratch,
    ) {
        let m = p.size() / 2;
        self.features.clear();
        self.features.resize(2 * out.len(), 0);
        compressive_kernels::quantize(backend, p, Wave::Quadratic, rows, &mut self.features, scratch);
        for (out, q) in out.chunks_exact_mut(2 * m).zip(self.features.chunks_exact(4 * m)) {
            for j in 0..m {
                (out[j], out[m + j]) = (q[j] + q[m + j], q[2 * m + j]);
            }
        }
    }

    /// Adds rows to `sums`; a weight multiplies the sum of the two rounded squares, so that a row adds at
    /// most its weight.
    pub(crate) fn accumulate(
        &mut self,
        backend: Backend,
        p: &Projection,
        rows: &[f32],
        weights: Option<&[i64]>,
        sums: &mut [i64],
        scratch: &mut Scratch,
    ) {
        let m = p.size() / 2;
        let Some(weights) = weights else {
            self.sums.clear();
            self.sums.resize(2 * p.size(), 0);
            compressive_kernels::accumulate(backend, p, Wave::Quadratic, rows, &mut self.sums, scratch);
            for j in 0..m {
                sums[j] += self.sums[j] + self.sums[m + j];
                sums[m + j] += self.sums[2 * m + j];
            }
            return;
        };
        let len = 2 * p.size();
        let groups = rows.chunks(ROWS_TOGETHER * p.dim()).zip(weights.chunks(ROWS_TOGETHER));
        for (rows, weights) in groups {
            self.features.clear();
            self.features.resize(weights.len() * len, 0);
            compressive_kernels::quantize(backend, p, Wave::Quadratic, rows, &mut self.features, scratch);
            for (q, &weight) in self.features.chunks_exact(len).zip(weights) {
                let product =
                    |q: i64| ((i128::from(weight) * i128::from(q) + HALF) >> Sketch::GRID_BITS) as i64;
                for j in 0..m {
                    sums[j] += product(i64::from(q[j]) + i64::from(q[m + j]));
                    sums[m + j] += product(i64::from(q[2 * m + j]));
                }
            }
        }
    }
}

/// Half a unit of the product of a weight and a feature.
const HALF: i128 = 1 << 23;

#[cfg(test)]
mod tests;
