//! The outline of a pilot sample that a recipe may remember: where its rows were, as cells of several rows.
//!
//! A cell has a centre, a standard deviation in every coordinate (exactly 0 where all its rows agree: a point
//! mass), and a number of rows, never fewer than [`LEAST_ROWS`], so that no row can be read off. Cells are
//! sorted into a few groups that share correlations, which costs far less than a covariance for each cell and
//! leaves room for more cells. All in working coordinates.
//!
//! In the recipe's JSON: `{"cells": A, "groups": G, "rows": N, "blur": b, "data": "..."}`, where the data are
//! in base64, little-endian, for d columns:
//!
//! ```text
//! f32 x 2d      lowest and highest centre of each column
//! f32 x d       largest deviation of each column
//! u32 x A       rows of each cell
//! u8  x A       group of each cell
//! u16 x A d     centres, in 65535 equal steps from lowest to highest
//! u8  x A d     deviations: 0, or the largest times 2^((code - 255) / 12)
//! i16 x G d(d-1)/2   correlations of each group in steps of 1/32767, lower triangle by rows
//! ```

use serde::{Deserialize, Serialize};

use crate::num::base64;
use crate::num::math::{exp, ln};

/// Rows of the pilot that a cell holds at least.
pub const LEAST_ROWS: u32 = 5;
/// Cells that an outline has at most.
const MOST_CELLS: usize = 1 << 16;
/// Codes of a deviation for each halving of it: steps of 6%.
const CODES_PER_OCTAVE: f64 = 12.0;

/// Where the rows of a pilot were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Outline {
    cells: Cells,
    written: Written,
}

/// The cells themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cells {
    /// d.
    pub dim: usize,
    /// A rows of d.
    pub centres: Vec<f64>,
    /// A rows of d; 0 for a point mass.
    pub deviations: Vec<f64>,
    /// Rows of the pilot in each cell.
    pub rows: Vec<u32>,
    /// Group of each cell.
    pub groups: Vec<u8>,
    /// Correlations of each group, lower triangle by rows without the diagonal; none if cells have none.
    pub correlations: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    cells: usize,
    groups: usize,
    rows: u64,
    blur: f64,
    data: String,
}

impl Cells {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

impl Outline {
    /// Bytes of the data of one cell, and of one group, in base64.
    pub(crate) fn bytes(dim: usize) -> (usize, usize) {
        ((5 + 3 * dim) * 4 / 3, dim * dim.saturating_sub(1) * 4 / 3)
    }

    /// An outline of these cells, rounded as they are written. `rows` are all of the pilot, with those that
    /// are in no cell; `blur` is the mean square of what the cells miss in an entry of the pilot's sketch.
    pub(crate) fn new(cells: &Cells, rows: u64, blur: f64) -> Outline {
        let written = Written {
            cells: cells.len(),
            groups: cells.correlations.len(),
            rows,
            blur,
            data: base64::encode(&pack(cells)),
        };
        Outline::try_from(written).expect("what was just written can be read")
    }

    /// The same cells with another blur.
    pub(crate) fn with_blur(mut self, blur: f64) -> Outline {
        self.written.blur = blur;
        self
    }

    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.cells.dim
    }

    /// Number of cells.
    pub fn n_cells(&self) -> usize {
        self.written.cells
    }

    /// Groups of cells that share correlations; 0 if columns are taken as uncorrelated within a cell.
    pub fn n_groups(&self) -> usize {
        self.written.groups
    }

    /// Rows of the pilot in the smallest cell.
    pub fn least_rows(&self) -> u32 {
        self.cells.rows.iter().copied().min().unwrap_or(LEAST_ROWS)
    }

    /// Rows of the pilot.
    pub fn pilot_rows(&self) -> u64 {
        self.written.rows
    }

    /// Mean square of what the cells miss in an entry of the pilot's sketch.
    pub(crate) fn blur(&self) -> f64 {
        self.written.blur
    }

    /// Bytes of the cells in the recipe.
    pub fn n_bytes(&self) -> usize {
        self.written.data.len()
    }
}

impl From<Outline> for Written {
    fn from(outline: Outline) -> Written {
        outline.written
    }
}

impl TryFrom<Written> for Outline {
    type Error = String;

    fn try_from(written: Written) -> Result<Outline, String> {
        let bytes = base64::decode(&written.data).map_err(|problem| format!("outline: {problem}"))?;
        let cells = unpack(&bytes, written.cells, written.groups)?;
        let inside: u64 = cells.rows.iter().map(|&n| u64::from(n)).sum();
        if inside > written.rows {
            return Err(format!("outline: {inside} rows in its cells, of a pilot of {}", written.rows));
        }
        if let Some(few) = cells.rows.iter().find(|&&n| n < LEAST_ROWS) {
            return Err(format!("outline: a cell of {few} rows, fewer than {LEAST_ROWS}"));
        }
        if !(0.0..=4.0).contains(&written.blur) {
            return Err(format!("outline: a blur of {} is not from 0 to 4", written.blur));
        }
        Ok(Outline { cells, written })
    }
}

fn pack(cells: &Cells) -> Vec<u8> {
    let d = cells.dim;
    let fold = |values: &[f64], from: f64, f: fn(f64, f64) -> f64| -> Vec<f32> {
        (0..d).map(|c| values.iter().skip(c).step_by(d).fold(from, |a, &b| f(a, b)) as f32).collect()
    };
    let low = fold(&cells.centres, f64::INFINITY, f64::min);
    let high = fold(&cells.centres, f64::NEG_INFINITY, f64::max);
    let largest = fold(&cells.deviations, 0.0, f64::max);
    let mut bytes: Vec<u8> = Vec::new();
    for values in [&low, &high, &largest] {
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    }
    bytes.extend(cells.rows.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(&cells.groups);
    for (i, x) in cells.centres.iter().enumerate() {
        let (low, high) = (f64::from(low[i % d]), f64::from(high[i % d]));
        let step = if high > low { (x - low) / (high - low) * 65535.0 } else { 0.0 };
        bytes.extend((step.round().clamp(0.0, 65535.0) as u16).to_le_bytes());
    }
    let code = |(i, s): (usize, &f64)| match s / f64::from(largest[i % d]) {
        part if part > 0.0 => {
            (255.0 + CODES_PER_OCTAVE * ln(part) / std::f64::consts::LN_2).round().clamp(1.0, 255.0) as u8
        }
        _ => 0,
    };
    bytes.extend(cells.deviations.iter().enumerate().map(code));
    let all = cells.correlations.iter().flatten();
    bytes.extend(all.flat_map(|r| ((r * 32767.0).round().clamp(-32767.0, 32767.0) as i16).to_le_bytes()));
    bytes
}

fn unpack(bytes: &[u8], n: usize, n_groups: usize) -> Result<Cells, String> {
    if n == 0 || n > MOST_CELLS || n_groups > 256 {
        return Err(format!("outline: {n} cells in {n_groups} groups"));
    }
    let dim = dimension(bytes.len(), n, n_groups)
        .ok_or_else(|| format!("outline: {} bytes are not {n} cells in {n_groups} groups", bytes.len()))?;
    let mut rest = bytes;
    let mut take = |count: usize| {
        let (head, tail) = rest.split_at(count);
        rest = tail;
        head
    };
    let mut singles = |count: usize| -> Vec<f64> {
        take(4 * count).as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
    };
    let (low, high, largest) = (singles(dim), singles(dim), singles(dim));
    let ordered = low.iter().zip(&high).all(|(l, h)| l.is_finite() && h.is_finite() && l <= h);
    if !ordered || !largest.iter().all(|s| s.is_finite() && *s >= 0.0) {
        return Err("outline: its ranges are not finite numbers in order".into());
    }
    let rows = take(4 * n).as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let groups = take(n).to_vec();
    if n_groups > 0 && groups.iter().any(|&g| usize::from(g) >= n_groups) {
        return Err(format!("outline: a cell is in a group beyond the {n_groups} there are"));
    }
    let steps = take(2 * n * dim).as_chunks::<2>().0.iter().map(|b| f64::from(u16::from_le_bytes(*b)));
    let centre = |(i, step): (usize, f64)| {
        let (low, high) = (low[i % dim], high[i % dim]);
        low + step / 65535.0 * (high - low)
    };
    let centres = steps.enumerate().map(centre).collect();
    let deviation = |(i, &code): (usize, &u8)| match code {
        0 => 0.0,
        code => {
            let octaves = (f64::from(code) - 255.0) / CODES_PER_OCTAVE;
            largest[i % dim] * exp(octaves * std::f64::consts::LN_2)
        }
    };
    let deviations = take(n * dim).iter().enumerate().map(deviation).collect();
    let pairs = dim * (dim - 1) / 2;
    let correlations = (0..n_groups)
        .map(|_| {
            let codes = take(2 * pairs).as_chunks::<2>().0;
            codes.iter().map(|b| f64::from(i16::from_le_bytes(*b)) / 32767.0).collect()
        })
        .collect();
    Ok(Cells { dim, centres, deviations, rows, groups, correlations })
}

/// The number of columns with which cells and groups take so many bytes.
fn dimension(bytes: usize, n: usize, n_groups: usize) -> Option<usize> {
    let length = |d: usize| 12 * d + 5 * n + 3 * n * d + n_groups * d * (d - 1);
    // The length grows with d.
    let mut d = 1;
    while length(d) < bytes {
        d += 1;
    }
    (length(d) == bytes).then_some(d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Cells {
        Cells {
            dim: 2,
            centres: vec![0.0, -3.0, 10.0, 5.0, 2.5, 5.0],
            deviations: vec![1.0, 0.0, 0.25, 2.0, 0.0, 1e-9],
            rows: vec![5, 100, 7],
            groups: vec![0, 1, 1],
            correlations: vec![vec![0.5], vec![-0.999]],
        }
    }

    #[test]
    fn cells_come_back_within_their_steps_and_the_second_time_exactly() {
        let outline = Outline::new(&cells(), 120, 0.25);
        let back = outline.cells();
        for (x, y) in back.centres.iter().zip(&cells().centres) {
            assert!((x - y).abs() <= 10.0 / 65535.0, "{x} {y}");
        }
        // Half a step of 2^(1/12) is 3%; what is far below the largest is held at 2^-21 of it.
        for (x, y) in back.deviations.iter().zip(&cells().deviations) {
            assert!((x - y).abs() <= 0.03 * y + 1e-6, "{x} {y}");
        }
        assert_eq!((back.deviations[1], back.deviations[4]), (0.0, 0.0));
        assert!((back.correlations[1][0] + 0.999).abs() < 1e-4);
        assert_eq!(Outline::new(back, 120, 0.25), outline);
        let json = serde_json::to_string(&outline).unwrap();
        assert_eq!(serde_json::from_str::<Outline>(&json).unwrap(), outline);
    }

    #[test]
    fn what_no_pilot_gives_is_refused() {
        let json = serde_json::to_string(&Outline::new(&cells(), 112, 0.0)).unwrap();
        let read = |json: &str| serde_json::from_str::<Outline>(json).map_err(|e| e.to_string());
        assert!(read(&json).is_ok());
        for (from, to, word) in [
            (r#""rows":112"#, r#""rows":111"#, "112 rows"),
            (r#""cells":3"#, r#""cells":4"#, "4 cells"),
            (r#""groups":2"#, r#""groups":1"#, "groups"),
            (r#""blur":0.0"#, r#""blur":-1.0"#, "blur"),
            (r#""data":""#, r#""data":"!"#, "base64"),
        ] {
            let problem = read(&json.replace(from, to)).unwrap_err();
            assert!(problem.contains(word), "{word}: {problem}");
        }
        let mut few = cells();
        few.rows[0] = 4;
        let forged = Written { cells: 3, groups: 2, rows: 120, blur: 0.0, data: base64::encode(&pack(&few)) };
        assert!(Outline::try_from(forged).unwrap_err().contains("fewer than 5"));
    }
}
