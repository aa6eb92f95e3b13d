//! Kernel values: every backend gives the same bits, and they are those of the definition.

#[allow(dead_code, reason = "only the numbers are needed here")]
mod common;

use common::Uniform;
use compressive_kernels::{
    Backend, GRID_BITS, Projection, Scratch, Wave, accumulate, accumulate_weighted, quantize,
};

/// Digest of the sums of a fixed workload.
const PINNED: u64 = 0xbcc9_6b62_57b5_b211;

/// A projection to the kernel values at `size` landmarks in [-1, 1]^dim, and those landmarks; rows have their
/// squared norm behind.
fn landmarks(dim: usize, size: usize, width: f32) -> (Projection, Vec<f32>) {
    let points = Uniform((dim * size) as u64).many(dim * size, 1.0);
    let unit = std::f32::consts::LOG2_E / (width * width);
    let (mut weights, mut start) = (Vec::new(), Vec::new());
    for y in points.chunks_exact(dim) {
        weights.extend(y.iter().map(|y| y * unit));
        weights.push(-0.5 * unit);
        start.push(-0.5 * unit * y.iter().map(|y| y * y).sum::<f32>());
    }
    (Projection::exponents(dim + 1, &weights, &start), points)
}

fn rows(dim: usize, n: usize) -> Vec<f32> {
    let plain = Uniform(n as u64 + 3).many(n * dim, 2.0);
    let extended = plain.chunks_exact(dim).flat_map(|u| {
        let square: f32 = u.iter().map(|x| x * x).sum();
        u.iter().copied().chain([square])
    });
    extended.collect()
}

#[test]
fn features_are_gaussian_kernel_values() {
    for (dim, width) in [(1, 0.3f32), (3, 1.0), (10, 2.0), (40, 5.0)] {
        let (p, points) = landmarks(dim, 21, width);
        let rows = rows(dim, 50);
        let mut q = vec![0; 50 * 21];
        quantize(Backend::best(), &p, Wave::Gaussian, &rows, &mut q, &mut Scratch::default());
        for (row, q) in rows.chunks_exact(dim + 1).zip(q.chunks_exact(21)) {
            for (y, &q) in points.chunks_exact(dim).zip(q) {
                let square: f64 = row.iter().zip(y).map(|(a, b)| f64::from(a - b).powi(2)).sum();
                let exact = (-square / (2.0 * f64::from(width * width))).exp();
                let found = f64::from(q) / f64::from(1u32 << GRID_BITS);
                assert!((found - exact).abs() < 3e-6, "d={dim}: {found} {exact}");
            }
        }
    }
}

#[test]
fn backends_agree_on_kernel_values_and_their_sums() {
    for (dim, size, n) in [(1, 5, 23), (3, 17, 127), (10, 100, 253), (33, 40, 130)] {
        let (p, _) = landmarks(dim, size, 1.5);
        let rows = rows(dim, n);
        let weights: Vec<i64> = (0..n as i64).map(|i| i * 12_345_678 % (1 << 27)).collect();
        let outcome = |backend: Backend| {
            let mut scratch = Scratch::default();
            let (mut sums, mut heavy, mut q) = (vec![0; size], vec![0; size], vec![0; n * size]);
            accumulate(backend, &p, Wave::Gaussian, &rows, &mut sums, &mut scratch);
            accumulate_weighted(backend, &p, Wave::Gaussian, &rows, &weights, &mut heavy, &mut scratch);
            quantize(backend, &p, Wave::Gaussian, &rows, &mut q, &mut scratch);
            (sums, heavy, q)
        };
        let reference = outcome(Backend::Scalar);
        let columns: Vec<i64> = (0..size)
            .map(|j| reference.2.iter().skip(j).step_by(size).map(|&v| i64::from(v)).sum())
            .collect();
        assert_eq!(reference.0, columns);
        for backend in Backend::available() {
            assert!(outcome(backend) == reference, "{backend:?} d={dim} m={size} n={n}");
        }
    }
}

#[test]
fn the_kernel_values_are_the_same_on_every_platform() {
    let (p, _) = landmarks(7, 70, 1.0);
    let mut sums = vec![0; 70];
    accumulate(Backend::best(), &p, Wave::Gaussian, &rows(7, 150), &mut sums, &mut Scratch::default());
    let bytes = sums.iter().flat_map(|s: &i64| s.to_le_bytes());
    let digest =
        bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(digest, PINNED, "{digest:#x}");
}
