//! The entries of a sketch at rows of the law, in blocks and on several threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use compressive_kernels::damped_waves;

use crate::num::linear::multiply_transposed;
use crate::sketch::map::waves::Wave;
use crate::sketch::operator::SketchOperator;

/// Entries used at most.
const ENTRIES_MAX: usize = 1000;
/// Rows whose features are held at a time.
const BLOCK: usize = 256;
/// Parts of the rows that are summed apart and then together, so that the sums do not depend on the number of
/// threads.
const SLICES: usize = 4;

/// The entries of a sketch that are used, as functions of a row.
pub(super) struct Features<'a> {
    operator: &'a SketchOperator,
    /// Frequencies used: the first ones, which are as good as any.
    size: usize,
}

impl<'a> Features<'a> {
    pub(super) fn new(operator: &'a SketchOperator) -> Features<'a> {
        let blocks = operator.spec().map.blocks().len();
        Features { operator, size: operator.spec().size.min(ENTRIES_MAX / blocks) }
    }

    /// Number d of columns.
    pub(super) fn dim(&self) -> usize {
        self.operator.dim()
    }

    /// Frequencies behind the entries.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Number N of entries.
    pub(super) fn len(&self) -> usize {
        self.size * self.operator.spec().map.blocks().len()
    }

    /// The entries used, of all.
    pub(super) fn pick(&self, all: &[f64]) -> Vec<f64> {
        all.chunks_exact(self.operator.spec().size)
            .flat_map(|block| block[..self.size].iter().copied())
            .collect()
    }

    /// Entries of some rows in working coordinates, N rows with one number a row of the table.
    fn of(&self, working: &[f64]) -> Vec<f64> {
        let (d, m) = (self.operator.dim(), self.size);
        let rows = working.len() / d;
        let map = &self.operator.spec().map;
        if matches!(map.wave(), Some(Wave::Fourier | Wave::Cosine)) {
            let mut phases = vec![0.0; m * rows];
            multiply_transposed(&self.operator.frequencies()[..m * d], working, d, &mut phases);
            for (row, xi) in phases.chunks_exact_mut(rows).zip(self.operator.dither()) {
                row.iter_mut().for_each(|t| *t += f64::from(*xi) * std::f64::consts::TAU);
            }
            let (mut re, mut im) = (vec![0.0; m * rows], vec![0.0; m * rows]);
            damped_waves(&phases, &mut re, &mut im);
            if map.blocks().len() == 2 {
                re.append(&mut im);
            }
            return re;
        }
        let mut entries = vec![0.0; self.operator.sketch_len()];
        let mut out = vec![0.0; self.len() * rows];
        for (i, u) in working.chunks_exact(d).enumerate() {
            self.operator.features(u, &mut entries);
            self.pick(&entries).iter().enumerate().for_each(|(j, value)| out[j * rows + i] = *value);
        }
        out
    }

    /// Calls `add(sums, entries, range of rows)` for the blocks of each slice, slices on several threads, and
    /// returns the sums of the slices in order.
    pub(super) fn fold<T: Send>(
        &self,
        working: &[f64],
        threads: usize,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &[f64], Range<usize>) + Sync,
    ) -> Vec<T> {
        let d = self.operator.dim();
        let rows = working.len() / d;
        let slices: Vec<(usize, usize)> =
            (0..SLICES).map(|s| (rows * s / SLICES, rows * (s + 1) / SLICES)).collect();
        let queue = Mutex::new(slices.iter().enumerate());
        let done = Mutex::new((0..SLICES).map(|_| None).collect::<Vec<Option<T>>>());
        let run = || {
            while let Some((s, &(start, end))) =
                { queue.lock().unwrap_or_else(PoisonError::into_inner).next() }
            {
                let mut sums = new();
                for first in (start..end).step_by(BLOCK) {
                    let last = end.min(first + BLOCK);
                    add(&mut sums, &self.of(&working[first * d..last * d]), first..last);
                }
                done.lock().unwrap_or_else(PoisonError::into_inner)[s] = Some(sums);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.clamp(1, SLICES) {
                scope.spawn(run);
            }
            run();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
    }
}
