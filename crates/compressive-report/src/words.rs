//! Numbers, sizes and recipes as a person would say them.

use std::time::Duration;

use compressive::{ImageShape, Images, Landmarks, Map, Outline, SketchSpec, Waves};

/// A whole number with thousands separators.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `one row`, `2 rows`.
pub fn count(n: u64, noun: &str) -> String {
    let many = match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ if noun.ends_with("ch") => format!("{noun}es"),
        _ => format!("{noun}s"),
    };
    format!("{} {}", thousands(n), if n == 1 { noun } else { &many })
}

/// Bytes in the unit a person would use.
pub fn bytes(n: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 99.95);
    format!("{value:.decimals$} {}", units[unit])
}

/// Four significant digits, without needless zeros.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let magnitude = x.abs().log10().floor() as i32;
    if (-4..7).contains(&magnitude) {
        let decimals = (3 - magnitude).max(0) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{x:.3e}")
    }
}

/// As [`number`], with more digits where values that far apart would look the same.
pub fn number_within(x: f64, range: f64) -> String {
    // A hundredth of the range is to be seen.
    let place = (range.abs() / 100.0).log10().floor();
    let known = x.abs().log10().floor() - 3.0;
    if !(place.is_finite() && known.is_finite()) || known <= place || place < -12.0 {
        return number(x);
    }
    let text = format!("{x:.*}", (-place).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A budget as it was given: without the noise that sums have in their last digits.
pub fn amount(x: f64) -> String {
    let clean: f64 = format!("{x:.11e}").parse().unwrap_or(x);
    if clean != 0.0 && clean.abs() < 1e-4 { format!("{clean:e}") } else { format!("{clean}") }
}

/// Seconds as a person would say them.
pub fn seconds(duration: Duration) -> String {
    let s = duration.as_secs_f64();
    if s < 0.1 { format!("{:.0} ms", 1e3 * s) } else { format!("{s:.2} s") }
}

/// The recipe in one line.
pub fn recipe(spec: &SketchSpec) -> String {
    let (name, size, scale) = (spec.map.name(), thousands(spec.size as u64), number(spec.scale));
    let columns = count(spec.dim() as u64, "column");
    let structured = if spec.map.structured() { ", structured" } else { "" };
    match &spec.map {
        Map::Waves(Waves { law, .. }) => {
            let law = law.name();
            format!("{name} of {size} frequencies over {columns}, law {law}, scale {scale}{structured}")
        }
        Map::Moments(directions) => {
            let complex = if directions.complex { "complex " } else { "" };
            let directions = count(spec.size as u64, "direction");
            format!("{name} of {complex}{directions} over {columns}{structured}")
        }
        Map::Landmarks(Landmarks { rule, .. }) => {
            format!("{name} at {size} landmarks over {columns}, chosen by {rule}, kernel width {scale}")
        }
        Map::Images(Images { shape: ImageShape { height, width, channels }, law, .. }) => format!(
            "{name} of {size} frequencies over images of {height} x {width} x {channels}, law {}, scale {scale}",
            law.name(),
        ),
    }
}

/// What a recipe remembers of the sample that it was chosen on, in one line.
pub fn outline(outline: &Outline) -> String {
    let correlations = match outline.n_groups() as u64 {
        0 => String::new(),
        n => format!(" with the correlations of {}", count(n, "group")),
    };
    format!(
        "{} of at least {} each{correlations}, learned from a sample of {}, {}",
        count(outline.n_cells() as u64, "cell"),
        count(outline.least_rows().into(), "row"),
        count(outline.pilot_rows(), "row"),
        bytes(outline.n_bytes() as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(
            count(2, "sketch") + ", " + &count(0, "entry") + ", " + &count(7, "key"),
            "2 sketches, 0 entries, 7 keys"
        );
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(16_914), "16.9 kB");
        assert_eq!(bytes(40_000_128), "40.0 MB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(number(0.123_456), "0.1235");
        assert_eq!(number(1000.0), "1000");
        assert_eq!(number(2.5), "2.5");
        assert_eq!(number(1.7e9), "1.700e9");
        assert_eq!(number(-3e-9), "-3.000e-9");
        assert_eq!(number_within(2013.456, 1.0), "2013.46");
        assert_eq!(number_within(2013.456, 500.0), "2013");
        assert_eq!(number_within(2013.456, 0.0), "2013");
        assert_eq!(number_within(1.7e9, 5e4), "1700000000");
        assert_eq!(amount(0.1 + 0.2), "0.3");
        assert_eq!(amount(1e-6 + 2e-6), "3e-6");
        assert_eq!(amount(12.5), "12.5");
        assert_eq!(amount(0.0), "0");
    }
}
