//! Any periodic function as a wave: a table of the values of one turn, linear in between.
//!
//! With the phase t in turns, r = t - floor(t) and the values v_0 ... v_{L-1} of the table, v_L = v_0:
//!
//! 1. the first entry looks at y = r, the second a quarter turn behind, at y = r + 3/4, less a whole turn;
//! 2. x = L y, i = floor(x): the value is v_i + (x - i) (v_{i+1} - v_i);
//! 3. times 2^24, rounded to an integer.
//!
//! r is computed in `f32`, all else in `f64`. Values and steps are stored times 2^24, which changes no digit,
//! side by side, so that a look at the table is one load of 16 bytes. Plain arithmetic on arrays, which is
//! compiled for every backend with its own instructions; nothing is fused, so that all give the same bits.
//!
//! Of a table whose length is a power of two from 4 on, both entries look at the same fraction of a step,
//! three quarters of the table apart, so that one load of 32 bytes serves both. The places are then exact in
//! `f64` whatever the phase; the fraction of the second is computed by itself, as y is rounded where r is
//! tiny.
//!
//! Cost: two such loads, or one, and about 20 operations in `f64` a phase. Reference: \[SJ22\].

use super::{PANEL, Phases};
use crate::dispatch::Pair;
use crate::simd::Simd;

/// The values of one turn of a periodic function.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Each value and the step to the next, times 2^24.
    steps: Vec<[f64; 2]>,
    /// The same with those of the value a quarter turn behind; empty where the length does not allow it.
    both: Vec<[f64; 4]>,
}

/// Longest table of pairs: 32 KiB.
const BOTH_MAX: usize = 1024;

/// 2^24: grid steps of the unit.
const UNIT: f64 = (1u32 << crate::GRID_BITS) as f64;

impl Table {
    /// The function with these values at phases of 0, 1/L, 2/L ... turns.
    ///
    /// # Panics
    /// If there are fewer than 2 or more than 65,536 values, or one lies outside of [-1, 1].
    pub fn new(values: &[f64]) -> Table {
        assert!((2..=65_536).contains(&values.len()), "a table has 2 to 65536 values");
        assert!(values.iter().all(|v| v.abs() <= 1.0), "the values of a table lie in [-1, 1]");
        let next = values.iter().cycle().skip(1);
        let steps: Vec<[f64; 2]> = values.iter().zip(next).map(|(v, w)| [v * UNIT, (w - v) * UNIT]).collect();
        let len = steps.len();
        let paired = len.is_power_of_two() && (4..=BOTH_MAX).contains(&len);
        let behind = |i: usize| steps[(i + len / 4 * 3) % len];
        let pair = |i: usize| [steps[i][0], steps[i][1], behind(i)[0], behind(i)[1]];
        let both = if paired { (0..len).map(pair).collect() } else { Vec::new() };
        Table { steps, both }
    }

    /// The integers at phases y in [0, 1) turns.
    #[inline(always)]
    fn look<S: Simd>(&self, simd: S, y: &[f64; PANEL], out: &mut [i32; PANEL]) {
        for (y, out) in y.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
            *out = simd.interpolate(&self.steps, *y);
        }
    }

    /// The features of one row at the phases of a panel, in half turns.
    #[inline(always)]
    fn features<S: Simd>(&self, simd: S, h: &[f32; PANEL], out: &mut Pair) {
        let now: [f64; PANEL] = std::array::from_fn(|i| {
            let t = 0.5 * h[i];
            let r = t - t.floor();
            // A small negative phase rounds to a whole turn, which is none.
            f64::from(r - r.floor())
        });
        if !self.both.is_empty() {
            for (group, y) in now.as_chunks().0.iter().enumerate() {
                let found = simd.interpolate_both(&self.both, *y);
                for (out, found) in out.iter_mut().zip(found) {
                    out[8 * group..8 * group + 8].copy_from_slice(&found);
                }
            }
            return;
        }
        let behind = now.map(|r| r + 0.75).map(|ahead| ahead - ahead.floor());
        self.look(simd, &now, &mut out[0]);
        self.look(simd, &behind, &mut out[1]);
    }
}

/// The phases of a row of a panel.
///
/// # Safety
/// `row` must be one of the rows, and every row readable for [`PANEL`] values.
#[inline(always)]
unsafe fn row(phases: Phases, row: usize) -> [f32; PANEL] {
    // SAFETY: the caller promises PANEL values; the read is unaligned.
    unsafe { phases.first.add(row * phases.stride).cast::<[f32; PANEL]>().read_unaligned() }
}

/// Sums of the features of up to [`ROWS_MAX`](super::ROWS_MAX) rows.
///
/// # Safety
/// Every row of `phases` must be valid for reading [`PANEL`] values.
#[inline(always)]
pub(crate) unsafe fn sum<S: Simd>(simd: S, table: &Table, phases: Phases, out: &mut Pair) {
    debug_assert!(phases.rows <= super::ROWS_MAX);
    *out = [[0; PANEL]; 2];
    let mut features = *out;
    for i in 0..phases.rows {
        // SAFETY: as the caller promises.
        table.features(simd, &unsafe { row(phases, i) }, &mut features);
        for lane in 0..PANEL {
            out[0][lane] += features[0][lane];
            out[1][lane] += features[1][lane];
        }
    }
}

/// The features of each row by themselves.
///
/// # Safety
/// As for [`sum`].
#[inline(always)]
pub(crate) unsafe fn quantize<S: Simd>(simd: S, table: &Table, phases: Phases, out: &mut [Pair]) {
    assert!(out.len() >= phases.rows, "one pair of blocks per row");
    for (i, pair) in out.iter_mut().take(phases.rows).enumerate() {
        // SAFETY: as the caller promises.
        table.features(simd, &unsafe { row(phases, i) }, pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::scalar::Scalar;
    use crate::testing::bits;

    #[test]
    fn tables_of_pairs_give_the_integers_of_two_looks() {
        let mut next = bits(1);
        for len in [4, 8, 256, BOTH_MAX] {
            let values: Vec<f64> = (0..len).map(|_| f64::from(next()) / 2f64.powi(31) - 1.0).collect();
            let table = Table::new(&values);
            assert_eq!(table.both.len(), len);
            let plain = Table { both: Vec::new(), ..table.clone() };
            for _ in 0..20_000 {
                // Phases of every size, and ones at the ends of a step.
                let h = std::array::from_fn(|i| match i % 4 {
                    0 => f32::from_bits(next()).clamp(-1e6, 1e6),
                    1 => 2.0 * (next() % 4096) as f32 / len as f32,
                    2 => (next() as f32 / 2f32.powi(31) - 1.0) * 2f32.powi(-((next() % 60) as i32)),
                    _ => next() as f32 / 2f32.powi(29) - 4.0,
                });
                let h: [f32; PANEL] = h.map(|h: f32| if h.is_nan() { 0.0 } else { h });
                let (mut found, mut expected) = ([[0; PANEL]; 2], [[0; PANEL]; 2]);
                table.features(Scalar, &h, &mut found);
                plain.features(Scalar, &h, &mut expected);
                assert_eq!(found, expected, "{len}: {h:?}");
            }
        }
        assert!(Table::new(&[1.0, -1.0]).both.is_empty() && Table::new(&[0.0; 100]).both.is_empty());
    }
}
