//! The map of a recipe: what a sketch holds of a row.
//!
//! | map | names | an entry of the sketch |
//! |---|---|---|
//! | [`Waves`] | `fourier`, `one-bit`, `sawtooth`, `cosine`, `periodic` | a periodic function of a phase $\omega_j^\top u + \xi_j$ |
//! | [`Directions`] | `quadratic` | the square of a projection of the row, or the projection |
//! | [`Landmarks`] | `nystrom` | a Gaussian kernel value at a landmark |
//! | [`Images`] | `conv` | a cosine or sine of a phase of random convolutional activations |
//!
//! A [`Feature`] is what users ask for by its name, before frequencies or landmarks are chosen; `Map::at` puts
//! both together.

pub(crate) mod dither;
pub(crate) mod images;
pub(crate) mod landmarks;
pub(crate) mod moments;
pub(crate) mod waves;

use crate::error::{Error, Result};
use crate::names::named;
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::spec::SketchSpec;
use dither::Dither;
use images::{ImageShape, Images};
use landmarks::Landmarks;
use moments::Directions;
use waves::{Wave, Waves};

/// The names of features, as files hold them and users write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureName {
    /// See [`Wave::Fourier`].
    Fourier,
    /// See [`Wave::OneBit`].
    OneBit,
    /// See [`Wave::Sawtooth`].
    Sawtooth,
    /// See [`Wave::Cosine`].
    Cosine,
    /// See [`Wave::Periodic`].
    Periodic,
    /// See [`Feature::Quadratic`].
    Quadratic,
    /// See [`Feature::Nystrom`].
    Nystrom,
    /// See [`Feature::Conv`].
    Conv,
}

named!(FeatureName, "a feature", {
    Fourier => "fourier": "Cosine and sine: the most accurate",
    OneBit => "one-bit": "Their signs: two bits a reading",
    Sawtooth => "sawtooth": "The phase itself, wrapped",
    Cosine => "cosine": "The cosine alone",
    Periodic => "periodic": "Any periodic function, given by a table",
    Quadratic => "quadratic": "Squares of projections, for principal components",
    Nystrom => "nystrom": "Kernel values at landmarks, which are rows of the data",
    Conv => "conv": "Waves of random convolutional activations, to classify images of a given shape",
});

impl FeatureName {
    /// The wave of that name; none if the name needs more than itself, or is not that of a wave.
    pub fn wave(self) -> Option<Wave> {
        match self {
            FeatureName::Fourier => Some(Wave::Fourier),
            FeatureName::OneBit => Some(Wave::OneBit),
            FeatureName::Sawtooth => Some(Wave::Sawtooth),
            FeatureName::Cosine => Some(Wave::Cosine),
            FeatureName::Periodic | FeatureName::Quadratic | FeatureName::Nystrom | FeatureName::Conv => None,
        }
    }

    /// Whether each frequency gets a random phase. Quantised waves and those of one block need it (\[SJ22\]);
    /// the two blocks of `fourier` do not, and squares and kernels have no phase.
    pub fn dithered(self) -> bool {
        matches!(
            self,
            FeatureName::OneBit | FeatureName::Sawtooth | FeatureName::Cosine | FeatureName::Periodic
        )
    }
}

/// What is asked of a sketch: a map before its frequencies or landmarks are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// A periodic function of phases.
    Wave(Wave),
    /// Squares of projections, and the projections themselves: for principal components.
    Quadratic {
        /// Complex directions, see [`Directions::complex`].
        complex: bool,
    },
    /// Gaussian kernel values at landmarks.
    Nystrom,
    /// Cosines and sines of random convolutional activations of images: for classifiers.
    Conv(ImageShape),
}

impl From<Wave> for Feature {
    fn from(wave: Wave) -> Feature {
        Feature::Wave(wave)
    }
}

/// A wave where a feature may be given.
impl From<Wave> for Option<Feature> {
    fn from(wave: Wave) -> Option<Feature> {
        Some(wave.into())
    }
}

impl Feature {
    /// The name.
    pub fn name(&self) -> FeatureName {
        match self {
            Feature::Wave(wave) => wave.name(),
            Feature::Quadratic { .. } => FeatureName::Quadratic,
            Feature::Nystrom => FeatureName::Nystrom,
            Feature::Conv(_) => FeatureName::Conv,
        }
    }
}

/// What a map takes values at: frequencies of a law, or landmarks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LawOrLandmarks {
    /// Frequencies drawn from a law.
    Law(FrequencyLaw),
    /// Landmarks, listed.
    Landmarks(Landmarks),
}

impl From<FrequencyLaw> for LawOrLandmarks {
    fn from(law: FrequencyLaw) -> LawOrLandmarks {
        LawOrLandmarks::Law(law)
    }
}

/// What a sketch holds of a row. See the module's table.
#[derive(Clone, Debug, PartialEq)]
pub enum Map {
    /// Periodic functions of phases.
    Waves(Waves),
    /// Squares of projections, and projections.
    Moments(Directions),
    /// Kernel values at landmarks.
    Landmarks(Landmarks),
    /// Waves of activations of images.
    Images(Images),
}

impl From<FrequencyLaw> for Map {
    /// Fourier features of frequencies drawn from the law.
    fn from(law: FrequencyLaw) -> Map {
        Map::Waves(Waves::new(Wave::Fourier, law))
    }
}

impl From<Waves> for Map {
    fn from(waves: Waves) -> Map {
        Map::Waves(waves)
    }
}

/// The wave of the activations of images.
static FOURIER: Wave = Wave::Fourier;
/// The law of directions.
static GAUSSIAN: FrequencyLaw = FrequencyLaw::Gaussian;

impl Map {
    /// The map of a feature at frequencies of a law.
    ///
    /// # Errors
    /// [`Error::Spec`] for answers that do not go together.
    pub fn new(
        feature: Feature,
        law: FrequencyLaw,
        dither: impl Into<Dither>,
        structured: bool,
    ) -> Result<Map> {
        Map::at(feature, law.into(), dither, structured)
    }

    /// The map of four answers, as files and requests give them: this is the one place that refuses those
    /// that do not go together.
    pub(crate) fn at(
        feature: Feature,
        at: LawOrLandmarks,
        dither: impl Into<Dither>,
        structured: bool,
    ) -> Result<Map> {
        let dither = dither.into();
        let dithered = dither != Dither::None;
        let (law, landmarks) = match at {
            LawOrLandmarks::Law(law) => (law.name(), Err(law)),
            LawOrLandmarks::Landmarks(landmarks) => ("landmarks", Ok(landmarks)),
        };
        match (feature, landmarks) {
            (Feature::Wave(wave), Err(law)) => Ok(Map::Waves(Waves { wave, law, dither, structured })),
            (Feature::Quadratic { .. }, _) if law != GAUSSIAN.name() => fail(
                "law",
                format!("the feature `quadratic` takes directions of the law `gaussian`, not `{law}`"),
            ),
            (Feature::Quadratic { .. }, _) if dithered => {
                fail("dither", "the feature `quadratic` has no phase to dither; set it to false".into())
            }
            (Feature::Quadratic { complex }, _) => Ok(Map::Moments(Directions { complex, structured })),
            (Feature::Nystrom, Ok(_)) if structured => {
                fail("structured", "the law `landmarks` cannot be structured".into())
            }
            (Feature::Nystrom, Ok(_)) if dithered => {
                fail("dither", "the feature `nystrom` has no phases to dither".into())
            }
            (Feature::Nystrom, Ok(landmarks)) => Ok(Map::Landmarks(landmarks)),
            (Feature::Conv(_), Err(_)) if structured => {
                fail("structured", "the feature `conv` has no structured frequencies".into())
            }
            (Feature::Conv(shape), Err(law)) => Ok(Map::Images(Images { shape, law, dither })),
            (feature, _) => fail(
                "law",
                format!(
                    "the feature `{}` does not go with the law `{law}`: nystrom needs landmarks (rpcholesky, greedy, leverage, uniform), and nothing else does",
                    feature.name(),
                ),
            ),
        }
    }

    /// What was asked for when the map was made.
    pub fn feature(&self) -> Feature {
        match self {
            Map::Waves(waves) => Feature::Wave(waves.wave.clone()),
            Map::Moments(directions) => Feature::Quadratic { complex: directions.complex },
            Map::Landmarks(_) => Feature::Nystrom,
            Map::Images(images) => Feature::Conv(images.shape),
        }
    }

    /// The name of [`feature`](Map::feature).
    pub fn name(&self) -> FeatureName {
        self.feature().name()
    }

    /// The waves of the columns, if that is what the map takes.
    pub fn waves(&self) -> Option<&Waves> {
        if let Map::Waves(waves) = self { Some(waves) } else { None }
    }

    /// The function of phases, be they of columns or of activations; none for moments and kernel values.
    pub fn wave(&self) -> Option<&Wave> {
        match self {
            Map::Waves(waves) => Some(&waves.wave),
            Map::Images(_) => Some(&FOURIER),
            Map::Moments(_) | Map::Landmarks(_) => None,
        }
    }

    /// The law that frequencies or directions are drawn from; none for landmarks.
    pub fn law(&self) -> Option<&FrequencyLaw> {
        match self {
            Map::Waves(Waves { law, .. }) | Map::Images(Images { law, .. }) => Some(law),
            Map::Moments(_) => Some(&GAUSSIAN),
            Map::Landmarks(_) => None,
        }
    }

    /// The name of the law in files: `landmarks` if there is none.
    pub fn law_name(&self) -> &'static str {
        self.law().map_or("landmarks", FrequencyLaw::name)
    }

    /// The phases of the frequencies.
    pub fn dither(&self) -> &Dither {
        match self {
            Map::Waves(Waves { dither, .. }) | Map::Images(Images { dither, .. }) => dither,
            Map::Moments(_) | Map::Landmarks(_) => &Dither::None,
        }
    }

    /// Whether each frequency has a phase of its own.
    pub fn dithered(&self) -> bool {
        *self.dither() != Dither::None
    }

    /// Whether directions come from products of Hadamard and sign matrices.
    pub fn structured(&self) -> bool {
        match self {
            Map::Waves(Waves { structured, .. }) | Map::Moments(Directions { structured, .. }) => *structured,
            Map::Landmarks(_) | Map::Images(_) => false,
        }
    }

    /// Names of the blocks of m entries that a sketch has, one or two.
    pub fn blocks(&self) -> &'static [&'static str] {
        match self {
            Map::Waves(waves) => waves.wave.blocks(),
            Map::Moments(_) => &["square", "projection"],
            Map::Landmarks(_) => &["kernel"],
            Map::Images(_) => FOURIER.blocks(),
        }
    }

    /// Real projections behind one entry of the first block: 2 for complex directions, else 1.
    pub fn parts(&self) -> usize {
        if matches!(self, Map::Moments(Directions { complex: true, .. })) { 2 } else { 1 }
    }

    /// What an entry is on average over a uniform phase, see [`Wave::offset`].
    pub fn offset(&self) -> f64 {
        self.wave().map_or(0.0, |wave| wave.offset())
    }

    /// Entries of a sketch's mean, or of a row, less their [`offset`](Map::offset): what the rows have to do
    /// with.
    pub fn centred(&self, entries: &[f64]) -> Vec<f64> {
        let offset = self.offset();
        entries.iter().map(|z| z - offset).collect()
    }

    /// Modulus $|z_j|$ of each centred complex entry of a sketch's mean; without a second block, the absolute
    /// value.
    pub fn modulus(&self, mean: &[f64]) -> Vec<f64> {
        let centred = self.centred(mean);
        let (first, second) = centred.split_at(mean.len() / self.blocks().len());
        first.iter().enumerate().map(|(j, c)| c.hypot(second.get(j).copied().unwrap_or(0.0))).collect()
    }

    /// The largest variance of an entry: of waves that over a uniform phase, of kernel values, which lie in
    /// [0, 1], a quarter. That of moments depends on the data alone.
    pub fn variance(&self) -> Option<f64> {
        match self {
            Map::Waves(waves) => Some(waves.wave.variance()),
            Map::Images(_) => Some(FOURIER.variance()),
            Map::Landmarks(_) => Some(0.25),
            Map::Moments(_) => None,
        }
    }

    /// Checks the map of a spec.
    pub(crate) fn validate(&self, spec: &SketchSpec) -> Result<()> {
        match self {
            Map::Waves(waves) => waves.validate(spec),
            Map::Moments(_) => moments::validate(spec),
            Map::Landmarks(landmarks) => landmarks.validate(spec),
            Map::Images(images) => images.validate(spec),
        }
    }
}

fn fail<T>(field: &'static str, problem: String) -> Result<T> {
    Err(Error::Spec { field, problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_is_refused() {
        let law = || LawOrLandmarks::Law(FrequencyLaw::Gaussian);
        let points = || {
            LawOrLandmarks::Landmarks(Landmarks { rule: landmarks::LandmarkRule::Box, points: Vec::new() })
        };
        let quadratic = || Feature::Quadratic { complex: false };
        let conv = || Feature::Conv(ImageShape { height: 2, width: 2, channels: 1 });
        let refused = [
            (Feature::Wave(Wave::OneBit), points(), true, false, "`one-bit` does not go with"),
            (quadratic(), FrequencyLaw::AdaptedRadius.into(), false, false, "not `adapted-radius`"),
            (quadratic(), points(), false, false, "not `landmarks`"),
            (quadratic(), law(), true, false, "no phase to dither"),
            (Feature::Nystrom, law(), false, false, "nystrom needs landmarks"),
            (Feature::Nystrom, points(), true, false, "no phases to dither"),
            (Feature::Nystrom, points(), false, true, "cannot be structured"),
            (conv(), points(), false, false, "`conv` does not go with"),
            (conv(), law(), false, true, "no structured frequencies"),
        ];
        for (feature, at, dither, structured, words) in refused {
            let message = Map::at(feature, at, dither, structured).unwrap_err().to_string();
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    #[test]
    fn every_name_is_that_of_its_wave() {
        for name in <FeatureName as crate::Named>::ALL {
            assert!(name.wave().is_none_or(|wave| wave.name() == *name));
        }
    }
}
