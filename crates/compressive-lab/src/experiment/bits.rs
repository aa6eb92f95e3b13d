//! Fourier against one-bit contributions at what they cost to send: what the experiments `fleet` and `sounds`
//! share.

use compressive::learn::Decoder;
use compressive::{Feature, Wave};

use crate::error::Result;
use crate::experiment::fits::Sketched;
use crate::experiment::report::{Cell, Figure, Table, Verdict};
use crate::plot::{Lines, Series};
use compressive_data::Mixture;

/// Names of the features.
const FEATURES: [&str; 2] = ["Fourier", "one-bit"];
/// Bits a frequency that a contribution takes: two doubles, as \[Sch21\] counts them, or two signs.
const BITS: [usize; 2] = [128, 2];
/// Searches of `auto`: no mixture of a few Gaussians explains such data, so that more are not worth their
/// time.
const SEARCHES: usize = 2;

/// A value for each feature and each decoder: `[feature][decoder]`.
pub(super) type Values = [[f64; 2]; 2];

/// The features in their order.
pub(super) fn features() -> [Feature; 2] {
    [Wave::Fourier.into(), Wave::OneBit.into()]
}

impl Sketched {
    /// Mixtures by the best of so many runs of `cl-ompr` as published, and by `auto`.
    pub fn both_mixtures(&self, k: usize, runs: usize) -> Result<[Mixture; 2]> {
        Ok([self.published_mixture_of(k, runs)?, self.mixture_of(k, Decoder::Auto, SEARCHES)?])
    }
}

/// What is found at each number of frequencies.
pub(super) struct Curves {
    /// Name of the values, in tables and numbers.
    pub what: &'static str,
    /// Digits after the point.
    pub digits: usize,
    /// Names of the decoders.
    pub decoders: [&'static str; 2],
    /// Numbers of frequencies, growing, with the values there.
    pub points: Vec<(usize, Values)>,
}

impl Curves {
    /// A table of all values.
    pub fn table(&self, title: String) -> Table {
        let heads = FEATURES
            .iter()
            .flat_map(|feature| self.decoders.map(|decoder| format!("{feature}, `{decoder}`")));
        let columns: Vec<String> =
            ["m", "bits, Fourier", "bits, one-bit"].map(str::to_owned).into_iter().chain(heads).collect();
        let mut table = Table::new(title, &columns.iter().map(String::as_str).collect::<Vec<_>>());
        for (size, values) in &self.points {
            let mut cells = vec![Cell::number("size", *size as f64, 0)];
            cells.extend(BITS.map(|bits| Cell::number("bits", (bits * size) as f64, 0)));
            cells.extend(values.iter().flatten().map(|value| Cell::number(self.what, *value, self.digits)));
            table.push(cells, None);
        }
        table
    }

    /// Fewest bits at which a feature decoded by a decoder reaches what is wanted, and keeps it at all larger
    /// sizes.
    fn least_bits(&self, feature: usize, decoder: usize, reached: &dyn Fn(f64) -> bool) -> Option<usize> {
        let good = self.points.iter().rev().take_while(|(_, values)| reached(values[feature][decoder]));
        good.last().map(|(size, _)| BITS[feature] * size)
    }

    /// Adds rows on the bits at which a value is reached: one-bit contributions must do with so many times
    /// fewer.
    pub fn judge(&self, table: &mut Table, wanted: &str, reached: &dyn Fn(f64) -> bool, times: f64) {
        for (decoder, name) in self.decoders.iter().enumerate() {
            let bits = [0, 1].map(|feature| self.least_bits(feature, decoder, reached));
            let shown = bits.map(|bits| bits.map_or_else(|| "never".to_owned(), |b| b.to_string()));
            let ratio = match bits {
                [Some(fourier), Some(one_bit)] => fourier as f64 / one_bit as f64,
                [None, Some(_)] => f64::INFINITY,
                _ => f64::NAN,
            };
            let [fourier, one_bit] = shown;
            let cells = vec![
                Cell::text(wanted),
                Cell::text(format!("`{name}`")),
                Cell::text(fourier),
                Cell::text(one_bit),
                Cell::text(if ratio.is_finite() { format!("{ratio:.0}") } else { String::new() })
                    .with("ratio", ratio),
            ];
            table.push(
                cells,
                Some(Verdict::bar(ratio >= times, format!("at least {times:.0} times fewer bits"))),
            );
        }
    }

    /// The table that [`judge`](Curves::judge) adds to.
    pub fn judged(title: &str) -> Table {
        Table::new(title, &["wanted", "decoder", "bits, Fourier", "bits, one-bit", "ratio"])
    }

    /// The values against the logarithm of the bits; `level` is a baseline that does not depend on them.
    pub fn figure(
        &self,
        file: &str,
        title: &str,
        level: Option<(&str, f64)>,
        shown: &dyn Fn(f64) -> f64,
        y_label: &str,
    ) -> Result<Figure> {
        let place = |feature: usize, size: usize| ((BITS[feature] * size) as f64).log10();
        let mut series: Vec<Series> = Vec::new();
        for (feature, name) in FEATURES.iter().enumerate() {
            for (decoder, by) in self.decoders.iter().enumerate() {
                let points = self
                    .points
                    .iter()
                    .map(|(size, values)| (place(feature, *size), shown(values[feature][decoder])));
                series.push(Series { name: format!("{name}, {by}"), points: points.collect() });
            }
        }
        if let Some((name, value)) = level {
            let ends = [(1, self.points.first()), (0, self.points.last())];
            let points = ends
                .into_iter()
                .filter_map(|(feature, end)| end.map(|(size, _)| (place(feature, *size), shown(value))));
            series.push(Series { name: name.into(), points: points.collect() });
        }
        let names: Vec<&str> = series.iter().map(|curve| curve.name.as_str()).collect();
        let alt = format!(
            "{title}: {y_label} against the logarithm to base 10 of the bits of a contribution, for {}.",
            names.join("; ")
        );
        let lines = Lines {
            title: title.into(),
            x_label: "log10 of the bits of a contribution".into(),
            y_label: y_label.into(),
            series,
        };
        Ok(Figure { file: file.into(), alt, png: lines.to_png()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::report::Outcome;

    #[test]
    fn bits_are_those_from_which_on_a_value_is_kept() {
        let point = |size, fourier, one_bit| (size, [[fourier; 2], [one_bit; 2]]);
        let points = vec![point(10, 0.1, 0.5), point(20, 0.3, 0.4), point(40, 0.1, 0.2), point(80, 0.1, 0.1)];
        let curves = Curves { what: "loss", digits: 2, decoders: ["a", "b"], points };
        let reached = |value: f64| value <= 0.2;
        assert_eq!(curves.least_bits(0, 0, &reached), Some(128 * 40));
        assert_eq!(curves.least_bits(1, 1, &reached), Some(2 * 40));
        assert_eq!(curves.least_bits(1, 1, &|value| value < 0.0), None);
        let mut table = Curves::judged("");
        curves.judge(&mut table, "0.2", &reached, 64.0);
        curves.judge(&mut table, "0.1", &|value| value <= 0.1, 64.0);
        let outcomes: Vec<_> =
            table.rows.iter().filter_map(|row| row.verdict.as_ref().map(|v| v.outcome)).collect();
        assert_eq!(outcomes, [Outcome::Met, Outcome::Met, Outcome::Missed, Outcome::Missed]);
    }
}
