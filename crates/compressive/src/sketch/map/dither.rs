//! The phases $\xi_j$ that are added to $\omega_j^\top u$, in turns: none, drawn from the seed, or the user's
//! own, where sensors bring theirs along.

use super::fail;
use crate::error::Result;
use crate::num::random::{Purpose, Stream};
use crate::sketch::spec::SketchSpec;

/// Phases of the frequencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Dither {
    /// All are 0.
    #[default]
    None,
    /// Independent and uniform, from the seed.
    Drawn,
    /// One for each frequency, in turns from -1 to 1.
    Listed(Vec<f64>),
}

impl From<bool> for Dither {
    fn from(drawn: bool) -> Dither {
        if drawn { Dither::Drawn } else { Dither::None }
    }
}

impl Dither {
    /// A list has a phase for each of the m frequencies.
    pub(super) fn validate(&self, size: usize) -> Result<()> {
        let Dither::Listed(phases) = self else { return Ok(()) };
        if phases.len() != size {
            let problem = format!("{} phases are listed for {size} frequencies", phases.len());
            return fail("dither", problem);
        }
        match phases.iter().find(|xi| !(xi.abs() <= 1.0)) {
            Some(xi) => fail("dither", format!("{xi} is not a phase in turns, from -1 to 1")),
            None => Ok(()),
        }
    }

    /// The phases of a spec.
    pub(crate) fn phases(&self, spec: &SketchSpec) -> Vec<f32> {
        let draw = |j: usize| Stream::new(spec.seed, Purpose::Dither, j as u64).uniform() as f32;
        match self {
            Dither::None => vec![0.0; spec.projections()],
            Dither::Drawn => (0..spec.projections()).map(draw).collect(),
            Dither::Listed(phases) => phases.iter().map(|xi| *xi as f32).collect(),
        }
    }
}
