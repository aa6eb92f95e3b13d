//! Every backend gives the same bits, and the functions agree with each other exactly.

mod common;

use common::{Uniform, WAVES, projections};
use compressive_kernels::{
    Backend, Projection, Scratch, Table, Wave, accumulate, accumulate_weighted, phases, quantize,
};

/// Digests of the sums of a fixed workload, dense then structured, in the order of `WAVES`.
const PINNED: [[u64; 5]; 2] = [
    [
        0x8092_326e_2494_90b4,
        0x4cc4_f7cc_907e_eab8,
        0x4988_81f3_28e9_888f,
        0x2e77_f9b7_a91d_335b,
        0x8c43_db33_10c2_b57e,
    ],
    [
        0xb48f_8f85_462f_be96,
        0xc23e_b284_c9b1_5580,
        0xd4f5_4178_e3b2_c25b,
        0xdbe7_06ac_c3da_d63f,
        0x771c_2f8d_5610_dcdf,
    ],
];

fn sums(backend: Backend, p: &Projection, wave: Wave, rows: &[f32]) -> Vec<i64> {
    let mut out = vec![0; wave.blocks() * p.size()];
    accumulate(backend, p, wave, rows, &mut out, &mut Scratch::default());
    out
}

fn weighted(backend: Backend, p: &Projection, wave: Wave, rows: &[f32], weights: &[i64]) -> Vec<i64> {
    let mut out = vec![0; wave.blocks() * p.size()];
    accumulate_weighted(backend, p, wave, rows, weights, &mut out, &mut Scratch::default());
    out
}

fn features(backend: Backend, p: &Projection, wave: Wave, rows: &[f32]) -> Vec<i32> {
    let mut out = vec![0; wave.blocks() * p.size() * (rows.len() / p.dim())];
    quantize(backend, p, wave, rows, &mut out, &mut Scratch::default());
    out
}

fn phase_bits(backend: Backend, p: &Projection, rows: &[f32]) -> Vec<u32> {
    let mut out = vec![0.0; p.size() * (rows.len() / p.dim())];
    phases(backend, p, rows, &mut out, &mut Scratch::default());
    out.iter().map(|x| x.to_bits()).collect()
}

/// A table of `len` values.
fn table(len: usize) -> Table {
    Table::new(&Uniform(len as u64).many(len, 1.0).iter().map(|v| f64::from(*v)).collect::<Vec<f64>>())
}

/// Weights of all kinds: none, fractions, one, large.
fn some_weights(n: usize) -> Vec<i64> {
    let kinds = [0, 1, (1 << 23) - 1, 1 << 23, 1 << 24, 3 << 24, (5 << 24) + 12_345_678, 1 << 45];
    (0..n).map(|i| kinds[i * 7 % kinds.len()]).collect()
}

/// Checks one shape: column sums of the features, weighted sums by the definition, and all backends.
fn check(dim: usize, size: usize, n: usize) {
    let far = Uniform(n as u64 + 1).many(n * dim, 3.0);
    let near: Vec<f32> = far.iter().map(|x| 0.3 / dim as f32 * x).collect();
    let weights = some_weights(n);
    for p in projections(dim, size, (dim * size) as u64) {
        let reference = phase_bits(Backend::Scalar, &p, &far);
        for backend in Backend::available() {
            assert_eq!(phase_bits(backend, &p, &far), reference, "phases {backend:?} {dim} {size} {n}");
        }
        let (own, paired) = (table(dim + 2), table(dim.next_power_of_two().max(4)));
        for wave in WAVES.into_iter().chain([Wave::Periodic(&own), Wave::Periodic(&paired)]) {
            let rows = rows_for(wave, &far, &near);
            let q = features(Backend::Scalar, &p, wave, rows);
            let len = wave.blocks() * size;
            let mut plain = vec![0i64; len];
            let mut heavy = vec![0i64; len];
            for (row, &w) in q.chunks_exact(len).zip(&weights) {
                for (j, &value) in row.iter().enumerate() {
                    plain[j] += i64::from(value);
                    heavy[j] += ((i128::from(w) * i128::from(value) + (1 << 23)) >> 24) as i64;
                }
            }
            for backend in Backend::available() {
                let what = format!("{wave:?} {backend:?} d={dim} m={size} n={n}");
                assert!(features(backend, &p, wave, rows) == q, "features {what}");
                assert!(sums(backend, &p, wave, rows) == plain, "sums {what}");
                assert!(weighted(backend, &p, wave, rows, &weights) == heavy, "weighted {what}");
            }
        }
    }
}

#[test]
fn backends_agree_over_dimensions_and_sizes() {
    for dim in [1, 2, 3, 10, 16, 17, 100, 784] {
        for size in [1, 15, 16, 17, 100] {
            check(dim, size, 23);
        }
    }
}

#[test]
fn backends_agree_over_numbers_of_rows() {
    for n in [0, 1, 2, 3, 4, 5, 123, 124, 125, 126, 127, 128, 129, 130, 252, 253] {
        check(3, 17, n);
        check(10, 33, n);
    }
}

#[test]
fn backends_agree_on_large_shapes() {
    check(10, 1000, 130);
    check(2, 20, 1000);
    check(784, 40, 130);
    check(1100, 33, 30);
    check(40, 1000, 40);
}

/// FNV-1a over the bytes of the sums.
fn digest(sums: &[i64]) -> u64 {
    let bytes = sums.iter().flat_map(|s| s.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Rows near the origin for the quadratic wave, which is constant far from it.
fn rows_for<'a>(wave: Wave, far: &'a [f32], near: &'a [f32]) -> &'a [f32] {
    if wave == Wave::Quadratic { near } else { far }
}

#[test]
fn tables_are_linear_between_their_values() {
    // Phases of all sizes and signs: tiny ones, whose sum with 3/4 is rounded, near jumps of the index, and
    // far ones.
    let scales = [1e-30f32, 1e-9, 1e-4, 1.0, 1e3, 1e7];
    let rows: Vec<f32> = scales.iter().flat_map(|s| Uniform(4).many(400, *s)).collect();
    let p = Projection::dense(1, &[1.0, 0.5], &[0.0, 0.0]);
    for len in [2, 3, 7, 100, 256, 65_536] {
        let values = Uniform(len as u64).many(len, 1.0);
        let values: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
        let at = |y: f64| {
            let x = (y - y.floor()) * len as f64;
            let i = (x as usize).min(len - 1);
            let (a, b) = (values[i], values[(i + 1) % len]);
            ((a + (x - i as f64) * (b - a)) * 16_777_216.0).round_ties_even() as i32
        };
        let mut turns = vec![0.0; 2 * rows.len()];
        phases(Backend::Scalar, &p, &rows, &mut turns, &mut Scratch::default());
        let own = Table::new(&values);
        for backend in Backend::available() {
            let q = features(backend, &p, Wave::Periodic(&own), &rows);
            for (q, t) in q.chunks_exact(4).zip(turns.chunks_exact(2)) {
                let r = [t[0], t[1]].map(|t| f64::from(t - t.floor()));
                assert_eq!(
                    q,
                    [at(r[0]), at(r[1]), at(r[0] + 0.75), at(r[1] + 0.75)],
                    "{backend:?} {len} {t:?}"
                );
            }
        }
    }
}

#[test]
fn the_bits_are_the_same_on_every_platform() {
    let rows = Uniform(21).many(150 * 37, 3.0);
    let near: Vec<f32> = rows.iter().map(|x| 0.03 * x).collect();
    let digests: Vec<[u64; 5]> = projections(37, 70, 6)
        .iter()
        .map(|p| WAVES.map(|wave| digest(&sums(Backend::best(), p, wave, rows_for(wave, &rows, &near)))))
        .collect();
    assert_eq!(digests, PINNED, "dense and structured sums of each wave");
}

#[test]
fn chunks_of_rows_give_the_same_sums() {
    let rows = Uniform(5).many(300 * 10, 3.0);
    for p in projections(10, 50, 9) {
        for wave in WAVES {
            let whole = sums(Backend::best(), &p, wave, &rows);
            for chunk in [1, 7, 126, 200] {
                let mut parts = vec![0; whole.len()];
                let mut scratch = Scratch::default();
                for piece in rows.chunks(chunk * 10) {
                    accumulate(Backend::best(), &p, wave, piece, &mut parts, &mut scratch);
                }
                assert_eq!(parts, whole, "{wave:?} in chunks of {chunk}");
            }
        }
    }
}

#[test]
fn a_whole_weight_equals_that_many_copies() {
    let row = Uniform(8).many(10, 3.0);
    for p in projections(10, 50, 3) {
        for wave in WAVES {
            for copies in [0usize, 1, 2, 5, 300] {
                let many = sums(Backend::best(), &p, wave, &row.repeat(copies));
                let one = weighted(Backend::best(), &p, wave, &row, &[(copies as i64) << 24]);
                assert_eq!(many, one, "{wave:?} {copies} copies");
            }
        }
    }
}

#[test]
fn the_largest_weight_does_not_overflow() {
    let row = [0.0f32; 4];
    let p = Projection::dense(4, &[0.25; 8], &[0.0, 0.5]);
    let got = weighted(Backend::best(), &p, Wave::Cosine, &row, &[1 << 52]);
    assert_eq!(got, vec![1 << 52, -(1 << 52)]);
}

#[test]
fn an_unavailable_backend_runs_as_scalar() {
    let rows = Uniform(2).many(30, 2.0);
    for p in projections(10, 20, 4) {
        for backend in [Backend::Avx2, Backend::Avx512, Backend::Neon] {
            let got = sums(backend, &p, Wave::Fourier, &rows);
            assert_eq!(got, sums(Backend::Scalar, &p, Wave::Fourier, &rows), "{backend:?}");
        }
    }
}

#[test]
fn the_scalar_backend_is_listed_first_and_the_best_one_is_available() {
    let available = Backend::available();
    assert_eq!(available[0], Backend::Scalar);
    assert!(available.contains(&Backend::best()));
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    assert_eq!(available.len() > 1, Backend::best() != Backend::Scalar, "the self-check rejected a backend");
}

#[test]
#[should_panic(expected = "rows must have 3 columns each")]
fn a_partial_row_is_refused() {
    let p = Projection::dense(3, &[0.0; 3], &[0.0]);
    accumulate(Backend::Scalar, &p, Wave::Cosine, &[0.0; 4], &mut [0], &mut Scratch::default());
}

#[test]
#[should_panic(expected = "weights must lie in 0..=2^52")]
fn a_negative_weight_is_refused() {
    let p = Projection::dense(1, &[0.0], &[0.0]);
    weighted(Backend::Scalar, &p, Wave::Cosine, &[0.0], &[-1]);
}
