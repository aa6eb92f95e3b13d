//! The sketching operator: a spec with its frequencies drawn, ready to sum rows and to be differentiated.
//!
//! For a row $x$ with working coordinates $u$ the sketch adds $q(f(t_j))$ and $q(f(t_j - \pi/2))$,
//! $t_j = \omega_j^\top u + \xi_j$, where $q$ rounds to a multiple of $2^{-24}$. Sums are integers, so they
//! do not depend on order, grouping or thread count.
//!
//! For the feature `quadratic` it adds $q(t_j^2)$ and $q(t_j)$ of scaled projections of rows clipped to the
//! data box: see [`Directions`](crate::Directions).
//!
//! For the feature `conv` the frequencies apply to the activations of an image instead of its working
//! coordinates: see [`Images`](crate::Images).
//!
//! Cost: $n m d$ multiply-adds and $n m$ features (structured: $3 n m \log_2 d$ additions), in f32 SIMD.
//! Decoders use the f64 twin [`SketchOperator::features`].

mod values;

use std::borrow::Cow;
use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use compressive_kernels::{self as kernels, Backend, Projection, Table};

use crate::error::{Error, Result};
use crate::num::random::{Purpose, Stream};
use crate::sketch::frequency::{FrequencyLaw, MAX_FREQUENCY, Sampler};
use crate::sketch::map::images::{ConvMap, Images};
use crate::sketch::map::landmarks::KernelMap;
use crate::sketch::map::waves::{SECOND_BLOCK_SHIFT, Wave, Waves};
use crate::sketch::map::{Map, moments};
use crate::sketch::second;
use crate::sketch::spec::{Missing, SketchSpec};
use crate::sketch::{RowWeights, Sketch};

/// Rows in the user's units, row-major, d values a row.
#[derive(Clone, Copy, Debug)]
pub enum RowsRef<'a> {
    /// Single precision values.
    F32(&'a [f32]),
    /// Double precision values.
    F64(&'a [f64]),
}

macro_rules! rows_from {
    ($($from:ty => $variant:ident),+) => {
        $(impl<'a> From<&'a $from> for RowsRef<'a> {
            fn from(rows: &'a $from) -> RowsRef<'a> {
                RowsRef::$variant(rows)
            }
        })+
    };
}
rows_from!([f32] => F32, Vec<f32> => F32, [f64] => F64, Vec<f64> => F64);

impl RowsRef<'_> {
    fn len(&self) -> usize {
        match self {
            RowsRef::F32(v) => v.len(),
            RowsRef::F64(v) => v.len(),
        }
    }

    fn get(&self, i: usize) -> f64 {
        match self {
            RowsRef::F32(v) => f64::from(v[i]),
            RowsRef::F64(v) => v[i],
        }
    }

    /// Index of the first value that is NaN or infinite.
    fn first_not_finite(&self) -> Option<usize> {
        // x * 0 is 0 for finite x and NaN otherwise: one vectorised pass tells that there is nothing to look
        // for.
        let clean = match self {
            RowsRef::F32(v) => v.chunks(64).all(|c| c.iter().map(|x| x * 0.0).sum::<f32>() == 0.0),
            RowsRef::F64(v) => v.chunks(64).all(|c| c.iter().map(|x| x * 0.0).sum::<f64>() == 0.0),
        };
        if clean { None } else { (0..self.len()).find(|&i| !self.get(i).is_finite()) }
    }
}

/// Buffers reused between calls of [`SketchOperator::accumulate`] and of [`features`](crate::features); one per
/// thread.
#[derive(Default)]
pub struct Scratch {
    working: Vec<f32>,
    extended: Vec<f32>,
    centred: Vec<f64>,
    whitened: Vec<f64>,
    weights: Vec<i64>,
    folded: moments::Folded,
    second: second::Buffers,
    kernel: kernels::Scratch,
    pub(crate) grid: Vec<i32>,
}

/// Working coordinates beyond this many units are moved to it: an f32 phase has no digits left there.
pub const WORKING_LIMIT: f64 = 1_048_576.0;

/// Values brought to working coordinates and passed to the kernel at once, so that they stay in the cache.
const BLOCK_VALUES: usize = 1 << 15;

/// A spec whose frequencies are drawn.
#[derive(Clone, Debug)]
pub struct SketchOperator {
    spec: Arc<SketchSpec>,
    fingerprint: Arc<str>,
    inverse_spread: Vec<f64>,
    projection: Projection,
    kernel: Option<KernelMap>,
    conv: Option<ConvMap>,
    table: Option<Table>,
    dither: Vec<f32>,
    backend: Backend,
    frequencies: OnceLock<Vec<f64>>,
}

impl SketchOperator {
    /// Validates the spec and draws its frequencies and dither.
    pub fn new(spec: SketchSpec) -> Result<SketchOperator> {
        spec.validate()?;
        let dither = spec.map.dither().phases(&spec);
        let (mut kernel, mut conv) = (None, None);
        let projection = match &spec.map {
            Map::Landmarks(landmarks) => {
                let (map, projection) = KernelMap::new(&landmarks.points, spec.scale);
                kernel = Some(map);
                projection
            }
            Map::Moments(_) => moments::projection(&spec),
            Map::Waves(Waves { law, structured: true, .. }) => {
                let (signs, gains) = (structured_signs(&spec), structured_gains(&spec, law));
                Projection::structured(spec.dim(), &signs, &gains, &dither)
            }
            Map::Waves(Waves { law, .. }) => {
                Projection::dense(spec.dim(), &checked(dense_turns(&spec, law))?, &dither)
            }
            Map::Images(Images { shape, law, .. }) => {
                conv = Some(ConvMap::new(*shape, spec.seed));
                Projection::dense(spec.projected_dim(), &checked(dense_turns(&spec, law))?, &dither)
            }
        };
        Ok(SketchOperator {
            fingerprint: spec.fingerprint().into(),
            inverse_spread: spec.transform.spread.iter().map(|s| 1.0 / s).collect(),
            table: match spec.map.wave() {
                Some(Wave::Periodic { table }) => Some(Table::new(table)),
                _ => None,
            },
            spec: Arc::new(spec),
            projection,
            kernel,
            conv,
            dither,
            backend: Backend::best(),
            frequencies: OnceLock::new(),
        })
    }

    /// Uses another kernel backend; all give the same bits.
    pub fn with_backend(mut self, backend: Backend) -> SketchOperator {
        self.backend = backend;
        self
    }

    /// The recipe.
    pub fn spec(&self) -> &SketchSpec {
        &self.spec
    }

    pub(crate) fn shared_spec(&self) -> (Arc<SketchSpec>, Arc<str>) {
        (self.spec.clone(), self.fingerprint.clone())
    }

    /// The spec's fingerprint.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Number d of columns.
    pub fn dim(&self) -> usize {
        self.spec.dim()
    }

    /// Number of sums in a sketch.
    pub fn sketch_len(&self) -> usize {
        self.spec.sketch_len()
    }

    /// Adds rows (each `weights[i]` times, if given) to a sketch made by this operator.
    ///
    /// A row of integer weight w is exactly w copies of the row; other weights round each product to the
    /// grid. NaN is a missing entry, of which the recipe says what becomes ([`Missing`]). Fails, before
    /// anything is summed, on a value that is not finite, a weight that is negative or above 2^28, or a full
    /// sketch.
    pub fn accumulate(
        &self,
        rows: RowsRef<'_>,
        weights: Option<&[f64]>,
        sketch: &mut Sketch,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let n_rows = self.count_rows(rows)?;
        if weights.is_some_and(|w| w.len() != n_rows) {
            let found = weights.map_or(0, <[f64]>::len);
            return Err(Error::Shape { what: "row weights", found, expected: n_rows });
        }
        sketch.check_spec(&self.spec, &self.fingerprint)?;
        let gaps = self.check_finite(rows)?;
        if gaps && self.spec.missing == Missing::Skip {
            let (rows, weights) = without_gaps(rows, weights, self.dim());
            return self.accumulate(RowsRef::F64(&rows), weights.as_deref(), sketch, scratch);
        }
        match weights {
            None => sketch.add_rows(n_rows as u64, (n_rows as i64) << Sketch::GRID_BITS)?,
            Some(weights) => {
                let (count, total) = grid_weights(weights, &mut scratch.weights)?;
                sketch.add_rows(count, total)?;
                sketch.note_weights(RowWeights::of(weights));
            }
        }
        if gaps {
            sketch.count_filled((0..rows.len()).filter(|&i| rows.get(i).is_nan()).count() as u64);
        }
        let block = (BLOCK_VALUES / self.dim()).max(256);
        for start in (0..n_rows).step_by(block) {
            let end = (start + block).min(n_rows);
            self.to_working(rows, start..end, scratch);
            let weighted = weights.is_some().then_some(start..end);
            if let Some(sums) = sketch.second_mut() {
                let weights = weighted.clone().map(|range| &scratch.weights[range]);
                sums.add(&scratch.centred, weights, &mut scratch.second);
            }
            self.sum_working(weighted, sketch, scratch);
        }
        Ok(())
    }

    /// Rows `range` in working coordinates, into `scratch.centred`, and as the kernel's f32 within the limit,
    /// into `scratch.working`.
    fn to_working(&self, rows: RowsRef<'_>, range: std::ops::Range<usize>, scratch: &mut Scratch) {
        let dim = self.dim();
        let values = range.start * dim..range.end * dim;
        scratch.working.clear();
        match rows {
            RowsRef::F32(v) => self.affine(v[values].iter().map(|&x| f64::from(x)), scratch),
            RowsRef::F64(v) => self.affine(v[values].iter().copied(), scratch),
        }
    }

    fn affine(&self, values: impl ExactSizeIterator<Item = f64>, scratch: &mut Scratch) {
        let dim = self.dim();
        let limit = |y: f64| y.clamp(-WORKING_LIMIT, WORKING_LIMIT) as f32;
        scratch.centred.clear();
        scratch.centred.extend(values);
        if let (Map::Moments(_), Some(bounds)) = (&self.spec.map, &self.spec.bounds) {
            moments::clip(bounds, &mut scratch.centred);
        }
        for row in scratch.centred.chunks_exact_mut(dim) {
            for ((y, c), s) in row.iter_mut().zip(&self.spec.transform.centre).zip(&self.inverse_spread) {
                *y = (*y - c) * s;
            }
        }
        if self.spec.missing == Missing::Fill {
            scratch.centred.iter_mut().filter(|y| y.is_nan()).for_each(|y| *y = 0.0);
        }
        if let Some(matrix) = &self.spec.transform.whiten {
            scratch.whitened.clear();
            for row in scratch.centred.chunks_exact(dim) {
                // The largest f64 values overflow to NaN here; they are outliers like any other beyond the
                // limit.
                let product = |w: &Vec<f64>| {
                    let sum: f64 = w.iter().zip(row).map(|(a, b)| a * b).sum();
                    if sum.is_nan() { f64::INFINITY } else { sum }
                };
                scratch.whitened.extend(matrix.iter().map(product));
            }
            std::mem::swap(&mut scratch.centred, &mut scratch.whitened);
        }
        scratch.working.extend(scratch.centred.iter().map(|&y| limit(y)));
    }

    /// What the projection is applied to: activations of images, rows with their norms before landmarks, or
    /// the rows themselves.
    fn kernel_input<'a>(&self, working: &'a [f32], extended: &'a mut Vec<f32>) -> &'a [f32] {
        if let Some(conv) = &self.conv {
            conv.extend(working, extended);
            extended
        } else if self.kernel.is_some() {
            KernelMap::extend(working, self.dim(), extended);
            extended
        } else {
            working
        }
    }

    fn sum_working(
        &self,
        weighted: Option<std::ops::Range<usize>>,
        sketch: &mut Sketch,
        scratch: &mut Scratch,
    ) {
        let Scratch { working, extended, weights, folded, kernel, .. } = scratch;
        let working = self.kernel_input(working, extended);
        let weights = weighted.map(|range| &weights[range]);
        let sums = sketch.sums_mut();
        let (backend, p) = (self.backend, &self.projection);
        if self.spec.map.parts() == 2 {
            return folded.accumulate(backend, p, working, weights, sums, kernel);
        }
        match weights {
            None => kernels::accumulate(backend, p, self.wave(), working, sums, kernel),
            Some(w) => {
                kernels::accumulate_weighted(backend, p, self.wave(), working, w, sums, kernel);
            }
        }
    }

    /// The vectorised function of the map.
    fn wave(&self) -> kernels::Wave<'_> {
        match (&self.spec.map, &self.table) {
            (_, Some(table)) => kernels::Wave::Periodic(table),
            (Map::Waves(waves), None) => waves.wave.kernel().expect("tables are above"),
            (Map::Images(_), None) => kernels::Wave::Fourier,
            (Map::Moments(_), None) => kernels::Wave::Quadratic,
            (Map::Landmarks(_), None) => kernels::Wave::Gaussian,
        }
    }

    /// The kernel and its landmarks, as the kernel uses them; none for features of phases.
    pub fn kernel(&self) -> Option<&KernelMap> {
        self.kernel.as_ref()
    }

    /// The m frequencies in radians per working unit, m rows of d (for `conv`, of the number of activations):
    /// exactly those the kernel uses. None at all if there are landmarks instead. For `quadratic` the
    /// directions $v_j$ of $t_j = v_j^\top u$, and for complex ones the m real parts, then the m imaginary
    /// parts.
    ///
    /// Rebuilt on first use (structured ones as a dense matrix): O(m d) memory.
    pub fn frequencies(&self) -> &[f64] {
        let spec = &self.spec;
        self.frequencies.get_or_init(|| match &spec.map {
            Map::Landmarks(_) => Vec::new(),
            Map::Moments(_) => moments::directions(spec),
            Map::Waves(Waves { law, structured: true, .. }) => {
                structured_frequencies(spec, &structured_gains(spec, law), TAU)
            }
            Map::Waves(Waves { law, .. }) | Map::Images(Images { law, .. }) => {
                dense_turns(spec, law).iter().map(|&w| f64::from(w) * TAU).collect()
            }
        })
    }

    /// The dither of each frequency (or real projection) in turns; zeros without dither.
    pub fn dither(&self) -> &[f32] {
        &self.dither
    }

    /// Norm of each frequency, in radians per working unit; for `quadratic` of each row of
    /// [`frequencies`](SketchOperator::frequencies).
    pub fn radii(&self) -> Vec<f64> {
        let norm = |w: &[f64]| w.iter().map(|x| x * x).sum::<f64>().sqrt();
        self.frequencies().chunks_exact(self.spec.projected_dim()).map(norm).collect()
    }

    /// A row of the user's units in working coordinates, in f64.
    pub fn working(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.spec.transform.apply(x));
    }

    /// Rows of working coordinates as the frequencies see them: the activations of images, else the rows
    /// themselves.
    pub(crate) fn projected<'a>(&self, rows: &'a [f64]) -> Cow<'a, [f64]> {
        match &self.conv {
            Some(conv) => rows.chunks_exact(self.dim()).flat_map(|u| conv.activations(u)).collect(),
            None => Cow::Borrowed(rows),
        }
    }

    /// Frequency j, of [`SketchSpec::projected_dim`] coordinates.
    fn frequency(&self, j: usize) -> &[f64] {
        let dim = self.spec.projected_dim();
        &self.frequencies()[j * dim..(j + 1) * dim]
    }

    fn phase(&self, j: usize, u: &[f64]) -> f64 {
        let w = self.frequency(j);
        w.iter().zip(u).map(|(a, b)| a * b).sum::<f64>() + f64::from(self.dither[j]) * TAU
    }

    /// Sketch of a Dirac at working coordinates `u`, unrounded: $f(t_j)$, then $f(t_j - \pi/2)$; for
    /// `quadratic` $t_j^2$, then $t_j$, for `u` in the data box; with landmarks, the kernel values at `u`.
    /// Cost: m d.
    pub fn features(&self, u: &[f64], out: &mut [f64]) {
        let wave = match (self.spec.map.wave(), &self.kernel) {
            (Some(wave), _) => wave,
            (None, Some(kernel)) => return kernel.features(u, out),
            (None, None) => return moments::features(self, u, out),
        };
        let (m, two, u) = (self.spec.size, wave.blocks().len() == 2, &self.projected(u)[..]);
        for j in 0..m {
            let t = self.phase(j, u);
            out[j] = wave.value(t);
            if two {
                out[m + j] = wave.value(t + SECOND_BLOCK_SHIFT);
            }
        }
    }

    /// Vector-Jacobian product: the gradient in `u` of $\langle v, \text{features}(u)\rangle$. Cost: 2 m d.
    pub fn features_vjp(&self, u: &[f64], v: &[f64], gradient: &mut [f64]) {
        gradient.fill(0.0);
        let wave = match (self.spec.map.wave(), &self.kernel) {
            (Some(wave), _) => wave,
            (None, Some(kernel)) => return kernel.features_vjp(u, v, gradient),
            (None, None) => return moments::features_vjp(self, u, v, gradient),
        };
        let (m, two) = (self.spec.size, wave.blocks().len() == 2);
        let projected = self.projected(u);
        let mut slopes = vec![0.0; projected.len()];
        for j in 0..m {
            let t = self.phase(j, &projected);
            let mut slope = v[j] * wave.derivative(t);
            if two {
                slope += v[m + j] * wave.derivative(t + SECOND_BLOCK_SHIFT);
            }
            slopes.iter_mut().zip(self.frequency(j)).for_each(|(g, w)| *g += slope * w);
        }
        match &self.conv {
            Some(conv) => conv.vjp(u, &slopes, gradient),
            None => gradient.copy_from_slice(&slopes),
        }
    }
}

/// The rows, and their weights, that have no missing entry.
fn without_gaps(rows: RowsRef<'_>, weights: Option<&[f64]>, dim: usize) -> (Vec<f64>, Option<Vec<f64>>) {
    let whole = |row: &usize| (0..dim).all(|c| !rows.get(row * dim + c).is_nan());
    let kept: Vec<usize> = (0..rows.len() / dim).filter(whole).collect();
    let values = kept.iter().flat_map(|row| (0..dim).map(move |c| rows.get(row * dim + c)));
    (values.collect(), weights.map(|all| kept.iter().map(|&row| all[row]).collect()))
}

/// Weights on the 2^-24 grid, the number of rows they stand for, and their total.
///
/// A whole weight w stands for w rows, any other for one.
fn grid_weights(weights: &[f64], out: &mut Vec<i64>) -> Result<(u64, i64)> {
    const UNIT: f64 = (1u64 << Sketch::GRID_BITS) as f64;
    out.clear();
    let (mut count, mut total) = (0u64, 0i64);
    for (row, &weight) in weights.iter().enumerate() {
        if !(0.0..=268_435_456.0).contains(&weight) {
            return Err(Error::BadWeight { row, weight });
        }
        out.push((weight * UNIT).round_ties_even() as i64);
        count += if weight.fract() == 0.0 { weight as u64 } else { 1 };
        total = total.checked_add(out[row]).ok_or(Error::Full)?;
    }
    Ok((count, total))
}

/// Refuses frequencies whose phases could leave the range of f32; rounding to f32 is forgiven.
fn checked(turns: Vec<f32>) -> Result<Vec<f32>> {
    let largest = turns.iter().fold(0.0, |max: f32, w| max.max(w.abs()));
    if f64::from(largest) * TAU <= MAX_FREQUENCY * 1.000_001 {
        return Ok(turns);
    }
    let problem =
        format!("it draws frequencies above {MAX_FREQUENCY:e}; use larger covariances or a larger scale");
    Err(Error::Spec { field: "law", problem })
}

/// The frequencies in turns per working unit, as the kernel uses them.
fn dense_turns(spec: &SketchSpec, law: &FrequencyLaw) -> Vec<f32> {
    let dim = spec.projected_dim();
    let sampler = Sampler::new(law, spec.scale, spec.seed, dim);
    let mut turns = Vec::with_capacity(spec.size * dim);
    let mut w = vec![0.0; dim];
    for j in 0..spec.size {
        sampler.frequency(j, &mut w);
        turns.extend(w.iter().map(|w| (w / TAU) as f32));
    }
    turns
}

fn structured_blocks(spec: &SketchSpec) -> usize {
    spec.projections().div_ceil(Projection::padded_dim(spec.dim()))
}

pub(super) fn structured_signs(spec: &SketchSpec) -> Vec<f32> {
    let width = 3 * Projection::padded_dim(spec.dim());
    let mut signs = Vec::with_capacity(structured_blocks(spec) * width);
    for block in 0..structured_blocks(spec) {
        let mut stream = Stream::new(spec.seed, Purpose::Signs, block as u64);
        signs.extend((0..width).map(|_| stream.sign()));
    }
    signs
}

/// Radius of each frequency in turns, over the norm of its row of the Hadamard product.
///
/// A row of H D3 H D2 H D1 has norm p^{3/2}; cut to its first d of p columns its mean square norm is d/p of
/// that, which is divided out so that radii keep the law's mean square.
fn structured_gains(spec: &SketchSpec, law: &FrequencyLaw) -> Vec<f32> {
    let padded = Projection::padded_dim(spec.dim()) as f64;
    let sampler = Sampler::new(law, spec.scale, spec.seed, spec.dim());
    let row_norm = padded * (spec.dim() as f64).sqrt();
    (0..spec.size).map(|j| (sampler.structured_radius(j) / (TAU * row_norm)) as f32).collect()
}

/// The structured frequencies as a dense matrix: row j is $g_j\, e_j^\top H D_3 H D_2 H D_1$, cut to d
/// columns, times `unit`.
pub(super) fn structured_frequencies(spec: &SketchSpec, gains: &[f32], unit: f64) -> Vec<f64> {
    let mut all = Vec::with_capacity(gains.len() * spec.dim());
    for_each_structured_row(spec, |j| f64::from(gains[j]) * unit, |_, row| all.extend_from_slice(row));
    all
}

/// Calls `take(j, row)` with every row $g_j\, e_j^\top H D_3 H D_2 H D_1$, cut to d columns.
pub(super) fn for_each_structured_row(
    spec: &SketchSpec,
    gain: impl Fn(usize) -> f64,
    mut take: impl FnMut(usize, &[f64]),
) {
    let padded = Projection::padded_dim(spec.dim());
    let signs = structured_signs(spec);
    let mut row = vec![0.0; padded];
    for j in 0..spec.projections() {
        row.fill(0.0);
        row[j % padded] = gain(j);
        for i in (0..3).rev() {
            hadamard(&mut row);
            let diagonal = &signs[(j / padded * 3 + i) * padded..][..padded];
            for (x, s) in row.iter_mut().zip(diagonal) {
                *x *= f64::from(*s);
            }
        }
        take(j, &row[..spec.dim()]);
    }
}

/// In-place Walsh-Hadamard transform, unnormalised.
fn hadamard(v: &mut [f64]) {
    let mut half = 1;
    while half < v.len() {
        for pair in v.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests;
