//! A private sketch: noisy sums, a noisy number of rows, and what was promised for each of the tables behind
//! it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::privacy::entropy::{Bits, Entropy};
use crate::privacy::release::{ID_DIGITS, Mechanism, PrivacyParams, Release};
use crate::privacy::sampler::{Ratio, discrete_gaussian, discrete_laplace};
use crate::privacy::sensitivity::Neighbours;
use crate::sketch::spec::{SketchSpec, hex};
use crate::sketch::{Moments, RowWeights, Sketch};

/// A sketch that may be published. It merges with those of other holders, and is neither subtracted from nor
/// noised again.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateSketch {
    spec: Arc<SketchSpec>,
    fingerprint: Arc<str>,
    sums: Vec<i64>,
    rows: i64,
    releases: Vec<Release>,
}

/// A sketch of either kind, as files hold them.
#[derive(Clone, Debug, PartialEq)]
pub enum AnySketch {
    /// Exact sums.
    Plain(Sketch),
    /// Noisy sums.
    Private(PrivateSketch),
}

/// Releases a sketch with noise from `entropy`, which must be the operating system's generator for the
/// promise to hold.
///
/// Cost: a few hundred random bits an entry.
pub fn privatize(
    sketch: &Sketch,
    params: &PrivacyParams,
    entropy: &mut dyn Entropy,
) -> Result<PrivateSketch> {
    let release = Release::plan(sketch.spec(), params)?;
    check_weights(sketch.row_weights(), params.rows_per_person)?;
    privatize_as(sketch, &release, entropy)
}

/// Refuses rows that weigh more than the noise hides.
fn check_weights(weights: RowWeights, rows_per_person: u32) -> Result<()> {
    let refused = |problem: String| Error::Privacy { field: "weights", problem };
    let refused = match weights {
        RowWeights::Whole { largest } if largest <= rows_per_person => return Ok(()),
        RowWeights::Whole { largest } => refused(format!(
            "a row has the weight {largest}, as if one person had that many rows, and the noise is made for {rows_per_person}"
        ))
        .advise(Remedy::set(Parameter::RowsPerPerson, largest)),
        RowWeights::Fractional => {
            refused("rows were given weights, so one of them may weigh more than the noise is made for".into())
        }
    };
    Err(refused.advise(Remedy::SketchAgain(vec![Remedy::Drop(Parameter::Weights)])))
}

/// Adds the noise of a release that was worked out before: many releases of small sketches, as audits make
/// them. That the noise fits the promise is [`Release::plan`]'s doing and is not looked at here.
pub fn privatize_as(sketch: &Sketch, release: &Release, entropy: &mut dyn Entropy) -> Result<PrivateSketch> {
    let mut bits = Bits::new(entropy);
    let mut sums = Vec::with_capacity(sketch.sums().len());
    for &sum in sketch.sums() {
        let noise = match release.mechanism {
            Mechanism::DiscreteLaplace { scale } => {
                discrete_laplace(&mut bits, Ratio { numerator: scale, denominator: 1 })?
            }
            Mechanism::DiscreteGaussian { sigma } => discrete_gaussian(&mut bits, sigma)?,
            Mechanism::LocalResponse { .. } => {
                let problem = "readings answer for themselves before they are summed; this is a sum already";
                return Err(Error::Privacy { field: "mechanism", problem: problem.into() });
            }
        };
        // Saturation is a function of the noisy sum alone, so it reveals nothing more.
        sums.push(sum.saturating_add(noise));
    }
    let rows = sketch.rows() as i64;
    let rows = match release.rows_scale {
        None => rows,
        Some(scale) => rows.saturating_add(discrete_laplace(&mut bits, scale)?),
    };
    // Exact moments are not released, so the recipe of the release has none.
    let spec = SketchSpec { moments: None, ..sketch.spec().clone() };
    let mut id = [0; ID_DIGITS / 2];
    entropy.fill(&mut id)?;
    let release = Release { id: Some(hex(&id)), ..release.clone() };
    Ok(PrivateSketch::from_parts(spec, sums, rows, vec![release]))
}

impl PrivateSketch {
    pub(crate) fn from_parts(
        spec: SketchSpec,
        sums: Vec<i64>,
        rows: i64,
        releases: Vec<Release>,
    ) -> PrivateSketch {
        PrivateSketch { fingerprint: spec.fingerprint().into(), spec: Arc::new(spec), sums, rows, releases }
    }

    /// The recipe the rows were summed with.
    pub fn spec(&self) -> &SketchSpec {
        &self.spec
    }

    /// The recipe's fingerprint.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The noisy sums, in units of 2^-24.
    pub fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// The number of rows, noisy unless it was public; may be negative.
    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// What was promised, one entry for each table behind the sketch.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// Standard deviation of the noise on the number of rows.
    pub fn rows_std(&self) -> f64 {
        self.releases.iter().map(Release::rows_variance).sum::<f64>().sqrt()
    }

    /// Adds the release of another holder's rows, which must not be rows of this one: the variances of the
    /// noise add up, and every holder's promise stays as it was. Readings that answered for themselves in the
    /// same way are one entry.
    pub fn merge(&mut self, other: &PrivateSketch) -> Result<()> {
        if self.fingerprint != other.fingerprint {
            return Err(Error::incompatible(&self.spec, &other.spec));
        }
        self.check_apart(other)?;
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            *sum = sum.saturating_add(*more);
        }
        self.rows = self.rows.saturating_add(other.rows);
        for release in &other.releases {
            if !self.releases.iter_mut().any(|own| own.join(release)) {
                self.releases.push(release.clone());
            }
        }
        Ok(())
    }

    /// Refuses a release that is in here already: its rows would count twice, and its noise as that of two.
    fn check_apart(&self, other: &PrivateSketch) -> Result<()> {
        let ids: BTreeSet<&str> = self.releases.iter().filter_map(|release| release.id.as_deref()).collect();
        let twice =
            other.releases.iter().any(|release| release.id.as_deref().is_some_and(|id| ids.contains(id)));
        // Releases without an identity are told by their noise, which never repeats; a few answers of
        // readings may be equal to a few others.
        let noised = !self.releases.iter().any(|r| matches!(r.mechanism, Mechanism::LocalResponse { .. }));
        if twice || (noised && self == other) {
            let problem = "the same release is given twice; a merge adds the rows of different holders";
            return Err(Error::WrongKind { problem });
        }
        Ok(())
    }

    /// The mean features, with the noise they carry; a number of rows below 1 counts as 1.
    pub fn moments(&self) -> Moments {
        let rows = (self.rows as f64).max(1.0);
        let unit = (1u64 << Sketch::GRID_BITS) as f64;
        let mean = self.sums.iter().map(|&s| s as f64 / (unit * rows)).collect();
        let variance: f64 = self.releases.iter().map(|r| r.mechanism.variance()).sum();
        Moments { mean, rows, noise_std: variance.sqrt() / rows, exact: None }
    }

    /// Whether the exact number of rows can be read off.
    pub fn rows_are_public(&self) -> bool {
        self.releases.iter().all(|r| r.neighbours == Neighbours::Replace)
    }
}

impl AnySketch {
    /// The recipe the rows were summed with.
    pub fn spec(&self) -> &SketchSpec {
        match self {
            AnySketch::Plain(sketch) => sketch.spec(),
            AnySketch::Private(sketch) => sketch.spec(),
        }
    }

    /// The mean features and their noise.
    pub fn moments(&self) -> Result<Moments> {
        match self {
            AnySketch::Plain(sketch) => sketch.moments(),
            AnySketch::Private(sketch) => Ok(sketch.moments()),
        }
    }
}

#[cfg(test)]
mod tests;
