//! Decoders: from a sketch to a mixture.
//!
//! All minimise $\lVert z - \sum_l \alpha_l\, a(\theta_l)\rVert$ over atoms $\theta_l$ of a family and
//! weights $\alpha \ge 0$; the problem is not convex, and each decoder is another way to search. A new one is
//! a file here with a `Published`, and a line in the list of [`Decoder`]s below.

mod amp;
mod ascent;
pub(crate) mod auto;
mod clompr;
mod genetic;
pub(crate) mod greedy;
mod iht;
mod pursuit;
mod search;
mod shift;
mod split;
#[cfg(test)]
mod tests;

use crate::density::Target;
use crate::density::atom::{Gaussian, Shape};
use crate::density::fit::Fit;
use crate::learn::pca::decode::{self, Measurements, Spectrum};
use crate::learn::propose::greedy::Start;
use crate::model::DecodeInfo;
use crate::names::named;

pub(crate) use pursuit::cluster_variance;
pub(crate) use shift::Correlation;

/// What a decoder is asked for beside its own settings.
pub(crate) struct Wanted<'a> {
    /// Atoms.
    pub k: usize,
    /// Runs of which the best is kept; the decoder's own number if none is given.
    pub restarts: Option<usize>,
    /// Searches for each atom, for decoders that add atom by atom; their own number if none is given.
    pub starts: Option<usize>,
    /// Where searches start, if the decoder [can be told](Published::starts_at_rows).
    pub start: &'a Start,
    /// Seed of everything random.
    pub seed: u64,
}

/// A published search for atoms.
pub(crate) struct Published {
    /// The atoms of k-means: points, or for a search that is built on a width one that they share.
    pub centres: Shape,
    /// Whether searches may start at rows.
    pub starts_at_rows: bool,
    /// Whether it works on phases, which kernel values lack.
    pub needs_phases: bool,
    /// The search with its defaults.
    pub run: fn(&Target, &Gaussian, &Wanted<'_>) -> (Fit, DecodeInfo),
}

/// What a decoder finds.
pub(crate) enum Finds {
    /// Whatever the task asks for.
    Anything,
    /// Atoms of a mixture.
    Atoms(Published),
    /// So many principal components.
    Components(fn(&Measurements, usize) -> Spectrum),
    /// The eigenvectors of exact moments.
    Eigenvectors,
}

/// The list of decoders: variant, name, what it finds.
macro_rules! decoders {
    ($($(#[$note:meta])* $variant:ident $name:literal => $finds:expr),+ $(,)?) => {
        /// A way to search for the model behind a sketch.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Decoder { $($(#[$note])* $variant),+ }

        named!(Decoder, "a decoder", { $($variant => $name),+ });

        impl Decoder {
            pub(crate) const fn finds(self) -> Finds {
                match self { $(Decoder::$variant => $finds),+ }
            }
        }
    };
}

decoders! {
    /// What users get; finds atoms or principal components, as the task asks.
    #[default]
    Auto "auto" => Finds::Anything,
    /// Orthogonal matching pursuit, \[KBGP18\].
    ClOmp "cl-omp" => Finds::Atoms(clompr::CL_OMP),
    /// The same with replacement, \[KBGP18\] algorithm 1.
    ClOmpr "cl-ompr" => Finds::Atoms(clompr::CL_OMPR),
    /// Hierarchical splitting, \[KBGP18\] algorithm 2.
    Split "split" => Finds::Atoms(split::SPLIT),
    /// Iterative hard thresholding, the baseline of \[KBGP18\].
    Iht "iht" => Finds::Atoms(iht::IHT),
    /// Mean-shift search in the manner of \[BG24\].
    Shift "shift" => Finds::Atoms(shift::SHIFT),
    /// Approximate message passing in the manner of \[BCGS19\].
    Amp "amp" => Finds::Atoms(amp::AMP),
    /// Genetic search, \[Sch21\] section 6.3.
    Genetic "genetic" => Finds::Atoms(genetic::GENETIC),
    /// Principal components of exact moments.
    Eigen "eigen" => Finds::Eigenvectors,
    /// Principal components by factorisation.
    Factorised "factorised" => Finds::Components(|data, k| decode::factorised(data, &decode::FactorisedParams::new(k))),
    /// Principal components by positive semidefinite least squares.
    Psd "psd" => Finds::Components(|data, k| decode::psd(data, &decode::PsdParams::new(k))),
    /// Principal components with the nuclear norm.
    Nuclear "nuclear" => Finds::Components(|data, k| decode::nuclear(data, &decode::NuclearParams::new(k))),
}

impl Decoder {
    /// Whether it finds principal components, not mixtures; `auto` does both.
    pub fn is_for_components(self) -> bool {
        matches!(self.finds(), Finds::Components(_) | Finds::Eigenvectors)
    }

    /// Whether it finds them in sums of random directions, so that it needs the feature `quadratic`.
    pub fn reads_directions(self) -> bool {
        matches!(self.finds(), Finds::Components(_))
    }

    /// Whether its searches may start at rows.
    pub fn starts_at_rows(self) -> bool {
        matches!(self.finds(), Finds::Atoms(published) if published.starts_at_rows)
    }
}
