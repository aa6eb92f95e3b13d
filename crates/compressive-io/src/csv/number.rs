//! Decimal numbers in text.

/// Powers of ten that are exact in f64.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Largest integer up to which every integer is exact in f64.
const EXACT_MAX: u64 = 1 << 53;

/// Reads the number at the start of `text` and tells how many bytes it takes.
///
/// Only numbers w * 10^e with w <= 2^53 and |e| <= 22 are read here: then w and 10^|e| are both exact, and one
/// multiplication or division rounds once, as the correctly rounded result does. `None` for all others, which the
/// standard library reads.
#[inline]
pub(super) fn scan(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = match text.first() {
        Some(b'-') => {
            at = 1;
            true
        }
        _ => false,
    };
    let start = at;
    let mut digits: u64 = 0;
    while let Some(digit) = digit_at(text, at) {
        digits = digits.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut n_digits = at - start;
    let mut exponent: i64 = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        while let Some(digit) = digit_at(text, at) {
            digits = digits.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        n_digits += at - point;
        exponent = point as i64 - at as i64;
    }
    // Nineteen digits cannot wrap around in u64.
    if n_digits == 0 || n_digits > 19 || digits > EXACT_MAX {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let (written, len) = scan_exponent(&text[at + 1..])?;
        exponent += written;
        at += 1 + len;
    }
    let magnitude = match exponent {
        -22..=-1 => digits as f64 / POWERS[-exponent as usize],
        0..=22 => digits as f64 * POWERS[exponent as usize],
        _ => return None,
    };
    Some((if negative { -magnitude } else { magnitude }, at))
}

#[inline]
fn digit_at(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

fn scan_exponent(text: &[u8]) -> Option<(i64, usize)> {
    let (negative, start) = match text.first()? {
        b'-' => (true, 1),
        b'+' => (false, 1),
        _ => (false, 0),
    };
    let mut at = start;
    let mut value: i64 = 0;
    while let Some(digit) = digit_at(text, at) {
        value = value * 10 + digit as i64;
        at += 1;
        if at - start > 4 {
            return None;
        }
    }
    (at > start).then_some((if negative { -value } else { value }, at))
}

/// Reads a whole field as a number, white space around it ignored. NaN and infinities are read as such.
pub(super) fn parse(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    match scan(field) {
        Some((value, len)) if len == field.len() => Some(value),
        _ => std::str::from_utf8(field).ok()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_and_odd_spellings_are_read_as_by_the_standard_library() {
        let texts = [
            "0",
            "-0",
            "1",
            "+1",
            "1.",
            ".5",
            "-.5e1",
            "1e5",
            "1E+5",
            "1e-5",
            "1.7e308",
            "5e-324",
            "1e400",
            "123456789012345678901234567890",
            "0.1234567890123456789",
            "9007199254740993",
            "1e22",
            "1e23",
            "3.141592653589793",
            "nan",
            "inf",
            "-infinity",
            "0.000000000000000000000000000001",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            let found = parse(text.as_bytes()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        assert_eq!(parse(b" 2.5\t"), Some(2.5));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", " ", "-", ".", "e5", "1e", "1e+", "abc", "1,5", "0x10", "1 2", "--1", "1.2.3", "1_000"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(&[b'1', 0xff]), None);
    }

    proptest! {
        #[test]
        fn every_printed_float_reads_back_bit_for_bit(bits in any::<u64>(), places in 0usize..20) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [format!("{value:?}"), format!("{value:e}"), format!("{:.places$}", value % 1e6)] {
                let expected: f64 = text.parse().unwrap();
                prop_assert_eq!(parse(text.as_bytes()).unwrap().to_bits(), expected.to_bits(), "{}", text);
            }
        }

        #[test]
        fn any_bytes_are_read_as_by_the_standard_library(text in "[0-9.eE+-]{0,12}") {
            let expected: Option<f64> = text.parse().ok();
            prop_assert_eq!(parse(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits), "{}", text);
        }
    }
}
