//! The minimum of a function of one variable between two ends.

/// Golden-section search: shrinks \[low, high\] to 0.618 of its length `rounds` times and returns the middle.
/// One minimum inside is assumed.
pub(crate) fn golden_section(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64, rounds: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    for _ in 0..rounds {
        let (a, b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if f(a) < f(b) {
            high = b;
        } else {
            low = a;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_parabola_is_found() {
        let found = golden_section(|x| (x - 0.3) * (x - 0.3), -1.0, 2.0, 40);
        assert!((found - 0.3).abs() < 1e-7, "{found}");
    }
}
