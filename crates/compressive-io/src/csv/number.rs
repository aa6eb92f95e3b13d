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
/// Only numbers w * 10^e with w <= 2^53 and |e| <= 22 are read here: then w and 10^|e| are both exact, and
/// one multiplication or division rounds once, as the correctly rounded result does. `None` for all others,
/// which the standard library reads.
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
    at = take_digits(text, at, &mut digits);
    let mut n_digits = at - start;
    let mut exponent: i64 = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let point = at;
        at = take_digits(text, at, &mut digits);
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

/// Appends the digits from `at` on to `digits`, which wraps around after nineteen; returns the place behind
/// them.
#[inline]
fn take_digits(text: &[u8], mut at: usize, digits: &mut u64) -> usize {
    while let Some(value) = text.get(at..at + 8).and_then(eight_digits) {
        *digits = digits.wrapping_mul(100_000_000).wrapping_add(value);
        at += 8;
    }
    while let Some(digit) = digit_at(text, at) {
        *digits = digits.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    at
}

/// Value of eight digits, by arithmetic on all of them at once: neighbours are joined to pairs, pairs to
/// fours, fours to the whole, each step one multiplication of the packed parts.
#[inline]
fn eight_digits(text: &[u8]) -> Option<u64> {
    let packed = u64::from_le_bytes(text.try_into().ok()?);
    // A byte is a digit if adding 0x46 leaves its high bit clear and so does subtracting 0x30.
    let above = packed.wrapping_add(0x4646_4646_4646_4646);
    let below = packed.wrapping_sub(0x3030_3030_3030_3030);
    if (above | below) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = below.wrapping_mul(10).wrapping_add(below >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
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
pub(crate) fn parse(field: &[u8]) -> Option<f64> {
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
        fn eight_bytes_are_digits_or_are_refused(text in prop::array::uniform8(any::<u8>()), value in 0u64..100_000_000) {
            let digits = text.iter().all(u8::is_ascii_digit);
            prop_assert_eq!(eight_digits(&text).is_some(), digits);
            prop_assert_eq!(eight_digits(format!("{value:08}").as_bytes()), Some(value));
        }

        #[test]
        fn one_wrong_byte_among_eight_is_noticed(at in 0usize..8, byte in any::<u8>()) {
            let mut text = *b"12345678";
            text[at] = byte;
            prop_assert_eq!(eight_digits(&text).is_some(), byte.is_ascii_digit());
        }

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
