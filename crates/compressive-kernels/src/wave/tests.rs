use super::*;
use crate::Backend;
use crate::dispatch::{Pair, kernels};
use std::f64::consts::PI;

const ONE: i32 = 1 << crate::GRID_BITS;

/// Fourier features of phases in half turns, on the fastest backend of this processor.
fn fourier(phases: &[[f32; PANEL]]) -> Vec<Pair> {
    let mut out = vec![[[0; PANEL]; 2]; phases.len()];
    let view = Phases { first: phases.as_ptr().cast(), stride: PANEL, rows: phases.len() };
    // SAFETY: every row holds PANEL values, and the backend is available.
    unsafe { kernels(Backend::best()).quantize(Wave::Fourier, view, &mut out) };
    out
}

/// The f32 numbers with bits `first + 0..16 * rows`.
fn neighbours(first: u32, rows: u32) -> Vec<[f32; PANEL]> {
    (0..rows).map(|r| std::array::from_fn(|i| f32::from_bits(first + 16 * r + i as u32))).collect()
}

#[test]
fn every_phase_stays_in_range_and_close() {
    // All f32 in [2^-12, 1/2). Below, cosine is 2^24 plus a negative number and sine is tiny.
    let (first, last) = ((1f32 / 4096.0).to_bits(), 0.5f32.to_bits());
    let (mut worst, mut mean, mut weight) = (0f64, [0f64; 2], 0f64);
    for start in (first..last).step_by(16 * 1024) {
        let phases = neighbours(start, 1024);
        let features = fourier(&phases);
        let top = features.iter().flatten().flatten().map(|q| q.abs()).max();
        assert!(top <= Some(ONE), "{top:?} at bits {start}");
        for (v, [cos, sin]) in phases.iter().zip(&features).step_by(16) {
            let width = f64::from(v[15] - v[0]);
            for i in 0..PANEL {
                let angle = PI * f64::from(v[i]);
                let error = [(cos[i], angle.cos()), (sin[i], angle.sin())]
                    .map(|(q, exact)| f64::from(q) / f64::from(ONE) - exact);
                worst = error.iter().fold(worst, |w, e| w.max(e.abs()));
                mean = [mean[0] + width * error[0], mean[1] + width * error[1]];
                weight += width;
            }
        }
    }
    assert!(worst < 1.5e-7, "largest error {worst:e}");
    let bias = mean.map(|s| (s / weight).abs());
    assert!(bias.iter().all(|&b| b < 4e-9), "mean errors {bias:?}");
}

#[test]
fn the_extremes_are_exact() {
    let row: [f32; PANEL] = std::array::from_fn(|i| 0.5 * (i as f32 - 8.0));
    let [cos, sin] = fourier(&[row])[0];
    for (i, &h) in row.iter().enumerate() {
        let quarter = (2.0 * h) as i32 & 3;
        let exact = [ONE, 0, -ONE, 0][quarter as usize];
        assert!((cos[i] - exact).abs() <= i32::from(exact == 0), "cos at {h}: {}", cos[i]);
        assert_eq!(sin[i], [0, ONE, 0, -ONE][quarter as usize], "sin at {h}");
    }
}

#[test]
fn huge_phases_give_bounded_features_on_every_backend() {
    let huge = [0.0, -0.0, 1e-40, 1e6, 8388607.5, 16777217.0, 2147483500.0, 2147483648.0, 4e9, 1e18, 3e38];
    let row: [f32; PANEL] = std::array::from_fn(|i| huge[i % huge.len()] * if i < 11 { 1.0 } else { -1.0 });
    let view = Phases { first: row.as_ptr(), stride: PANEL, rows: 1 };
    for wave in Wave::ALL {
        let mut results = Vec::new();
        for backend in Backend::available() {
            let mut out = [[[0; PANEL]; 2]];
            // SAFETY: the row holds PANEL values, and the backend is available.
            unsafe { kernels(backend).quantize(wave, view, &mut out) };
            assert!(out.iter().flatten().flatten().all(|q| q.abs() <= ONE), "{wave:?} {backend:?} {out:?}");
            results.push(out);
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{wave:?}: {results:?}");
    }
}

#[test]
fn no_phase_reaches_further() {
    // Every f32 from 2^-13 to 1 half turn, both signs: one period, and a little more, as the quadratic wave
    // is largest at 1 itself. Nearer to zero the sine entries of the waves are below 2^14 and the others at
    // most 2^24 (sawtooth: 2^23 + 2^13), and a longer phase wraps to one of these exactly, or is clamped.
    let (first, last) = ((1f32 / 8192.0).to_bits(), 1f32.to_bits() + 1);
    let mut phases = vec![[0f32; PANEL]; 2048];
    let mut features = vec![[[0; PANEL]; 2]; 2048];
    let mut found = [(0u64, 0u64); Wave::ALL.len()];
    for start in (first..last).step_by(16 * 1024) {
        for (r, row) in phases.chunks_exact_mut(2).enumerate() {
            row[0] = std::array::from_fn(|i| f32::from_bits(start + (16 * r + i) as u32));
            row[1] = row[0].map(|h| -h);
        }
        let view = Phases { first: phases.as_ptr().cast(), stride: PANEL, rows: phases.len() };
        for (place, wave) in Wave::ALL.into_iter().enumerate() {
            // SAFETY: the view covers `phases`, and the best backend is available.
            unsafe { kernels(Backend::best()).quantize(wave, view, &mut features) };
            let (l1, l2) = &mut found[place];
            for [a, b] in &features {
                for (a, b) in a.iter().zip(b) {
                    let (a, b) = (u64::from(a.unsigned_abs()), u64::from(b.unsigned_abs()));
                    *l1 = (*l1).max(a + b);
                    *l2 = (*l2).max(a * a + b * b);
                }
            }
        }
    }
    for (place, wave) in Wave::ALL.into_iter().enumerate() {
        assert_eq!(found[place], wave.reach(), "{wave:?}");
    }
}
