//! Rows of numpy arrays: used where they are if they are C-ordered, else copied block by block.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use compressive::{Error, RowsRef, Scratch, Sketch, SketchOperator};
use numpy::ndarray::ArrayView2;

use crate::pass::{Watch, thread_count};

/// A matrix of one row per data row, in either precision.
#[derive(Clone, Copy)]
pub enum Matrix<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
}

/// Space for a block that has to be copied.
#[derive(Default)]
pub struct Buffers {
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

impl Matrix<'_> {
    pub fn n_rows(&self) -> usize {
        match self {
            Matrix::F32(view) => view.nrows(),
            Matrix::F64(view) => view.nrows(),
        }
    }

    pub fn dim(&self) -> usize {
        match self {
            Matrix::F32(view) => view.ncols(),
            Matrix::F64(view) => view.ncols(),
        }
    }

    /// Rows in one piece, row-major.
    pub fn block<'b>(&'b self, rows: Range<usize>, buffers: &'b mut Buffers) -> RowsRef<'b> {
        match self {
            Matrix::F32(view) => RowsRef::F32(block(view, rows, &mut buffers.singles)),
            Matrix::F64(view) => RowsRef::F64(block(view, rows, &mut buffers.doubles)),
        }
    }

    /// Copies of the rows with these indices, in f64.
    pub fn take(&self, indices: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut out = Vec::new();
        for i in indices {
            match self {
                Matrix::F32(view) => out.extend(view.row(i).iter().map(|&x| f64::from(x))),
                Matrix::F64(view) => out.extend(view.row(i).iter()),
            }
        }
        out
    }
}

fn block<'b, T: Copy>(view: &'b ArrayView2<'_, T>, rows: Range<usize>, buffer: &'b mut Vec<T>) -> &'b [T] {
    if let Some(all) = view.as_slice() {
        return &all[rows.start * view.ncols()..rows.end * view.ncols()];
    }
    buffer.clear();
    for i in rows {
        buffer.extend(view.row(i).iter().copied());
    }
    buffer
}

/// Rows of a block: about a quarter of a megabyte of f32.
pub fn block_rows(dim: usize) -> usize {
    ((1 << 16) / dim.max(1)).max(64)
}

/// Calls `work(state, block, rows)` for all blocks of rows on `threads` threads, each with a state of its
/// own, and returns the states. The error is that of the earliest block that fails.
pub fn over_blocks<S: Send>(
    n_rows: usize,
    block: usize,
    threads: usize,
    watch: &Watch,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, Range<usize>) -> compressive::Result<()> + Sync,
) -> compressive::Result<Vec<S>> {
    let (next, n_blocks) = (AtomicUsize::new(0), n_rows.div_ceil(block));
    let failure: Mutex<Option<(usize, Error)>> = Mutex::default();
    let run = || {
        let mut state = new_state();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n_blocks || watch.cancel.load(Ordering::Relaxed) {
                return state;
            }
            let rows = number * block..((number + 1) * block).min(n_rows);
            let n = rows.len() as u64;
            if let Err(error) = work(&mut state, number, rows) {
                // Blocks are handed out in order, so all earlier ones are being worked on.
                next.store(n_blocks, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(|e| e.into_inner());
                if failure.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failure = Some((number, error));
                }
                return state;
            }
            watch.rows.fetch_add(n, Ordering::Relaxed);
        }
    };
    let threads = thread_count(threads).min(n_blocks.max(1));
    let states = if threads == 1 {
        vec![run()]
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let join = |handle: std::thread::ScopedJoinHandle<'_, S>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            handles.into_iter().map(join).collect()
        })
    };
    match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some((_, error)) => Err(error),
        None => Ok(states),
    }
}

/// What accompanies the rows.
#[derive(Clone, Copy, Default)]
pub struct Companions<'a> {
    pub weights: Option<&'a [f64]>,
    /// The group of each row, below the number of groups.
    pub groups: Option<(&'a [u32], usize)>,
}

/// One thread's sums.
struct Summer {
    sketches: Vec<Option<Sketch>>,
    scratch: Scratch,
    buffers: Buffers,
    sorted: Sorted,
}

/// The rows of a block in the order of their groups, and the values of one group's.
#[derive(Default)]
struct Sorted {
    indices: Vec<usize>,
    rows: Vec<f64>,
    weights: Vec<f64>,
}

/// Sums all rows: one sketch for each group, or a single one. Row numbers of errors count from 0 over the
/// whole matrix.
pub fn sketch(
    matrix: Matrix<'_>,
    companions: Companions<'_>,
    operator: &SketchOperator,
    threads: usize,
    watch: &Watch,
) -> compressive::Result<Vec<Sketch>> {
    let n_groups = companions.groups.map_or(1, |(_, n)| n);
    let new_state = || Summer {
        sketches: vec![None; n_groups],
        scratch: Scratch::default(),
        buffers: Buffers::default(),
        sorted: Sorted::default(),
    };
    let states = over_blocks(
        matrix.n_rows(),
        block_rows(matrix.dim()),
        threads,
        watch,
        new_state,
        |state, _, rows| state.sum(matrix, companions, operator, rows),
    )?;
    let mut total: Vec<Sketch> = (0..n_groups).map(|_| Sketch::empty(operator)).collect();
    for state in states {
        for (sum, part) in total.iter_mut().zip(state.sketches) {
            part.map_or(Ok(()), |part| sum.merge(&part))?;
        }
    }
    Ok(total)
}

impl Summer {
    fn sum(
        &mut self,
        matrix: Matrix<'_>,
        companions: Companions<'_>,
        operator: &SketchOperator,
        rows: Range<usize>,
    ) -> compressive::Result<()> {
        let Summer { sketches, scratch, buffers, sorted } = self;
        let Some((groups, _)) = companions.groups else {
            let weights = companions.weights.map(|all| &all[rows.clone()]);
            let sketch = sketches[0].get_or_insert_with(|| Sketch::empty(operator));
            let result = operator.accumulate(matrix.block(rows.clone(), buffers), weights, sketch, scratch);
            return result.map_err(|error| moved(error, |row| rows.start + row));
        };
        sorted.indices.clear();
        sorted.indices.extend(rows);
        sorted.indices.sort_unstable_by_key(|&i| (groups[i], i));
        for run in sorted.indices.chunk_by(|&i, &j| groups[i] == groups[j]) {
            sorted.rows = matrix.take(run.iter().copied());
            sorted.weights.clear();
            if let Some(weights) = companions.weights {
                sorted.weights.extend(run.iter().map(|&i| weights[i]));
            }
            let weights = companions.weights.map(|_| &sorted.weights[..]);
            let sketch = sketches[groups[run[0]] as usize].get_or_insert_with(|| Sketch::empty(operator));
            let result = operator.accumulate(RowsRef::F64(&sorted.rows), weights, sketch, scratch);
            result.map_err(|error| moved(error, |row| run[row]))?;
        }
        Ok(())
    }
}

/// The error with the row's number in the whole matrix.
pub fn moved(error: Error, place: impl Fn(usize) -> usize) -> Error {
    match error {
        Error::NotFinite { row, column, value } => Error::NotFinite { row: place(row), column, value },
        Error::BadWeight { row, weight } => Error::BadWeight { row: place(row), weight },
        other => other,
    }
}
