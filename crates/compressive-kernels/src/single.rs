//! Products and waves in single precision, for training networks.
//!
//! What is learned must not depend on the machine, so these give the same bits everywhere: multiplications
//! and additions are rounded one by one, in an order that depends on the shapes alone. It is plain code over
//! short arrays that the compiler turns into the vectors it may use: once for any processor, once with AVX2
//! (but without fused operations) where present.

/// Frequencies a block: its waves stay in the first cache.
const BLOCK: usize = 128;
/// Sums of a dot product, side by side.
const LANES: usize = 8;

/// Defines a public function whose body is compiled twice, for any processor and for AVX2, and runs as the
/// second where it can.
macro_rules! twice {
    ($(#[$doc:meta])* $name:ident, $body:ident, $avx2:ident, ($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            if crate::backend::Backend::Avx2.is_available() {
                // SAFETY: the processor has AVX2.
                return unsafe { $avx2($($arg),*) };
            }
            $body($($arg),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        unsafe fn $avx2($($arg: $type),*) {
            $body($($arg),*);
        }
    };
}

twice!(
    /// out += a b, with a (r x n), b (n x c) and out (r x c) for the shape (r, n, c). Entry (i, l) of a is at
    /// `i * strides.0 + l * strides.1`; b and out are row-major. The terms of an entry are added in the order
    /// of l. Cost: r n c multiply-adds.
    ///
    /// # Panics
    /// If a slice is too short for its shape.
    single_product,
    product_of,
    product_avx2,
    (shape: (usize, usize, usize), a: &[f32], strides: (usize, usize), b: &[f32], out: &mut [f32])
);

twice!(
    /// Adds the waves of rows to `sums`: m sums of $\cos 2\pi t_j$, then m of $\sin 2\pi t_j$, for the phases
    /// $t_j = \xi_j + \sum_c u_c \omega_{cj}$ in turns. `turns` has d rows of m frequencies, `dither` the m
    /// starts, `rows` n rows of d. The waves are within 1e-6, for |t| < 2^20. Cost: n m (d + 20).
    ///
    /// # Panics
    /// If a slice is too short.
    wave_sums,
    sums_of,
    sums_avx2,
    (turns: &[f32], dither: &[f32], rows: &[f32], sums: &mut [f32])
);

twice!(
    /// Gradient of $\sum_j a_j \cos 2\pi t_j + b_j \sin 2\pi t_j$ in each row, divided by $2\pi$, with the
    /// phases of [`wave_sums`]: $\sum_j \omega_j (b_j \cos 2\pi t_j - a_j \sin 2\pi t_j)$ is written to
    /// `gradient` (n x d). `coefficients` holds the m entries of a, then those of b. Cost: 2 n m (d + 10).
    ///
    /// # Panics
    /// If a slice is too short.
    wave_gradient,
    gradient_of,
    gradient_avx2,
    (turns: &[f32], dither: &[f32], coefficients: &[f32], rows: &[f32], gradient: &mut [f32])
);

/// Rows of a register tile.
const TILE: usize = 4;

#[inline(always)]
fn product_of(shape: (usize, usize, usize), a: &[f32], strides: (usize, usize), b: &[f32], out: &mut [f32]) {
    let (rows, inner, columns) = shape;
    if rows == 0 || inner == 0 || columns == 0 {
        return;
    }
    assert!(out.len() >= rows * columns && b.len() >= inner * columns, "slices of the shape");
    let mut packed = vec![[0.0; TILE]; inner];
    for (stripe, out) in out[..rows * columns].chunks_mut(TILE * columns).enumerate() {
        let height = out.len() / columns;
        for (l, column) in packed.iter_mut().enumerate() {
            for (r, x) in column.iter_mut().enumerate() {
                // Rows beyond the last repeat it: they are computed and not kept.
                *x = a[(stripe * TILE + r.min(height - 1)) * strides.0 + l * strides.1];
            }
        }
        let mut j = 0;
        while j < columns {
            let width = columns - j;
            if width >= 2 * LANES {
                tile::<2>(&packed, &b[j..], columns, height, &mut out[j..]);
                j += 2 * LANES;
            } else if width >= LANES {
                tile::<1>(&packed, &b[j..], columns, height, &mut out[j..]);
                j += LANES;
            } else {
                narrow(&packed, &b[j..], columns, height, &mut out[j..]);
                j += 1;
            }
        }
    }
}

/// `TILE` rows of V vectors of the product, whose sums stay in registers.
#[inline(always)]
fn tile<const V: usize>(packed: &[[f32; TILE]], b: &[f32], columns: usize, height: usize, out: &mut [f32]) {
    let mut sums = [[[0.0f32; LANES]; V]; TILE];
    for (r, sums) in sums.iter_mut().enumerate().take(height) {
        sums.as_flattened_mut().copy_from_slice(&out[r * columns..][..V * LANES]);
    }
    for (x, row) in packed.iter().zip(b.chunks(columns)) {
        let (vectors, _) = row.as_chunks::<LANES>();
        let vectors: [[f32; LANES]; V] = std::array::from_fn(|v| vectors[v]);
        for r in 0..TILE {
            for v in 0..V {
                for i in 0..LANES {
                    sums[r][v][i] += x[r] * vectors[v][i];
                }
            }
        }
    }
    for (r, sums) in sums.iter().enumerate().take(height) {
        out[r * columns..][..V * LANES].copy_from_slice(sums.as_flattened());
    }
}

/// One column of `TILE` rows of the product.
#[inline(always)]
fn narrow(packed: &[[f32; TILE]], b: &[f32], columns: usize, height: usize, out: &mut [f32]) {
    let mut sums = [0.0f32; TILE];
    for (r, sum) in sums.iter_mut().enumerate().take(height) {
        *sum = out[r * columns];
    }
    for (x, y) in packed.iter().zip(b.iter().step_by(columns)) {
        for r in 0..TILE {
            sums[r] += x[r] * y;
        }
    }
    for (r, sum) in sums.iter().enumerate().take(height) {
        out[r * columns] = *sum;
    }
}

/// Cosines and sines of a block; the cosines' place holds the phases first.
struct Waves {
    cos: [f32; BLOCK],
    sin: [f32; BLOCK],
}

#[inline(always)]
fn sums_of(turns: &[f32], dither: &[f32], rows: &[f32], sums: &mut [f32]) {
    let m = dither.len();
    let (cos_sums, sin_sums) = sums[..2 * m].split_at_mut(m);
    let mut waves = Waves { cos: [0.0; BLOCK], sin: [0.0; BLOCK] };
    for start in (0..m).step_by(BLOCK) {
        let len = BLOCK.min(m - start);
        let (cos_sums, sin_sums) = (&mut cos_sums[start..start + len], &mut sin_sums[start..start + len]);
        for u in rows.chunks_exact(turns.len() / m) {
            waves_of(turns, dither, u, (start, len), &mut waves);
            for i in 0..len {
                cos_sums[i] += waves.cos[i];
                sin_sums[i] += waves.sin[i];
            }
        }
    }
}

#[inline(always)]
fn gradient_of(turns: &[f32], dither: &[f32], coefficients: &[f32], rows: &[f32], gradient: &mut [f32]) {
    let m = dither.len();
    let dim = turns.len() / m;
    let (a, b) = coefficients[..2 * m].split_at(m);
    let mut waves = Waves { cos: [0.0; BLOCK], sin: [0.0; BLOCK] };
    gradient[..rows.len()].fill(0.0);
    for start in (0..m).step_by(BLOCK) {
        let len = BLOCK.min(m - start);
        let (a, b) = (&a[start..start + len], &b[start..start + len]);
        for (u, g) in rows.chunks_exact(dim).zip(gradient.chunks_exact_mut(dim)) {
            waves_of(turns, dither, u, (start, len), &mut waves);
            for i in 0..len {
                waves.cos[i] = b[i] * waves.cos[i] - a[i] * waves.sin[i];
            }
            for (c, g) in g.iter_mut().enumerate() {
                *g += dot(&waves.cos[..len], &turns[c * m + start..][..len]);
            }
        }
    }
}

/// Cosines and sines of a row's phases at the frequencies `start..start + len`.
#[inline(always)]
fn waves_of(turns: &[f32], dither: &[f32], u: &[f32], (start, len): (usize, usize), out: &mut Waves) {
    let (phases, sines) = (&mut out.cos[..len], &mut out.sin[..len]);
    phases.copy_from_slice(&dither[start..start + len]);
    for (c, x) in u.iter().enumerate() {
        let turns = &turns[c * dither.len() + start..][..len];
        for i in 0..len {
            phases[i] += x * turns[i];
        }
    }
    for i in 0..len {
        // Adding and taking away 1.5 * 2^23 rounds to the nearest whole turn.
        let r = phases[i] - ((phases[i] + 12_582_912.0) - 12_582_912.0);
        let size = r.abs();
        let folded = if size < 0.5 - size { size } else { 0.5 - size };
        sines[i] = sine(folded).copysign(r);
        phases[i] = sine(0.25 - size);
    }
}

/// $\sin(2\pi u)$ for $|u| \le 1/4$: its Taylor polynomial of degree 11, within 1e-7.
#[inline(always)]
fn sine(u: f32) -> f32 {
    let x = std::f32::consts::TAU * u;
    let y = x * x;
    let tail = 1.0 / 362_880.0 - y * (1.0 / 39_916_800.0);
    x * (1.0 - y * (1.0 / 6.0 - y * (1.0 / 120.0 - y * (1.0 / 5040.0 - y * tail))))
}

/// Eight sums side by side, which the compiler turns into vector operations without changing their order.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    rest + lanes.iter().sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    #[test]
    fn a_product_is_the_plain_sum_of_its_terms_in_order_to_the_last_bit() {
        for shape @ (r, n, c) in [(1, 1, 1), (4, 3, 16), (7, 33, 27), (9, 5, 2)] {
            let (a, b, start) = (numbers(r * n, 1), numbers(n * c, 2), numbers(r * c, 3));
            for strides in [(n, 1), (1, r)] {
                let mut out = start.clone();
                single_product(shape, &a, strides, &b, &mut out);
                for i in 0..r {
                    for j in 0..c {
                        let terms = (0..n).map(|l| a[i * strides.0 + l * strides.1] * b[l * c + j]);
                        assert_eq!(
                            out[i * c + j],
                            terms.fold(start[i * c + j], |sum, t| sum + t),
                            "{shape:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn both_compilations_give_the_same_bits() {
        let (m, d, n) = (300, 3, 21);
        let (turns, dither, rows) = (numbers(m * d, 4), numbers(m, 5), numbers(n * d, 6));
        let coefficients = numbers(2 * m, 7);
        let (mut here, mut plain) = (vec![0.5; 2 * m], vec![0.5; 2 * m]);
        wave_sums(&turns, &dither, &rows, &mut here);
        sums_of(&turns, &dither, &rows, &mut plain);
        assert_eq!(here, plain);
        let (mut here, mut plain) = (vec![0.0; n * d], vec![0.0; n * d]);
        wave_gradient(&turns, &dither, &coefficients, &rows, &mut here);
        gradient_of(&turns, &dither, &coefficients, &rows, &mut plain);
        assert_eq!(here, plain);
        let (mut here, mut plain) = (vec![0.0; n * n], vec![0.0; n * n]);
        single_product((n, d, n), &rows, (d, 1), &turns, &mut here);
        product_of((n, d, n), &rows, (d, 1), &turns, &mut plain);
        assert_eq!(here, plain);
    }

    #[test]
    fn waves_are_sines_and_cosines_and_their_gradient_is_the_slope() {
        let (m, d) = (37, 2);
        let (turns, dither, coefficients) = (numbers(m * d, 8), numbers(m, 9), numbers(2 * m, 10));
        let u: Vec<f32> = numbers(d, 11).iter().map(|x| 20.0 * x).collect();
        let mut sums = vec![0.0; 2 * m];
        wave_sums(&turns, &dither, &u, &mut sums);
        let mut gradient = vec![0.0; d];
        wave_gradient(&turns, &dither, &coefficients, &u, &mut gradient);
        let mut slope = vec![0.0; d];
        for j in 0..m {
            let phase = dither[j] + u[0] * turns[j] + u[1] * turns[m + j];
            let t = std::f64::consts::TAU * f64::from(phase);
            assert!(
                (f64::from(sums[j]) - t.cos()).abs() < 2e-5
                    && (f64::from(sums[m + j]) - t.sin()).abs() < 2e-5
            );
            let of_phase = f64::from(coefficients[m + j]) * t.cos() - f64::from(coefficients[j]) * t.sin();
            (0..d).for_each(|c| slope[c] += of_phase * f64::from(turns[c * m + j]));
        }
        for (found, expected) in gradient.iter().zip(&slope) {
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}
