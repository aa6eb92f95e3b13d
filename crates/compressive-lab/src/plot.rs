//! Small figures as PNG: curves and heat maps with axes, labels and a legend.
//!
//! Drawn here pixel by pixel, with the letters of `noto-sans-mono-bitmap`: no font, display or browser is
//! needed, and a figure has the same bytes everywhere.

mod canvas;
mod heat;
mod lines;
mod scatter;

pub(crate) use heat::{Heat, HeatMaps};
pub(crate) use lines::{Lines, Series};
pub(crate) use scatter::{Cloud, Clouds};

/// Round steps of 1, 2 or 5 times a power of ten that cover a range with at most about `n` steps.
fn ticks(low: f64, high: f64, n: usize) -> Vec<f64> {
    let span = (high - low).max(f64::MIN_POSITIVE);
    let raw = span / n.max(1) as f64;
    let power = 10.0_f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A number as short as its step allows.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside_the_range() {
        assert_eq!(ticks(1.0, 10.0, 5), [2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(-9.5, -6.2, 4), [-9.0, -8.0, -7.0]);
        let texts: Vec<String> = ticks(0.0, 1.0, 5).into_iter().map(short).collect();
        assert_eq!(texts, ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }
}
