//! Local differential privacy: a reading is answered for at random before it leaves its sensor, so that
//! nobody has to be trusted with it.
//!
//! The one-bit features of a reading are $\ell = 2m$ signs $b$. Its report
//!
//! 1. draws $r$ of the $\ell$ entries uniformly, whatever the reading is (the subsampling of \[CSH21\], which
//!    \[Sch21\] uses in Figure 5.2);
//! 2. takes the $r$ signs there as one of $2^r$ words and tells it with probability $1 - L$, and each of the
//!    other words with probability $L / (2^r - 1)$.
//!
//! **Promise.** The entries say nothing of the reading. Of the word, two readings can change a probability
//! from $L / (2^r - 1)$ to $1 - L$ at most, hence $\epsilon$-differential privacy with
//! $L = (2^r - 1) / (e^\epsilon + 2^r - 1)$; the program rounds $L$ up.
//!
//! **Gain.** A reported word is right in a given entry if it is the true one, or one of the $2^{r-1} - 1$ others
//! that agree there: the expected product of reported and true sign is
//! $g = (1 - L) - L / (2^r - 1) = 1 - L\, 2^r / (2^r - 1)$, so that
//! $E[\text{report}_j] = \tfrac{r}{\ell} g\, b_j$. A report adds its signs times $W = \ell / (r g)$, on the
//! grid, which makes the sums unbiased for those of the signs; they are integers, and add up exactly in any
//! order.
//!
//! **Noise.** A sum of $n$ reports has variance $n (W^2 r/\ell - z_j^2)$, that of $n$ exact readings
//! $n (1 - z_j^2)$: the excess $n (\ell/(r g^2) - 1)$ is smallest where $r g^2$ is largest, which is how $r$
//! is chosen (r = 1 up to ε = 1.2, 4 at ε = 4). One word of the whole budget is better than $r$ bits that
//! share it, whose gain is $\tanh(\epsilon / 2r)$: $r g^2$ is 2.37 instead of 1.16 at ε = 4.
//!
//! Cost: about $64 + r \log_2 \ell$ random bits a reading, $4r$ bytes of report.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::num::math::exp;
use crate::privacy::entropy::{Bits, Entropy, MAX_TRIES, broken_source};
use crate::privacy::private_sketch::PrivateSketch;
use crate::privacy::release::{Mechanism, Release, SpecOrigin};
use crate::privacy::sensitivity::Neighbours;
use crate::sketch::Sketch;
use crate::sketch::features::packed_len;
use crate::sketch::map::waves::Wave;
use crate::sketch::spec::{SketchSpec, Source};

/// Most entries of a report.
pub const MAX_ENTRIES: u32 = 16;
/// The largest budget; beyond it nothing would be hidden.
pub const MAX_EPSILON: f64 = 32.0;
/// The largest weight of a sign, in units of the grid.
const MAX_WEIGHT: f64 = (1u64 << 56) as f64;
/// How a batch of reports begins.
const MAGIC: [u8; 4] = *b"CLR1";
/// Bytes before the first report: the letters above, r, ε.
const HEAD: usize = 16;

/// How the readings of a spec answer.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalResponse {
    spec: Arc<SketchSpec>,
    epsilon: f64,
    entries: u32,
    /// $L$ in units of $2^{-64}$, rounded up.
    lie: u64,
    weight: i64,
}

/// $g = (e^\epsilon - 1) / (e^\epsilon + 2^r - 1)$.
fn gain(epsilon: f64, entries: u32) -> f64 {
    let odds = exp(epsilon);
    (odds - 1.0) / (odds + f64::from((1u32 << entries) - 1))
}

impl LocalResponse {
    /// The answers of the least noise for a budget.
    ///
    /// # Errors
    /// [`Error::Privacy`] for another feature than `one-bit` or an impossible budget.
    pub fn new(spec: &SketchSpec, epsilon: f64) -> Result<LocalResponse> {
        check_epsilon(epsilon)?;
        let most = MAX_ENTRIES.min(u32::try_from(spec.sketch_len()).unwrap_or(MAX_ENTRIES));
        let worth = |r: u32| f64::from(r) * gain(epsilon, r).powi(2);
        let best = (1..=most).max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        LocalResponse::with_entries(spec, epsilon, best.unwrap_or(1))
    }

    /// The answers for a number of entries of one's own choice.
    ///
    /// # Errors
    /// As for [`LocalResponse::new`]; [`Error::Privacy`] for more entries than [`MAX_ENTRIES`] or than there
    /// are.
    pub fn with_entries(spec: &SketchSpec, epsilon: f64, entries: u32) -> Result<LocalResponse> {
        check_epsilon(epsilon)?;
        if spec.map.wave() != Some(&Wave::OneBit) {
            let name = spec.map.name();
            let problem = format!(
                "readings answer with signs, and these features are `{name}`; use the feature `one-bit`"
            );
            return Err(Error::Privacy { field: "feature", problem });
        }
        spec.check_features_suffice()?;
        let (len, most) = (spec.sketch_len(), u64::from(MAX_ENTRIES));
        if entries == 0 || u64::from(entries) > most.min(len as u64) {
            let problem =
                format!("a report of {entries} entries; from 1 to {} is possible", most.min(len as u64));
            return Err(Error::Privacy { field: "entries", problem });
        }
        let others = f64::from((1u32 << entries) - 1);
        let odds = others / (exp(epsilon) + others);
        // The slack covers the rounding of the operations above.
        let lie = (odds * (1.0 + 1e-12) * 2f64.powi(64)).ceil() as u64;
        let gain = 1.0 - lie as f64 * 2f64.powi(-64) * (others + 1.0) / others;
        let weight = f64::from(1u32 << Sketch::GRID_BITS) * len as f64 / (f64::from(entries) * gain);
        if !(gain > 0.0 && weight <= MAX_WEIGHT) {
            let problem = format!(
                "{epsilon} is so small that an answer would say nothing; 1 to 8 is usual for one reading"
            );
            return Err(Error::Privacy { field: "epsilon", problem });
        }
        Ok(LocalResponse {
            spec: Arc::new(spec.clone()),
            epsilon,
            entries,
            lie,
            weight: weight.round() as i64,
        })
    }

    /// The promise for one reading.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Entries of a report.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Probability $L$ that a word other than the true one is reported, in units of $2^{-64}$.
    pub fn lie(&self) -> u64 {
        self.lie
    }

    /// Expected product of a reported and a true sign.
    pub fn gain(&self) -> f64 {
        let words = f64::from(1u32 << self.entries);
        1.0 - self.lie as f64 * 2f64.powi(-64) * words / (words - 1.0)
    }

    /// What a reported sign adds to its sum, in units of the grid.
    pub fn weight(&self) -> i64 {
        self.weight
    }

    /// Bytes of a report.
    fn report_len(&self) -> usize {
        4 * self.entries as usize
    }

    /// Reports of rows of [`packed`](crate::sketch::features::packed) bits, both blocks, as one batch: a head
    /// of 16 bytes (`CLR1`, r, ε), then for each reading r numbers of 32 bits, twice the entry plus its bit,
    /// in the order of the entries.
    ///
    /// # Errors
    /// [`Error::Shape`] if the bytes are not whole rows, [`Error::Privacy`] if the source of randomness
    /// fails.
    pub fn reports(&self, packed: &[u8], entropy: &mut dyn Entropy) -> Result<Vec<u8>> {
        let width = packed_len(self.spec.sketch_len());
        if !packed.len().is_multiple_of(width) {
            let (found, expected) = (packed.len(), packed.len() / width * width);
            return Err(Error::Shape { what: "bytes of rows of bits", found, expected });
        }
        let mut out = Vec::with_capacity(HEAD + packed.len() / width * self.report_len());
        out.extend(MAGIC);
        out.extend(self.entries.to_le_bytes());
        out.extend(self.epsilon.to_le_bytes());
        let mut bits = Bits::new(entropy);
        for signs in packed.chunks_exact(width) {
            self.report(signs, &mut bits, &mut out)?;
        }
        Ok(out)
    }

    /// One reading's report.
    fn report(&self, signs: &[u8], bits: &mut Bits<'_>, out: &mut Vec<u8>) -> Result<()> {
        // 1. The entries.
        let len = self.spec.sketch_len() as u128;
        let mut entries = Vec::with_capacity(self.entries as usize);
        for _ in 0..MAX_TRIES {
            if entries.len() == self.entries as usize {
                break;
            }
            let entry = bits.below(len)? as u32;
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        if entries.len() < self.entries as usize {
            return Err(broken_source());
        }
        entries.sort_unstable();
        // 2. The word, or another.
        let sign = |entry: u32| signs[entry as usize / 8] >> (7 - entry % 8) & 1;
        let truth = entries.iter().fold(0u32, |word, &entry| word << 1 | u32::from(sign(entry)));
        let mut reported = truth;
        if bits.below(1 << 64)? < u128::from(self.lie) {
            let other = bits.below(u128::from((1u32 << self.entries) - 1))? as u32;
            reported = other + u32::from(other >= truth);
        }
        for (place, entry) in (0..self.entries).rev().zip(entries) {
            out.extend((entry << 1 | (reported >> place & 1)).to_le_bytes());
        }
        Ok(())
    }

    /// The sums of a batch of [`reports`](LocalResponse::reports), corrected for their gain, and what they
    /// promise.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not a batch of reports on this spec; [`Error::Privacy`] as for
    /// [`LocalResponse::new`].
    pub fn add_up(spec: &SketchSpec, bytes: &[u8]) -> Result<PrivateSketch> {
        let corrupt = |problem: String| Error::Corrupt { problem };
        let (head, reports) =
            bytes.split_at_checked(HEAD).filter(|(head, _)| head.starts_with(&MAGIC)).ok_or_else(|| {
                corrupt("these are not reports: a batch begins with the letters CLR1, r and epsilon".into())
            })?;
        let (mut entries, mut epsilon) = ([0; 4], [0; 8]);
        entries.copy_from_slice(&head[4..8]);
        epsilon.copy_from_slice(&head[8..]);
        let entries = u32::from_le_bytes(entries);
        let response = LocalResponse::with_entries(spec, f64::from_le_bytes(epsilon), entries)?;
        let width = response.report_len();
        if reports.is_empty() || !reports.len().is_multiple_of(width) {
            return Err(corrupt(format!("{} bytes of reports of {width} bytes each", reports.len())));
        }
        let mut counts = vec![0i64; spec.sketch_len()];
        for (number, report) in reports.chunks_exact(width).enumerate() {
            let mut from = 0;
            for reported in report.chunks_exact(4) {
                let reported = reported.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
                let (entry, sign) = (reported as usize >> 1, 2 * i64::from(reported & 1) - 1);
                if entry < from || entry >= counts.len() {
                    let problem = format!(
                        "report {} names entry {entry}, out of order or beyond the {} there are",
                        number + 1,
                        counts.len()
                    );
                    return Err(corrupt(problem));
                }
                from = entry + 1;
                counts[entry] += sign;
            }
        }
        let sums = counts.iter().map(|count| count.saturating_mul(response.weight)).collect();
        let n = (reports.len() / width) as u64;
        Ok(PrivateSketch::from_parts(spec.clone(), sums, n as i64, vec![response.release(n)]))
    }

    /// What so many reports promise.
    pub(crate) fn release(&self, reports: u64) -> Release {
        Release {
            epsilon: self.epsilon,
            delta: 0.0,
            neighbours: Neighbours::Replace,
            rows_per_person: 1,
            epsilon_sums: self.epsilon,
            epsilon_rows: 0.0,
            mechanism: Mechanism::LocalResponse {
                entries: self.entries,
                of: self.spec.sketch_len() as u32,
                weight: self.weight as u64,
                reports,
            },
            rows_scale: None,
            // The spec was there before the reading was made.
            spec: match self.spec.source {
                Some(Source::Bounds) => SpecOrigin::Bounds,
                _ => SpecOrigin::DeclaredPublic,
            },
            id: None,
        }
    }
}

fn check_epsilon(epsilon: f64) -> Result<()> {
    if epsilon > 0.0 && epsilon <= MAX_EPSILON {
        return Ok(());
    }
    let problem = format!("{epsilon} is not between 0 and {MAX_EPSILON}; 1 to 8 is usual for one reading");
    Err(Error::Privacy { field: "epsilon", problem })
}

#[cfg(test)]
mod tests;
