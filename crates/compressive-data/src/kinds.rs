//! Synthetic tables by name: what the program and Python generate.

use compressive::named;

use crate::error::{Error, Result};
use crate::generate;
use crate::mixture::Mixture;
use crate::random::Rng;
use crate::rows::Sample;

/// A distribution with a known truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Unit Gaussians of equal weight.
    Separated,
    /// Gaussians of different weights and shapes.
    Unequal,
    /// Gaussians with random variances.
    Mixture,
    /// Gaussians with columns of different scale.
    Stretched,
    /// Six Gaussians on a hexagon.
    SixGaussians,
    /// One turn of a spiral.
    Spiral,
    /// A noisy circle.
    Ring,
    /// Concentric circles.
    Circles,
}

named!(Kind, "a kind of table", {
    Separated => "separated": "Unit Gaussians of equal weight, the usual k-means problem",
    Unequal => "unequal": "Gaussians of different weights and shapes",
    Mixture => "mixture": "Gaussians with random variances",
    Stretched => "stretched": "Gaussians with columns of different scale",
    SixGaussians => "six-gaussians": "Six Gaussians on a hexagon in the plane",
    Spiral => "spiral": "One turn of a spiral in the plane",
    Ring => "ring": "A noisy circle in the plane",
    Circles => "circles": "K concentric circles in the plane",
});

/// What is to be generated.
#[derive(Clone, Debug, PartialEq)]
pub struct KindParams {
    /// Columns of separated, unequal, mixture and stretched; the others have two.
    pub dim: usize,
    /// Components of separated, unequal, mixture and stretched, or circles.
    pub k: usize,
    /// Standard deviation of the centres of separated and unequal, in units of $k^{1/d}$ cluster widths.
    pub separation: f64,
    /// What the first half of the columns of stretched is divided by.
    pub factor: f64,
    /// Standard deviation of the radius of spiral, ring and circles.
    pub noise: f64,
    /// Seed of the truth.
    pub seed: u64,
}

impl Default for KindParams {
    fn default() -> KindParams {
        KindParams { dim: 10, k: 10, separation: 2.5, factor: 10.0, noise: 0.05, seed: 0 }
    }
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Mixture(Mixture),
    Spiral { noise: f64 },
    Ring { noise: f64 },
    Circles { radii: Vec<f64>, noise: f64 },
}

impl Source {
    /// A table of this kind.
    ///
    /// # Errors
    /// A parameter out of its range.
    pub fn new(kind: Kind, params: &KindParams) -> Result<Source> {
        let KindParams { dim, k, separation, factor, noise, seed } = *params;
        if !(noise >= 0.0 && noise.is_finite()) {
            return Err(Error::Parameter { name: "noise", value: noise, allowed: "a number of at least 0" });
        }
        let rng = &mut Rng::new(seed);
        let shape = match kind {
            Kind::Separated => Shape::Mixture(generate::separated(k, dim, separation, rng)?),
            Kind::Unequal => Shape::Mixture(generate::unequal(k, dim, separation, rng)?),
            Kind::Mixture => Shape::Mixture(generate::random_variances(k, dim, rng)?),
            Kind::Stretched => Shape::Mixture(generate::stretched(k, dim, factor, rng)?),
            Kind::SixGaussians => Shape::Mixture(generate::six_gaussians()),
            Kind::Spiral => Shape::Spiral { noise },
            Kind::Ring => Shape::Ring { noise },
            Kind::Circles => Shape::Circles { radii: (1..=k).map(|radius| radius as f64).collect(), noise },
        };
        Ok(Source { shape })
    }

    /// The mixture that the rows come from; none for spirals, rings and circles.
    pub fn mixture(&self) -> Option<&Mixture> {
        match &self.shape {
            Shape::Mixture(mixture) => Some(mixture),
            _ => None,
        }
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.mixture().map_or(2, |mixture| mixture.dim)
    }

    /// Draws rows.
    ///
    /// # Errors
    /// No row, or no circle.
    pub fn sample(&self, rows: usize, rng: &mut Rng) -> Result<Sample> {
        Ok(match &self.shape {
            Shape::Mixture(mixture) => mixture.sample(rows, rng)?,
            Shape::Spiral { noise } => generate::spiral(rows, *noise, rng),
            Shape::Ring { noise } => generate::ring(rows, 1.0, *noise, rng),
            Shape::Circles { radii, noise } => generate::circles(rows, radii, *noise, rng)?,
        })
    }
}
