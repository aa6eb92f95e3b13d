//! Phases of structured frequencies: H D3 H D2 H D1 x by three fast Walsh-Hadamard transforms.
//!
//! H is the p x p matrix of +-1 (not normalised), D1, D2, D3 diagonal signs, p a power of two. A transform is
//! a sequence of butterflies (a, b) -> (a + b, a - b), one stage per stride 1, 2, 4 ... p/2; the stages may
//! run in any order, but an order decides the roundings, so it is fixed here, for all backends:
//!
//! - The strides below 64 form the low group; the others form high groups of two or three (the last of one,
//!   if one is left). Within a group strides ascend.
//! - The first and the third transform run low group, high groups; the second runs in the opposite order of
//!   groups.
//!
//! So the last group of a transform is the first one of the next, and both run in one pass over the row, the
//! diagonal between them: 7 passes for p = 1024 in place of 10, 1 for p <= 64.
//!
//! Cost: 3 p log2(p) additions per row for p frequencies, 3 log2(p) + 4 operations a feature instead of 2 d.

use crate::simd::Simd;

/// Strides below this one form the low group.
const LOW: usize = 64;

/// One block's inputs.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// Width, a power of two of at least 16.
    pub(crate) width: usize,
    /// The diagonals D1, D2, D3, [3][width].
    pub(crate) signs: &'a [f32],
    /// Factor of each output, [width].
    pub(crate) gains: &'a [f32],
    /// Value added to each output, [width].
    pub(crate) start: &'a [f32],
    /// Rows padded with zeros, `[n][width]`.
    pub(crate) rows: &'a [f32],
}

/// Writes gains * (H D3 H D2 H D1 x) + start of every row to `out`, `[n][width]`.
#[inline(always)]
pub(crate) fn transform<S: Simd>(simd: S, input: Block, out: &mut [f32]) {
    let p = input.width;
    assert!(p.is_power_of_two() && p >= 16, "width of a block");
    assert!(input.signs.len() >= 3 * p && input.gains.len() >= p && input.start.len() >= p, "one block");
    assert!(out.len() >= input.rows.len(), "room for every phase");
    let groups = high_groups(p);
    for (x, y) in input.rows.chunks_exact(p).zip(out.chunks_exact_mut(p)) {
        let row = Row {
            p,
            source: x.as_ptr(),
            data: y.as_mut_ptr(),
            signs: input.signs.as_ptr(),
            gains: input.gains.as_ptr(),
            start: input.start.as_ptr(),
        };
        // SAFETY: every pointer is valid for p values (three diagonals of p for `signs`), as asserted above.
        unsafe { row.run(simd, &groups) };
    }
}

/// The high groups of width p as (first stride, 2^strides), ascending, (0, 0) behind the last.
fn high_groups(p: usize) -> [(usize, usize); 32] {
    let mut groups = [(0, 0); 32];
    let mut stride = LOW;
    for group in &mut groups {
        if stride >= p {
            break;
        }
        let radix = match (p / stride).trailing_zeros() {
            1 => 2,
            2 | 4 => 4,
            _ => 8,
        };
        *group = (stride, radix);
        stride *= radix;
    }
    groups
}

/// What a pass does beyond one group of butterflies.
mod mode {
    /// Nothing.
    pub(super) const PLAIN: u8 = 0;
    /// Signs, then butterflies (the first pass, from the source).
    pub(super) const FIRST: u8 = 1;
    /// Butterflies, signs, butterflies (between two transforms).
    pub(super) const TURN: u8 = 2;
    /// Butterflies, then gain and start (the last pass).
    pub(super) const LAST: u8 = 3;
    /// All three transforms (widths up to the low group).
    pub(super) const ALL: u8 = 4;
}

/// One row on its way through the three transforms.
struct Row {
    p: usize,
    source: *const f32,
    data: *mut f32,
    signs: *const f32,
    gains: *const f32,
    start: *const f32,
}

impl Row {
    /// All passes.
    ///
    /// # Safety
    /// Every pointer must be valid for p values, `signs` for 3 p, and `groups` must be those of p.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, groups: &[(usize, usize); 32]) {
        let count = groups.iter().take_while(|g| g.1 > 0).count();
        // SAFETY: as promised by the caller; each diagonal begins at a multiple of p below 3 p.
        unsafe {
            let (second, third) = (self.signs.add(self.p), self.signs.add(2 * self.p));
            let Some(last) = count.checked_sub(1) else {
                return self.low::<S, { mode::ALL }>(simd, self.signs);
            };
            self.low::<S, { mode::FIRST }>(simd, self.signs);
            for &group in &groups[..last] {
                self.high::<S, { mode::PLAIN }>(simd, group, second);
            }
            self.high::<S, { mode::TURN }>(simd, groups[last], second);
            for &group in groups[..last].iter().rev() {
                self.high::<S, { mode::PLAIN }>(simd, group, second);
            }
            self.low::<S, { mode::TURN }>(simd, third);
            for &group in &groups[..last] {
                self.high::<S, { mode::PLAIN }>(simd, group, third);
            }
            self.high::<S, { mode::LAST }>(simd, groups[last], third);
        }
    }

    /// The low group, by the number of vectors it takes.
    ///
    /// # Safety
    /// As for [`Row::run`]; `signs` is the diagonal that `MODE` needs.
    #[inline(always)]
    unsafe fn low<S: Simd, const MODE: u8>(&self, simd: S, signs: *const f32) {
        // SAFETY: as promised by the caller; the number of vectors times LANES divides p.
        unsafe {
            match LOW.min(self.p) / S::LANES {
                1 => self.low_pass::<S, 1, MODE>(simd, signs),
                2 => self.low_pass::<S, 2, MODE>(simd, signs),
                4 => self.low_pass::<S, 4, MODE>(simd, signs),
                8 => self.low_pass::<S, 8, MODE>(simd, signs),
                _ => self.low_pass::<S, 16, MODE>(simd, signs),
            }
        }
    }

    /// The low group on every run of `N` vectors.
    ///
    /// # Safety
    /// As for [`Row::low`], and `N * LANES` must be the low group's length.
    #[inline(always)]
    unsafe fn low_pass<S: Simd, const N: usize, const MODE: u8>(&self, simd: S, signs: *const f32) {
        let source = if MODE == mode::TURN { self.data.cast_const() } else { self.source };
        for first in (0..self.p).step_by(N * S::LANES) {
            // SAFETY: first + N * LANES <= p.
            unsafe {
                let mut group = load::<S, N>(simd, source.add(first), S::LANES);
                if MODE == mode::TURN {
                    whole(simd, &mut group);
                }
                sign(simd, &mut group, signs.add(first), S::LANES);
                whole(simd, &mut group);
                if MODE == mode::ALL {
                    sign(simd, &mut group, signs.add(self.p), S::LANES);
                    whole(simd, &mut group);
                    sign(simd, &mut group, signs.add(2 * self.p), S::LANES);
                    whole(simd, &mut group);
                    self.scale(simd, &mut group, first, S::LANES);
                }
                store(simd, &group, self.data.add(first), S::LANES);
            }
        }
    }

    /// A high group, by its radix.
    ///
    /// # Safety
    /// As for [`Row::run`]; `signs` is the diagonal that `MODE` needs.
    #[inline(always)]
    unsafe fn high<S: Simd, const MODE: u8>(
        &self,
        simd: S,
        (stride, radix): (usize, usize),
        signs: *const f32,
    ) {
        // SAFETY: as promised by the caller; stride * radix divides p.
        unsafe {
            match radix {
                2 => self.high_pass::<S, 2, MODE>(simd, stride, signs),
                4 => self.high_pass::<S, 4, MODE>(simd, stride, signs),
                _ => self.high_pass::<S, 8, MODE>(simd, stride, signs),
            }
        }
    }

    /// The strides `stride` ... `stride * N / 2`.
    ///
    /// # Safety
    /// As for [`Row::high`], and `stride * N` must divide p.
    #[inline(always)]
    unsafe fn high_pass<S: Simd, const N: usize, const MODE: u8>(
        &self,
        simd: S,
        stride: usize,
        signs: *const f32,
    ) {
        for base in (0..self.p).step_by(stride * N) {
            for first in (base..base + stride).step_by(S::LANES) {
                // SAFETY: first + (N - 1) * stride + LANES <= base + N * stride <= p.
                unsafe {
                    let mut group = load::<S, N>(simd, self.data.add(first), stride);
                    butterflies(simd, &mut group);
                    if MODE == mode::TURN {
                        sign(simd, &mut group, signs.add(first), stride);
                        butterflies(simd, &mut group);
                    }
                    if MODE == mode::LAST {
                        self.scale(simd, &mut group, first, stride);
                    }
                    store(simd, &group, self.data.add(first), stride);
                }
            }
        }
    }

    /// gain * y + start, on vectors `stride` apart.
    ///
    /// # Safety
    /// The vectors must lie within p.
    #[inline(always)]
    unsafe fn scale<S: Simd, const N: usize>(
        &self,
        simd: S,
        group: &mut [S::F; N],
        first: usize,
        stride: usize,
    ) {
        for (i, value) in group.iter_mut().enumerate() {
            let at = first + i * stride;
            // SAFETY: as promised by the caller.
            *value =
                unsafe { simd.fma(simd.load(self.gains.add(at)), *value, simd.load(self.start.add(at))) };
        }
    }
}

/// `N` vectors `stride` apart.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn load<S: Simd, const N: usize>(simd: S, source: *const f32, stride: usize) -> [S::F; N] {
    let mut group = [simd.splat(0.0); N];
    for (i, value) in group.iter_mut().enumerate() {
        // SAFETY: as promised by the caller.
        *value = unsafe { simd.load(source.add(i * stride)) };
    }
    group
}

/// Writes `N` vectors `stride` apart.
///
/// # Safety
/// They must be writable.
#[inline(always)]
unsafe fn store<S: Simd, const N: usize>(simd: S, group: &[S::F; N], target: *mut f32, stride: usize) {
    for (i, &value) in group.iter().enumerate() {
        // SAFETY: as promised by the caller.
        unsafe { simd.store(target.add(i * stride), value) };
    }
}

/// Multiplies by a diagonal, on vectors `stride` apart.
///
/// # Safety
/// The diagonal's vectors must be readable.
#[inline(always)]
unsafe fn sign<S: Simd, const N: usize>(simd: S, group: &mut [S::F; N], signs: *const f32, stride: usize) {
    for (i, value) in group.iter_mut().enumerate() {
        // SAFETY: as promised by the caller.
        *value = unsafe { simd.mul(*value, simd.load(signs.add(i * stride))) };
    }
}

/// The Walsh-Hadamard transform of all lanes of `N` vectors, strides ascending.
#[inline(always)]
fn whole<S: Simd, const N: usize>(simd: S, group: &mut [S::F; N]) {
    for value in group.iter_mut() {
        *value = simd.hadamard(*value);
    }
    butterflies(simd, group);
}

/// Walsh-Hadamard transform across `N` vectors, strides ascending.
#[inline(always)]
fn butterflies<S: Simd, const N: usize>(simd: S, group: &mut [S::F; N]) {
    let mut stride = 1;
    while stride < N {
        for i in 0..N {
            if i & stride == 0 {
                let (a, b) = (group[i], group[i + stride]);
                group[i] = simd.add(a, b);
                group[i + stride] = simd.sub(a, b);
            }
        }
        stride *= 2;
    }
}
