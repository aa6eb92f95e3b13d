//! The covariance of one row's features under a mixture, in closed form.
//!
//! With phases $t_a = \omega_a^\top x + \xi_a$, $p^\pm = \mathbb E\, e^{i(t_a \pm t_b)}$ and
//! $z_a = \mathbb E\, e^{i t_a}$:
//!
//! | | |
//! |---|---|
//! | $\operatorname{cov}(\cos t_a, \cos t_b)$ | $\tfrac12\mathrm{Re}(p^- + p^+) - \mathrm{Re}\,z_a\,\mathrm{Re}\,z_b$ |
//! | $\operatorname{cov}(\sin t_a, \sin t_b)$ | $\tfrac12\mathrm{Re}(p^- - p^+) - \mathrm{Im}\,z_a\,\mathrm{Im}\,z_b$ |
//! | $\operatorname{cov}(\cos t_a, \sin t_b)$ | $\tfrac12\mathrm{Im}(p^+ - p^-) - \mathrm{Re}\,z_a\,\mathrm{Im}\,z_b$ |
//!
//! and
//! $p^\pm = \sum_l \alpha_l\, e^{i(\omega_a \pm \omega_b)^\top\mu_l + i(\xi_a \pm \xi_b)}\, e^{-\frac12 (\omega_a \pm \omega_b)^\top \Sigma_l (\omega_a \pm \omega_b)}$
//! for Gaussian atoms.
//!
//! Entries are interleaved, $\cos t_1, \sin t_1, \cos t_2, \dots$, so that a pair of frequencies fills a 2 x
//! 2 block; with `complex` false there are cosines only. Cost: $k m^2$ complex exponentials and $k m^2 d / 2$
//! multiply-adds, split over threads by block columns.

use compressive_kernels::{Layout, damped_waves, product};

use crate::density::atom::{AtomFamily, Batch, Gaussian};
use crate::density::fit::Fit;
use crate::num::linear::dot;
use crate::num::packed::Packed;
use crate::num::parallel::for_each;

/// Frequencies of a block column.
const BLOCK: usize = 64;
/// Rows (frequencies) filled at a time, so that the buffers stay in the cache.
const ROWS: usize = 64;

/// A mixture at the frequencies of a family, as the covariance needs it.
struct Model<'a> {
    complex: bool,
    dim: usize,
    frequencies: &'a [f64],
    atoms: Vec<Component>,
    /// Mean features under the mixture.
    mean: Vec<(f64, f64)>,
}

/// One atom at all m frequencies.
struct Component {
    weight: f64,
    /// $\omega_j^\top \mu + \xi_j$.
    phases: Vec<f64>,
    /// $\tfrac12 \omega_j^\top \Sigma\, \omega_j$.
    halves: Vec<f64>,
    /// $\Omega \Sigma$, m rows of d.
    projected: Vec<f64>,
}

/// The covariance of one row's features at the frequencies of `family` under the mixture `fit`, its weights
/// scaled to sum 1.
pub(super) fn covariance(family: &Gaussian, fit: &Fit, complex: bool, threads: usize) -> Packed {
    if let Some(kernel) = family.kernel() {
        return super::nystrom::covariance(family, kernel, fit, threads);
    }
    let model = Model::new(family, fit, complex);
    let m = family.n_frequencies();
    let entries = if complex { 2 } else { 1 };
    let mut packed = Packed::zeros(m * entries, BLOCK * entries);
    // The longest columns first, so that the threads finish together.
    let columns: Vec<_> = packed.columns.iter_mut().enumerate().rev().collect();
    for_each(columns, threads, |(i, column)| {
        let end = m.min((i + 1) * BLOCK);
        model.fill(i * BLOCK..end, column);
    });
    packed
}

impl<'a> Model<'a> {
    fn new(family: &'a Gaussian, fit: &Fit, complex: bool) -> Model<'a> {
        let (d, m) = (family.dim(), family.n_frequencies());
        let frequencies = family.frequencies();
        let weights = fit.normalised_weights();
        let component = |(atom, &weight): (&[f64], &f64)| {
            let sigma = family.covariance_of(atom, &fit.shared);
            let mut projected = vec![0.0; m * d];
            product((m, d, d), 1.0, frequencies, Layout::Plain, &sigma, Layout::Plain, 0.0, &mut projected);
            let rows = frequencies.chunks_exact(d);
            Component {
                weight,
                phases: rows.clone().zip(family.dither()).map(|(w, xi)| dot(w, &atom[..d]) + xi).collect(),
                halves: rows.zip(projected.chunks_exact(d)).map(|(w, s)| 0.5 * dot(w, s)).collect(),
                projected,
            }
        };
        let atoms = fit.atoms.chunks_exact(family.n_params()).zip(&weights).map(component).collect();
        let mut values = Batch::default();
        family.sketch_batch(&fit.atoms, &fit.shared, &mut values);
        let total =
            |v: &[f64], j: usize| weights.iter().enumerate().map(|(l, w)| w * v[l * m + j]).sum::<f64>();
        let mean = (0..m).map(|j| (total(&values.re, j), total(&values.im, j))).collect();
        Model { complex, dim: d, frequencies, atoms, mean }
    }

    /// Fills the block column of the frequencies `own`, from the top to its diagonal block.
    fn fill(&self, own: std::ops::Range<usize>, column: &mut [f64]) {
        let mut buffers = Buffers::default();
        for start in (0..own.end).step_by(ROWS) {
            let rows = start..own.end.min(start + ROWS);
            buffers.clear(rows.len() * own.len());
            for atom in &self.atoms {
                self.add_component(atom, &rows, &own, &mut buffers);
            }
            self.write(&rows, &own, &buffers, column);
        }
    }

    /// Adds $\alpha_l\,p_l^\mp$ for all pairs (row, own).
    fn add_component(
        &self,
        atom: &Component,
        rows: &std::ops::Range<usize>,
        own: &std::ops::Range<usize>,
        buffers: &mut Buffers,
    ) {
        let (d, c) = (self.dim, own.len());
        let Buffers { cross, phases, re, im, sums_re, sums_im } = buffers;
        let pairs = rows.len() * c;
        let left = &atom.projected[rows.start * d..rows.end * d];
        let right = &self.frequencies[own.start * d..own.end * d];
        product((rows.len(), d, c), 1.0, left, Layout::Plain, right, Layout::Transposed, 0.0, cross);
        // Differences in the first half of the buffers, sums in the second.
        for (sign, half) in [(-1.0, 0..pairs), (1.0, pairs..2 * pairs)] {
            let targets = phases[half.clone()].chunks_exact_mut(c).zip(re[half].chunks_exact_mut(c));
            for ((b, cross), (phases, exponents)) in rows.clone().zip(cross.chunks_exact(c)).zip(targets) {
                let (phase, half) = (sign * atom.phases[b], atom.halves[b]);
                let others = atom.phases[own.clone()].iter().zip(&atom.halves[own.clone()]);
                for (i, (t, h)) in others.enumerate() {
                    phases[i] = t + phase;
                    exponents[i] = -(half + h) - sign * cross[i];
                }
            }
        }
        damped_waves(phases, re, im);
        sums_re.iter_mut().zip(re).for_each(|(s, v)| *s += atom.weight * *v);
        sums_im.iter_mut().zip(im).for_each(|(s, v)| *s += atom.weight * *v);
    }

    /// Writes the entries of the pairs (row b, own a) into the block column.
    fn write(
        &self,
        rows: &std::ops::Range<usize>,
        own: &std::ops::Range<usize>,
        sums: &Buffers,
        column: &mut [f64],
    ) {
        let c = own.len();
        let pairs = rows.len() * c;
        let entries = if self.complex { 2 } else { 1 };
        for (at, b) in rows.clone().enumerate() {
            let target = &mut column[b * entries * c * entries..(b + 1) * entries * c * entries];
            let (zb, other) = (self.mean[b], at * c..(at + 1) * c);
            for (i, index) in other.enumerate() {
                let za = self.mean[own.start + i];
                let (minus, plus) = (sums.sums_re[index], sums.sums_re[pairs + index]);
                let cos_cos = 0.5 * (minus + plus) - za.0 * zb.0;
                if !self.complex {
                    target[i] = cos_cos;
                    continue;
                }
                let (minus_im, plus_im) = (sums.sums_im[index], sums.sums_im[pairs + index]);
                target[2 * i] = cos_cos;
                // Rows are b, columns a: first cos b with sin a, then sin b with cos a.
                target[2 * i + 1] = 0.5 * (plus_im + minus_im) - za.1 * zb.0;
                target[2 * c + 2 * i] = 0.5 * (plus_im - minus_im) - za.0 * zb.1;
                target[2 * c + 2 * i + 1] = 0.5 * (minus - plus) - za.1 * zb.1;
            }
        }
    }
}

/// Scratch of one thread.
#[derive(Default)]
struct Buffers {
    cross: Vec<f64>,
    phases: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
    sums_re: Vec<f64>,
    sums_im: Vec<f64>,
}

impl Buffers {
    /// Room for `pairs` pairs, with the sums at zero.
    fn clear(&mut self, pairs: usize) {
        self.cross.resize(pairs, 0.0);
        for buffer in [&mut self.phases, &mut self.re, &mut self.im] {
            buffer.resize(2 * pairs, 0.0);
        }
        for sums in [&mut self.sums_re, &mut self.sums_im] {
            sums.clear();
            sums.resize(2 * pairs, 0.0);
        }
    }
}
