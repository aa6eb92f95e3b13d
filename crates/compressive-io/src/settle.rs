//! What is only known of a column when rows of it were seen: the length of its lists, the levels of its text.

use std::sync::{Arc, Mutex};

use compressive::{Column, Missing, Reading, RowsRef, reading};

use crate::chunk::RowChunk;
use crate::dataset::Dataset;
use crate::entry::{Entry, Taken, Texts, lock};
use crate::error::Result;
use crate::plan::{Feature, LeftOut, Read, Scope};
use crate::survey;
use crate::table::{Spread, drain_parts};

/// Rows at the start of a file among which a list is looked for.
const LIST_ROWS: usize = 1000;

/// Sampled rows in which texts stand as their numbers, and the group of each.
pub(crate) struct Sampled {
    pub rows: Vec<f64>,
    pub groups: Option<Vec<String>>,
}

impl Dataset {
    /// Finds the length of lists whose type does not tell it: that of the first one.
    pub(crate) fn find_lengths(&mut self) -> Result<()> {
        let is_list = |feature: &Feature| matches!(feature.read, Read::List);
        let lists = self.features().iter().filter(|feature| is_list(feature)).count();
        if lists == 0 {
            return Ok(());
        }
        let mut lengths = vec![None; lists];
        for i in 0..self.files.len() {
            if lengths.iter().all(Option::is_some) {
                break;
            }
            let plan = self.plan_for(i, Scope::Lengths)?;
            let table = &mut self.files[i].opened.table;
            let spread = Spread { fractions: vec![0.0], rows_per_point: LIST_ROWS };
            let mut look = |chunk: &RowChunk| {
                let RowsRef::F64(rows) = chunk.rows() else { return };
                for (j, length) in rows.iter().enumerate().filter(|(_, length)| **length > 0.0) {
                    lengths[j % lists].get_or_insert(*length as usize);
                }
            };
            if !table.sample(&plan, &spread, &mut look)? {
                drain_parts(&mut *table.head(&plan, 1)?, &mut look)?;
            }
        }
        let mut lengths = lengths.into_iter();
        let mut features = Vec::new();
        for feature in self.features().to_vec() {
            if !is_list(&feature) {
                features.push(feature);
            } else if let Some(length) = lengths.next().flatten() {
                features.push(Feature { read: Read::As(Reading::Vector { length }), ..feature });
            } else {
                let (reason, group) = ("empty".to_owned(), "empty columns");
                self.note_left_out(LeftOut { name: feature.name, reason, group, asked: false });
            }
        }
        self.use_features(features)
    }

    /// Decides what texts are by the sample, and reads it so.
    pub(crate) fn settle_texts(&mut self, sampled: Sampled) -> Result<Sampled> {
        let features = self.features().to_vec();
        if !features.iter().any(|feature| matches!(feature.read, Read::Text { .. })) {
            return Ok(sampled);
        }
        let named = self.options().columns.is_some();
        let old: Vec<(usize, usize)> = spans(features.iter().map(|feature| match &feature.read {
            Read::As(reading) => reading.width(),
            Read::Text { .. } => 1,
            Read::List => 0,
        }));
        let width = old.last().map_or(0, |(at, width)| at + width);
        let mut kept = Vec::new();
        let mut parts = Vec::new();
        for (feature, &(at, len)) in features.iter().zip(&old) {
            let Read::Text { texts, typed } = &feature.read else {
                kept.push(feature.clone());
                parts.push(Part::Same(at, len));
                continue;
            };
            let codes: Vec<f64> = sampled.rows.iter().skip(at).step_by(width).copied().collect();
            let guard = lock(texts);
            let column =
                survey::Column { name: &feature.name, texts: &guard, codes: &codes, named, typed: *typed };
            match column.judge() {
                Ok(reading) => {
                    kept.push(Feature { name: feature.name.clone(), read: Read::As(reading) });
                    parts.push(Part::Text(at, Arc::clone(texts)));
                }
                Err(left_out) => self.note_left_out(left_out),
            }
        }
        self.use_features(kept)?;
        let read = |column: Column| (column.reading.clone(), Entry::of(&column.reading));
        let readings: Vec<(Reading, Entry)> = self.table_columns().into_iter().map(read).collect();
        let strict = self.options().missing == Missing::Error || self.options().skip_bad_rows;
        let (mut rows, mut groups) = (Vec::new(), sampled.groups.as_ref().map(|_| Vec::new()));
        for (i, row) in sampled.rows.chunks_exact(width).enumerate() {
            let start = rows.len();
            let good =
                parts.iter().zip(&readings).all(|(part, reading)| part.read(row, reading, strict, &mut rows));
            if !good {
                rows.truncate(start);
            } else if let (Some(all), Some(kept)) = (&sampled.groups, &mut groups) {
                kept.push(all[i].clone());
            }
        }
        Ok(Sampled { rows, groups })
    }
}

fn spans(widths: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut at = 0;
    let span = |width| {
        at += width;
        (at - width, width)
    };
    widths.map(span).collect()
}

/// Where coordinates come from in a sampled row.
enum Part {
    /// From so many values at this place.
    Same(usize, usize),
    /// From the number of a text at this place.
    Text(usize, Arc<Mutex<Texts>>),
}

impl Part {
    /// Appends the coordinates of a column read so; `false` for an entry that is not what it holds.
    fn read(
        &self,
        row: &[f64],
        (reading, entry): &(Reading, Entry),
        strict: bool,
        out: &mut Vec<f64>,
    ) -> bool {
        let (at, texts) = match self {
            Part::Same(at, width) => {
                out.extend_from_slice(&row[*at..at + width]);
                return true;
            }
            Part::Text(at, texts) => (*at, texts),
        };
        let start = out.len();
        out.resize(start + reading.width(), 0.0);
        let entries = &mut out[start..];
        let taken = match row[at] {
            code if code.is_nan() => Taken::Missing,
            code => entry.take_text(lock(texts).all[code as usize].as_bytes(), entries),
        };
        match taken {
            Taken::Stray if strict => return false,
            Taken::Missing | Taken::Stray => entries.fill(f64::NAN),
            Taken::Good if reading.periods().is_empty() => {}
            Taken::Good => reading::on_circles(entries[0], reading.periods(), entries),
            Taken::Bad => return false,
        }
        true
    }
}
