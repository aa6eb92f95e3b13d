//! Cache-line aligned storage, so that no vector load of a panel straddles two lines.

/// One cache line of numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A growable, zero-initialised slice of `f32` that starts on a cache line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    /// `len` zeros, rounded up to whole lines.
    pub(crate) fn zeros(len: usize) -> Buffer {
        Buffer { lines: vec![Line([0.0; 16]); len.div_ceil(16)] }
    }

    /// At least `len` values, the old ones kept.
    pub(crate) fn at_least(&mut self, len: usize) -> &mut [f32] {
        if self.lines.len() * 16 < len {
            self.lines.resize(len.div_ceil(16), Line([0.0; 16]));
        }
        &mut self.as_mut_slice()[..len]
    }

    /// All values.
    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: a `Line` is exactly 16 `f32` without padding, and the lines are contiguous and initialised.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 16) }
    }

    /// All values, to write.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_slice`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16) }
    }
}
