use super::*;
use crate::error::Error;
use crate::generate;
use crate::kmeans::KMeansParams;
use crate::mixture::{Mixture, Shape};
use crate::random::Rng;
use crate::rows::Rows;

fn gaussian(means: &[f64], variances: &[f64]) -> Mixture {
    Mixture {
        dim: means.len(),
        weights: vec![1.0],
        means: means.to_vec(),
        covariances: variances.to_vec(),
        shape: Shape::Diagonal,
    }
}

/// $\tfrac12 \sum_l [v/v' + v'/v - 2 + \delta^2 (1/v + 1/v')]$.
fn exact_symmetric_kl(p: &Mixture, q: &Mixture) -> f64 {
    (0..p.dim)
        .map(|l| {
            let (v, w, delta) = (p.covariances[l], q.covariances[l], p.means[l] - q.means[l]);
            0.5 * (v / w + w / v - 2.0 + delta * delta * (1.0 / v + 1.0 / w))
        })
        .sum()
}

#[test]
fn symmetric_kl_meets_the_closed_form_for_two_gaussians() {
    let p = gaussian(&[0.0, 1.0, -1.0], &[1.0, 0.5, 2.0]);
    let near = gaussian(&[0.01, 0.99, -1.02], &[1.01, 0.51, 1.97]);
    let apart = gaussian(&[0.3, 0.8, -0.6], &[1.3, 0.7, 1.6]);
    for q in [near, apart] {
        let exact = exact_symmetric_kl(&p, &q);
        for estimate in [symmetric_kl(&p, &q, 200_000, 1), symmetric_kl_balanced(&p, &q, 200_000, 1)] {
            let estimate = estimate.expect("valid");
            // Five standard errors, themselves below 1.5% of the value.
            assert!((estimate.value - exact).abs() < 5.0 * estimate.standard_error, "{estimate:?} {exact}");
            assert!(estimate.standard_error < 0.015 * exact, "{estimate:?} {exact}");
        }
    }
}

#[test]
fn draws_from_both_sides_see_the_mass_that_draws_from_one_side_miss() {
    let p = gaussian(&[0.0], &[1.0]);
    let q = gaussian(&[12.0], &[1.0]);
    let exact = exact_symmetric_kl(&p, &q);
    assert_eq!(exact, 144.0);
    let balanced = symmetric_kl_balanced(&p, &q, 20_000, 3).expect("valid");
    assert!((balanced.value - exact).abs() < 5.0 * balanced.standard_error && balanced.standard_error < 0.5);
    assert!(symmetric_kl(&p, &q, 20_000, 3).expect("valid").value < 0.6 * exact);
}

#[test]
fn equal_mixtures_are_at_distance_zero_in_every_measure() {
    let p = generate::unequal(4, 3, 2.0, &mut Rng::new(1)).expect("valid");
    assert!(symmetric_kl(&p, &p.to_full(), 10_000, 1).expect("valid").value < 1e-20);
    assert!(symmetric_kl_balanced(&p, &p, 10_000, 1).expect("valid").value < 1e-20);
    assert!(mmd(&p, &p.to_full(), &[0.1, -0.5, 0.3, 1.0, 0.0, 2.0]).expect("valid") < 1e-14);
    assert!(mmd_gaussian(&p, &p.to_full(), 1.0).expect("valid") < 1e-7);
}

#[test]
fn log_likelihood_of_a_sample_approaches_the_negative_entropy() {
    let p = gaussian(&[3.0, -2.0], &[0.5, 4.0]);
    let sample = p.sample(100_000, &mut Rng::new(5)).expect("valid");
    let entropy = (2.0 * std::f64::consts::PI * std::f64::consts::E).ln() + 0.5 * 2.0_f64.ln();
    // ln p has the variance d/2 = 1: five standard errors are 0.016.
    let value = log_likelihood(sample.rows().expect("rows"), &p).expect("valid");
    assert!((value + entropy).abs() < 0.016, "{value} {entropy}");
}

#[test]
fn mmd_over_many_gaussian_frequencies_meets_its_closed_form() {
    let p = generate::unequal(3, 2, 1.0, &mut Rng::new(2)).expect("valid");
    let mut q = p.to_full();
    q.means[0] += 0.5;
    q.covariances[1] += 0.2;
    q.covariances[2] += 0.2;
    let (width, mut rng) = (1.5, Rng::new(3));
    let frequencies: Vec<f64> = (0..400_000).map(|_| rng.normal() / width).collect();
    let (sampled, exact) =
        (mmd(&p, &q, &frequencies).expect("valid"), mmd_gaussian(&p, &q, width).expect("valid"));
    // 2e5 frequencies: the relative error is a few tenths of a percent.
    assert!(exact > 0.01 && (sampled / exact - 1.0).abs() < 0.01, "{sampled} {exact}");
}

#[test]
fn mmd_of_two_gaussians_is_the_formula_by_hand() {
    // d = 1, unit width: <N(a, 1), N(b, 1)> = exp(-(a - b)^2 / 6) / sqrt 3.
    let (p, q) = (gaussian(&[0.0], &[1.0]), gaussian(&[2.0], &[1.0]));
    let expected = (2.0 * (1.0 - (-4.0_f64 / 6.0).exp()) / 3.0_f64.sqrt()).sqrt();
    assert!((mmd_gaussian(&p, &q, 1.0).expect("valid") - expected).abs() < 1e-14);
}

#[test]
fn ari_has_the_values_computed_by_hand() {
    let value = |a: &[u32], b: &[u32]| ari(a, b).expect("same length");
    assert_eq!(value(&[0, 0, 1, 1], &[7, 7, 3, 3]), 1.0);
    // S = 1, A = 2, B = 1, all pairs 6, E = 1/3: (1 - 1/3) / (3/2 - 1/3) = 4/7.
    assert!((value(&[0, 0, 1, 1], &[0, 0, 1, 2]) - 4.0 / 7.0).abs() < 1e-15);
    // S = 0, A = B = 2, E = 2/3: (0 - 2/3) / (2 - 2/3) = -1/2.
    assert!((value(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-15);
    // S = 1, A = 6, B = 2, all pairs 15, E = 0.8: (1 - 0.8) / (4 - 0.8) = 1/16.
    assert!((value(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 2, 3]) - 1.0 / 16.0).abs() < 1e-15);
    assert_eq!(value(&[5; 4], &[2; 4]), 1.0);
    assert_eq!(value(&[0, 1, 2], &[2, 0, 1]), 1.0);
    assert_eq!(value(&[0; 4], &[0, 1, 2, 3]), 0.0);
    assert_eq!(value(&[3], &[4]), 1.0);
    assert!(matches!(ari(&[0, 1], &[0]), Err(Error::Shape { .. })));
    assert!(ari(&[], &[]).is_err());
}

#[test]
fn ari_of_independent_partitions_is_near_zero() {
    let mut rng = Rng::new(1);
    let (a, b): (Vec<u32>, Vec<u32>) =
        (0..20_000).map(|_| (rng.below(5) as u32, rng.below(5) as u32)).unzip();
    assert!(ari(&a, &b).expect("same length").abs() < 0.003);
}

#[test]
fn centres_are_matched_by_the_least_total_cost_not_greedily() {
    // In order, 0 would take 1 and leave -1 to 2 (costs 1 and 9); the best pairing is 0 with -1, 2 with 1
    // (costs 1 and 1).
    let matched = match_centers(&[0.0, 2.0], &[1.0, -1.0], 1).expect("valid");
    assert_eq!(matched.partner, [1, 0]);
    assert_eq!((matched.distances, matched.rms), (vec![1.0, 1.0], 1.0));
}

#[test]
fn matching_agrees_with_all_permutations() {
    fn least(costs: &[f64], k: usize, row: usize, used: u32) -> f64 {
        if row == k {
            return 0.0;
        }
        let free = (0..k).filter(|column| used >> column & 1 == 0);
        free.map(|c| costs[row * k + c] + least(costs, k, row + 1, used | 1 << c))
            .fold(f64::INFINITY, f64::min)
    }
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let draw = |rng: &mut Rng| (0..12).map(|_| rng.normal()).collect::<Vec<f64>>();
        let (truth, estimate) = (draw(&mut rng), draw(&mut rng));
        let costs: Vec<f64> = truth
            .chunks(2)
            .flat_map(|a| estimate.chunks(2).map(move |b| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)))
            .collect();
        let matched = match_centers(&truth, &estimate, 2).expect("valid");
        assert!((matched.rms.powi(2) * 6.0 - least(&costs, 6, 0, 0)).abs() < 1e-12, "seed {seed}");
    }
}

#[test]
fn matching_survives_centres_that_are_not_numbers() {
    let matched = match_centers(&[0.0, 5.0], &[f64::NAN, 0.1], 1).expect("same length");
    assert_eq!(matched.partner, [1, 0]);
    assert!(match_centers(&[0.0, 5.0], &[0.0], 1).is_err());
    assert!(match_centers(&[], &[], 1).is_err());
}

#[test]
fn the_reference_is_the_better_of_k_means_and_the_truth() {
    let truth = generate::separated(5, 3, 3.0, &mut Rng::new(6)).expect("valid");
    let sample = truth.sample(5000, &mut Rng::new(7)).expect("valid");
    let rows = sample.rows().expect("rows");
    let reference = reference_sse(rows, 5, Some(&truth.means), &KMeansParams::default()).expect("valid");
    // About n d = 15,000 for unit Gaussians that hardly overlap; k-means adapts to the rows, so the truth is
    // a little worse.
    assert!((reference / 15_000.0 - 1.0).abs() < 0.05, "{reference}");
    let at_truth = rsse(rows, &truth.means, reference).expect("valid");
    assert!((1.0..1.02).contains(&at_truth), "{at_truth}");
    assert!(rsse(rows, &[0.0; 15], reference).expect("valid") > 5.0);
    let one = KMeansParams { n_init: 1, max_iterations: 1, ..Default::default() };
    let guarded = reference_sse(rows, 5, Some(&truth.means), &one).expect("valid");
    assert!(guarded <= reference * at_truth);
    assert!(rsse(rows, &truth.means, 0.0).is_err());
    assert!(reference_sse(rows, 5, Some(&[0.0]), &one).is_err());
}

#[test]
fn mixtures_of_other_dimensions_are_refused() {
    let (p, q) = (gaussian(&[0.0], &[1.0]), gaussian(&[0.0, 1.0], &[1.0, 1.0]));
    let rows = Rows::new(&[1.0], 1).expect("a row");
    assert!(matches!(log_likelihood(rows, &q), Err(Error::Shape { .. })));
    assert!(matches!(symmetric_kl(&p, &q, 10, 0), Err(Error::Shape { .. })));
    assert!(matches!(mmd_gaussian(&p, &q, 1.0), Err(Error::Shape { .. })));
    assert!(matches!(mmd(&q, &q, &[1.0]), Err(Error::Shape { .. })));
    assert!(matches!(symmetric_kl(&p, &p, 0, 0), Err(Error::Parameter { .. })));
    assert!(matches!(mmd_gaussian(&p, &p, 0.0), Err(Error::Parameter { .. })));
}

#[test]
fn the_adjusted_rand_index_of_counts_is_that_of_the_labels() {
    let (first, second) = ([0, 0, 1, 1, 2, 2, 2, 0], [0, 0, 1, 0, 1, 1, 1, 1]);
    let mut counts = vec![0; 6];
    first.iter().zip(&second).for_each(|(a, b): (&u32, &u32)| counts[(2 * a + b) as usize] += 1);
    let expected = ari(&first, &second).unwrap();
    assert!((ari_of_counts(&counts, 2).unwrap() - expected).abs() < 1e-15);
    assert_eq!(ari_of_counts(&[5, 0], 2), Ok(1.0));
    assert_eq!(ari_of_counts(&[5, 0, 0, 3], 2), Ok(1.0));
    assert!(ari_of_counts(&[5, 0, 0], 2).is_err());
}
