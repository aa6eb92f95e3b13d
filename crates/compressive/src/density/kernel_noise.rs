//! What a right fit leaves unexplained of a sketch of kernel values.
//!
//! As for frequencies ([`noise`](super::noise)), the sampling noise that looks like slightly other weights,
//! means and variances is absorbed by the fit. Here what is left is measured, not summed up in closed form,
//! because it depends on how much of the kernel's space the landmarks span:
//!
//! 1. for each component, its derivatives in weight, location and own variances are the directions that the
//!    fit absorbs;
//! 2. a few points are drawn from the component; of their kernel values, less the component's mean, the part
//!    outside these directions is left, squared in the metric;
//! 3. the mean over points and components, times $(1 - p/N)/n$ for N entries, p parameters and n rows, is the
//!    objective to expect.
//!
//! Components are taken as well apart, correlations of full covariances are left out. Cost: $k m^2 d$ for the
//! whitening of the directions.

use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::density::fit::Fit;
use crate::density::metric::Metric;
use crate::density::target::Target;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};

/// Points drawn from each component. What is left has heavy tails, so that few would give too little.
const DRAWS: usize = 32;
/// Components looked at, at most.
const COMPONENTS: usize = 12;

/// The objective that a right fit is expected to have.
pub(super) fn expected_cost(target: &Target, metric: &Metric, family: &Gaussian, fit: &Fit) -> f64 {
    let (p, m) = (family.n_params(), target.size() as f64);
    let mut stream = Stream::new(0, Purpose::Decode, 0);
    let weights = fit.normalised_weights();
    let mut order: Vec<usize> = (0..fit.k()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    order.truncate(COMPONENTS);
    let seen: f64 = order.iter().map(|&l| weights[l]).sum();
    let left: f64 = order
        .iter()
        .map(|&l| {
            let atom = &fit.atoms[l * p..(l + 1) * p];
            weights[l] / seen.max(1e-300) * left_of(target, metric, family, (atom, &fit.shared), &mut stream)
        })
        .sum();
    let parameters = (fit.k() * (1 + p) + fit.shared.len()) as f64;
    let free = (1.0 - parameters / m).max(0.1);
    // The rounding of the features alone leaves about 1e-16 an entry.
    (free * (left / target.rows + m * target.added)).max(1e-16 * m)
}

/// Steps 1 and 2 for one component: the mean square of what is left of one of its rows.
fn left_of(
    target: &Target,
    metric: &Metric,
    family: &Gaussian,
    (atom, shared): (&[f64], &[f64]),
    stream: &mut Stream,
) -> f64 {
    let Some(kernel) = family.kernel() else { return f64::NAN };
    let (d, m) = (target.dim(), target.size());
    let sigma = family.covariance_of(atom, shared);
    let own = matches!(family.covariance(), Shape::Diagonal | Shape::Full | Shape::Width);
    let mut values = Batch::default();
    family.sketch_batch(atom, shared, &mut values);
    let spread = &family.spreads(atom, shared, kernel)[0];
    // One row of m for each direction: the weight, d locations, d variances.
    let n_directions = 1 + d + if own { d } else { 0 };
    let mut rows = vec![0.0; n_directions * m];
    let mut v = vec![0.0; d];
    for (j, (y, a)) in kernel.points().chunks_exact(d).zip(&values.re).enumerate() {
        spread.pull(y, &mut v);
        rows[j] = *a;
        for c in 0..d {
            rows[(1 + c) * m + j] = a * v[c];
            if own {
                rows[(1 + d + c) * m + j] = a * (v[c] * v[c] - spread.entry(c, c));
            }
        }
    }
    let points: Vec<f64> = (0..DRAWS * d)
        .map(|i| atom[i % d] + sigma[i % d * (d + 1)].max(0.0).sqrt() * stream.normal())
        .collect();
    let mut drawn = Batch::default();
    target.points.sketch_batch(&points, &[], &mut drawn);
    for row in drawn.re.chunks_exact(m) {
        rows.extend(row.iter().zip(&values.re).map(|(x, a)| x - a));
    }
    let whitened = metric.whitened(&rows, &[]);
    let count = n_directions + DRAWS;
    let columns: Vec<Vec<f64>> =
        (0..count).map(|c| whitened.iter().skip(c).step_by(count).copied().collect()).collect();
    outside(&columns, n_directions) / DRAWS as f64
}

/// Squares of the last columns outside the span of the first, summed.
fn outside(columns: &[Vec<f64>], n_directions: usize) -> f64 {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let reduce = |column: &[f64], basis: &[Vec<f64>]| {
        let mut rest = column.to_vec();
        // Twice, as once loses digits where the directions are nearly dependent.
        for direction in basis.iter().chain(basis) {
            let along = dot(&rest, direction);
            rest.iter_mut().zip(direction).for_each(|(r, b)| *r -= along * b);
        }
        rest
    };
    for column in &columns[..n_directions] {
        let mut rest = reduce(column, &basis);
        let (norm, before) = (dot(&rest, &rest).sqrt(), dot(column, column).sqrt());
        if norm > 1e-7 * before {
            rest.iter_mut().for_each(|r| *r /= norm);
            basis.push(rest);
        }
    }
    columns[n_directions..]
        .iter()
        .map(|column| {
            let rest = reduce(column, &basis);
            dot(&rest, &rest)
        })
        .sum()
}
