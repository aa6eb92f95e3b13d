//! Single-precision numbers as text that keeps every bit: their little-endian bytes in base64.

use serde::{Deserialize, Deserializer, Serializer, de};

use crate::num::base64;

/// Writes numbers, for `#[serde(with)]`.
pub(super) fn serialize<S: Serializer>(numbers: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    serializer.serialize_str(&base64::encode(&bytes))
}

/// Reads numbers, for `#[serde(with)]`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    decode(&text).map_err(|problem| de::Error::custom(format!("`weights`: {problem}")))
}

fn decode(text: &str) -> Result<Vec<f32>, String> {
    let bytes = base64::decode(text)?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are not 4-byte numbers", bytes.len()));
    }
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_are_not_a_number() {
        assert_eq!(decode("AACAPw==").expect("1.0 is 00 00 80 3f"), [1.0]);
        assert!(decode("AACA").expect_err("bytes").contains("3 bytes"));
    }
}
