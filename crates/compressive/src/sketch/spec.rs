//! The recipe of a sketch: small plain data from which the operator is rebuilt bit for bit.
//!
//! A row $x$ becomes $u = W\,\mathrm{diag}(s)^{-1}(x - c)$ (the *working coordinates*; W optional), its
//! phases are $\omega_j^\top u + \xi_j$, and the sketch sums a wave of each phase, or what else its [`Map`]
//! makes of the row.
//!
//! Two sketches may be added only if their specs are equal, which their **fingerprints** tell: the first 32
//! hexadecimal digits of the SHA-256 of the canonical JSON (the fields of [`v1`] in its order, no white
//! space, numbers in their shortest exact form).

pub mod reading;
mod v1;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::names::named;
use crate::sketch::map::Map;
use crate::sketch::operator::SketchOperator;
use crate::sketch::outline::Outline;
use crate::sketch::second::{MAX_PRODUCTS, MomentSet};
use reading::Column;

/// The newest spec and sketch format this version reads and writes.
pub const FORMAT: u32 = 2;

/// Affine map from the user's units to working coordinates, applied in f64 before the kernel's f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// Subtracted from each column.
    pub centre: Vec<f64>,
    /// Divides each column, after centring; positive.
    pub spread: Vec<f64>,
    /// Optional d x d matrix applied last, by rows.
    pub whiten: Option<Vec<Vec<f64>>>,
}

impl Transform {
    /// The map that changes nothing.
    pub fn identity(dim: usize) -> Transform {
        Transform { centre: vec![0.0; dim], spread: vec![1.0; dim], whiten: None }
    }

    /// A row in working coordinates, in f64. Cost: d, or d^2 with whitening.
    pub(crate) fn apply(&self, row: &[f64]) -> Vec<f64> {
        let columns = row.iter().zip(&self.centre).zip(&self.spread);
        let centred: Vec<f64> = columns.map(|((x, c), s)| (x - c) * (1.0 / s)).collect();
        match &self.whiten {
            None => centred,
            Some(matrix) => matrix.iter().map(|w| w.iter().zip(&centred).map(|(a, b)| a * b).sum()).collect(),
        }
    }
}

/// The box that the data are expected in, in the user's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Lower end of each column.
    pub low: Vec<f64>,
    /// Upper end of each column.
    pub high: Vec<f64>,
}

/// The recipe of a sketch. Plain data: build one, [`validate`](SketchSpec::validate) it,
/// [`build`](SketchSpec::build) its operator.
///
/// ```
/// use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchSpec, Wave, Waves};
///
/// let waves = Waves::dithered(Wave::OneBit, FrequencyLaw::AdaptedRadius);
/// let operator = SketchSpec::new(["height", "weight"], waves, 1.0, 50).build()?;
/// let mut sketch = Sketch::empty(&operator);
/// operator.accumulate(RowsRef::F64(&[1.8, 75.0, 1.6, 58.0]), None, &mut sketch, &mut Scratch::default())?;
/// assert_eq!(sketch.rows(), 2);
/// # Ok::<(), compressive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SketchSpec {
    /// Names of the d columns, in order.
    pub columns: Vec<String>,
    /// From the user's units to working coordinates.
    pub transform: Transform,
    /// The data box, if it is known; decoders search inside it.
    pub bounds: Option<Bounds>,
    /// What the sketch holds of a row.
    pub map: Map,
    /// Width $\sigma$ of the law in working coordinates: frequencies are proportional to $1/\sigma$; for
    /// landmarks the width of the kernel.
    pub scale: f64,
    /// Number m of frequencies or landmarks.
    pub size: usize,
    /// Seed of frequencies and dither, below 2^53.
    pub seed: u64,
    /// Where the recipe comes from, if it was made without an unpaid look at the rows; not written otherwise.
    pub source: Option<Source>,
    /// The exact moments that are summed beside the features, if any.
    pub moments: Option<MomentSet>,
    /// Where the rows of the pilot were, if that is remembered.
    pub outline: Option<Arc<Outline>>,
    /// What becomes of a row with a missing entry, which is NaN.
    pub missing: Missing,
    /// The columns of the table that the `columns` above are coordinates of; none where they are the table's
    /// own, plain numbers all.
    pub readings: Vec<Column>,
}

/// What a recipe does with missing entries, which rows hold as NaN. Infinity is never missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// They are refused.
    #[default]
    Error,
    /// The column's centre takes their place: 0 in working coordinates, before whitening.
    Fill,
    /// Their rows are left out.
    Skip,
}

named!(Missing, "a treatment of missing entries", {
    Error => "error": "stop at the first missing entry",
    Fill => "fill": "put the column's centre in its place",
    Skip => "skip": "leave out rows with a missing entry",
});

/// Why a recipe may be published together with a private sketch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// Made from declared bounds alone.
    Bounds,
    /// Made from declared bounds and a private look at the rows.
    Private {
        /// What the look cost, for add-remove neighbours.
        epsilon: f64,
    },
}

/// Largest number of columns.
pub const MAX_DIM: usize = 1 << 16;
/// Largest number of frequencies.
pub const MAX_SIZE: usize = 1 << 22;
/// Largest number of frequency entries, d times m.
const MAX_ENTRIES: usize = 1 << 28;

impl SketchSpec {
    /// What takes the place of a missing entry of each column; nothing where they are not filled.
    pub fn fill(&self) -> Vec<f64> {
        if self.missing == Missing::Fill { self.transform.centre.clone() } else { Vec::new() }
    }

    /// A spec without transform and box, and seed 0; change the fields as needed. A law alone stands for its
    /// Fourier features.
    pub fn new<S: Into<String>>(
        columns: impl IntoIterator<Item = S>,
        map: impl Into<Map>,
        scale: f64,
        size: usize,
    ) -> SketchSpec {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        SketchSpec {
            transform: Transform::identity(columns.len()),
            columns,
            bounds: None,
            map: map.into(),
            scale,
            size,
            seed: 0,
            source: None,
            moments: None,
            outline: None,
            missing: Missing::Error,
            readings: Vec::new(),
        }
    }

    /// The columns of the table, and how each is read.
    pub fn table_columns(&self) -> Vec<Column> {
        reading::table_columns(&self.readings, &self.columns)
    }

    /// The oldest format that can say what this spec says: what is written.
    pub fn format(&self) -> u32 {
        let old = self.moments.is_none() && self.outline.is_none() && self.missing == Missing::Error;
        if old && self.readings.is_empty() { 1 } else { 2 }
    }

    /// Number d of columns.
    pub fn dim(&self) -> usize {
        self.columns.len()
    }

    /// Number of sums in a sketch: m for the features `cosine` and `nystrom`, else 2m.
    pub fn sketch_len(&self) -> usize {
        self.size * self.map.blocks().len()
    }

    /// Number of coordinates that a frequency has: d, or the number of activations of an image for `conv`.
    pub fn projected_dim(&self) -> usize {
        if let Map::Images(images) = &self.map { images.shape.activations() } else { self.dim() }
    }

    /// Number of real projections of a row: m, or 2m for complex directions.
    pub fn projections(&self) -> usize {
        self.size * self.map.parts()
    }

    /// Checks every field; all constructors and readers go through here.
    pub fn validate(&self) -> Result<()> {
        let dim = self.dim();
        if dim == 0 {
            return Err(Error::NoColumns);
        }
        if dim > MAX_DIM {
            return fail("columns", format!("{dim} columns are more than {MAX_DIM}"));
        }
        if !(1..=MAX_SIZE).contains(&self.size) {
            return fail("size", format!("{} is not from 1 to {MAX_SIZE}", self.size));
        }
        let dim = self.projected_dim();
        if !self.map.structured() && dim * self.projections() > MAX_ENTRIES {
            return fail("size", format!("{} x {dim} frequencies exceed {MAX_ENTRIES} entries", self.size));
        }
        if self.seed >= 1 << 53 {
            return fail("seed", format!("{} is not below 2^53", self.seed));
        }
        if !(1e-6..=1e6).contains(&self.scale) {
            return fail("scale", format!("{} is not from 1e-6 to 1e6 working units", self.scale));
        }
        self.validate_columns()?;
        self.validate_transform()?;
        self.validate_bounds()?;
        if let Some(Source::Private { epsilon }) = self.source
            && !(epsilon > 0.0 && epsilon.is_finite())
        {
            return fail("source", format!("its epsilon {epsilon} is not a positive number"));
        }
        if self.moments.is_some() && !matches!(self.map, Map::Waves(_) | Map::Landmarks(_)) {
            return fail("moments", format!("`{}` features are summed without moments", self.map.name()));
        }
        if self.moments.is_some_and(|set| set.products(self.dim()) > MAX_PRODUCTS) {
            let problem = format!("{} columns have more than {MAX_PRODUCTS} products", self.dim());
            return fail("moments", problem);
        }
        if let Some(outline) = &self.outline {
            if outline.dim() != self.dim() {
                let problem = format!("its cells have {} columns, the spec {}", outline.dim(), self.dim());
                return fail("outline", problem);
            }
            if self.source.is_some() {
                let problem =
                    "its outline is learned from rows, so it was not made without an unpaid look at them";
                return fail("source", problem.into());
            }
        }
        self.map.validate(self)
    }

    fn validate_columns(&self) -> Result<()> {
        let mut sorted: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => fail("columns", format!("`{}` appears twice", pair[0])),
            None => reading::validate(&self.readings, &self.columns),
        }
    }

    fn validate_transform(&self) -> Result<()> {
        let dim = self.dim();
        let Transform { centre, spread, whiten } = &self.transform;
        if centre.len() != dim || spread.len() != dim {
            let found = (centre.len(), spread.len());
            return fail("transform", format!("{found:?} centres and spreads for {dim} columns"));
        }
        if !centre.iter().all(|c| c.is_finite()) {
            return fail("transform", "a centre is not a finite number".into());
        }
        if !spread.iter().all(|s| s.is_normal() && *s > 0.0 && s.recip().is_normal()) {
            return fail("transform", "every spread must be a positive number".into());
        }
        let square = |w: &Vec<Vec<f64>>| {
            w.len() == dim && w.iter().all(|row| row.len() == dim && row.iter().all(|x| x.abs() <= 1e9))
        };
        if whiten.as_ref().is_some_and(|w| !square(w)) {
            return fail("transform", format!("whiten must be {dim} rows of {dim} numbers of at most 1e9"));
        }
        Ok(())
    }

    fn validate_bounds(&self) -> Result<()> {
        let dim = self.dim();
        let Some(Bounds { low, high }) = &self.bounds else { return Ok(()) };
        if low.len() != dim || high.len() != dim {
            return fail("bounds", format!("{} lows and {} highs for {dim} columns", low.len(), high.len()));
        }
        let good = |(l, h): (&f64, &f64)| l.is_finite() && h.is_finite() && l <= h;
        match low.iter().zip(high).position(|pair| !good(pair)) {
            Some(c) => {
                fail("bounds", format!("column `{}`: [{}, {}] is empty", self.columns[c], low[c], high[c]))
            }
            None => Ok(()),
        }
    }

    /// Refuses a recipe that sums more of a row than its features, where only features are given.
    pub(crate) fn check_features_suffice(&self) -> Result<()> {
        if self.moments.is_none() {
            return Ok(());
        }
        let problem =
            "this recipe keeps exact moments, which are sums of rows, and here features stand for the rows";
        Err(Error::Spec { field: "moments", problem: problem.into() }
            .advise(Remedy::say("make the recipe without them", Remedy::TurnOff(Parameter::Moments))))
    }

    /// The canonical JSON, on one line.
    pub fn to_json(&self) -> String {
        let mut json = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut json, CanonicalNumbers);
        self.serialize(&mut serializer).expect("a spec has string keys only");
        String::from_utf8(json).expect("JSON is UTF-8")
    }

    /// Indented JSON with the same content, for people.
    pub fn to_json_pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect("a spec has string keys only")
    }

    /// Reads and validates a spec.
    pub fn from_json(json: &str) -> Result<SketchSpec> {
        let file: v1::SpecV1<'_> =
            serde_json::from_str(json).map_err(|e| Error::SpecJson { problem: e.to_string() })?;
        let spec = SketchSpec::try_from(file)?;
        spec.validate()?;
        Ok(spec)
    }

    /// First 32 hexadecimal digits of the SHA-256 of the canonical JSON.
    pub fn fingerprint(&self) -> String {
        hex(&Sha256::digest(self.to_json().as_bytes())[..16])
    }

    /// Draws the frequencies. Cost: O(m d) time and memory (O(m + d) memory if structured).
    pub fn build(self) -> Result<SketchOperator> {
        SketchOperator::new(self)
    }

    /// The fields in which two specs differ, as `field (ours / theirs)`, long values shortened.
    pub fn differences(&self, other: &SketchSpec) -> Vec<String> {
        let value = |spec| serde_json::to_value(spec).expect("a spec has string keys only");
        let (ours, theirs) = (value(self), value(other));
        let short = |v: &serde_json::Value| {
            let text = v.to_string();
            if text.chars().count() <= 40 {
                text
            } else {
                text.chars().take(37).chain("...".chars()).collect()
            }
        };
        let names = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        let mut fields = names(&ours);
        fields.extend(names(&theirs).into_iter().filter(|name| ours.get(name).is_none()));
        // The format follows from the other fields.
        fields
            .into_iter()
            .filter(|name| name != "format" && ours[name] != theirs[name])
            .map(|name| format!("{name} ({} / {})", short(&ours[&name]), short(&theirs[&name])))
            .collect()
    }
}

/// Numbers as Rust prints them for debugging: the shortest decimal that reads back exactly, `1.0`, `1e16`,
/// `1e-7`.
///
/// Fixed here because the fingerprint hashes this text, and a JSON library is free to change its own choice.
struct CanonicalNumbers;

impl serde_json::ser::Formatter for CanonicalNumbers {
    fn write_f64<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        write!(writer, "{value:?}")
    }
}

fn fail<T>(field: &'static str, problem: String) -> Result<T> {
    Err(Error::Spec { field, problem })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::reading::Reading;
    use super::*;
    use crate::sketch::frequency::{Component, Covariance, FrequencyLaw, RadiusLaw};
    use crate::sketch::map::waves::{Wave, Waves};

    fn spec() -> SketchSpec {
        SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.5, 10)
    }

    #[test]
    fn json_round_trips_to_the_same_spec_and_fingerprint() {
        let mut s = spec();
        s.transform.centre = vec![1.7e9 + 0.1, -1e-300];
        s.transform.spread = vec![0.1 + 0.2, 3.0];
        s.bounds = Some(Bounds { low: vec![0.0, -1.0], high: vec![1.0, 1.0] });
        let law = FrequencyLaw::PilotMixture {
            radius: RadiusLaw::FoldedGaussian,
            components: vec![Component { weight: 1.0, covariance: Covariance::Diagonal(vec![1.0, 0.1]) }],
        };
        s.map = Waves::new(Wave::Periodic { table: vec![1.0, -1.0, 0.3] }, law).into();
        let back = SketchSpec::from_json(&s.to_json()).unwrap();
        assert_eq!(back, s);
        assert_eq!(back.fingerprint(), s.fingerprint());
        assert_eq!(SketchSpec::from_json(&s.to_json_pretty()).unwrap().fingerprint(), s.fingerprint());
    }

    #[test]
    fn the_canonical_json_is_pinned() {
        assert_eq!(
            spec().to_json(),
            r#"{"format":1,"columns":["a","b"],"transform":{"centre":[0.0,0.0],"spread":[1.0,1.0],"whiten":null},"#
                .to_owned()
                + r#""bounds":null,"law":{"name":"adapted-radius"},"scale":1.5,"size":10,"structured":false,"#
                + r#""feature":{"name":"fourier"},"dither":false,"seed":0}"#
        );
    }

    #[test]
    fn canonical_numbers_are_pinned() {
        let mut s = spec();
        s.transform.centre = vec![1e16, -1.5e300];
        s.transform.spread = vec![1e-6, 123_456_789.125];
        let json = s.to_json();
        assert!(json.contains(r#""centre":[1e16,-1.5e300],"spread":[1e-6,123456789.125]"#), "{json}");
        assert_eq!(SketchSpec::from_json(&json).unwrap(), s);
    }

    #[test]
    fn differences_name_the_fields_and_both_values() {
        let mut other = spec();
        other.seed = 9;
        other.scale = 2.0;
        assert_eq!(spec().differences(&other), ["scale (1.5 / 2.0)", "seed (0 / 9)"]);
        let keeping = SketchSpec { moments: Some(MomentSet::Full), ..spec() };
        assert_eq!(spec().differences(&keeping), [r#"moments (null / "full")"#]);
        assert_eq!(keeping.differences(&spec()), [r#"moments ("full" / null)"#]);
    }

    #[test]
    fn every_bad_field_is_named() {
        type Spoil = fn(&mut SketchSpec);
        let cases: [(&str, Spoil); 11] = [
            ("moments", |s| {
                s.moments = Some(MomentSet::Full);
                s.map = Map::Moments(crate::Directions { complex: false, structured: false });
            }),
            ("`a` appears twice", |s| s.columns[1] = "a".into()),
            ("centres", |s| s.transform.centre = vec![0.0]),
            ("spread", |s| s.transform.spread[0] = 0.0),
            ("whiten", |s| s.transform.whiten = Some(vec![vec![1.0]])),
            ("bounds", |s| s.bounds = Some(Bounds { low: vec![0.0, 1.0], high: vec![1.0, 0.0] })),
            ("size", |s| s.size = 0),
            ("scale", |s| s.scale = f64::NAN),
            ("seed", |s| s.seed = u64::MAX),
            ("law", |s| s.map = FrequencyLaw::Explicit { frequencies: vec![vec![1.0, 2.0]] }.into()),
            ("structured", |s| {
                let law = FrequencyLaw::Explicit { frequencies: vec![] };
                s.map = Waves { structured: true, ..Waves::new(Wave::Fourier, law) }.into();
            }),
        ];
        for (word, spoil) in cases {
            let mut s = spec();
            spoil(&mut s);
            let message = s.validate().unwrap_err().to_string();
            assert!(message.contains(word), "{word}: {message}");
        }
        let mut empty = spec();
        empty.columns.clear();
        assert_eq!(empty.validate(), Err(Error::NoColumns));
    }

    #[test]
    fn moments_make_a_spec_of_format_2() {
        let mut s = spec();
        s.moments = Some(MomentSet::Diagonal);
        let json = s.to_json();
        assert!(json.starts_with(r#"{"format":2,"columns""#), "{json}");
        assert!(json.ends_with(r#""seed":0,"moments":"diagonal"}"#), "{json}");
        assert_eq!(SketchSpec::from_json(&json).unwrap(), s);
        for (format, moments) in [("1", "diagonal"), ("3", "diagonal"), ("2", "some")] {
            let broken =
                json.replace(r#""format":2"#, &format!(r#""format":{format}"#)).replace("diagonal", moments);
            assert!(SketchSpec::from_json(&broken).is_err(), "{broken}");
        }
        let plain = json.replace(r#","moments":"diagonal""#, "");
        assert_eq!(SketchSpec::from_json(&plain).unwrap().to_json(), spec().to_json());
    }

    #[test]
    fn readings_make_a_spec_of_format_2_and_are_read_back() {
        let mut s = spec();
        let reading = Reading::Category { levels: vec!["b".into()], other: true };
        s.readings = vec![Column { column: "a".into(), reading }];
        s.columns = reading::coordinates(&s.readings);
        assert_eq!(s.columns, ["a=b", "a=(other)"]);
        let json = s.to_json();
        let expected = r#""seed":0,"readings":[{"column":"a","reading":{"name":"category","levels":["b"],"other":true}}]}"#;
        assert!(json.starts_with(r#"{"format":2,"#) && json.ends_with(expected), "{json}");
        assert_eq!(SketchSpec::from_json(&json).unwrap(), s);
        let message = SketchSpec::from_json(&json.replace("a=b", "a=c")).unwrap_err().to_string();
        assert!(message.contains("readings"), "{message}");
        assert_eq!(spec().table_columns(), [Column::number("a"), Column::number("b")]);
    }

    #[test]
    fn an_unknown_law_lists_the_known_ones() {
        let json = spec().to_json().replace("adapted-radius", "levy");
        let message = SketchSpec::from_json(&json).unwrap_err().to_string();
        assert!(message.contains("levy") && message.contains("folded-gaussian"), "{message}");
    }
}
