//! Synthetic problems of the papers, each with a known truth.
//!
//! | function | problem | reference |
//! |---|---|---|
//! | [`random_variances`] | diagonal variances U[0.25, 1.75], means N(0, k^{2/d} I), equal weights | \[KBGP18\] section 5.1 |
//! | [`stretched`] | unit variances, then the first half of the columns divided by A | \[KBGP18\] figure 3 |
//! | [`separated`] | unit variances, means N(0, (s k^{1/d})^2 I), equal weights | \[KTTG17\], s = 1.5 |
//! | [`unequal`] | Dirichlet weights, diagonal variances that differ by component and column | |
//! | [`unit_ball`] | random weights and variances, rows scaled into the unit ball | \[Sch21\] section 5.3.2 |
//! | [`unit_box`] | variances that differ up to a hundredfold, rows scaled into the box [-1, 1]^d | \[SJ22\] section V, \[Sch21\] section 4.5 |
//! | [`six_gaussians`], [`spiral`], [`circles`], [`ring`] | in the plane | \[Sch21\] figure 6.4 |
//!
//! \[KTTG17\] prints the means' law as $N(0, c\,k^{1/d} I)$ with c = 1.5; here s multiplies the *standard
//! deviation*, as in \[CSH21\].

use std::f64::consts::TAU;

use crate::error::{Result, at_least_one, positive};
use crate::mixture::{Mixture, Shape, Truth};
use crate::random::Rng;
use crate::rows::Sample;

/// Range of the variances in \[KBGP18\] section 5.1: their mean is 1.
const VARIANCES: (f64, f64) = (0.25, 1.75);

/// k unit Gaussians of equal weight whose means have the standard deviation `spread` $\cdot\, k^{1/d}$ in
/// every column.
fn unit_mixture(k: usize, dim: usize, spread: f64, rng: &mut Rng) -> Result<Truth> {
    at_least_one("k", k)?;
    at_least_one("dim", dim)?;
    positive("separation", spread)?;
    let deviation = spread * (k as f64).powf(1.0 / dim as f64);
    Ok(Mixture {
        dim,
        weights: vec![1.0 / k as f64; k],
        means: (0..k * dim).map(|_| deviation * rng.normal()).collect(),
        covariances: vec![1.0; k * dim],
        shape: Shape::Diagonal,
    })
}

/// The mixtures of \[KBGP18\] section 5.1: $\mu_l \sim N(0, k^{2/d} I)$, variances U[0.25, 1.75], equal
/// weights.
pub fn random_variances(k: usize, dim: usize, rng: &mut Rng) -> Result<Truth> {
    let mut truth = unit_mixture(k, dim, 1.0, rng)?;
    truth.covariances.iter_mut().for_each(|variance| *variance = rng.between(VARIANCES.0, VARIANCES.1));
    Ok(truth)
}

/// The strongly non-isotropic mixtures of \[KBGP18\] figure 3: unit Gaussians with means $N(0, k^{2/d} I)$,
/// then in the first d/2 columns (rounded down) $\mu \leftarrow \mu / A$ and
/// $\sigma^2 \leftarrow \sigma^2 / A^2$. A = 1 changes nothing; the paper has k = d = 10.
pub fn stretched(k: usize, dim: usize, factor: f64, rng: &mut Rng) -> Result<Truth> {
    positive("factor", factor)?;
    let mut truth = unit_mixture(k, dim, 1.0, rng)?;
    for component in 0..k {
        for index in component * dim..component * dim + dim / 2 {
            truth.means[index] /= factor;
            truth.covariances[index] /= factor * factor;
        }
    }
    Ok(truth)
}

/// k unit Gaussians of equal weight with means $N(0, (s\,k^{1/d})^2 I)$: the k-means problems of \[KTTG17\]
/// (s = 1.5), easier as s grows.
pub fn separated(k: usize, dim: usize, separation: f64, rng: &mut Rng) -> Result<Truth> {
    unit_mixture(k, dim, separation, rng)
}

/// As [`separated`], but with weights of the Dirichlet distribution (concentration 5) and variances U[0.25,
/// 1.75] times a factor U[0.5, 1.5] of the component: data that favour neither equal clusters nor round ones.
pub fn unequal(k: usize, dim: usize, separation: f64, rng: &mut Rng) -> Result<Truth> {
    let mut truth = unit_mixture(k, dim, separation, rng)?;
    truth.weights = rng.dirichlet(5.0, k);
    for variances in truth.covariances.chunks_exact_mut(dim) {
        let scale = rng.between(0.5, 1.5);
        variances.iter_mut().for_each(|variance| *variance = scale * rng.between(VARIANCES.0, VARIANCES.1));
    }
    Ok(truth)
}

/// Rows of the private mixtures of \[Sch21\] section 5.3.2, with their truth: weights U[0.01, 1] divided by
/// their sum, means $N(0, (25/d) I)$, variances U[s/2, 3s/2] with $s \sim U[0.05, 0.95]/\sqrt d$ for each
/// component; then everything is divided by the largest norm of a row. The thesis has k = 6, d = 8, n = 1e5.
pub fn unit_ball(k: usize, dim: usize, n_rows: usize, rng: &mut Rng) -> Result<(Truth, Sample)> {
    at_least_one("rows", n_rows)?;
    let root = (dim as f64).sqrt();
    let mut truth = unit_mixture(k, dim, 5.0 / root / (k as f64).powf(1.0 / dim as f64), rng)?;
    truth.weights.iter_mut().for_each(|weight| *weight = rng.between(0.01, 1.0));
    let total: f64 = truth.weights.iter().sum();
    truth.weights.iter_mut().for_each(|weight| *weight /= total);
    for variances in truth.covariances.chunks_exact_mut(dim) {
        let scale = rng.between(0.05, 0.95) / root;
        variances.iter_mut().for_each(|variance| *variance = scale * rng.between(0.5, 1.5));
    }
    let sample = truth.sample(n_rows, rng)?;
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let largest = sample.values.chunks_exact(dim).map(norm).fold(0.0, f64::max);
    Ok(divided(truth, sample, largest))
}

/// Rows of the mixtures that \[SJ22\] and chapter 4 of \[Sch21\] learn, with their truth: equal weights,
/// means $N(0, (100/d) I)$, variances $0.15 \cdot 10^{u_l + u_{lc}}$ with $u_l, u_{lc} \sim U[0, 1]$; then
/// everything is divided by the largest modulus of an entry.
///
/// The papers print k and d alone; the rest is what their toolbox, pycle, draws by default. In the box the
/// likelihoods are above 1, which the papers ask for.
pub fn unit_box(k: usize, dim: usize, n_rows: usize, rng: &mut Rng) -> Result<(Truth, Sample)> {
    at_least_one("rows", n_rows)?;
    let mut truth =
        unit_mixture(k, dim, 10.0 / (dim as f64).sqrt() / (k as f64).powf(1.0 / dim as f64), rng)?;
    for variances in truth.covariances.chunks_exact_mut(dim) {
        let scale = 0.15 * 10.0_f64.powf(rng.uniform());
        variances.iter_mut().for_each(|variance| *variance = scale * 10.0_f64.powf(rng.uniform()));
    }
    let sample = truth.sample(n_rows, rng)?;
    let largest = sample.values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    Ok(divided(truth, sample, largest))
}

/// The problem in units that are so many times larger.
fn divided(mut truth: Truth, mut sample: Sample, unit: f64) -> (Truth, Sample) {
    sample.values.iter_mut().chain(&mut truth.means).for_each(|value| *value /= unit);
    truth.covariances.iter_mut().for_each(|variance| *variance /= unit * unit);
    (truth, sample)
}

/// Six equal Gaussians in the plane, at the corners of a regular hexagon of radius 1, with standard deviation
/// 0.15. \[Sch21\] does not print the parameters of its six; these are ours.
pub fn six_gaussians() -> Truth {
    let corner = |l: usize| TAU * l as f64 / 6.0;
    Mixture {
        dim: 2,
        weights: vec![1.0 / 6.0; 6],
        means: (0..6).flat_map(|l| [corner(l).cos(), corner(l).sin()]).collect(),
        covariances: vec![0.15 * 0.15; 12],
        shape: Shape::Diagonal,
    }
}

/// One turn of a spiral: $\phi \sim U[0, 2\pi)$, $r = \phi / 2\pi + N(0, \sigma_r^2)$ (\[Sch21\] figure 6.4).
/// All labels are 0.
pub fn spiral(n_rows: usize, radius_std: f64, rng: &mut Rng) -> Sample {
    polar_rows(n_rows, rng, |rng| {
        let turn = rng.uniform();
        (turn + radius_std * rng.normal(), turn, 0)
    })
}

/// One circle with a noisy radius: $\phi \sim U[0, 2\pi)$, $r = R + N(0, \sigma_r^2)$ (\[Sch21\] figure 6.4).
/// All labels are 0.
pub fn ring(n_rows: usize, radius: f64, radius_std: f64, rng: &mut Rng) -> Sample {
    polar_rows(n_rows, rng, |rng| (radius + radius_std * rng.normal(), rng.uniform(), 0))
}

/// Concentric circles with noisy radii, as many rows on each in expectation; the label is the circle.
pub fn circles(n_rows: usize, radii: &[f64], radius_std: f64, rng: &mut Rng) -> Result<Sample> {
    at_least_one("circles", radii.len())?;
    Ok(polar_rows(n_rows, rng, |rng| {
        let circle = rng.below(radii.len());
        (radii[circle] + radius_std * rng.normal(), rng.uniform(), circle as u32)
    }))
}

/// Rows from (radius, angle in turns, label).
fn polar_rows(n_rows: usize, rng: &mut Rng, mut draw: impl FnMut(&mut Rng) -> (f64, f64, u32)) -> Sample {
    let mut sample =
        Sample { dim: 2, values: Vec::with_capacity(2 * n_rows), labels: Vec::with_capacity(n_rows) };
    for _ in 0..n_rows {
        let (radius, turn, label) = draw(rng);
        let (sine, cosine) = (TAU * turn).sin_cos();
        sample.values.extend([radius * cosine, radius * sine]);
        sample.labels.push(label);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn mean_square(values: &[f64]) -> f64 {
        values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64
    }

    #[test]
    fn means_spread_with_the_number_of_components() {
        // 20,000 means of 2 columns: the mean square's relative standard error is 0.7%; five are allowed.
        let truth = separated(20_000, 2, 2.5, &mut Rng::new(1)).expect("valid");
        let expected = 2.5 * 2.5 * 20_000.0;
        assert!((mean_square(&truth.means) / expected - 1.0).abs() < 0.035);
        let paper = random_variances(20_000, 2, &mut Rng::new(1)).expect("valid");
        assert!((mean_square(&paper.means) / 20_000.0 - 1.0).abs() < 0.035);
    }

    #[test]
    fn variances_fill_the_published_range() {
        let truth = random_variances(1000, 3, &mut Rng::new(2)).expect("valid");
        let (low, high) =
            truth.covariances.iter().fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
        assert!((0.25..0.26).contains(&low) && (1.74..1.75).contains(&high), "{low} {high}");
    }

    #[test]
    fn stretching_divides_half_of_the_columns() {
        let plain = stretched(4, 5, 1.0, &mut Rng::new(3)).expect("valid");
        let truth = stretched(4, 5, 4.0, &mut Rng::new(3)).expect("valid");
        for index in 0..20 {
            let factor = if index % 5 < 2 { 4.0 } else { 1.0 };
            assert_eq!(truth.means[index], plain.means[index] / factor);
            assert_eq!(truth.covariances[index], 1.0 / (factor * factor));
        }
    }

    #[test]
    fn unequal_mixtures_are_valid_and_unequal() {
        let truth = unequal(10, 10, 2.5, &mut Rng::new(4)).expect("valid");
        truth.validate().expect("weights sum to 1, variances are positive");
        assert!(truth.weights.iter().any(|&w| w < 0.08) && truth.weights.iter().any(|&w| w > 0.12));
        assert!(truth.covariances.iter().all(|&v| (0.125..2.625).contains(&v)));
    }

    #[test]
    fn rows_in_the_unit_ball_have_the_scaled_truth() {
        let (truth, sample) = unit_ball(6, 8, 40_000, &mut Rng::new(8)).expect("valid");
        truth.validate().expect("weights sum to 1, variances are positive");
        let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let largest = sample.values.chunks(8).map(norm).fold(0.0, f64::max);
        assert!((largest - 1.0).abs() < 1e-12, "{largest}");
        for l in 0..6 {
            let variances = truth.covariance(l);
            let (low, high) = variances.iter().fold((f64::MAX, 0.0_f64), |(l, h), &v| (l.min(v), h.max(v)));
            assert!(high <= 3.0 * low, "component {l}: {low} to {high}");
            let rows =
                || sample.values.chunks(8).zip(&sample.labels).filter(|(_, label)| **label as usize == l);
            let n = rows().count() as f64;
            // Five standard errors of a share, a mean and a variance.
            let share = truth.weights[l];
            assert!((n - 40_000.0 * share).abs() < 5.0 * (40_000.0 * share).sqrt(), "{n}");
            for (c, (&mean, &variance)) in truth.mean(l).iter().zip(variances).enumerate() {
                let found = rows().map(|(row, _)| row[c]).sum::<f64>() / n;
                assert!((found - mean).abs() < 5.0 * (variance / n).sqrt());
                let found = rows().map(|(row, _)| (row[c] - mean).powi(2)).sum::<f64>() / n;
                assert!((found / variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
            }
        }
    }

    #[test]
    fn rows_in_the_unit_box_have_the_scaled_truth() {
        let (truth, sample) = unit_box(10, 5, 20_000, &mut Rng::new(9)).expect("valid");
        truth.validate().expect("weights sum to 1, variances are positive");
        assert_eq!(sample.values.iter().fold(0.0, |most: f64, x| most.max(x.abs())), 1.0);
        let (low, high) =
            truth.covariances.iter().fold((f64::MAX, 0.0_f64), |(l, h), &v| (l.min(v), h.max(v)));
        assert!((20.0..100.0).contains(&(high / low)), "{low} to {high}");
        // The largest of 100,000 entries is about 2.5 deviations of the means and some of the components
        // away.
        assert!((0.1..0.5).contains(&mean_square(&truth.means).sqrt()), "{truth:?}");
        assert!(unit_box(2, 2, 0, &mut Rng::new(0)).is_err());
    }

    #[test]
    fn shapes_lie_where_they_should() {
        let radius = |row: &[f64]| row[0].hypot(row[1]);
        let sample = circles(3000, &[1.0, 3.0], 0.1, &mut Rng::new(5)).expect("two circles");
        for (row, &label) in sample.values.chunks(2).zip(&sample.labels) {
            assert!((radius(row) - [1.0, 3.0][label as usize]).abs() < 0.6);
        }
        assert!(
            ring(1000, 2.0, 0.0, &mut Rng::new(6))
                .values
                .chunks(2)
                .all(|row| (radius(row) - 2.0).abs() < 1e-12)
        );
        for row in spiral(1000, 0.0, &mut Rng::new(7)).values.chunks(2) {
            let turn = row[1].atan2(row[0]).rem_euclid(TAU) / TAU;
            assert!((radius(row) - turn).abs() < 1e-12);
        }
        six_gaussians().validate().expect("valid");
    }

    #[test]
    fn impossible_problems_are_refused() {
        let rng = &mut Rng::new(0);
        assert!(matches!(separated(0, 2, 1.0, rng), Err(Error::Parameter { name: "k", .. })));
        assert!(matches!(separated(2, 0, 1.0, rng), Err(Error::Parameter { name: "dim", .. })));
        assert!(matches!(separated(2, 2, f64::NAN, rng), Err(Error::Parameter { name: "separation", .. })));
        assert!(matches!(stretched(2, 2, 0.0, rng), Err(Error::Parameter { name: "factor", .. })));
        assert!(matches!(unit_ball(2, 2, 0, rng), Err(Error::Parameter { name: "rows", .. })));
        assert!(matches!(circles(5, &[], 0.0, rng), Err(Error::Parameter { name: "circles", .. })));
    }
}
