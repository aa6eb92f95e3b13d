//! Landmarks by approximate ridge leverage scores (BLESS, \[RCCR18\], as \[CCDR22\] section 3.2 uses it).
//!
//! The ridge leverage score of row i is $\tau_i(\lambda) = (K (K + \lambda I)^{-1})_{ii}$. BLESS estimates it
//! from a small weighted set D of rows that grows as $\lambda$ falls:
//!
//! 1. D: every row with probability $q/n$, at least one; $\lambda = n$;
//! 2. $\lambda \leftarrow \lambda / e$; draw U: every row with probability $u = \min(q / (1 + \lambda), 1)$,
//!    which bounds the scores;
//! 3. for i in U: $\tau_i = (1 - k_{Di}^\top (K_{DD} + \lambda\,\mathrm{diag}(p_D))^{-1} k_{Di}) / \lambda$
//!    with p the probabilities of the rows of D;
//! 4. the new D has every i in U with probability $\min(q \tau_i, u)/u$, so $p_i = \min(q \tau_i, u)$;
//!    $\sum_U \min(q\tau_i, u) / (q u)$ estimates the number of degrees of freedom;
//! 5. again from 2 until that number reaches m/2, or $\lambda$ its least value.
//!
//! Then m rows are drawn without replacement with probability proportional to the scores of all rows.
// Differs from [CCDR22]: there the number of landmarks is random and set through lambda; a sketch has as many
// as it was asked for.
//!
//! Cost: $n m^2$ multiply-adds.

use super::pilot::Pilot;
use crate::num::packed::Packed;
use crate::num::random::Stream;

/// Oversampling q. 2 to 10 work (\[RCCR18\]).
const OVERSAMPLING: f64 = 3.0;
/// The least $\lambda$: below it scores of a kernel of unit diagonal are all rounding.
const LAMBDA_MIN: f64 = 1e-6;
/// Rows whose scores are computed at a time.
const CHUNK: usize = 512;

/// Rows with the probabilities that they were drawn with.
#[derive(Default)]
struct Dictionary {
    rows: Vec<usize>,
    probabilities: Vec<f64>,
}

/// `size` rows.
pub(super) fn leverage(pilot: &Pilot, size: usize, stream: &mut Stream) -> Vec<usize> {
    let scores = scores(pilot, 0.5 * size as f64, stream).1;
    // Exponential clocks: the first `size` to ring are a draw without replacement.
    let mut clocks: Vec<(f64, usize)> =
        scores.iter().enumerate().map(|(i, tau)| (-stream.uniform().ln() / tau.max(1e-300), i)).collect();
    clocks.sort_by(|a, b| a.0.total_cmp(&b.0));
    clocks.iter().take(size).map(|(_, i)| *i).collect()
}

/// $\lambda$ with about `degrees` degrees of freedom, and the approximate scores of all rows there.
pub(super) fn scores(pilot: &Pilot, degrees: f64, stream: &mut Stream) -> (f64, Vec<f64>) {
    let n = pilot.len();
    let q = OVERSAMPLING;
    // Step 1.
    let mut lambda = n as f64;
    let rate = (q / n as f64).min(1.0);
    let mut rows: Vec<usize> = (0..n).filter(|_| stream.uniform() < rate).collect();
    if rows.is_empty() {
        rows.push(stream.below(n));
    }
    let mut dictionary = Dictionary { probabilities: vec![rate; rows.len()], rows };
    while lambda / std::f64::consts::E > LAMBDA_MIN {
        // Step 2.
        lambda /= std::f64::consts::E;
        let bound = (q / (1.0 + lambda)).min(1.0);
        let drawn: Vec<usize> = (0..n).filter(|_| stream.uniform() < bound).collect();
        // Step 3.
        let tau = dictionary.scores(pilot, lambda, &drawn);
        // Step 4.
        let mut next = Dictionary::default();
        let mut found = 0.0;
        for (&i, tau) in drawn.iter().zip(&tau) {
            let probability = (q * tau).min(bound);
            found += probability / q / bound;
            if stream.uniform() * bound < probability {
                next.rows.push(i);
                next.probabilities.push(probability);
            }
        }
        if !next.rows.is_empty() {
            dictionary = next;
        }
        // Step 5.
        if found >= degrees {
            break;
        }
    }
    let all: Vec<usize> = (0..n).collect();
    (lambda, dictionary.scores(pilot, lambda, &all))
}

impl Dictionary {
    /// The formula of step 3 for some rows.
    fn scores(&self, pilot: &Pilot, lambda: f64, at: &[usize]) -> Vec<f64> {
        const BLOCK: usize = 64;
        let size = self.rows.len();
        let mut ridge = 1e-12;
        let factor = loop {
            let mut matrix = Packed::zeros(size, BLOCK);
            matrix.fill(|i, j| {
                let own = if i == j { lambda * self.probabilities[i] + ridge } else { 0.0 };
                pilot.kernel(self.rows[i], self.rows[j]) + own
            });
            match matrix.factor(1) {
                Some(factor) => break factor,
                // A ridge of the size of the diagonal always has a factor.
                None => ridge *= 100.0,
            }
        };
        let mut scores = Vec::with_capacity(at.len());
        for chunk in at.chunks(CHUNK) {
            let c = chunk.len();
            let mut columns: Vec<f64> =
                self.rows.iter().flat_map(|&i| chunk.iter().map(move |&j| pilot.kernel(i, j))).collect();
            factor.whiten(&mut columns, c);
            let mut squares = vec![0.0; c];
            for row in columns.chunks_exact(c) {
                squares.iter_mut().zip(row).for_each(|(s, x)| *s += x * x);
            }
            scores.extend(squares.iter().map(|s| ((1.0 - s) / lambda).clamp(0.0, 1.0)));
        }
        scores
    }
}
