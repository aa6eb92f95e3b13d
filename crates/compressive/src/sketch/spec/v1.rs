//! A spec as the format writes it: the fields `law`, `structured`, `feature` and `dither` in place of the map.
//! Version 2 has more fields, after those of version 1, and is written only where it has one of them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::reading::Column;
use super::{Bounds, FORMAT, Missing, SketchSpec, Source, Transform};
use crate::error::{Error, Result};
use crate::sketch::frequency::FrequencyLaw;
use crate::sketch::map::dither::Dither;
use crate::sketch::map::images::ImageShape;
use crate::sketch::map::landmarks::{LandmarkRule, Landmarks};
use crate::sketch::map::waves::Wave;
use crate::sketch::map::{Feature, FeatureName, LawOrLandmarks, Map};
use crate::sketch::outline::Outline;
use crate::sketch::second::MomentSet;

/// The fields in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpecV1<'a> {
    format: u32,
    columns: Cow<'a, [String]>,
    transform: Cow<'a, Transform>,
    bounds: Cow<'a, Option<Bounds>>,
    law: LawV1<'a>,
    scale: f64,
    size: usize,
    structured: bool,
    feature: FeatureV1<'a>,
    dither: DitherV1<'a>,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moments: Option<MomentSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outline: Option<Cow<'a, Outline>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
    #[serde(default, skip_serializing_if = "<[Column]>::is_empty")]
    readings: Cow<'a, [Column]>,
}

/// The law of the frequencies, or landmarks under the name of a law.
#[derive(Serialize)]
#[serde(untagged)]
enum LawV1<'a> {
    Law(Cow<'a, FrequencyLaw>),
    Landmarks(LandmarksV1<'a>),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
enum LandmarksV1<'a> {
    Landmarks { sampler: LandmarkRule, points: Cow<'a, [Vec<f64>]> },
}

/// A wave, or what else a feature can be.
#[derive(Serialize)]
#[serde(untagged)]
enum FeatureV1<'a> {
    Wave(Cow<'a, Wave>),
    Other(OtherV1),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
enum OtherV1 {
    Quadratic {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        complex: bool,
    },
    Nystrom,
    Conv(ImageShape),
}

/// True or false, or a list of phases.
struct DitherV1<'a>(Cow<'a, Dither>);

impl Serialize for DitherV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match &*self.0 {
            Dither::Listed(phases) => phases.serialize(serializer),
            drawn => serializer.serialize_bool(*drawn == Dither::Drawn),
        }
    }
}

impl<'de> Deserialize<'de> for DitherV1<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let dither = match Value::deserialize(deserializer)? {
            Value::Bool(drawn) => drawn.into(),
            phases => Dither::Listed(serde_json::from_value(phases).map_err(|e| {
                D::Error::custom(format!("`dither` is true, false or a list of phases: {e}"))
            })?),
        };
        Ok(DitherV1(Cow::Owned(dither)))
    }
}

impl<'de> Deserialize<'de> for LawV1<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value["name"] == "landmarks" {
            serde_json::from_value(value).map(LawV1::Landmarks).map_err(D::Error::custom)
        } else {
            serde_json::from_value(value).map(|law| LawV1::Law(Cow::Owned(law))).map_err(D::Error::custom)
        }
    }
}

impl<'de> Deserialize<'de> for FeatureV1<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value["name"].as_str().ok_or_else(|| D::Error::missing_field("name"))?;
        match name.parse().map_err(D::Error::custom)? {
            FeatureName::Quadratic | FeatureName::Nystrom | FeatureName::Conv => {
                serde_json::from_value(value).map(FeatureV1::Other).map_err(D::Error::custom)
            }
            _ => serde_json::from_value(value)
                .map(|wave| FeatureV1::Wave(Cow::Owned(wave)))
                .map_err(D::Error::custom),
        }
    }
}

impl<'a> From<&'a SketchSpec> for SpecV1<'a> {
    fn from(spec: &'a SketchSpec) -> SpecV1<'a> {
        let law = match &spec.map {
            Map::Landmarks(Landmarks { rule, points }) => {
                LawV1::Landmarks(LandmarksV1::Landmarks { sampler: *rule, points: Cow::Borrowed(points) })
            }
            map => LawV1::Law(Cow::Borrowed(map.law().expect("all maps but landmarks have one"))),
        };
        let feature = match &spec.map {
            Map::Waves(waves) => FeatureV1::Wave(Cow::Borrowed(&waves.wave)),
            Map::Moments(directions) => FeatureV1::Other(OtherV1::Quadratic { complex: directions.complex }),
            Map::Landmarks(_) => FeatureV1::Other(OtherV1::Nystrom),
            Map::Images(images) => FeatureV1::Other(OtherV1::Conv(images.shape)),
        };
        SpecV1 {
            format: spec.format(),
            columns: Cow::Borrowed(&spec.columns),
            transform: Cow::Borrowed(&spec.transform),
            bounds: Cow::Borrowed(&spec.bounds),
            law,
            scale: spec.scale,
            size: spec.size,
            structured: spec.map.structured(),
            feature,
            dither: DitherV1(Cow::Borrowed(spec.map.dither())),
            seed: spec.seed,
            source: spec.source,
            moments: spec.moments,
            outline: spec.outline.as_deref().map(Cow::Borrowed),
            missing: (spec.missing != Missing::Error).then_some(spec.missing),
            readings: Cow::Borrowed(&spec.readings),
        }
    }
}

impl TryFrom<SpecV1<'_>> for SketchSpec {
    type Error = Error;

    fn try_from(file: SpecV1<'_>) -> Result<SketchSpec> {
        let at = match file.law {
            LawV1::Law(law) => LawOrLandmarks::Law(law.into_owned()),
            LawV1::Landmarks(LandmarksV1::Landmarks { sampler, points }) => {
                LawOrLandmarks::Landmarks(Landmarks { rule: sampler, points: points.into_owned() })
            }
        };
        let feature = match file.feature {
            FeatureV1::Wave(wave) => Feature::Wave(wave.into_owned()),
            FeatureV1::Other(OtherV1::Quadratic { complex }) => Feature::Quadratic { complex },
            FeatureV1::Other(OtherV1::Nystrom) => Feature::Nystrom,
            FeatureV1::Other(OtherV1::Conv(shape)) => Feature::Conv(shape),
        };
        let spec = SketchSpec {
            columns: file.columns.into_owned(),
            transform: file.transform.into_owned(),
            bounds: file.bounds.into_owned(),
            map: Map::at(feature, at, file.dither.0.into_owned(), file.structured)?,
            scale: file.scale,
            size: file.size,
            seed: file.seed,
            source: file.source,
            moments: file.moments,
            outline: file.outline.map(|outline| Arc::new(outline.into_owned())),
            missing: file.missing.unwrap_or_default(),
            readings: file.readings.into_owned(),
        };
        if !(spec.format()..=FORMAT).contains(&file.format) {
            let (found, least) = (file.format, spec.format());
            let problem =
                format!("{found} is not what these fields have; they are of format {least} to {FORMAT}");
            return Err(Error::Spec { field: "format", problem });
        }
        Ok(spec)
    }
}

impl Serialize for SketchSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        SpecV1::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SketchSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        SketchSpec::try_from(SpecV1::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
