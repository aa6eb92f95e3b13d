//! Phases and features against their definitions in f64.

mod common;

use common::{Uniform, WAVES, projections};
use compressive_kernels::{Backend, GRID_BITS, Projection, Scratch, Wave, phases, quantize};
use std::f64::consts::TAU;

const ONE: f64 = (1u32 << GRID_BITS) as f64;

/// Features and phases of rows, in f64.
fn evaluate(p: &Projection, wave: Wave, rows: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let n = rows.len() / p.dim();
    let mut scratch = Scratch::default();
    let (mut q, mut t) = (vec![0; n * wave.blocks() * p.size()], vec![0.0; n * p.size()]);
    quantize(Backend::best(), p, wave, rows, &mut q, &mut scratch);
    phases(Backend::best(), p, rows, &mut t, &mut scratch);
    (q.iter().map(|&v| f64::from(v) / ONE).collect(), t.iter().map(|&v| f64::from(v)).collect())
}

/// Calls `test(wave, phase in turns, cosine-like value, sine-like value)` for many rows, both projections.
fn for_each_feature(wave: Wave, test: impl FnMut(f64, f64, f64)) {
    for_each_feature_of(wave, &Uniform(77).many(400 * 5, 4.0), test);
}

fn for_each_feature_of(wave: Wave, rows: &[f32], mut test: impl FnMut(f64, f64, f64)) {
    for p in projections(5, 50, 1) {
        let (q, t) = evaluate(&p, wave, rows);
        for (features, phases) in q.chunks_exact(wave.blocks() * 50).zip(t.chunks_exact(50)) {
            for (j, &phase) in phases.iter().enumerate() {
                test(phase, features[j], if wave.blocks() == 2 { features[50 + j] } else { 0.0 });
            }
        }
    }
}

#[test]
fn fourier_features_are_cosine_and_sine_of_the_phase() {
    for_each_feature(Wave::Fourier, |t, cos, sin| {
        assert!((cos - (TAU * t).cos()).abs() < 1.5e-7, "cos at {t}: {cos}");
        assert!((sin - (TAU * t).sin()).abs() < 1.5e-7, "sin at {t}: {sin}");
    });
}

#[test]
fn the_cosine_wave_is_the_first_block_of_fourier() {
    let rows = Uniform(3).many(200, 4.0);
    for p in projections(5, 20, 2) {
        let (both, one) = (evaluate(&p, Wave::Fourier, &rows).0, evaluate(&p, Wave::Cosine, &rows).0);
        for (b, o) in both.chunks_exact(40).zip(one.chunks_exact(20)) {
            assert_eq!(&b[..20], o);
        }
    }
}

#[test]
fn one_bit_features_are_signs_except_at_the_jumps() {
    let mut near = 0;
    for_each_feature(Wave::OneBit, |t, cos, sin| {
        let to_jump = (4.0 * t - (4.0 * t).round()).abs() / 4.0;
        if to_jump < 4e-6 {
            near += 1;
            assert!(cos.abs() == 1.0 && sin.abs() == 1.0);
        } else {
            assert_eq!((cos, sin), ((TAU * t).cos().signum(), (TAU * t).sin().signum()), "at {t}");
        }
    });
    assert!(near < 40, "{near} of 40000 phases near a jump");
}

#[test]
fn sawtooth_features_are_the_wrapped_phase_and_its_quarter_advance() {
    let wrap = |u: f64| u - u.round();
    for_each_feature(Wave::Sawtooth, |t, cos, sin| {
        assert!((sin - 2.0 * wrap(t)).abs() <= 0.5 / ONE || (sin.abs() - 1.0).abs() < 1e-6, "at {t}: {sin}");
        let ahead = 2.0 * wrap(t + 0.25);
        assert!((cos - ahead).abs() <= 0.5 / ONE || (cos.abs() - 1.0).abs() < 1e-6, "at {t}: {cos}");
    });
}

#[test]
fn quadratic_features_are_the_square_and_the_value_of_twice_the_phase_clamped() {
    let mut inside = 0;
    for_each_feature_of(Wave::Quadratic, &Uniform(78).many(400 * 5, 0.4), |t, square, value| {
        inside += u32::from(t.abs() < 0.5);
        let exact = (2.0 * t).clamp(-1.0, 1.0);
        assert!((value - exact).abs() <= 0.5 / ONE, "at {t}: {value}");
        // Half a step for the integer and, near 1, half a step for the f32 before it.
        assert!((square - exact * exact).abs() <= 1.0 / ONE, "at {t}: {square}");
    });
    assert!((10_000..39_000).contains(&inside), "{inside} of 40000 values inside");
}

#[test]
fn no_feature_leaves_the_unit_interval() {
    for wave in WAVES {
        for_each_feature(wave, |t, cos, sin| {
            assert!(cos.abs() <= 1.0 && sin.abs() <= 1.0, "{wave:?} at {t}")
        });
    }
}

#[test]
fn dense_phases_are_inner_products_plus_dither() {
    let (dim, size, n) = (300, 21, 9);
    let mut numbers = Uniform(4);
    let (w, xi, rows) = (numbers.many(dim * size, 0.1), numbers.many(size, 0.5), numbers.many(n * dim, 1.0));
    let (_, t) = evaluate(&Projection::dense(dim, &w, &xi), Wave::Cosine, &rows);
    for i in 0..n {
        for j in 0..size {
            let dot = |c| f64::from(rows[i * dim + c]) * f64::from(w[j * dim + c]);
            let exact = f64::from(xi[j]) + (0..dim).map(dot).sum::<f64>();
            assert!((t[i * size + j] - exact).abs() < 1e-5, "row {i} frequency {j}");
        }
    }
}

/// (H D x) by the definition H_{ij} = (-1)^{popcount(i & j)}.
fn hadamard(signs: &[f32], x: &[f64]) -> Vec<f64> {
    let entry = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let row = |i| (0..x.len()).map(|j| entry(i, j) * f64::from(signs[j]) * x[j]).sum();
    (0..x.len()).map(row).collect()
}

#[test]
fn structured_phases_are_three_signed_hadamard_transforms() {
    for (dim, size) in [(1, 5usize), (16, 16), (17, 70), (33, 64), (128, 100), (200, 300), (600, 1025)] {
        let p = Projection::padded_dim(dim);
        let padded = size.next_multiple_of(p);
        let mut numbers = Uniform(dim as u64);
        let (signs, gains) = (numbers.signs(3 * padded), numbers.many(size, 1.0 / p as f32));
        let (xi, row) = (numbers.many(size, 0.5), numbers.many(dim, 1.0));
        let projection = Projection::structured(dim, &signs, &gains, &xi);
        let (_, t) = evaluate(&projection, Wave::Cosine, &row);
        for block in 0..padded / p {
            let mut y: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
            y.resize(p, 0.0);
            for i in 0..3 {
                y = hadamard(&signs[(block * 3 + i) * p..][..p], &y);
            }
            for j in block * p..size.min((block + 1) * p) {
                let exact = f64::from(gains[j]) * y[j - block * p] + f64::from(xi[j]);
                assert!((t[j] - exact).abs() < 2e-5, "d={dim} frequency {j}: {} {exact}", t[j]);
            }
        }
    }
}

#[test]
fn the_padded_dimension_is_a_power_of_two_of_at_least_16() {
    let cases = [(1, 16), (16, 16), (17, 32), (784, 1024), (1024, 1024), (2000, 2048)];
    for (dim, padded) in cases {
        assert_eq!(Projection::padded_dim(dim), padded);
    }
}
