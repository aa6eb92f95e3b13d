//! How far two distributions are apart in the eyes of a sketch and its moments, in units of chance.
//!
//! A *view* of a distribution is what its sketch would be, and its first two moments. With the errors of
//! sampling $\Sigma = S + \Psi D \Psi^\top$ (rows that scatter within cells, and the numbers of rows in cells,
//! see [`difference`](super::super::difference)) the distance of two views is $r^\top \Sigma^{-1} r$, by
//! Woodbury's identity
//!
//! $$ \Sigma^{-1} = 1 - B^\top (1 + B B^\top)^{-1} B, \qquad B = D^{1/2} \Psi^\top , $$
//!
//! with entries in deviations of S. Moments are taken in the coordinates in which rows within cells have
//! covariance 1; $u_i u_j$ there has about the variance of a normal cell.
//!
//! Cost: A (m d^2 + d^3) once and A^2 R + A^3 / 6, R = 2m + d (d + 3) / 2; then A R for each distance.

use crate::density::atom::{AtomFamily, Batch, Gaussian};
use crate::density::cells::Blocks;
use crate::density::target::Target;
use crate::density::weigh::{Prior, System};
use crate::num::linear::{cholesky, dot, gram};
use crate::num::solve::cholesky::{factor, solve};
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;

/// Least variance within cells, as a part of that between and within them: point masses have none.
const LEAST_WITHIN: f64 = 1e-4;

/// Candidates predict a change up to this part of it: cells are not the distribution.
const WRONG: f64 = 0.1;

/// A distribution as the sketch shows it.
#[derive(Clone)]
pub(super) struct View {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
    pub exact: ExactMoments,
}

impl View {
    /// A mixture of this and another distribution, with this share of the other.
    pub fn mixed(&self, other: &View, share: f64) -> View {
        let mix = |x: &[f64], y: &[f64]| -> Vec<f64> {
            x.iter().zip(y).map(|(x, y)| x + share * (y - x)).collect()
        };
        let away: Vec<f64> = self.exact.mean.iter().zip(&other.exact.mean).map(|(x, y)| y - x).collect();
        let between = share * (1.0 - share);
        let entry = |x: f64, y: f64, i: usize, j: usize| x + share * (y - x) + between * away[i] * away[j];
        let d = away.len();
        let covariance = match (&self.exact.covariance, &other.exact.covariance) {
            (Covariance::Full(x), Covariance::Full(y)) => Covariance::Full(
                (0..d).map(|i| (0..d).map(|j| entry(x[i][j], y[i][j], i, j)).collect()).collect(),
            ),
            _ => {
                let (x, y) = (self.exact.variances(), other.exact.variances());
                Covariance::Diagonal((0..d).map(|i| entry(x[i], y[i], i, i)).collect())
            }
        };
        View {
            re: mix(&self.re, &other.re),
            im: mix(&self.im, &other.im),
            exact: ExactMoments { mean: mix(&self.exact.mean, &other.exact.mean), covariance },
        }
    }
}

/// The distance of the module.
pub(super) struct Measure<'a> {
    pub target: &'a Target,
    system: System,
    /// Deviations of an entry over those with what candidates predict wrongly.
    relative: Vec<f64>,
    moments: MomentUnits,
    /// $D^{1/2}$.
    roots: Vec<f64>,
    /// B: A rows of R.
    rows: Vec<f64>,
    /// Factor of $1 + B B^\top$.
    factor: Vec<f64>,
    n_rows: usize,
}

impl<'a> Measure<'a> {
    /// For a difference of two views; None if the equations cannot be solved.
    pub fn new(
        target: &'a Target,
        (blocks, weights): (&Blocks, &[f64]),
        inverse_rows: f64,
        [before, after]: [&View; 2],
    ) -> Option<Measure<'a>> {
        let a = weights.len();
        let roots: Vec<f64> = weights.iter().map(|w| (w * inverse_rows).sqrt()).collect();
        let full = matches!(before.exact.covariance, Covariance::Full(_));
        let noisy = Target { noise: target.noise * target.rows * inverse_rows, ..target.clone() };
        let system = System::new(&noisy, blocks, None, &Prior { shares: weights, rows: 1.0, blur: 0.0 });
        let moments = MomentUnits::new(blocks, weights, (inverse_rows, full), target)?;
        let r = system.left.len() / a;
        let n_rows = r + moments.len();
        let mut rows = Vec::with_capacity(a * n_rows);
        for (cell, (row, root)) in system.left.chunks_exact(r).zip(&roots).enumerate() {
            rows.extend(row.iter().map(|x| x * root));
            let (mean, second) = moments.of_cell(blocks, cell);
            let from = rows.len();
            moments.push(mean, second, &mut rows);
            rows[from..].iter_mut().for_each(|x| *x *= root);
        }
        let mut measure = Measure {
            target,
            system,
            roots,
            relative: vec![1.0; n_rows],
            moments,
            rows,
            factor: Vec::new(),
            n_rows,
        };
        let (x, y) = (measure.entries(before), measure.entries(after));
        let difference: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y - x).collect();
        measure.relative = measure.relative_errors(&difference);
        for row in measure.rows.chunks_exact_mut(n_rows) {
            row.iter_mut().zip(&measure.relative).for_each(|(x, f)| *x *= f);
        }
        let mut matrix = gram(&measure.rows, n_rows);
        (0..a).for_each(|i| matrix[i * a + i] += 1.0);
        if !factor(&mut matrix, a, 0.0) {
            return None;
        }
        measure.factor = matrix;
        Some(measure)
    }

    /// What chance leaves of a squared distance, about.
    pub fn chance(&self) -> f64 {
        self.relative.iter().map(|f| f * f).sum()
    }

    /// One over the deviation of each entry of the sketch; entries beyond are not of the sketch.
    fn errors(&self) -> Vec<f64> {
        let ones = vec![1.0; self.target.size()];
        self.system.right_of_difference(self.target, &ones, &ones)
    }

    /// Candidates predict a change up to a part of it. That of entries of the sketch is about the same for
    /// all, that of moments in their units.
    fn relative_errors(&self, difference: &[f64]) -> Vec<f64> {
        let n = self.n_rows - self.moments.len();
        let entries = n - 1;
        let errors = if self.target.metric.is_some() { vec![1.0; n] } else { self.errors() };
        let mean = |squares: &mut dyn Iterator<Item = f64>, n: usize| squares.sum::<f64>() / n.max(1) as f64;
        let wave =
            mean(&mut difference[..entries].iter().zip(&errors).map(|(x, e)| (x / e).powi(2)), entries);
        let wrong = WRONG * WRONG;
        let of_wave = |e: &f64| 1.0 / (1.0 + wrong * wave * e * e).sqrt();
        let mut all: Vec<f64> = errors[..entries].iter().map(of_wave).collect();
        all.push(1.0);
        let (first, second) = difference[n..].split_at(self.moments.dim);
        for part in [first, second] {
            let square = mean(&mut part.iter().map(|x| x * x), part.len());
            all.extend(vec![1.0 / (1.0 + wrong * square).sqrt(); part.len()]);
        }
        all
    }

    /// Cells in deviations, R entries each.
    pub fn cells(&self) -> impl Iterator<Item = (usize, Vec<f64>)> {
        let cells = self.rows.chunks_exact(self.n_rows).zip(&self.roots).enumerate();
        cells.map(|(a, (row, s))| (a, row.iter().map(|x| x / s).collect()))
    }

    /// A view in deviations.
    pub fn entries(&self, view: &View) -> Vec<f64> {
        let mut out = self.system.right_of_difference(self.target, &view.re, &view.im);
        let d = view.exact.mean.len();
        let off: Vec<f64> = view.exact.mean.iter().zip(&self.moments.about).map(|(x, c)| x - c).collect();
        let mut second = vec![0.0; d * d];
        match &view.exact.covariance {
            Covariance::Full(rows) => {
                second.iter_mut().enumerate().for_each(|(at, s)| *s = rows[at / d][at % d]);
            }
            Covariance::Diagonal(variances) => (0..d).for_each(|c| second[c * d + c] = variances[c]),
        }
        second.iter_mut().enumerate().for_each(|(at, s)| *s += off[at / d] * off[at % d]);
        self.moments.push(off, second, &mut out);
        out.iter_mut().zip(&self.relative).for_each(|(x, f)| *x *= f);
        out
    }

    /// $\Sigma^{-1} r$.
    pub fn solve(&self, r: &[f64]) -> Vec<f64> {
        let a = self.rows.len() / self.n_rows;
        let mut y: Vec<f64> = self.rows.chunks_exact(self.n_rows).map(|row| dot(row, r)).collect();
        solve(&self.factor, a, &mut y);
        let mut out = r.to_vec();
        for (row, y) in self.rows.chunks_exact(self.n_rows).zip(&y) {
            out.iter_mut().zip(row).for_each(|(o, x)| *o -= y * x);
        }
        out
    }

    /// Gradient of $t^\top x$ in an atom of centre and variances, for its entries x and a cotangent t.
    pub fn pull_back(&self, family: &Gaussian, atom: &[f64], values: &Batch, cotangent: &[f64]) -> Vec<f64> {
        let (d, m, n) = (self.moments.dim, self.target.size(), self.n_rows - self.moments.len());
        let cotangent: Vec<f64> = cotangent.iter().zip(&self.relative).map(|(t, f)| t * f).collect();
        let mut wave: Vec<f64> = cotangent.iter().zip(&self.errors()).map(|(t, e)| t * e).collect();
        wave.resize((2 * m).max(wave.len()), 0.0);
        if !self.target.complex {
            wave[m..2 * m].fill(0.0);
        }
        let mut parts = Batch { re: wave[..m].to_vec(), im: wave[m..2 * m].to_vec(), ..Batch::default() };
        let mut gradient = vec![0.0; 2 * d];
        family.vjp_batch(atom, &[], values, &mut parts, &mut gradient, &mut []);
        self.moments.pull_back(atom, &cotangent[n..], &mut gradient);
        gradient
    }

    /// $r^\top \Sigma^{-1} r$.
    pub fn square(&self, r: &[f64]) -> f64 {
        dot(r, &self.solve(r))
    }
}

/// Units of moments.
struct MomentUnits {
    dim: usize,
    about: Vec<f64>,
    /// Lower factor of the mean covariance within cells, rows of growing length used.
    lower: Vec<Vec<f64>>,
    pairs: Vec<(usize, usize)>,
    /// One over the deviation of each mean, and of each product.
    mean_errors: Vec<f64>,
    errors: Vec<f64>,
}

impl MomentUnits {
    fn new(
        blocks: &Blocks,
        weights: &[f64],
        (inverse_rows, full): (f64, bool),
        target: &Target,
    ) -> Option<MomentUnits> {
        let d = blocks.dim;
        let mut about = vec![0.0; d];
        for (centre, w) in blocks.centres.chunks_exact(d).zip(weights) {
            about.iter_mut().zip(centre).for_each(|(t, x)| *t += w * x);
        }
        let (mut within, mut all) = (vec![vec![0.0; d]; d], vec![0.0; d]);
        let mut own = vec![0.0; d * d];
        for (a, w) in weights.iter().enumerate() {
            blocks.covariance(a, &mut own);
            for i in 0..d {
                all[i] += w * (own[i * d + i] + (blocks.centres[a * d + i] - about[i]).powi(2));
                (0..=i).filter(|j| full || i == *j).for_each(|j| within[i][j] += w * own[i * d + j]);
            }
        }
        for i in 0..d {
            within[i][i] += LEAST_WITHIN * all[i].max(f64::MIN_POSITIVE);
            (0..i).for_each(|j| within[j][i] = within[i][j]);
        }
        let lower = cholesky(&within)?;
        let pairs = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).filter(|(i, j)| full || i == j);
        let mut units = MomentUnits {
            dim: d,
            about,
            lower,
            pairs: pairs.collect(),
            mean_errors: Vec::new(),
            errors: Vec::new(),
        };
        let mut variances = vec![0.0; units.pairs.len()];
        for (a, w) in weights.iter().enumerate() {
            let (mut mean, mut second) = units.of_cell(blocks, a);
            units.change(&mut mean, &mut second);
            let spread = |i: usize, j: usize| second[i * d + j] - mean[i] * mean[j];
            for (v, &(i, j)) in variances.iter_mut().zip(&units.pairs) {
                let (x, y, xy) = (spread(i, i), spread(j, j), spread(i, j));
                let cross = mean[i] * mean[i] * y + mean[j] * mean[j] * x + 2.0 * mean[i] * mean[j] * xy;
                *v += w * (x * y + xy * xy + cross);
            }
        }
        // One row more or less at the end of the range is chance, however far that is.
        let reach = units.reach(target);
        let error =
            |variance: f64, row: f64| 1.0 / (variance * inverse_rows + (row * inverse_rows).powi(2)).sqrt();
        units.mean_errors = reach.iter().map(|x| error(1.0, *x)).collect();
        let pairs = variances.iter().zip(&units.pairs);
        units.errors = pairs.map(|(v, &(i, j))| error(v.max(LEAST_WITHIN), reach[i] * reach[j])).collect();
        Some(units)
    }

    fn len(&self) -> usize {
        self.dim + self.pairs.len()
    }

    /// How far a row at the end of the range of one column is from the middle, in each coordinate.
    fn reach(&self, target: &Target) -> Vec<f64> {
        let mut most = vec![0.0f64; self.dim];
        for c in 0..self.dim {
            let mut x = vec![0.0; self.dim];
            x[c] = (target.high[c] - self.about[c]).max(self.about[c] - target.low[c]).max(0.0);
            self.substitute(&mut x, 1, 0);
            most.iter_mut().zip(&x).for_each(|(m, x)| *m = m.max(x.abs()));
        }
        most
    }

    /// Mean and second moments of a cell, about the middle.
    fn of_cell(&self, blocks: &Blocks, a: usize) -> (Vec<f64>, Vec<f64>) {
        let d = self.dim;
        let mut second = vec![0.0; d * d];
        blocks.covariance(a, &mut second);
        let off: Vec<f64> =
            blocks.centres[a * d..(a + 1) * d].iter().zip(&self.about).map(|(x, c)| x - c).collect();
        second.iter_mut().enumerate().for_each(|(at, s)| *s += off[at / d] * off[at % d]);
        (off, second)
    }

    /// Into the coordinates of the module: $L^{-1} \mu$ and $L^{-1} M L^{-\top}$.
    fn change(&self, mean: &mut [f64], second: &mut [f64]) {
        let d = self.dim;
        self.substitute(mean, 1, 0);
        for column in 0..d {
            self.substitute(second, d, column);
        }
        for row in second.chunks_exact_mut(d) {
            self.substitute(row, 1, 0);
        }
    }

    /// $L^{-1} x$ for the entries `start`, `start + step`, ... of x.
    fn substitute(&self, x: &mut [f64], step: usize, start: usize) {
        for i in 0..self.dim {
            let known: f64 = (0..i).map(|j| self.lower[i][j] * x[start + step * j]).sum();
            let at = start + step * i;
            x[at] = (x[at] - known) / self.lower[i][i];
        }
    }

    /// $L^{-\top} x$ for the entries `start`, `start + step`, ... of x.
    fn substitute_back(&self, x: &mut [f64], step: usize, start: usize) {
        for i in (0..self.dim).rev() {
            let known: f64 = (i + 1..self.dim).map(|j| self.lower[j][i] * x[start + step * j]).sum();
            let at = start + step * i;
            x[at] = (x[at] - known) / self.lower[i][i];
        }
    }

    /// Adds the gradient of $t^\top x$ in centre and variances of a normal law, for its moments x.
    fn pull_back(&self, atom: &[f64], cotangent: &[f64], gradient: &mut [f64]) {
        let d = self.dim;
        let mut first: Vec<f64> = cotangent[..d].iter().zip(&self.mean_errors).map(|(t, e)| t * e).collect();
        self.substitute_back(&mut first, 1, 0);
        let mut second = vec![0.0; d * d];
        for ((&(i, j), e), t) in self.pairs.iter().zip(&self.errors).zip(&cotangent[d..]) {
            second[i * d + j] += 0.5 * e * t;
            second[j * d + i] += 0.5 * e * t;
        }
        for column in 0..d {
            self.substitute_back(&mut second, d, column);
        }
        for row in second.chunks_exact_mut(d) {
            self.substitute_back(row, 1, 0);
        }
        let off: Vec<f64> = atom.iter().zip(&self.about).map(|(x, c)| x - c).collect();
        for c in 0..d {
            gradient[c] += first[c] + 2.0 * dot(&second[c * d..(c + 1) * d], &off);
            gradient[d + c] += second[c * d + c];
        }
    }

    /// Appends moments about the middle, in deviations.
    fn push(&self, mut mean: Vec<f64>, mut second: Vec<f64>, out: &mut Vec<f64>) {
        self.change(&mut mean, &mut second);
        out.extend(mean.iter().zip(&self.mean_errors).map(|(x, e)| x * e));
        out.extend(self.pairs.iter().zip(&self.errors).map(|(&(i, j), e)| second[i * self.dim + j] * e));
    }
}
