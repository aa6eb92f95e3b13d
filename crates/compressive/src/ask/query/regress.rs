//! What the sketch says about the mean of a function: Gaussian regression of it on the entries, under the
//! law.
//!
//! Let $1 + g$ be the density of the table's rows relative to the law Q, so that $E_P f - E_Q f = E_Q\,g f$
//! for every f. A priori g is a smooth random function, $g = \sum_i a_i \psi_i$ with waves $\psi_i$ of many
//! lengths (file `prior.rs`) and independent $a_i$ of variance $\tau^2 D_i$, plus the white noise of variance
//! $w = 1/n + 1/S$ of a table of n rows and a law known by S of its rows. Then the entries' deviations
//! $\delta = z - E_Q\Phi$ and those of functions are jointly Gaussian:
//!
//! | | |
//! |---|---|
//! | $\operatorname{cov}(\delta, \delta) = K$ | $\tau^2 A D A^\top + w\,\operatorname{cov}_Q(\Phi, \Phi) + \sigma^2 I$, $A = \operatorname{cov}_Q(\Phi, \psi)$ |
//! | $\operatorname{cov}(\delta, f) = k_f$ | $\tau^2 A D c_f + w\,\operatorname{cov}_Q(\Phi, f)$, $c_f = \operatorname{cov}_Q(\psi, f)$ |
//! | $\operatorname{cov}(f, f')$ | $\tau^2 c_f^\top D c_{f'} + w\,\operatorname{cov}_Q(f, f')$ |
//!
//! and the answer is $E_Q f + b^\top\delta$ with $b = K^{-1} k_f$, its error covariance
//! $\operatorname{cov}(f, f') - b^\top k_{f'}$, of which $\sigma^2 b^\top b'$ is the noise of the sketch.
//!
//! $\tau^2$ and the roughness (how D falls with the wave number) are those under which entries of the sketch
//! are predicted best from the others: left out, the entry j has the error $w_j / P_{jj}$ with $P = K^{-1}$,
//! $w = P\delta$, and the predicted variance $1 / P_{jj}$. The method is so held to questions to which the
//! sketch knows the answer; if the errors there are larger than predicted, all variances are raised by as
//! much, and in any case by [`SAFETY`].
//!
//! Cost: $S N (N/2 + M)$ multiply-adds for S rows of the law, N entries and M waves, and $N^3/3$ for the
//! factor.

use std::ops::Range;

use compressive_kernels::{Layout, product};

use super::entries::Features;
use super::law;
use super::prior::Waves;
use crate::num::linear::{dot, multiply_transposed};
use crate::num::solve::cholesky;

/// Entries of a panel of C.
const PANEL: usize = 256;
/// Standard deviation of an entry by the single precision of the kernel, systematic over the rows.
const ROUNDING: f64 = 1e-6;
/// Entries that the prior is chosen on.
const CHOSEN_ON: usize = 400;
/// What variances are raised by, since waves shorter than those of the sketch are foretold from longer ones:
/// with one law and without it, intervals of 95% held 84% of the truths of random queries on clustered,
/// skewed and uniform columns.
const SAFETY: f64 = 4.0;
/// Ways in which the waves' variances fall with their number: its power.
const ROUGHNESS: [f64; 3] = [0.0, 1.0, 2.0];
/// Variances of the waves together, $\tau^2$ times M.
const VARIANCES: [f64; 7] = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// Sums over rows of the law; functions are taken less their means.
struct Sums {
    /// Panels of the upper triangle of $\sum \Phi\Phi^\top$.
    gram: Vec<Vec<f64>>,
    /// $\sum \Phi$.
    entries: Vec<f64>,
    /// $\sum \psi$.
    waves: Vec<f64>,
    /// $\sum \Phi\psi^\top$, N x M.
    by_wave: Vec<f64>,
    /// $\sum \Phi f$, N x Q.
    by_function: Vec<f64>,
    /// $\sum \psi f$, M x Q.
    wave_function: Vec<f64>,
    /// $\sum f f'$ within each group.
    functions: Vec<Vec<f64>>,
}

/// Covariances of entries, waves and functions under the law.
pub(super) struct Regression {
    n: usize,
    /// Frequencies behind the entries.
    size: usize,
    waves: usize,
    /// Wave number of each wave, relative to the sketch's own.
    factors: Vec<f64>,
    covariance: Vec<f64>,
    mean: Vec<f64>,
    by_wave: Vec<f64>,
    /// One row a function.
    by_function: Vec<f64>,
    /// One row a function.
    wave_function: Vec<f64>,
    functions: Vec<Vec<f64>>,
    function_means: Vec<f64>,
    groups: Vec<Range<usize>>,
    rows: f64,
}

/// What is known about the functions' means.
pub(super) struct Posterior {
    /// Of each function.
    pub means: Vec<f64>,
    /// Covariances of the means' errors but for the sketch's noise, within each group.
    pub approximation: Vec<Vec<f64>>,
    /// Those from the sketch's noise.
    pub noise: Vec<Vec<f64>>,
    /// Covariances of the functions themselves.
    pub functions: Vec<Vec<f64>>,
}

impl Posterior {
    /// What two laws say together: the mean of their answers, with the difference as a part of the error.
    pub(super) fn with(mut self, other: &Posterior, groups: &[Range<usize>]) -> Posterior {
        let apart: Vec<f64> = self.means.iter().zip(&other.means).map(|(a, b)| a - b).collect();
        self.means.iter_mut().zip(&other.means).for_each(|(a, b)| *a = 0.5 * (*a + b));
        for (g, group) in groups.iter().enumerate() {
            let n = group.len();
            let apart = &apart[group.clone()];
            for at in 0..n * n {
                let both = 0.5 * (self.approximation[g][at] + other.approximation[g][at]);
                self.approximation[g][at] = both + apart[at / n] * apart[at % n];
                self.noise[g][at] = 0.5 * (self.noise[g][at] + other.noise[g][at]);
            }
        }
        self
    }
}

/// The prior in force.
struct Prior {
    /// $\tau^2 D_i$ of each wave.
    waves: Vec<f64>,
    /// w.
    white: f64,
    /// $\sigma^2$.
    noise: f64,
}

impl Regression {
    /// Takes the covariances over rows of the law; `values` has one row a function with its value at each
    /// row, in `groups` of functions that belong together.
    pub(super) fn new(
        features: &Features<'_>,
        waves: &Waves,
        working: &[f64],
        values: &[f64],
        groups: Vec<Range<usize>>,
        threads: usize,
    ) -> Regression {
        let (n, m, d) = (features.len(), waves.len(), features.dim());
        let rows = working.len() / d;
        let q = values.len() / rows;
        let starts: Vec<usize> = (0..n).step_by(PANEL).collect();
        let new = || Sums {
            gram: starts.iter().map(|s| vec![0.0; PANEL.min(n - s) * (n - s)]).collect(),
            entries: vec![0.0; n],
            waves: vec![0.0; m],
            by_wave: vec![0.0; n * m],
            by_function: vec![0.0; n * q],
            wave_function: vec![0.0; m * q],
            functions: groups.iter().map(|g| vec![0.0; g.len() * g.len()]).collect(),
        };
        let function_means: Vec<f64> =
            values.chunks_exact(rows).map(|v| v.iter().sum::<f64>() / rows as f64).collect();
        let slices = features.fold(working, threads, new, |sums: &mut Sums, entries, range| {
            let block: Vec<f64> = (0..q)
                .flat_map(|f| values[f * rows..(f + 1) * rows][range.clone()].iter().map(move |v| (f, *v)))
                .map(|(f, v)| v - function_means[f])
                .collect();
            let psi = waves.at(&working[range.start * d..range.end * d]);
            sums.add(range.len(), entries, &psi, &block, &groups);
        });
        let total = |pick: &dyn Fn(&Sums) -> &[f64]| {
            let mut out = vec![0.0; pick(&slices[0]).len()];
            slices.iter().for_each(|s| out.iter_mut().zip(pick(s)).for_each(|(o, x)| *o += x / rows as f64));
            out
        };
        let (mean, wave_mean) = (total(&|s| &s.entries), total(&|s| &s.waves));
        let mut by_wave = total(&|s| &s.by_wave);
        for (row, mean) in by_wave.chunks_exact_mut(m).zip(&mean) {
            row.iter_mut().zip(&wave_mean).for_each(|(x, other)| *x -= mean * other);
        }
        let mut covariance = vec![0.0; n * n];
        for (at, &start) in starts.iter().enumerate() {
            let panel = total(&|s| &s.gram[at]);
            for (i, row) in panel.chunks_exact(n - start).enumerate() {
                for (j, value) in row.iter().enumerate().skip(i) {
                    let value = value - mean[start + i] * mean[start + j];
                    covariance[(start + i) * n + start + j] = value;
                    covariance[(start + j) * n + start + i] = value;
                }
            }
        }
        Regression {
            n,
            size: features.size(),
            waves: m,
            factors: waves.factors().to_vec(),
            covariance,
            mean,
            by_wave,
            by_function: transposed(&total(&|s| &s.by_function), q),
            wave_function: transposed(&total(&|s| &s.wave_function), q),
            functions: (0..groups.len()).map(|g| total(&|s| &s.functions[g])).collect(),
            function_means,
            groups,
            rows: rows as f64,
        }
    }

    /// Means and errors of the functions. `moments` are the used entries of the sketch, of a table of `rows`
    /// rows, `noise_std` what was added to each.
    pub(super) fn solve(&self, moments: &[f64], rows: f64, noise_std: f64, which: usize) -> Posterior {
        let (n, m) = (self.n, self.waves);
        let delta: Vec<f64> = moments.iter().zip(&self.mean).map(|(z, e)| z - e).collect();
        let noise = noise_std * noise_std + ROUNDING * ROUNDING;
        let white = 1.0 / rows.max(1.0) + 1.0 / self.rows;
        let (prior, raise) = self.choose(&delta, white, noise, which);
        let every: Vec<usize> = (0..n).collect();
        let factor = factor(self.prior_covariance(&every, &prior), n);
        let mut posterior = Posterior {
            means: self.function_means.clone(),
            approximation: Vec::new(),
            noise: Vec::new(),
            functions: self.functions.clone(),
        };
        for (group, own) in self.groups.iter().zip(&self.functions) {
            let size = group.len();
            // D c_f, one row a function, then k_f and b.
            let mut scaled = self.wave_function[group.start * m..group.end * m].to_vec();
            for row in scaled.chunks_exact_mut(m) {
                row.iter_mut().zip(&prior.waves).for_each(|(c, w)| *c *= w);
            }
            let mut k = vec![0.0; size * n];
            multiply_transposed(&scaled, &self.by_wave, m, &mut k);
            let by_function = &self.by_function[group.start * n..group.end * n];
            k.iter_mut().zip(by_function).for_each(|(k, c)| *k += prior.white * c);
            let mut b = k.clone();
            b.chunks_exact_mut(n).for_each(|b| cholesky::solve(&factor, n, b));
            let row = |v: &'_ [f64], i: usize, width: usize| v[i * width..(i + 1) * width].to_vec();
            let waves = &self.wave_function[group.start * m..group.end * m];
            let (mut rest, mut noisy) = (vec![0.0; size * size], vec![0.0; size * size]);
            for i in 0..size {
                let own_b = row(&b, i, n);
                posterior.means[group.start + i] += dot(&own_b, &delta);
                for j in 0..size {
                    let before = dot(&row(&scaled, i, m), &waves[j * m..(j + 1) * m])
                        + prior.white * own[i * size + j];
                    let total = before - dot(&own_b, &k[j * n..(j + 1) * n]);
                    noisy[i * size + j] = raise * prior.noise * dot(&own_b, &b[j * n..(j + 1) * n]);
                    rest[i * size + j] = SAFETY * (raise * total - noisy[i * size + j]);
                }
            }
            posterior.approximation.push(rest);
            posterior.noise.push(noisy);
        }
        posterior
    }

    /// The prior that predicts entries best from the others, and what its variances must be raised by.
    fn choose(&self, delta: &[f64], white: f64, noise: f64, which: usize) -> (Prior, f64) {
        let some = self.not_learned_from(which);
        let delta: Vec<f64> = some.iter().map(|&j| delta[j]).collect();
        let mut best: Option<(f64, f64, Prior)> = None;
        for roughness in ROUGHNESS {
            let falls: Vec<f64> = self.factors.iter().map(|f| f.powf(-roughness)).collect();
            let total: f64 = falls.iter().sum();
            for variance in VARIANCES {
                let waves = falls.iter().map(|f| variance * f / total).collect();
                let prior = Prior { waves, white, noise };
                let factor = factor(self.prior_covariance(&some, &prior), some.len());
                let (score, ratio) = left_out(&factor, some.len(), &delta);
                if best.as_ref().is_none_or(|(s, ..)| score > *s) {
                    best = Some((score, ratio, prior));
                }
            }
        }
        let Some((_, ratio, prior)) = best else { unreachable!("there are priors to choose from") };
        (prior, ratio.max(1.0))
    }

    /// Entries of frequencies that a law was not learned from: to the others it was fitted.
    fn not_learned_from(&self, which: usize) -> Vec<usize> {
        let own: Vec<usize> = (0..self.n).filter(|j| !law::learns_from(j % self.size, which)).collect();
        let step = own.len().div_ceil(CHOSEN_ON).max(1);
        let some: Vec<usize> = own.into_iter().step_by(step).collect();
        if some.is_empty() { (0..self.n).collect() } else { some }
    }

    /// K of some entries.
    fn prior_covariance(&self, which: &[usize], prior: &Prior) -> Vec<f64> {
        let (n, m, size) = (self.n, self.waves, which.len());
        let rows: Vec<f64> = which
            .iter()
            .flat_map(|&j| {
                self.by_wave[j * m..(j + 1) * m].iter().zip(&prior.waves).map(|(a, w)| a * w.sqrt())
            })
            .collect();
        let mut k = vec![0.0; size * size];
        multiply_transposed(&rows, &rows, m, &mut k);
        for (a, &i) in which.iter().enumerate() {
            for (b, &j) in which.iter().enumerate() {
                k[a * size + b] += prior.white * self.covariance[i * n + j];
            }
            k[a * size + a] += prior.noise;
        }
        k
    }
}

impl Sums {
    /// Adds b rows: entries N x b, waves M x b, functions Q x b.
    fn add(&mut self, b: usize, entries: &[f64], psi: &[f64], functions: &[f64], groups: &[Range<usize>]) {
        let (n, m) = (self.entries.len(), self.waves.len());
        let q = functions.len() / b;
        let mut from = 0;
        for panel in &mut self.gram {
            let width = PANEL.min(n - from);
            let (own, others) = (&entries[from * b..(from + width) * b], &entries[from * b..]);
            product((width, b, n - from), 1.0, own, Layout::Plain, others, Layout::Transposed, 1.0, panel);
            from += width;
        }
        let sum = |values: &[f64], sums: &mut [f64]| {
            values.chunks_exact(b).zip(sums).for_each(|(row, sum)| *sum += row.iter().sum::<f64>());
        };
        sum(entries, &mut self.entries);
        sum(psi, &mut self.waves);
        product((n, b, m), 1.0, entries, Layout::Plain, psi, Layout::Transposed, 1.0, &mut self.by_wave);
        product(
            (n, b, q),
            1.0,
            entries,
            Layout::Plain,
            functions,
            Layout::Transposed,
            1.0,
            &mut self.by_function,
        );
        product(
            (m, b, q),
            1.0,
            psi,
            Layout::Plain,
            functions,
            Layout::Transposed,
            1.0,
            &mut self.wave_function,
        );
        for (group, out) in groups.iter().zip(&mut self.functions) {
            let own = &functions[group.start * b..group.end * b];
            product(
                (group.len(), b, group.len()),
                1.0,
                own,
                Layout::Plain,
                own,
                Layout::Transposed,
                1.0,
                out,
            );
        }
    }
}

/// A matrix of rows of `columns`, transposed.
fn transposed(values: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|c| values.iter().skip(c).step_by(columns).copied()).collect()
}

/// The factor of a covariance, with more on the diagonal if it has none.
fn factor(matrix: Vec<f64>, n: usize) -> Vec<f64> {
    let mean = (0..n).map(|i| matrix[i * n + i]).sum::<f64>() / n.max(1) as f64;
    let mut ridge = 0.0;
    loop {
        let mut factored = matrix.clone();
        (0..n).for_each(|i| factored[i * n + i] += ridge);
        if cholesky::factor(&mut factored, n, 1e-14) {
            return factored;
        }
        ridge = (10.0 * ridge).max(1e-13 * mean);
    }
}

/// Entries predicted from the others: the mean log-density of the errors, and their mean square relative to
/// the prediction.
fn left_out(factor: &[f64], n: usize, delta: &[f64]) -> (f64, f64) {
    let mut w = delta.to_vec();
    cholesky::solve(factor, n, &mut w);
    let (mut score, mut ratio) = (0.0, 0.0);
    for (j, w) in w.iter().enumerate() {
        let mut unit = vec![0.0; n];
        unit[j] = 1.0;
        cholesky::solve_lower(factor, n, j, &mut unit);
        let precision = dot(&unit[j..], &unit[j..]);
        ratio += w * w / precision / n as f64;
        score += 0.5 * (precision.ln() - w * w / precision) / n as f64;
    }
    (score, ratio)
}
