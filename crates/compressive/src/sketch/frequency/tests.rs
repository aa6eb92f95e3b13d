use super::*;

/// Kolmogorov-Smirnov distance between draws and a distribution function.
fn ks(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    draws
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let c = cdf(x);
            (c - i as f64 / n).abs().max((c - (i + 1) as f64 / n).abs())
        })
        .fold(0.0, f64::max)
}

/// The distance that a true law passes with probability 1 - 1e-4: sqrt(ln(2 / 1e-4) / 2n).
fn ks_limit(n: usize) -> f64 {
    ((2.0f64 / 1e-4).ln() / (2.0 * n as f64)).sqrt()
}

/// A distribution function from a density on [0, 12] by the trapezoidal rule.
fn cdf_of(density: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
    let cells = 24_000;
    let width = 12.0 / cells as f64;
    let mut table = vec![0.0];
    for i in 0..cells {
        let a = i as f64 * width;
        table.push(table[i] + 0.5 * width * (density(a) + density(a + width)));
    }
    let total = table[cells];
    move |r: f64| {
        let position = (r / width).min(cells as f64 - 1e-9);
        let i = position as usize;
        (table[i] + (position - i as f64) * (table[i + 1] - table[i])) / total
    }
}

fn draw(law: &FrequencyLaw, scale: f64, dim: usize, n: usize) -> Vec<Vec<f64>> {
    let sampler = Sampler::new(law, scale, 42, dim);
    (0..n)
        .map(|j| {
            let mut w = vec![0.0; dim];
            sampler.frequency(j, &mut w);
            w
        })
        .collect()
}

const N: usize = 20_000;

#[test]
fn radii_follow_their_densities() {
    let dim = 5;
    let chi_density = move |r: f64| r.powi(dim as i32 - 1) * (-0.5 * r * r).exp();
    type Cdf = Box<dyn Fn(f64) -> f64>;
    let cases: [(FrequencyLaw, Cdf); 4] = [
        (FrequencyLaw::Gaussian, Box::new(cdf_of(chi_density))),
        (FrequencyLaw::FoldedGaussian, Box::new(cdf_of(|r| (-0.5 * r * r).exp()))),
        (
            FrequencyLaw::AdaptedRadius,
            Box::new(cdf_of(|r| (r * r + r.powi(4) / 4.0).sqrt() * (-0.5 * r * r).exp())),
        ),
        (
            FrequencyLaw::Weighted,
            Box::new(cdf_of(move |r| (1.0 + r * r / dim as f64).powi(2) * chi_density(r))),
        ),
    ];
    let scale = 2.5;
    for (law, cdf) in cases {
        let radii = draw(&law, scale, dim, N).iter().map(|w| norm(w) * scale).collect();
        let distance = ks(radii, &cdf);
        assert!(distance < ks_limit(N), "{}: {distance}", law.name());
        let sampler = Sampler::new(&law, scale, 43, dim);
        let structured = (0..N).map(|j| sampler.structured_radius(j) * scale).collect();
        let distance = ks(structured, &cdf);
        assert!(distance < ks_limit(N), "{} structured: {distance}", law.name());
    }
}

#[test]
fn directions_are_uniform_on_the_sphere() {
    // In three dimensions a coordinate of a uniform direction is uniform on [-1, 1].
    let law = FrequencyLaw::AdaptedRadius;
    for axis in 0..3 {
        let coordinates = draw(&law, 1.0, 3, N).iter().map(|w| w[axis] / norm(w)).collect();
        assert!(ks(coordinates, |x| 0.5 * (x + 1.0)) < ks_limit(N), "axis {axis}");
    }
}

#[test]
fn adapted_radius_has_the_known_moments() {
    // Mean 1.3514283, mean square 2.3039158; standard deviation 0.69, so the mean's standard error is 0.0022.
    let n = 100_000;
    let sampler = Sampler::new(&FrequencyLaw::AdaptedRadius, 1.0, 3, 1);
    let radii: Vec<f64> = (0..n).map(|j| sampler.structured_radius(j)).collect();
    let mean = radii.iter().sum::<f64>() / n as f64;
    let square = radii.iter().map(|r| r * r).sum::<f64>() / n as f64;
    assert!((mean - 1.351_428_3).abs() < 0.011, "{mean}");
    assert!((square - 2.303_915_8).abs() < 0.04, "{square}");
    // The table itself, without sampling error: the mean by averaging the inverse over a fine grid.
    let grid = 1_000_000;
    let exact = (0..grid).map(|i| adapted_radius((i as f64 + 0.5) / grid as f64)).sum::<f64>() / grid as f64;
    assert!((exact - 1.351_428_3).abs() < 2e-6, "{exact}");
}

#[test]
fn a_mixture_law_draws_each_component_with_its_weight_and_inverse_covariance() {
    let full = vec![vec![2.0, 0.6], vec![0.6, 0.5]];
    let law = FrequencyLaw::PilotMixture {
        radius: RadiusLaw::Gaussian,
        components: vec![
            Component { weight: 0.25, covariance: Covariance::Diagonal(vec![4.0, 1.0]) },
            Component { weight: 0.75, covariance: Covariance::Full(full) },
        ],
    };
    // E w w^T = 0.25 diag(1/4, 1) + 0.75 Sigma^-1, Sigma^-1 = [[0.5, -0.6], [-0.6, 2]] / 0.64.
    let expected = [0.25 * 0.25 + 0.75 * 0.5 / 0.64, 0.75 * -0.6 / 0.64, 0.25 + 0.75 * 2.0 / 0.64];
    let draws = draw(&law, 1.0, 2, 100_000);
    let mean = |f: &dyn Fn(&[f64]) -> f64| draws.iter().map(|w| f(w)).sum::<f64>() / draws.len() as f64;
    let found = [mean(&|w| w[0] * w[0]), mean(&|w| w[0] * w[1]), mean(&|w| w[1] * w[1])];
    // The largest of these has variance below 2 * 2.9^2, so five standard errors are 0.065.
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 0.065, "{found:?} {expected:?}");
    }
}

#[test]
fn the_weighted_law_has_feature_weights_of_mean_square_one_under_the_gaussian() {
    // E over the law of 1/w^2 C^2 equals 1: importance weights integrate the Gaussian.
    let (dim, scale) = (4, 0.5);
    let law = FrequencyLaw::Weighted;
    let draws = draw(&law, scale, dim, 50_000);
    let mean = draws.iter().map(|w| law.feature_weight(norm(w), scale, dim).powi(2)).sum::<f64>()
        / draws.len() as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn frequencies_are_pinned() {
    // These numbers belong to format 1: a change here breaks every stored sketch.
    let sampler = Sampler::new(&FrequencyLaw::AdaptedRadius, 1.0, 7, 2);
    let mut w = [0.0; 2];
    sampler.frequency(1000, &mut w);
    assert_eq!(w.map(f64::to_bits), PINNED_ADAPTED, "{w:?}");
    let sampler = Sampler::new(&FrequencyLaw::Gaussian, 3.0, 1 << 40, 2);
    sampler.frequency(0, &mut w);
    assert_eq!(w.map(f64::to_bits), PINNED_GAUSSIAN, "{w:?}");
}

const PINNED_ADAPTED: [u64; 2] = [13831102284406092587, 4608790903726341779];
const PINNED_GAUSSIAN: [u64; 2] = [13811898058294820250, 13813345852272759466];
