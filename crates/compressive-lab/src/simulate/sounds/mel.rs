//! Mel-frequency cepstral coefficients: the discrete cosine transform of the log-energies of bands that are
//! evenly spaced in mel.

use std::f64::consts::{PI, TAU};

/// Samples of a frame, and from one frame to the next.
const FRAME: usize = 512;
const HOP: usize = 256;
/// Mel bands, and coefficients kept of a frame.
const BANDS: usize = 24;
pub(super) const DIM: usize = 10;

/// Triangular filters on the bins of a Fourier transform, and the window of a frame.
pub(super) struct Mel {
    filters: Vec<Vec<f64>>,
    window: Vec<f64>,
}

impl Mel {
    /// The filters for so many samples a second.
    pub fn new(rate: f64) -> Mel {
        let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
        let at = |band: usize| mel(rate / 2.0) * band as f64 / (BANDS + 1) as f64;
        let filter = |band: usize| {
            (0..=FRAME / 2)
                .map(|bin| {
                    let place = mel(bin as f64 * rate / FRAME as f64);
                    let rise = (place - at(band)) / (at(band + 1) - at(band));
                    let fall = (at(band + 2) - place) / (at(band + 2) - at(band + 1));
                    rise.min(fall).max(0.0)
                })
                .collect()
        };
        let hann = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / FRAME as f64).cos();
        Mel { filters: (0..BANDS).map(filter).collect(), window: (0..FRAME).map(hann).collect() }
    }

    /// Rows of [`DIM`] coefficients, one a frame.
    pub fn coefficients(&self, samples: &[f64]) -> Vec<f64> {
        let mut rows = Vec::new();
        for frame in samples.windows(FRAME).step_by(HOP) {
            let mut re: Vec<f64> = frame.iter().zip(&self.window).map(|(x, w)| x * w).collect();
            let mut im = vec![0.0; FRAME];
            fourier(&mut re, &mut im);
            let energy = |filter: &Vec<f64>| {
                filter.iter().zip(&re).zip(&im).map(|((f, a), b)| f * (a * a + b * b)).sum::<f64>()
            };
            let logs: Vec<f64> = self.filters.iter().map(|f| (energy(f) + 1e-6).ln()).collect();
            let cosine = |c: usize, b: usize| (PI * c as f64 * (b as f64 + 0.5) / BANDS as f64).cos();
            rows.extend(
                (0..DIM).map(|c| logs.iter().enumerate().map(|(b, e)| e * cosine(c, b)).sum::<f64>()),
            );
        }
        rows
    }
}

/// The fast Fourier transform of a power of two, in place: even and odd samples first, then their sum and
/// difference.
fn fourier(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    if n == 1 {
        return;
    }
    let half = |values: &[f64], odd: usize| values.iter().skip(odd).step_by(2).copied().collect::<Vec<f64>>();
    let (mut even, mut odd) = ((half(re, 0), half(im, 0)), (half(re, 1), half(im, 1)));
    fourier(&mut even.0, &mut even.1);
    fourier(&mut odd.0, &mut odd.1);
    for i in 0..n / 2 {
        let (sin, cos) = (-TAU * i as f64 / n as f64).sin_cos();
        let (a, b) = (odd.0[i] * cos - odd.1[i] * sin, odd.0[i] * sin + odd.1[i] * cos);
        (re[i], im[i]) = (even.0[i] + a, even.1[i] + b);
        (re[i + n / 2], im[i + n / 2]) = (even.0[i] - a, even.1[i] - b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compressive_data::Rng;

    #[test]
    fn the_fourier_transform_is_the_sum_it_stands_for() {
        let mut rng = Rng::new(3);
        let (x, y): (Vec<f64>, Vec<f64>) = (0..16).map(|_| (rng.normal(), rng.normal())).unzip();
        let (mut re, mut im) = (x.clone(), y.clone());
        fourier(&mut re, &mut im);
        for k in 0..16 {
            let term = |i: usize| {
                let (sin, cos) = (-TAU * (i * k) as f64 / 16.0).sin_cos();
                (x[i] * cos - y[i] * sin, x[i] * sin + y[i] * cos)
            };
            let (a, b) = (0..16).map(term).fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1));
            assert!((re[k] - a).abs() < 1e-12 && (im[k] - b).abs() < 1e-12);
        }
    }

    #[test]
    fn a_second_of_sound_has_a_row_for_every_hop() {
        let rows = Mel::new(16_000.0).coefficients(&vec![0.1; 16_000]);
        assert_eq!(rows.len(), ((16_000 - FRAME) / HOP + 1) * DIM);
    }
}
