use super::*;
use crate::num::solve::problems::Noise;

fn positive_definite(n: usize, noise: &mut Noise) -> Vec<f64> {
    let b: Vec<f64> = (0..n * (n + 3)).map(|_| noise.next()).collect();
    let row = |i: usize| &b[i * (n + 3)..(i + 1) * (n + 3)];
    (0..n * n).map(|at| dot(row(at / n), row(at % n)) + if at / n == at % n { 0.1 } else { 0.0 }).collect()
}

#[test]
fn solutions_satisfy_the_system_at_every_remainder_of_the_blocking() {
    let mut noise = Noise::new(1);
    for n in (1..=12).chain([31, 32, 33, 34, 35, 36, 63, 64, 67, 97, 130]) {
        let a = positive_definite(n, &mut noise);
        let x: Vec<f64> = (0..n).map(|_| noise.next()).collect();
        let mut b: Vec<f64> = (0..n).map(|i| dot(&a[i * n..(i + 1) * n], &x)).collect();
        let mut r = a.clone();
        // Only the upper triangle may be read.
        for i in 0..n {
            r[i * n..i * n + i].fill(f64::NAN);
        }
        assert!(factor(&mut r, n, 1e-14), "n = {n}");
        solve(&r, n, &mut b);
        for (found, expected) in b.iter().zip(&x) {
            assert!((found - expected).abs() < 1e-8, "n = {n}: {found} for {expected}");
        }
    }
}

#[test]
fn indefinite_singular_and_non_finite_matrices_are_refused() {
    assert!(!factor(&mut [1.0, 2.0, 2.0, 1.0], 2, 1e-14));
    assert!(!factor(&mut [1.0, 1.0, 1.0, 1.0], 2, 1e-14));
    assert!(!factor(&mut [0.0], 1, 1e-14));
    assert!(!factor(&mut [f64::NAN], 1, 1e-14));
    assert!(!factor(&mut [f64::INFINITY], 1, 1e-14));
    assert!(!factor(&mut [1.0, f64::NAN, f64::NAN, 1.0], 2, 1e-14));
    assert!(factor(&mut [], 0, 1e-14));
    // A rank of 40 in 50 columns fails in the second panel.
    let mut noise = Noise::new(2);
    let b: Vec<f64> = (0..50 * 40).map(|_| noise.next()).collect();
    let mut gram: Vec<f64> =
        (0..2500).map(|at| dot(&b[at / 50 * 40..][..40], &b[at % 50 * 40..][..40])).collect();
    assert!(!factor(&mut gram, 50, 1e-13));
}
