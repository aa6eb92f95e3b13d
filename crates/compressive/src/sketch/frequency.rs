//! Laws of the random frequencies, and their draw from a seed.
//!
//! Every law but `explicit` is a radius times a direction, $\omega = \tfrac1\sigma R\,\Sigma^{-1/2}\varphi$
//! with $\varphi$ uniform on the sphere (\[KBGP18\] eq. 16), $\sigma$ the spec's `scale` and $\Sigma$ the
//! identity except in the mixture law.
//!
//! | name | radius $R$ | reference |
//! |---|---|---|
//! | `gaussian` | $\chi_d$, so $\omega \sim N(0, \sigma^{-2} I)$ | \[KBGP18\] section 3.3.1 |
//! | `folded-gaussian` | $\lvert N(0, 1)\rvert$ | \[KBGP18\] section 3.3.1 |
//! | `adapted-radius` | density $\propto (R^2 + R^4/4)^{1/2} e^{-R^2/2}$ | \[KBGP18\] eq. 17 |
//! | `weighted` | density $\propto w^2(R)\, R^{d-1} e^{-R^2/2}$, $w = 1 + R^2/d$ | \[GBKT17\] eq. 40 to 43 |
//! | `pilot-mixture` | one of the first three, $\Sigma = \Sigma_l$ with probability $\alpha_l$ | \[KBGP18\] eq. 18 |
//! | `explicit` | the frequencies are listed in the spec | |
//!
//! Frequency `j` depends on (law, scale, seed, j) and not on the sketch size. Cost: O(d) a frequency, O(d^2)
//! for a full covariance.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::num::linear::cholesky;
use crate::num::math::exp;
use crate::num::random::{Purpose, Stream};

/// Law of the radius of a frequency, in units of the inverse scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadiusLaw {
    /// The norm of a d-dimensional standard Gaussian.
    Gaussian,
    /// The absolute value of a standard Gaussian.
    FoldedGaussian,
    /// Density $\propto (R^2 + R^4/4)^{1/2} e^{-R^2/2}$.
    AdaptedRadius,
}

/// Covariance of one component of a mixture law, in working coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// The variances of a diagonal covariance.
    Diagonal(Vec<f64>),
    /// The rows of a full, symmetric positive definite covariance.
    Full(Vec<Vec<f64>>),
}

/// One component of a mixture law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Probability of the component; the weights sum to 1.
    pub weight: f64,
    /// Covariance whose inverse shapes the component's frequencies.
    pub covariance: Covariance,
}

/// The law the frequencies are drawn from. See the module's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FrequencyLaw {
    /// $N(0, \sigma^{-2} I)$: the features of a Gaussian kernel of width $\sigma$.
    Gaussian,
    /// Folded Gaussian radius.
    FoldedGaussian,
    /// Adapted radius, the default.
    AdaptedRadius,
    /// Gaussian density times $w^2$; a decoder divides the features by $w$
    /// ([`FrequencyLaw::feature_weight`]).
    Weighted,
    /// A mixture over component covariances.
    PilotMixture {
        /// Radius law shared by the components.
        radius: RadiusLaw,
        /// The components.
        components: Vec<Component>,
    },
    /// Frequencies given one by one, in radians per working unit; `scale` must be 1.
    Explicit {
        /// m rows of d numbers.
        frequencies: Vec<Vec<f64>>,
    },
}

impl FrequencyLaw {
    /// The stable name used in files and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            FrequencyLaw::Gaussian => "gaussian",
            FrequencyLaw::FoldedGaussian => "folded-gaussian",
            FrequencyLaw::AdaptedRadius => "adapted-radius",
            FrequencyLaw::Weighted => "weighted",
            FrequencyLaw::PilotMixture { .. } => "pilot-mixture",
            FrequencyLaw::Explicit { .. } => "explicit",
        }
    }

    /// True if directions are uniform whatever the radius, which structured frequencies need.
    pub fn is_isotropic(&self) -> bool {
        !matches!(self, FrequencyLaw::PilotMixture { .. } | FrequencyLaw::Explicit { .. })
    }

    /// Weight of a feature in a decoder's objective: $C_\Lambda / w(\omega)$ for the weighted law, 1 for the
    /// others.
    ///
    /// $C_\Lambda^2 = \mathbb E\,w^2 = 4 + 2/d$ under $N(0, \lambda^2 I)$, so that the mean square weight is 1.
    /// `radius` is $\lVert\omega\rVert$ in radians per working unit.
    // Differs from [GBKT17]: its eq. 43 prints 4 + 2/d^2; the fourth moment of a Gaussian gives 2/d. The
    // constant scales every feature alike, so no decoder depends on it.
    pub fn feature_weight(&self, radius: f64, scale: f64, dim: usize) -> f64 {
        match self {
            FrequencyLaw::Weighted => {
                let d = dim as f64;
                let r = radius * scale;
                (4.0 + 2.0 / d).sqrt() / (1.0 + r * r / d)
            }
            _ => 1.0,
        }
    }

    pub(crate) fn validate(&self, dim: usize, size: usize, scale: f64) -> Result<()> {
        let fail = |problem: String| Err(Error::Spec { field: "law", problem });
        match self {
            FrequencyLaw::PilotMixture { components, .. } => {
                if components.is_empty() {
                    return fail("a mixture needs at least one component".into());
                }
                let total: f64 = components.iter().map(|c| c.weight).sum();
                if components.iter().any(|c| !(c.weight > 0.0)) || !((total - 1.0).abs() < 1e-6) {
                    return fail(format!("component weights must be positive and sum to 1, not {total}"));
                }
                for (l, component) in components.iter().enumerate() {
                    if inverse_root(&component.covariance, dim).is_none() {
                        return fail(format!(
                            "covariance {l} is not a positive definite {dim} x {dim} matrix"
                        ));
                    }
                }
            }
            FrequencyLaw::Explicit { frequencies } => {
                if frequencies.len() != size || frequencies.iter().any(|f| f.len() != dim) {
                    return fail(format!("explicit frequencies must be {size} rows of {dim} numbers"));
                }
                if frequencies.iter().flatten().any(|w| !(w.abs() <= MAX_FREQUENCY)) {
                    return fail(format!("every frequency must be a number of at most {MAX_FREQUENCY}"));
                }
                if scale != 1.0 {
                    return fail(format!("explicit frequencies need scale 1, not {scale}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Largest frequency, in radians per working unit: with working coordinates of at most 2^20 and 2^16 columns
/// every f32 phase stays finite.
pub(crate) const MAX_FREQUENCY: f64 = 1e9;

/// Draws frequencies of one spec; holds what all draws of a mixture law share.
pub(crate) struct Sampler<'a> {
    law: &'a FrequencyLaw,
    scale: f64,
    seed: u64,
    dim: usize,
    roots: Vec<Root>,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(law: &'a FrequencyLaw, scale: f64, seed: u64, dim: usize) -> Sampler<'a> {
        let roots = match law {
            FrequencyLaw::PilotMixture { components, .. } => components
                .iter()
                .map(|c| inverse_root(&c.covariance, dim).expect("checked by SketchSpec::validate"))
                .collect(),
            _ => Vec::new(),
        };
        Sampler { law, scale, seed, dim, roots }
    }

    fn stream(&self, j: usize) -> Stream {
        Stream::new(self.seed, Purpose::Frequency, j as u64)
    }

    /// Frequency `j` in radians per working unit.
    pub(crate) fn frequency(&self, j: usize, out: &mut [f64]) {
        debug_assert_eq!(out.len(), self.dim);
        if let FrequencyLaw::Explicit { frequencies } = self.law {
            out.copy_from_slice(&frequencies[j]);
            return;
        }
        let mut stream = self.stream(j);
        let root = self.component(&mut stream);
        let radius = self.radius(&mut stream);
        for w in out.iter_mut() {
            *w = stream.normal();
        }
        let length = match radius {
            Some(r) => r / norm(out),
            // A Gaussian vector already has the radius chi_d.
            None => 1.0,
        };
        for w in out.iter_mut() {
            *w *= length / self.scale;
        }
        if let Some(root) = root {
            root.apply(out);
        }
    }

    /// Radius of frequency `j` alone, for structured frequencies, whose directions come from signs and
    /// Hadamard matrices.
    pub(crate) fn structured_radius(&self, j: usize) -> f64 {
        let mut stream = self.stream(j);
        let radius = self.radius(&mut stream).unwrap_or_else(|| chi(&mut stream, self.dim));
        radius / self.scale
    }

    fn component(&self, stream: &mut Stream) -> Option<&Root> {
        let FrequencyLaw::PilotMixture { components, .. } = self.law else { return None };
        let mut left = stream.uniform();
        for (component, root) in components.iter().zip(&self.roots) {
            left -= component.weight;
            if left < 0.0 {
                return Some(root);
            }
        }
        self.roots.last()
    }

    /// The radius in units of 1/scale, or `None` if the direction's Gaussian vector is to keep its own
    /// length.
    fn radius(&self, stream: &mut Stream) -> Option<f64> {
        let law = match self.law {
            // The last has no radius to draw, and is never asked for one.
            FrequencyLaw::Gaussian | FrequencyLaw::Explicit { .. } => RadiusLaw::Gaussian,
            FrequencyLaw::FoldedGaussian => RadiusLaw::FoldedGaussian,
            FrequencyLaw::AdaptedRadius => RadiusLaw::AdaptedRadius,
            FrequencyLaw::Weighted => return Some(weighted_radius(stream, self.dim)),
            FrequencyLaw::PilotMixture { radius, .. } => *radius,
        };
        match law {
            RadiusLaw::Gaussian => None,
            RadiusLaw::FoldedGaussian => Some(stream.normal().abs()),
            RadiusLaw::AdaptedRadius => Some(adapted_radius(stream.uniform())),
        }
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn chi(stream: &mut Stream, degrees: usize) -> f64 {
    (0..degrees)
        .map(|_| {
            let x = stream.normal();
            x * x
        })
        .sum::<f64>()
        .sqrt()
}

/// Radius of density $\propto (1 + R^2/d)^2 R^{d-1} e^{-R^2/2}$.
///
/// Expanding the square gives a mixture of $\chi_d$, $\chi_{d+2}$, $\chi_{d+4}$ with weights
/// $1 : 2 : 1 + 2/d$.
fn weighted_radius(stream: &mut Stream, dim: usize) -> f64 {
    let d = dim as f64;
    let u = stream.uniform() * (4.0 + 2.0 / d);
    let extra = if u < 1.0 {
        0
    } else if u < 3.0 {
        2
    } else {
        4
    };
    chi(stream, dim + extra)
}

/// Inverse of the adapted radius' distribution function, from a fixed table: the table *is* the law.
///
/// 4096 cells over $[0, 9]$ (the mass beyond is below 1e-16), integrated by Simpson's rule, inverted linearly
/// within a cell.
fn adapted_radius(u: f64) -> f64 {
    const CELLS: usize = 4096;
    const END: f64 = 9.0;
    static CUMULATIVE: OnceLock<Vec<f64>> = OnceLock::new();
    let cumulative = CUMULATIVE.get_or_init(|| {
        let density = |r: f64| (r * r + 0.25 * r * r * r * r).sqrt() * exp(-0.5 * r * r);
        let width = END / CELLS as f64;
        let mut total = 0.0;
        let mut table = vec![0.0];
        for cell in 0..CELLS {
            let a = cell as f64 * width;
            total += (density(a) + 4.0 * density(a + 0.5 * width) + density(a + width)) * width / 6.0;
            table.push(total);
        }
        table.iter().map(|c| c / total).collect()
    });
    let cell = cumulative.partition_point(|&c| c <= u).clamp(1, CELLS) - 1;
    let (low, high) = (cumulative[cell], cumulative[cell + 1]);
    let within = if high > low { (u - low) / (high - low) } else { 0.5 };
    (cell as f64 + within) * (END / CELLS as f64)
}

/// $\Sigma^{-1/2}$ up to a rotation, which the uniform direction absorbs: $L^{-\top}$ with
/// $\Sigma = L L^\top$.
enum Root {
    Diagonal(Vec<f64>),
    /// The lower Cholesky factor, row by row.
    Full(Vec<Vec<f64>>),
}

impl Root {
    fn apply(&self, v: &mut [f64]) {
        match self {
            Root::Diagonal(inverse_deviation) => {
                for (x, s) in v.iter_mut().zip(inverse_deviation) {
                    *x *= s;
                }
            }
            Root::Full(lower) => {
                for i in (0..v.len()).rev() {
                    let mut x = v[i];
                    for k in i + 1..v.len() {
                        x -= lower[k][i] * v[k];
                    }
                    v[i] = x / lower[i][i];
                }
            }
        }
    }
}

fn inverse_root(covariance: &Covariance, dim: usize) -> Option<Root> {
    match covariance {
        Covariance::Diagonal(variances) => {
            let good = |&v: &f64| v > 0.0 && v.is_finite();
            (variances.len() == dim && variances.iter().all(good))
                .then(|| Root::Diagonal(variances.iter().map(|v| 1.0 / v.sqrt()).collect()))
        }
        Covariance::Full(rows) => {
            if rows.len() != dim || rows.iter().any(|r| r.len() != dim) {
                return None;
            }
            cholesky(rows).map(Root::Full)
        }
    }
}

#[cfg(test)]
mod tests;
