//! Single-precision numbers as text that keeps every bit: little-endian bytes in base64 (RFC 4648, with
//! padding).

use serde::{Deserialize, Deserializer, Serializer, de};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes numbers, for `#[serde(with)]`.
pub(super) fn serialize<S: Serializer>(numbers: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(numbers))
}

/// Reads numbers, for `#[serde(with)]`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    decode(&text).map_err(|problem| de::Error::custom(format!("`weights`: {problem}")))
}

fn encode(numbers: &[f32]) -> String {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn decode(text: &str) -> Result<Vec<f32>, String> {
    let digits = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return Err(format!("{} characters are not base64, whose length is a multiple of 4", text.len()));
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut filled) = (0u32, 0);
    for (i, digit) in digits.iter().enumerate() {
        let value = ALPHABET.iter().position(|d| d == digit);
        let value = value.ok_or_else(|| format!("character {} is not a base64 digit", i + 1))?;
        bits = (bits << 6 | value as u32) & 0xffff;
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled) as u8);
        }
    }
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are not a whole number of 4-byte numbers", bytes.len()));
    }
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_last_bit_and_one_is_as_published() {
        // 1.0 is 00 00 80 3f.
        assert_eq!(encode(&[1.0]), "AACAPw==");
        for len in 0..7 {
            let numbers: Vec<f32> = (0..len).map(|i| (i as f32 - 2.5) * 1.1e-7).collect();
            assert_eq!(decode(&encode(&numbers)).expect("read"), numbers);
        }
    }

    #[test]
    fn what_is_no_base64_is_refused_with_the_place() {
        assert!(decode("AACAPw=").expect_err("length").contains("7 characters"));
        assert!(decode("AA!APw==").expect_err("digit").contains("character 3"));
        assert!(decode("AACA").expect_err("bytes").contains("3 bytes"));
        assert!(decode("é===").is_err());
    }
}
