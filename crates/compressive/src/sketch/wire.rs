//! The bytes of a sketch: a safetensors file that any language can open. Layout in `docs/format.md`.
//!
//! ```text
//! u64 LE      length of the header
//! header      JSON: __metadata__ {compressive, [filled], fingerprint, [privacy], sha256, spec, [weights]}, counts I64[2], sums I64[L], [moments I64[1 + 2M]]; padded with spaces to 8 bytes
//! counts      rows, total weight in units of 2^-24 (private: rows and 0)
//! sums        L sums in units of 2^-24
//! moments     where the spec has them: rows beyond the limit, then M sums of 128 bits
//! ```
//!
//! Writing is canonical: equal sketches have equal bytes. Reading accepts canonical bytes only, so that any
//! changed byte is noticed, either by the checksum over counts, sums, moments and the promise of a private
//! sketch, by the fingerprint over the spec, or because the header is not the one that this content has.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::sketch::second::SecondSums;
use crate::sketch::spec::{FORMAT, MAX_SIZE, Missing, SketchSpec, hex};
use crate::sketch::{RowWeights, Sketch};

/// Bytes of the two counts.
const COUNTS_LEN: usize = 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    __metadata__: Metadata,
    counts: Tensor,
    sums: Tensor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moments: Option<Tensor>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    compressive: String,
    /// Missing entries that were filled, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filled: Option<String>,
    fingerprint: String,
    /// What was promised; private sketches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    privacy: Option<String>,
    sha256: String,
    spec: String,
    /// `fractional` if a row had a weight that is not a whole number, else the largest weight if it is above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
}

/// The parts of the metadata that only some sketches have.
pub(crate) struct Extra {
    pub privacy: Option<String>,
    /// Whether `privacy` says something that format 1 does not know.
    pub named: bool,
    pub weights: RowWeights,
    pub filled: u64,
}

impl Extra {
    fn filled_text(&self) -> Option<String> {
        (self.filled > 0).then(|| self.filled.to_string())
    }

    fn weights_text(&self) -> Option<String> {
        match self.weights {
            RowWeights::Fractional => Some(FRACTIONAL.into()),
            RowWeights::Whole { largest } => (largest > 1).then(|| largest.to_string()),
        }
    }

    /// The oldest format that can say all this.
    fn format(&self, spec: &SketchSpec) -> u32 {
        let heavy = matches!(self.weights, RowWeights::Whole { largest } if largest > 1);
        if heavy || self.named { spec.format().max(2) } else { spec.format() }
    }
}

const FRACTIONAL: &str = "fractional";
/// Bits of the largest weight that a row can have, in units of 2^-24.
const MAX_WEIGHT_BITS: u32 = 28 + Sketch::GRID_BITS;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tensor {
    dtype: String,
    shape: [usize; 1],
    data_offsets: [usize; 2],
}

/// The part of a header that every version of the format has.
#[derive(Deserialize)]
struct AnyHeader {
    __metadata__: AnyMetadata,
}

#[derive(Deserialize)]
struct AnyMetadata {
    compressive: String,
}

pub(crate) fn corrupt<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::Corrupt { problem: problem.into() })
}

/// SHA-256 of the payload, followed by the promise, the number of filled entries and the largest weight,
/// where there is one.
fn checksum(payload: &[u8], extra: &Extra) -> String {
    let mut hash = Sha256::new();
    hash.update(payload);
    hash.update(extra.privacy.as_deref().unwrap_or_default().as_bytes());
    hash.update(extra.filled_text().unwrap_or_default().as_bytes());
    if let RowWeights::Whole { .. } = extra.weights {
        hash.update(extra.weights_text().unwrap_or_default().as_bytes());
    }
    hex(&hash.finalize())
}

fn header(spec: &SketchSpec, extra: &Extra, payload: &[u8]) -> Vec<u8> {
    let tensor = |start: usize, end: usize| Tensor {
        dtype: "I64".into(),
        shape: [(end - start) / 8],
        data_offsets: [start, end],
    };
    let sums_end = COUNTS_LEN + 8 * spec.sketch_len();
    let header = Header {
        __metadata__: Metadata {
            compressive: extra.format(spec).to_string(),
            filled: extra.filled_text(),
            fingerprint: spec.fingerprint(),
            privacy: extra.privacy.clone(),
            sha256: checksum(payload, extra),
            spec: spec.to_json(),
            weights: extra.weights_text(),
        },
        counts: tensor(0, COUNTS_LEN),
        sums: tensor(COUNTS_LEN, sums_end),
        moments: spec.moments.map(|_| tensor(sums_end, payload.len())),
    };
    let mut bytes = serde_json::to_vec(&header).expect("a header has string keys only");
    bytes.resize(bytes.len().next_multiple_of(8), b' ');
    bytes
}

/// The bytes of a `.sketch` file, with the words of its moments if the spec has them.
pub(crate) fn file(
    spec: &SketchSpec,
    extra: &Extra,
    counts: [i64; 2],
    sums: &[i64],
    moments: &[i64],
) -> Vec<u8> {
    let words = counts.iter().chain(sums).chain(moments);
    let payload: Vec<u8> = words.flat_map(|v| v.to_le_bytes()).collect();
    let header = header(spec, extra, &payload);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(payload);
    bytes
}

impl Sketch {
    /// The bytes of a `.sketch` file; equal sketches give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (weights, filled) = (self.row_weights(), self.filled());
        let extra = Extra { privacy: None, named: false, weights, filled };
        let moments = self.second_sums().map(SecondSums::to_words).unwrap_or_default();
        file(self.spec(), &extra, [self.rows() as i64, self.weight_units()], self.sums(), &moments)
    }

    /// Reads the bytes of a plain `.sketch` file. Never panics, and allocates no more than a few times the
    /// length of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Sketch> {
        let parts = read(bytes)?;
        if parts.extra.privacy.is_some() {
            return Err(Error::WrongKind {
                problem: "this is a private sketch: its sums carry noise, so it can be merged with other private sketches and learned from, and nothing else",
            });
        }
        Sketch::from_file(parts)
    }

    /// A plain sketch from what its file holds, if a table could have such sums.
    pub(crate) fn from_file(parts: Parts) -> Result<Sketch> {
        let Parts { spec, extra, rows, weight, sums, moments } = parts;
        let second = possible_moments(&spec, &extra, (rows, weight), &sums, &moments)?;
        let mut sketch = Sketch::from_parts(spec, sums, second, rows as u64, weight, extra.weights);
        sketch.count_filled(extra.filled);
        Ok(sketch)
    }
}

/// The moments of a plain sketch, if a table could have such sums and counts.
pub(crate) fn possible_moments(
    spec: &SketchSpec,
    extra: &Extra,
    (rows, weight): (i64, i64),
    sums: &[i64],
    moments: &[i64],
) -> Result<Option<SecondSums>> {
    let possible = (0..=Sketch::MAX_ROWS as i64).contains(&rows)
        && weight >= 0
        && sums.iter().all(|s| s.unsigned_abs() <= weight.unsigned_abs());
    if !possible {
        return corrupt(format!("{rows} rows of total weight {weight} cannot have these sums"));
    }
    let weighed = match extra.weights {
        RowWeights::Whole { .. } => weight == rows << Sketch::GRID_BITS,
        RowWeights::Fractional => rows >= weight >> MAX_WEIGHT_BITS,
    };
    if !weighed {
        return corrupt(format!("{rows} rows cannot have the total weight {weight}"));
    }
    if extra.filled > 0 && spec.missing != Missing::Fill {
        return corrupt(format!("it has {} filled entries, and its spec fills none", extra.filled));
    }
    let Some(set) = spec.moments else { return Ok(None) };
    match SecondSums::from_words(set, spec.dim(), moments, weight) {
        None => corrupt(format!("{rows} rows of total weight {weight} cannot have these moments")),
        second => Ok(second),
    }
}

/// What the bytes of a `.sketch` file of either kind hold.
pub(crate) struct Parts {
    pub spec: SketchSpec,
    pub extra: Extra,
    pub rows: i64,
    pub weight: i64,
    pub sums: Vec<i64>,
    pub moments: Vec<i64>,
}

/// Takes a `.sketch` file apart. Never panics, and allocates no more than a few times the length of `bytes`.
pub(crate) fn read(bytes: &[u8]) -> Result<Parts> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return corrupt(format!("{} bytes are too few for any sketch", bytes.len()));
    };
    let length = u64::from_le_bytes(*length);
    let Some((head, payload)) = usize::try_from(length).ok().and_then(|n| rest.split_at_checked(n)) else {
        return corrupt(format!("a header of {length} bytes does not fit a file of {} bytes", bytes.len()));
    };
    let (spec, extra) = read_header(head)?;
    let words = spec.moments.map_or(0, |set| set.words(spec.dim()));
    let expected = COUNTS_LEN + 8 * (spec.sketch_len() + words);
    if payload.len() != expected {
        return corrupt(format!("{} bytes of sums where the spec has {expected}", payload.len()));
    }
    if header(&spec, &extra, payload) != head {
        return corrupt("the checksum does not match: the file was damaged or changed after it was written");
    }
    let mut values = payload.chunks_exact(8).map(|c| i64::from_le_bytes(c.try_into().expect("chunks of 8")));
    let (rows, weight) = (values.next().unwrap_or(-1), values.next().unwrap_or(-1));
    let sums = values.by_ref().take(spec.sketch_len()).collect();
    Ok(Parts { spec, extra, rows, weight, sums, moments: values.collect() })
}

fn read_header(head: &[u8]) -> Result<(SketchSpec, Extra)> {
    let json =
        |e: serde_json::Error| Error::Corrupt { problem: format!("the header is not a sketch's: {e}") };
    let any: AnyHeader = serde_json::from_slice(head).map_err(json)?;
    let found: u64 = any.__metadata__.compressive.parse().unwrap_or(0);
    if found > u64::from(FORMAT) {
        return Err(Error::NewerFormat { found, known: FORMAT });
    }
    let header: Header = serde_json::from_slice(head).map_err(json)?;
    if header.sums.shape[0] > 2 * MAX_SIZE {
        return corrupt(format!("{} sums are more than any sketch has", header.sums.shape[0]));
    }
    let Metadata { privacy, spec, weights, filled, .. } = header.__metadata__;
    let spec = SketchSpec::from_json(&spec)
        .map_err(|e| Error::Corrupt { problem: format!("its spec is not valid: {e}") })?;
    // A number in another spelling gives another header, which is refused as such.
    let filled = filled.and_then(|text| text.parse().ok()).unwrap_or(0);
    let weights = match weights.as_deref() {
        Some(FRACTIONAL) => RowWeights::Fractional,
        Some(text) => RowWeights::Whole { largest: text.parse().unwrap_or(1) },
        None => RowWeights::ONE,
    };
    let named = privacy.as_ref().is_some_and(|_| any.__metadata__.compressive != "1");
    Ok((spec, Extra { privacy, named, weights, filled }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sketch_of;
    use crate::{Directions, FrequencyLaw, ImageShape, Images, LandmarkRule, Landmarks, Map, MomentSet};
    use crate::{Wave, Waves};

    fn sketch() -> Sketch {
        sketch_by(SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.0, 5))
    }

    /// Sketches of the features that are not waves, whose specs have fields of their own.
    fn others() -> [Sketch; 5] {
        let points = vec![vec![0.25, -1.0], vec![1.5, 0.5]];
        let landmarks = Map::Landmarks(Landmarks { rule: LandmarkRule::Greedy, points });
        let kernel = SketchSpec::new(["a", "b"], landmarks, 1.5, 2);
        let directions = Map::Moments(Directions { complex: true, structured: false });
        let mut squares = SketchSpec::new(["a", "b"], directions, 1.0, 3);
        squares.bounds = Some(crate::Bounds { low: vec![-1.0, 0.0], high: vec![1.0, 3.0] });
        let shape = ImageShape { height: 1, width: 2, channels: 1 };
        let images = Map::Images(Images { shape, law: FrequencyLaw::Gaussian, dither: false.into() });
        let images = SketchSpec::new(["a", "b"], images, 1.0, 3);
        let keeping = |moments| {
            let plain = SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.0, 5);
            sketch_by(SketchSpec { moments: Some(moments), ..plain })
        };
        let [full, diagonal] = [MomentSet::Full, MomentSet::Diagonal].map(keeping);
        [sketch_by(kernel), sketch_by(squares), sketch_by(images), full, diagonal]
    }

    fn sketch_by(spec: SketchSpec) -> Sketch {
        let operator = spec.build().unwrap();
        let rows = [0.1, 0.2, -1.0, 3.0, 0.5, 0.5];
        sketch_of(&operator, &rows)
    }

    /// A sketch with a row of weight 41.
    fn heavy() -> Sketch {
        let operator = SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.0, 5).build().unwrap();
        let mut sketch = Sketch::empty(&operator);
        let rows = [0.1, 0.2, -1.0, 3.0];
        let scratch = &mut crate::Scratch::default();
        operator.accumulate((&rows.to_vec()).into(), Some(&[41.0, 2.0]), &mut sketch, scratch).unwrap();
        sketch
    }

    #[test]
    fn bytes_round_trip() {
        for sketch in others().into_iter().chain([sketch(), heavy()]) {
            let bytes = sketch.to_bytes();
            let back = Sketch::from_bytes(&bytes).unwrap();
            assert_eq!(back, sketch);
            assert_eq!(back.to_bytes(), bytes);
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        for sketch in others().into_iter().chain([sketch(), heavy()]) {
            no_change_goes_unnoticed(&sketch.to_bytes());
        }
    }

    fn no_change_goes_unnoticed(bytes: &[u8]) {
        for i in 0..bytes.len() {
            for flip in [1, 0x20, 0x80] {
                let mut broken = bytes.to_vec();
                broken[i] ^= flip;
                assert!(Sketch::from_bytes(&broken).is_err(), "byte {i} ^ {flip} went unnoticed");
            }
            assert!(Sketch::from_bytes(&bytes[..i]).is_err(), "a cut at {i} went unnoticed");
        }
        let longer = [bytes, &[0; 8]].concat();
        assert!(Sketch::from_bytes(&longer).is_err());
    }

    #[test]
    fn arbitrary_bytes_give_errors_and_no_large_allocation() {
        // A header length of 2^63 and a spec of 2^22 frequencies in a file of a few bytes.
        assert!(Sketch::from_bytes(&(1u64 << 63).to_le_bytes()).is_err());
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        let good = sketch().to_bytes();
        for round in 0..10_000 {
            let bytes = if round % 2 == 0 {
                (0..next() % 300).map(|_| next() as u8).collect::<Vec<_>>()
            } else {
                let mut bytes = good.clone();
                for _ in 0..=next() % 8 {
                    let (i, value) = (next() % bytes.len(), next() as u8);
                    bytes[i] = value;
                }
                bytes.truncate(1 + next() % bytes.len().max(1));
                bytes
            };
            assert!(bytes == good || Sketch::from_bytes(&bytes).is_err(), "round {round}");
        }
    }

    #[test]
    fn a_newer_format_says_so() {
        let bytes = sketch().to_bytes();
        let at = bytes.windows(5).position(|w| w == b"\"1\",\"").unwrap() + 1;
        let mut newer = bytes;
        newer[at] = b'3';
        assert_eq!(Sketch::from_bytes(&newer), Err(Error::NewerFormat { found: 3, known: 2 }));
    }

    #[test]
    fn impossible_counts_are_refused_even_with_a_right_checksum() {
        let spec = SketchSpec::new(["a"], Waves::new(Wave::Cosine, FrequencyLaw::Gaussian), 1.0, 1);
        let forged = |sum, rows, weight, weights| {
            let sketch = Sketch::from_parts(spec.clone(), vec![sum], None, rows, weight, weights);
            Sketch::from_bytes(&sketch.to_bytes()).map_err(|e| e.to_string())
        };
        let whole = RowWeights::ONE;
        assert!(forged(1 << 30, 1, 1 << 24, whole).unwrap_err().contains("cannot have these sums"));
        // One row with the weight of 2^36 of them.
        for weights in [whole, RowWeights::Fractional] {
            let refused = forged(1 << 30, 1, 1 << 60, weights).unwrap_err();
            assert!(refused.contains("1 rows cannot have the total weight"), "{refused}");
        }
        assert!(forged(1 << 30, 256, 1 << 60, RowWeights::Fractional).is_ok());
        assert!(forged(1 << 24, 1, 1 << 24, whole).is_ok());
    }
}
