//! Starts that do not look at the rows.

use super::{Bounds, PrivateStart};
use crate::random::Rng;

/// Draws for one centre after which a radius counts as too large.
const ATTEMPTS: usize = 100;
/// Halvings of the interval of radii: its length falls to 2^-20.
const BISECTIONS: usize = 20;

/// k centres in the box, row-major.
pub(super) fn centers(k: usize, bounds: &Bounds, start: PrivateStart, rng: &mut Rng) -> Vec<f64> {
    let dim = bounds.low.len();
    let unit = match start {
        PrivateStart::Uniform => (0..k * dim).map(|_| rng.between(-1.0, 1.0)).collect(),
        PrivateStart::Spread => spread(k, dim, rng).1,
    };
    let (middle, half_width) = (bounds.middle(), bounds.half_width());
    let place = |(index, value): (usize, f64)| {
        let j = index % dim;
        (middle[j] + half_width[j] * value).clamp(bounds.low[j], bounds.high[j])
    };
    unit.into_iter().enumerate().map(place).collect()
}

/// The largest radius found and its centres in $[-1, 1]^d$.
fn spread(k: usize, dim: usize, rng: &mut Rng) -> (f64, Vec<f64>) {
    let (mut low, mut high) = (0.0, 1.0);
    let mut best = None;
    for _ in 0..BISECTIONS {
        let radius = (low + high) / 2.0;
        match pack(k, dim, radius, rng) {
            Some(found) => {
                low = radius;
                best = Some(found);
            }
            None => high = radius,
        }
    }
    // More centres than fit at any radius tried: any place is as good as another.
    let centers = best.unwrap_or_else(|| (0..k * dim).map(|_| rng.between(-1.0, 1.0)).collect());
    (low, centers)
}

/// Centres at least `radius` from the boundary and twice that from each other, unless one of them finds no
/// place.
fn pack(k: usize, dim: usize, radius: f64, rng: &mut Rng) -> Option<Vec<f64>> {
    let mut centers: Vec<f64> = Vec::with_capacity(k * dim);
    for _ in 0..k {
        let found = (0..ATTEMPTS).find_map(|_| {
            let candidate: Vec<f64> = (0..dim).map(|_| rng.between(radius - 1.0, 1.0 - radius)).collect();
            let far = |center: &[f64]| squared_distance(center, &candidate) >= 4.0 * radius * radius;
            centers.chunks_exact(dim).all(far).then_some(candidate)
        });
        centers.extend(found?);
    }
    Some(centers)
}

fn squared_distance(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_centres_keep_their_radius_from_each_other_and_from_the_boundary() {
        for seed in 0..10 {
            let (radius, centers) = spread(10, 10, &mut Rng::new(seed));
            // Uniform points of the inner cube are 2.6 (1 - a) apart on average, so that a is near 1/2.
            assert!(radius > 0.4 && radius < 0.8, "{radius}");
            let centers: Vec<&[f64]> = centers.chunks_exact(10).collect();
            for (l, center) in centers.iter().enumerate() {
                assert!(center.iter().all(|value| value.abs() <= 1.0 - radius));
                for other in &centers[..l] {
                    assert!(squared_distance(center, other).sqrt() >= 2.0 * radius);
                }
            }
        }
    }

    #[test]
    fn a_crowded_box_still_gets_all_its_centres() {
        let bounds = Bounds { low: vec![1.0], high: vec![3.0] };
        let centers = centers(5000, &bounds, PrivateStart::Spread, &mut Rng::new(1));
        assert!(centers.len() == 5000 && centers.iter().all(|value| (1.0..=3.0).contains(value)));
    }
}
