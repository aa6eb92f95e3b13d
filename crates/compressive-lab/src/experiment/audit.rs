//! Audit of the private releases: what many releases of two neighbouring tables show of epsilon, for the
//! noise as it is and for noise made too small on purpose.

use std::f64::consts::{FRAC_PI_4, PI, SQRT_2};

use compressive::privacy::{
    Mechanism, Neighbours, PrivacyParams, PrivateSketch, Release, SeededEntropy, privatize_as,
};
use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchSpec};

use crate::epsilon_bound::epsilon_lower_bound;
use crate::error::Result;
use crate::experiment::draws;
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};

/// Lower bounds on epsilon for both mechanisms and both neighbour relations.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "audit",
    title: "Audit of the private releases",
    reference: "[CSH21] and [Sch21] section 5.2 for the claims; Jagielski, Ullman and Oprea (2020) for the audit",
    work: run,
};

/// Probability that a bound is above the true epsilon, in each row.
const ERROR: f64 = 0.001;
/// The epsilon that all releases claim.
const EPSILON: f64 = 1.0;
/// Claimed delta, and the factor by which the wrong noise is too small: 0 for Laplace noise; for Gaussian
/// noise one at which the event that tells most is common enough to be seen, and the factor by which
/// published software is wrong.
const MECHANISMS: [(f64, f64); 2] = [(0.0, 1.5), (0.01, SQRT_2)];

/// A release to audit.
#[derive(Clone, Copy)]
struct Claim {
    delta: f64,
    neighbours: Neighbours,
    /// What the scale of the noise is divided by: 1 for the noise as it is.
    divisor: f64,
}

fn claims() -> Vec<Claim> {
    let mut claims = Vec::new();
    for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
        for (delta, factor) in MECHANISMS {
            claims.extend([1.0, factor].map(|divisor| Claim { delta, neighbours, divisor }));
        }
    }
    claims
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let releases = options.pick(100_000, 20_000);
    let claims = claims();
    let bounds = draws::map(claims.len(), options.threads, "audits", progress, |index| {
        claims[index as usize].audit(releases, index)
    })?;
    let columns = ["noise", "neighbours", "scale", "claimed epsilon", "claimed delta", "epsilon is at least"];
    let mut table = Table::new("Lower bounds on epsilon", &columns);
    for (claim, bound) in claims.iter().zip(bounds) {
        let (scale, verdict) = if claim.divisor == 1.0 {
            ("as released".into(), Some(Verdict::bar(bound <= EPSILON, "never above the claim")))
        } else {
            // The few releases of a quick run cannot show as much: a miss would say nothing.
            let caught = Verdict::bar(bound > EPSILON, "too little noise is caught");
            (format!("divided by {:.3}", claim.divisor), (!options.quick).then_some(caught))
        };
        let cells = vec![
            Cell::text(if claim.delta > 0.0 { "discrete Gaussian" } else { "discrete Laplace" }),
            Cell::text(claim.neighbours.name()),
            Cell::text(scale).with("divisor", claim.divisor),
            Cell::number("epsilon", EPSILON, 0),
            Cell::text(claim.delta.to_string()).with("delta", claim.delta),
            Cell::number("bound", bound, 3),
        ];
        table.push(cells, verdict);
    }
    Ok(Report { text: text(releases), tables: vec![table], ..Report::default() })
}

fn text(releases: usize) -> Vec<String> {
    vec![
        format!(
            "Each row is made from {releases} releases of a sketch of two frequencies (4 sums) for each of two neighbouring tables that differ as much as a row can make them differ: \
             one row against none with x = (pi/4, pi/4), where |cos| + |sin| is largest, and that row against x + (pi, pi), where every sum changes its sign. A release is scored by the exact logarithm \
             of its likelihood under the one table over the other, which no other test can beat; half of the scores choose an event, the other half bounds its \
             probabilities (Clopper-Pearson). A bound is above the true epsilon with probability at most {ERROR} in each row."
        ),
        "The rows with a divided scale are the same audit of noise made too small on purpose: such a release must be caught, or the audit would prove nothing. The square root of two is the \
         factor by which a published toolbox is wrong for replaced rows. Under add-remove the number of rows has noise of its own, which stays as it is, so the true epsilon grows by less than the divisor."
            .into(),
    ]
}

impl Claim {
    /// The lower bound on epsilon that so many releases of each table show.
    fn audit(&self, releases: usize, seed: u64) -> Result<f64> {
        let tables = self.tables()?;
        let release = self.release(tables[0].spec())?;
        let score = |noisy: &PrivateSketch| log_ratio(noisy, &tables, &release);
        let scores = [0, 1].map(|which| -> Result<Vec<f64>> {
            let mut entropy = SeededEntropy::new(2 * seed + which as u64);
            let one = |_| Ok(score(&privatize_as(&tables[which], &release, &mut entropy)?));
            (0..releases).map(one).collect()
        });
        let [first, second] = scores;
        Ok(epsilon_lower_bound(&first?, &second?, self.delta, ERROR)?)
    }

    /// Sketches of two neighbouring tables at the largest distance.
    fn tables(&self) -> Result<[Sketch; 2]> {
        let identity = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        let law = FrequencyLaw::Explicit { frequencies: identity };
        let operator = SketchSpec::new(["x1", "x2"], law, 1.0, 2).build()?;
        let of = |rows: &[f64]| -> Result<Sketch> {
            let mut sketch = Sketch::empty(&operator);
            operator.accumulate(RowsRef::F64(rows), None, &mut sketch, &mut Scratch::default())?;
            Ok(sketch)
        };
        let other: &[f64] = match self.neighbours {
            Neighbours::AddRemove => &[],
            Neighbours::Replace => &[FRAC_PI_4 + PI; 2],
        };
        Ok([of(&[FRAC_PI_4; 2])?, of(other)?])
    }

    /// The release as planned, with the scale of its noise divided.
    fn release(&self, spec: &SketchSpec) -> Result<Release> {
        let params =
            PrivacyParams::new(EPSILON).delta(self.delta).neighbours(self.neighbours).public_spec(true);
        let mut release = Release::plan(spec, &params)?;
        let divided = |scale: u64| (scale as f64 / self.divisor) as u64;
        if self.divisor != 1.0 {
            release.mechanism = match release.mechanism {
                Mechanism::DiscreteLaplace { scale } => Mechanism::DiscreteLaplace { scale: divided(scale) },
                Mechanism::DiscreteGaussian { sigma } => {
                    Mechanism::DiscreteGaussian { sigma: divided(sigma) }
                }
                local => local,
            };
        }
        Ok(release)
    }
}

/// $\ln(p_a / p_b)$ of a release for the two tables it may come from; the factors that normalise the laws
/// cancel.
fn log_ratio(noisy: &PrivateSketch, tables: &[Sketch; 2], release: &Release) -> f64 {
    let [a, b] = tables;
    let laplace = |value: i64, a: i64, b: i64, scale: f64| {
        ((value - b).unsigned_abs() as f64 - (value - a).unsigned_abs() as f64) / scale
    };
    let sums = noisy.sums().iter().zip(a.sums().iter().zip(b.sums()));
    let of_sums: f64 = match release.mechanism {
        Mechanism::DiscreteLaplace { scale } => {
            sums.map(|(value, (a, b))| laplace(*value, *a, *b, scale as f64)).sum()
        }
        // ((s - b)^2 - (s - a)^2) / (2 sigma^2), without squaring large numbers.
        Mechanism::DiscreteGaussian { sigma } => sums
            .map(|(value, (a, b))| {
                let middle = 0.5 * (*a + *b) as f64;
                (*value as f64 - middle) * (*a - *b) as f64 / (sigma as f64).powi(2)
            })
            .sum(),
        // No release of a sketch; audited by `local-privacy`.
        _ => f64::NAN,
    };
    let of_rows = release.rows_scale.map_or(0.0, |scale| {
        let scale = scale.numerator as f64 / scale.denominator as f64;
        laplace(noisy.rows(), a.rows() as i64, b.rows() as i64, scale)
    });
    of_sums + of_rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome;

    #[test]
    fn the_tables_differ_as_much_as_the_sensitivities_allow() {
        use compressive::Wave;
        use compressive::privacy::Sensitivity;
        for claim in claims() {
            let [a, b] = claim.tables().expect("two sketches");
            let bound = Sensitivity::new(&Wave::Fourier.into(), 2, claim.neighbours);
            let changes = a.sums().iter().zip(b.sums()).map(|(a, b)| a.abs_diff(*b) as f64);
            let (l1, l2) = changes.fold((0.0, 0.0), |(l1, l2), change| (l1 + change, l2 + change * change));
            for (found, most) in [(l1, bound.l1 as f64), (l2, bound.l2_squared as f64)] {
                assert!(found <= most && found > most * (1.0 - 1e-5), "{found} of {most}");
            }
        }
    }

    #[test]
    fn the_ratio_of_a_release_is_that_of_its_densities() {
        let claim = Claim { delta: 0.01, neighbours: Neighbours::AddRemove, divisor: 1.0 };
        let tables = claim.tables().expect("two sketches");
        let release = claim.release(tables[0].spec()).expect("a plan");
        let noisy = privatize_as(&tables[0], &release, &mut SeededEntropy::new(3)).expect("a release");
        let Mechanism::DiscreteGaussian { sigma } = release.mechanism else { panic!("delta is positive") };
        let rows_scale = release.rows_scale.expect("add-remove");
        let log_density = |table: &Sketch| -> f64 {
            let square = |(s, a): (&i64, &i64)| ((s - a) as f64 / sigma as f64).powi(2);
            let sums: f64 = noisy.sums().iter().zip(table.sums()).map(square).sum();
            let rows = (noisy.rows() - table.rows() as i64).abs() as f64;
            -0.5 * sums - rows * rows_scale.denominator as f64 / rows_scale.numerator as f64
        };
        let expected = log_density(&tables[0]) - log_density(&tables[1]);
        assert!((log_ratio(&noisy, &tables, &release) - expected).abs() < 1e-9);
    }

    #[test]
    fn releases_keep_their_claims_and_noise_too_small_is_caught() {
        // Seeded: the four right claims would fail for one seed in 250, at most.
        let report = EXPERIMENT.run(&Options::default(), &mut |_| ()).expect("eight audits");
        let rows = &report.tables[0].rows;
        assert_eq!(rows.len(), 8);
        for row in rows {
            let verdict = row.verdict.as_ref().expect("all rows are judged");
            assert_eq!(verdict.outcome, Outcome::Met, "{row:?}");
            let bound = row.cells[5].numbers["bound"];
            // A bound far below the claim would not be an audit either.
            assert!(bound > 0.5 && (bound > 1.0) == (row.cells[2].numbers["divisor"] > 1.0), "{row:?}");
        }
    }
}
