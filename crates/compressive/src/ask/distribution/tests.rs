use super::*;
use crate::design::{Look, Request, Task, design};
use crate::testing::names;
use crate::{FrequencyLaw, SketchSpec};

/// Two clusters of correlated columns, and counts of which most are zero.
fn rows(n: usize) -> Vec<f64> {
    let mut stream = Stream::new(5, Purpose::TestNoise, 0);
    let row = |i: usize| {
        let (a, b) = (stream.normal(), stream.normal());
        let x = 1000.0 + if i.is_multiple_of(3) { 60.0 } else { 0.0 } + 5.0 * a;
        [x, 0.01 * (0.9 * a + 0.4 * b), (i % 5).saturating_sub(3) as f64 * 7.0]
    };
    (0..n).flat_map(row).collect()
}

fn distribution() -> (Vec<f64>, Distribution) {
    let rows = rows(6000);
    let look = Look::Sample { rows: &rows, columns: &names(&["x", "y", "n"]) };
    let spec = design(look, &Request::new(Task::Kmeans, 5)).unwrap().spec;
    let found = spec.sketch(&rows[..]).unwrap().distribution().unwrap();
    (rows, found)
}

fn moments_of(rows: &[f64], c: usize) -> (f64, f64) {
    let n = (rows.len() / 3) as f64;
    let mean = rows.iter().skip(c).step_by(3).sum::<f64>() / n;
    (mean, (rows.iter().skip(c).step_by(3).map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt())
}

#[test]
fn drawn_rows_have_the_moments_of_the_table_and_shared_values_stay_exact() {
    let (rows, found) = distribution();
    let drawn = found.sample(20_000, 3);
    for c in 0..3 {
        let ((mean, deviation), (own, spread)) = (moments_of(&drawn, c), moments_of(&rows, c));
        // Five standard errors of a mean of 20000 draws, and 3% of a deviation.
        assert!((mean - own).abs() < 0.035 * spread, "column {c}: {mean} {own}");
        assert!((deviation / spread - 1.0).abs() < 0.03, "column {c}: {deviation} {spread}");
    }
    assert!(drawn.chunks_exact(3).all(|row| row[2] == 0.0 || row[2] == 7.0));
    assert_eq!(drawn[300..], found.sample_from(100, 19_900, 3));
    assert_ne!(drawn, found.sample(20_000, 4));
}

#[test]
fn usual_rows_score_higher_and_far_rows_lower_the_farther_they_are() {
    let (rows, found) = distribution();
    let usual = found.log_densities(&rows[..]).unwrap();
    // Each value is usual, and their combination is not: y goes with x within a cluster.
    let wrong = found.log_densities(&[1012.0, -0.02, 0.0][..]).unwrap()[0];
    let below = usual.iter().filter(|s| **s < wrong).count();
    assert!(below < usual.len() / 200, "{below} of {} below {wrong}", usual.len());
    let far: Vec<f64> = [1e4, 1e5, 1e9].iter().flat_map(|x| [*x, 0.0, 0.0]).collect();
    let far = found.log_densities(&far[..]).unwrap();
    assert!(wrong > far[0] && far[0] > far[1] && far[1] > far[2] && far[2].is_finite(), "{wrong} {far:?}");
}

#[test]
fn densities_are_those_of_the_users_units() {
    let (_, found) = distribution();
    let drawn = found.sample(4000, 1);
    let scores = found.log_densities(&drawn[..]).unwrap();
    // In units a tenth as large, a density of three columns is a thousandth.
    let scaled: Vec<f64> = rows(6000).iter().map(|x| x * 10.0).collect();
    let look = Look::Sample { rows: &scaled, columns: &names(&["x", "y", "n"]) };
    let spec = design(look, &Request::new(Task::Kmeans, 5)).unwrap().spec;
    let other = spec.sketch(&scaled[..]).unwrap().distribution().unwrap();
    let drawn: Vec<f64> = drawn.iter().map(|x| x * 10.0).collect();
    let moved = other.log_densities(&drawn[..]).unwrap();
    let shift = scores.iter().zip(&moved).map(|(a, b)| a - b).sum::<f64>() / 4000.0;
    assert!((shift - 3.0 * 10f64.ln()).abs() < 0.05, "{shift}");
}

#[test]
fn a_recipe_without_an_outline_is_refused_with_the_remedy() {
    let spec = SketchSpec::new(["x"], FrequencyLaw::AdaptedRadius, 1.0, 50);
    let problem = spec.sketch(&[1.0, 2.0][..]).unwrap().distribution().err().unwrap().to_string();
    assert!(problem.contains("no outline") && problem.contains("designed on a sample"), "{problem}");
    let (_, found) = distribution();
    assert!(found.log_densities(&[1.0, 2.0][..]).is_err());
    assert!(found.log_densities(&[1.0, f64::NAN, 0.0][..]).is_err());
}

#[test]
fn of_numbers_within_a_step_the_shortest_is_taken() {
    for (x, within, wanted) in
        [(2.9998, 3e-4, 3.0), (0.049_99, 2e-5, 0.05), (1_000_003.0, 5.0, 1e6), (-7.000_01, 2e-5, -7.0)]
    {
        assert_eq!(fewest_digits(x, within), wanted);
    }
    assert_eq!(fewest_digits(0.1 + 0.2, 0.0), 0.1 + 0.2);
}
