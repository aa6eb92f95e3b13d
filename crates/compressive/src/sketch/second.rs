//! Exact first and second moments of the rows, beside the features.
//!
//! A row with working coordinates u has the integers $q_i = \mathrm{round}(2^{24} u_i)$, and a recipe that
//! keeps moments sums $q_i$ and the products $q_i q_j$, $j \le i$ (or $q_i^2$ alone): means, variances and
//! correlations are then those of the rows themselves, and merge and subtract like the features.
//!
//! A row of weight w adds $a_i = \lfloor (W q_i + 2^{23}) / 2^{24} \rfloor$, $W = \mathrm{round}(2^{24} w)$, and
//! $a_i q_j$: for a whole weight exactly w copies of the row. Other weights round the weighted coordinate, by at
//! most half a unit, which changes a covariance by some $2^{-25} \lvert\mu\rvert / \sqrt n$ for a mean
//! $\mu$ in working units.
//!
//! Nothing overflows. Coordinates are moved to $\pm 2^{20}$, as for the features, so a product is at most
//! $2^{88}$, and $2^{39}$ of them fit 128 bits. The rows that were moved are counted: while a sketch has any,
//! its sums are not those of the rows, and it has no exact moments.
//!
//! Cost: d (d + 1) / 2 products a row. Products of 31-bit numbers, which all but far outliers have, are
//! summed in 64 bits for as many rows as are sure to fit.

use compressive_kernels::{PADDING, round_to_grid, triangle_products};

use crate::error::{Error, Result};
use crate::names::named;
use crate::sketch::frequency::Covariance;
use crate::sketch::operator::WORKING_LIMIT;

/// Which second moments a recipe keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MomentSet {
    /// All pairs of columns: means, variances and correlations.
    Full,
    /// Every column by itself: means and variances.
    Diagonal,
}

named!(MomentSet, "a set of moments", {
    Full => "full": "means, variances and correlations of the columns",
    Diagonal => "diagonal": "means and variances of the columns",
});

impl MomentSet {
    /// Number of sums of products for d columns.
    pub(crate) fn products(self, dim: usize) -> usize {
        match self {
            MomentSet::Full => dim * (dim + 1) / 2,
            MomentSet::Diagonal => dim,
        }
    }

    /// 64-bit words that the moments take in a file.
    pub(crate) fn words(self, dim: usize) -> usize {
        1 + 2 * (dim + self.products(dim))
    }
}

/// Exact sums of the working coordinates and their products, in units of $2^{-24}$ and $2^{-48}$.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondSums {
    set: MomentSet,
    beyond: u64,
    first: Vec<i128>,
    second: Vec<i128>,
}

/// Mean and covariance of the rows of a sketch, in working coordinates: exact but for the rounding of
/// each value to multiples of $2^{-24}$.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactMoments {
    /// Mean of each coordinate.
    pub mean: Vec<f64>,
    /// Variances, or the whole covariance, with the number of rows as divisor.
    pub covariance: Covariance,
}

/// Most sums of products that a recipe may keep: 4095 columns, 128 MB.
pub(crate) const MAX_PRODUCTS: usize = 1 << 23;

/// Units of the grid.
const UNIT: f64 = 16_777_216.0;
/// Largest total weight, in units of $2^{-24}$: $2^{20}$ below the limit of the features, which leaves room
/// for the rounding of $2^{39}$ weighted rows.
const MAX_WEIGHT: i64 = i64::MAX - (1 << 20);
/// Rows whose products are summed together: few enough to stay in the cache with 100 columns.
const BLOCK_ROWS: usize = 64;

impl SecondSums {
    pub(crate) fn empty(set: MomentSet, dim: usize) -> SecondSums {
        SecondSums { set, beyond: 0, first: vec![0; dim], second: vec![0; set.products(dim)] }
    }

    /// Rows that had a coordinate beyond [`WORKING_LIMIT`] and were summed as if at it.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Whether a total weight leaves room for the rounding of its rows.
    pub(crate) fn check_room(weight: i64) -> Result<()> {
        if weight <= MAX_WEIGHT { Ok(()) } else { Err(Error::Full) }
    }

    /// Adds other sums of the same recipe; the caller has seen that the weight of both fits.
    pub(crate) fn merge(&mut self, other: &SecondSums) {
        self.beyond += other.beyond;
        // Wrapping, so that forged files cannot cause a panic.
        self.entries_mut().zip(other.entries()).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }

    /// The sums without those of another sketch, or none if no rows of this weight could have them.
    pub(crate) fn without(&self, other: &SecondSums, weight: i64) -> Option<SecondSums> {
        let mut rest = self.clone();
        rest.beyond = rest.beyond.checked_sub(other.beyond)?;
        rest.entries_mut().zip(other.entries()).for_each(|(sum, less)| *sum = sum.wrapping_sub(*less));
        rest.possible(weight).then_some(rest)
    }

    /// Whether rows of this total weight, in units of $2^{-24}$, can have these sums: none is larger than the
    /// limit allows, and no square is negative.
    pub(crate) fn possible(&self, weight: i64) -> bool {
        // A coordinate is at most 2^44, and each of 2^39 rows is rounded by at most half a unit.
        let most = (weight.unsigned_abs() as u128) * (1 << 20) + (1 << 38);
        let mut squares = (0..self.first.len()).map(|i| self.second[self.square(i)]);
        (0..=MAX_WEIGHT).contains(&weight)
            && self.beyond <= weight.unsigned_abs()
            && self.first.iter().all(|s| s.unsigned_abs() <= most)
            && self.second.iter().all(|s| s.unsigned_abs() / (1 << 44) <= most)
            && squares.all(|s| s >= 0)
    }

    /// Place of the square of a coordinate among the products.
    fn square(&self, i: usize) -> usize {
        match self.set {
            MomentSet::Full => i * (i + 3) / 2,
            MomentSet::Diagonal => i,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &i128> {
        self.first.iter().chain(&self.second)
    }

    fn entries_mut(&mut self) -> impl Iterator<Item = &mut i128> {
        self.first.iter_mut().chain(&mut self.second)
    }

    /// As 64-bit words: the rows beyond the limit, then every sum, the lower half first.
    pub(crate) fn to_words(&self) -> Vec<i64> {
        let halves = self.entries().flat_map(|sum| [*sum as i64, (*sum >> 64) as i64]);
        std::iter::once(self.beyond as i64).chain(halves).collect()
    }

    /// From [`to_words`](SecondSums::to_words), of the right number; none if no sketch could have them.
    pub(crate) fn from_words(set: MomentSet, dim: usize, words: &[i64], weight: i64) -> Option<SecondSums> {
        let (beyond, halves) = words.split_first()?;
        let mut sums = SecondSums::empty(set, dim);
        sums.beyond = u64::try_from(*beyond).ok()?;
        for (sum, half) in sums.entries_mut().zip(halves.chunks_exact(2)) {
            *sum = i128::from(half[1]) << 64 | i128::from(half[0] as u64);
        }
        sums.possible(weight).then_some(sums)
    }

    /// Mean and covariance for this total weight in units of $2^{-24}$, above 0; none if rows were moved to
    /// the limit.
    ///
    /// The products are taken about the rounded mean $c_i$ in integers,
    /// $\sum (q_i - c_i)(q_j - c_j) = s_{ij} - c_i s_j - c_j s_i + n c_i c_j$, so that nothing cancels in f64.
    pub(crate) fn exact(&self, weight: i64) -> Option<ExactMoments> {
        if self.beyond > 0 || weight <= 0 {
            return None;
        }
        let dim = self.first.len();
        let (total, n) = (i128::from(weight), weight as f64 / UNIT);
        let centres: Vec<i128> = self.first.iter().map(|s| (s << 24) / total).collect();
        // What the rounded centre leaves of each sum.
        let left: Vec<f64> =
            (self.first.iter().zip(&centres)).map(|(s, c)| ((s << 24) - c * total) as f64 / UNIT).collect();
        let mean = centres.iter().zip(&left).map(|(c, l)| (*c as f64 + l / n) / UNIT).collect();
        let entry = |i: usize, j: usize, sum: i128| {
            let square = centres[i] * centres[j];
            // The weight has 24 bits after the point, which must not push the product out of 128 bits.
            let rest = ((total & ((1 << 24) - 1)) * square) >> 24;
            // Wrapping, since parts may pass 2^127 where the whole does not.
            let centred = sum
                .wrapping_sub(centres[i].wrapping_mul(self.first[j]))
                .wrapping_sub(centres[j].wrapping_mul(self.first[i]))
                .wrapping_add((total >> 24).wrapping_mul(square))
                .wrapping_add(rest);
            let covariance = (centred as f64 / n - left[i] * left[j] / (n * n)) / (UNIT * UNIT);
            if i == j { covariance.max(0.0) } else { covariance }
        };
        let covariance = match self.set {
            MomentSet::Diagonal => {
                Covariance::Diagonal((0..dim).map(|i| entry(i, i, self.second[i])).collect())
            }
            MomentSet::Full => {
                let mut rows = vec![vec![0.0; dim]; dim];
                let pairs = (0..dim).flat_map(|i| (0..=i).map(move |j| (i, j)));
                for ((i, j), sum) in pairs.zip(&self.second) {
                    let value = entry(i, j, *sum);
                    (rows[i][j], rows[j][i]) = (value, value);
                }
                Covariance::Full(rows)
            }
        };
        Some(ExactMoments { mean, covariance })
    }
}

impl ExactMoments {
    /// Variance of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        match &self.covariance {
            Covariance::Diagonal(variances) => variances.clone(),
            Covariance::Full(rows) => rows.iter().enumerate().map(|(i, row)| row[i]).collect(),
        }
    }
}

/// Buffers of [`SecondSums::add`]: rows of whole numbers, padded for the kernel, and sums of 64 bits.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Rows of $q$; zeros for a row that is summed in 128 bits.
    values: Vec<i64>,
    /// Rows of $a$, for weighted rows.
    weighted: Vec<i64>,
    /// A bound of the products of each row.
    largest: Vec<u64>,
    /// Sums not yet in 128 bits: of the coordinates, and of the products.
    first: Vec<i64>,
    second: Vec<i64>,
    /// What the products may still grow by without leaving 64 bits.
    room: u64,
}

impl SecondSums {
    /// Adds rows of working coordinates, with their weights in units of $2^{-24}$ if they have any.
    pub(crate) fn add(&mut self, working: &[f64], weights: Option<&[i64]>, buffers: &mut Buffers) {
        let dim = self.first.len();
        let stride = dim.next_multiple_of(PADDING);
        buffers.begin(stride, if self.set == MomentSet::Full { dim } else { 1 });
        for (block, rows) in working.chunks(BLOCK_ROWS * dim).enumerate() {
            let n_rows = rows.len() / dim;
            let weights = weights.map(|w| &w[block * BLOCK_ROWS..][..n_rows]);
            buffers.resize(n_rows * stride, weights.is_some());
            for (r, row) in rows.chunks_exact(dim).enumerate() {
                let weight = weights.map(|w| w[r]);
                if !buffers.place(row, weight, r * stride..(r + 1) * stride) {
                    self.add_far(row, weight);
                }
            }
            let mut start = 0;
            while start < n_rows {
                let end = buffers.run(start);
                buffers.sum(self.set, dim, start * stride..end * stride);
                if end < n_rows {
                    self.fold(stride, buffers);
                }
                start = end;
            }
        }
        self.fold(stride, buffers);
    }

    /// Adds a row with a number of more than 31 bits, in 128 bits.
    fn add_far(&mut self, row: &[f64], weight: Option<i64>) {
        if row.iter().any(|u| u.abs() > WORKING_LIMIT) {
            self.beyond += weight.map_or(1, rows_of);
        }
        let mut values = vec![0; row.len()];
        round_to_grid(WORKING_LIMIT, row, &mut values);
        let weigh = |&q: &i64| weight.map_or(i128::from(q), |w| weigh(q, w));
        let weighted: Vec<i128> = values.iter().map(weigh).collect();
        self.first.iter_mut().zip(&weighted).for_each(|(sum, a)| *sum += a);
        let set = self.set;
        let products = weighted.iter().enumerate().flat_map(|(i, a)| {
            let from = if set == MomentSet::Full { 0 } else { i };
            values[from..=i].iter().map(move |q| a * i128::from(*q))
        });
        self.second.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
    }

    /// Takes over the sums of 64 bits.
    fn fold(&mut self, stride: usize, buffers: &mut Buffers) {
        let wide = |sums: &mut [i128], more: &mut dyn Iterator<Item = &i64>| {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += i128::from(*more));
        };
        wide(&mut self.first, &mut buffers.first.iter());
        match self.set {
            MomentSet::Full => {
                let lines = buffers.second.chunks_exact(stride).enumerate();
                for (i, line) in lines {
                    wide(&mut self.second[i * (i + 1) / 2..][..=i], &mut line.iter());
                }
            }
            MomentSet::Diagonal => wide(&mut self.second, &mut buffers.second.iter()),
        }
        buffers.begin(stride, buffers.second.len() / stride);
    }
}

impl Buffers {
    /// No sums yet, for so many lines of products.
    fn begin(&mut self, stride: usize, lines: usize) {
        self.first.clear();
        self.first.resize(stride, 0);
        self.second.clear();
        self.second.resize(lines * stride, 0);
        self.room = i64::MAX as u64;
    }

    /// Room for rows.
    fn resize(&mut self, len: usize, weighted: bool) {
        self.values.resize(len, 0);
        self.weighted.resize(if weighted { len } else { 0 }, 0);
        self.largest.clear();
    }

    /// Puts a row at a place; leaves zeros there, and says so, if one of its numbers has more than 31 bits.
    fn place(&mut self, row: &[f64], weight: Option<i64>, at: std::ops::Range<usize>) -> bool {
        let (values, padding) = self.values[at.clone()].split_at_mut(row.len());
        padding.fill(0);
        let bits = round_to_grid(WORKING_LIMIT, row, values);
        let mut weighted_bits = bits;
        if let Some(weight) = weight {
            let (weighted, padding) = self.weighted[at.clone()].split_at_mut(row.len());
            padding.fill(0);
            weighted_bits = 0;
            for (a, &q) in weighted.iter_mut().zip(&*values) {
                // At most 2^72, of which only what fits 31 bits is used.
                *a = weigh(q, weight).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                weighted_bits |= *a ^ (*a >> 63);
            }
        }
        let near = (bits | weighted_bits) <= i64::from(i32::MAX);
        if !near {
            values.fill(0);
            self.weighted.get_mut(at).into_iter().for_each(|a| a.fill(0));
        }
        // A negative number -x has the bits of x - 1.
        let bound = |bits: i64| if near { (bits + 1).unsigned_abs() } else { 0 };
        self.largest.push(bound(bits) * bound(weighted_bits));
        near
    }

    /// The end of the longest run of rows from `start` on for whose products there is room, which it takes.
    fn run(&mut self, start: usize) -> usize {
        let fits = |largest: &&u64| {
            let left = self.room.checked_sub(**largest);
            self.room = left.unwrap_or(self.room);
            left.is_some()
        };
        start + self.largest[start..].iter().take_while(fits).count()
    }

    /// Sums rows for which there is room.
    fn sum(&mut self, set: MomentSet, dim: usize, range: std::ops::Range<usize>) {
        let stride = self.first.len();
        let b = &self.values[range.clone()];
        let a = if self.weighted.is_empty() { b } else { &self.weighted[range] };
        for row in a.chunks_exact(stride) {
            self.first.iter_mut().zip(row).for_each(|(sum, a)| *sum += a);
        }
        match set {
            MomentSet::Full => triangle_products(dim, stride, a, b, &mut self.second),
            MomentSet::Diagonal => {
                for (a, b) in a.chunks_exact(stride).zip(b.chunks_exact(stride)) {
                    self.second.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
                }
            }
        }
    }
}

/// A weighted coordinate on the grid.
fn weigh(q: i64, weight: i64) -> i128 {
    (i128::from(weight) * i128::from(q) + (1 << 23)) >> 24
}

/// Rows that a weight in units of $2^{-24}$ stands for: w if it is whole, else 1.
fn rows_of(weight: i64) -> u64 {
    if weight & ((1 << 24) - 1) == 0 { (weight >> 24) as u64 } else { 1 }
}

#[cfg(test)]
mod tests;
