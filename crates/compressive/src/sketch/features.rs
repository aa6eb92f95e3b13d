//! Random features of single rows, for kernel machines: a table of features instead of their sums (\[Sch21\]
//! chapter 3).
//!
//! [`rows`] gives what the sketch of each row alone would hold: the operator's features $z(x)$ on the grid of
//! multiples of $2^{-24}$, exact in f32, so that column sums of a table of features are the sketch.
//! [`packed`] gives one-bit features as bits, m bits a row, and [`add_packed`] adds such bits to a sketch.
//! [`KernelPair`] and [`kernel_estimate`] turn inner products of features, of two different kinds if need be,
//! into estimates of the kernel $\kappa$ that the frequencies stand for.
//!
//! ```
//! use compressive::features::{kernel_estimate, packed, rows, unpack};
//! use compressive::{FrequencyLaw, RowsRef, Scratch, SketchSpec, Wave, Waves};
//!
//! // One recipe of dithered Gaussian frequencies, with two waves.
//! let recipe = |wave| SketchSpec::new(["x", "y"], Waves::dithered(wave, FrequencyLaw::Gaussian), 1.5, 4000);
//! let (cosine, one_bit) = (recipe(Wave::Cosine).build()?, recipe(Wave::OneBit).build()?);
//!
//! let (mut known, mut query, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
//! rows(&cosine, RowsRef::F64(&[0.0, 1.0]), &mut known, &mut scratch)?;
//! packed(&one_bit, 1, RowsRef::F64(&[0.5, 0.0]), &mut query, &mut scratch)?;
//! assert_eq!(query.len(), 500);
//! let bits = unpack(&query, 4000)?;
//! let estimate = kernel_estimate(&Wave::OneBit, &bits, &Wave::Cosine, &known)?;
//! let exact = (-1.25_f64 / (2.0 * 1.5 * 1.5)).exp();
//! assert!((estimate - exact).abs() < 0.06);
//! # Ok::<(), compressive::Error>(())
//! ```

mod kernel;

pub use kernel::{KernelPair, kernel_estimate};

use crate::error::{Error, Result};
use crate::sketch::Sketch;
use crate::sketch::map::waves::Wave;
use crate::sketch::operator::{RowsRef, Scratch, SketchOperator};
use crate::sketch::spec::SketchSpec;

/// What one unit of the grid is worth.
const UNIT: f32 = 1.0 / 16_777_216.0;

/// Names of the columns of a table of features: `cos1` to `cosm`, then `sin1` to `sinm` for `fourier`, and so
/// on after [`Map::blocks`](crate::Map::blocks).
pub fn columns(spec: &SketchSpec) -> Vec<String> {
    let numbered = |name: &&str| (1..=spec.size).map(|j| format!("{name}{j}")).collect::<Vec<String>>();
    spec.map.blocks().iter().flat_map(numbered).collect()
}

/// Features of each row, row-major `[n][sketch_len]`, into `out`, which is emptied first: multiples of 2^-24
/// in [-1, 1].
///
/// Cost: n m d multiply-adds and n `sketch_len` numbers of memory.
///
/// # Errors
/// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is not
/// finite.
pub fn rows(
    operator: &SketchOperator,
    rows: RowsRef<'_>,
    out: &mut Vec<f32>,
    scratch: &mut Scratch,
) -> Result<()> {
    on_grid(operator, rows, scratch, |grid| {
        out.clear();
        // At most 2^24 in size: exact.
        out.extend(grid.iter().map(|&q| q as f32 * UNIT));
    })
}

/// Bytes of a row of bits.
pub fn packed_len(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// The first `blocks` blocks of one-bit features as bits, [`packed_len`]`(blocks * m)` bytes a row, into
/// `out`, which is emptied first.
///
/// A bit is 1 for the feature value +1 and 0 for -1. The first feature of a row is the highest bit of its
/// first byte, and the last byte is filled up with zeros, as `numpy.packbits` does. With dither one block is
/// what \[Sch21\] section 3.5 calls $z_q$; both blocks are its complex extension (eq. 3.34).
///
/// # Errors
/// As for [`rows`]; [`Error::Task`] for another feature than `one-bit`, or for another number of blocks than
/// 1 or 2.
pub fn packed(
    operator: &SketchOperator,
    blocks: usize,
    rows: RowsRef<'_>,
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<()> {
    let spec = operator.spec();
    check_one_bit(spec)?;
    if !(1..=2).contains(&blocks) {
        let problem = format!("one-bit features have 2 blocks; ask for 1 or 2, not {blocks}");
        return Err(Error::Task { field: "bits", problem });
    }
    on_grid(operator, rows, scratch, |grid| {
        out.clear();
        for row in grid.chunks_exact(operator.sketch_len()) {
            let bytes = row[..blocks * spec.size].chunks(8);
            out.extend(bytes.map(|group| {
                group.iter().zip(0u8..).fold(0, |byte, (&q, i)| byte | u8::from(q > 0) << (7 - i))
            }));
        }
    })
}

/// Shows the features of rows as integers of the grid.
fn on_grid(
    operator: &SketchOperator,
    rows: RowsRef<'_>,
    scratch: &mut Scratch,
    each: impl FnOnce(&[i32]),
) -> Result<()> {
    let mut grid = std::mem::take(&mut scratch.grid);
    let outcome = operator.quantize(rows, &mut grid, scratch);
    if outcome.is_ok() {
        each(&grid);
    }
    scratch.grid = grid;
    outcome
}

/// One row of [`packed`] bits as the numbers +1 and -1.
///
/// # Errors
/// [`Error::Shape`] if the bytes are not those of so many bits.
pub fn unpack(bytes: &[u8], bits: usize) -> Result<Vec<f32>> {
    if bytes.len() != packed_len(bits) {
        let (found, expected) = (bytes.len(), packed_len(bits));
        return Err(Error::Shape { what: "bytes of a row of bits", found, expected });
    }
    let sign = |i: usize| if bytes[i / 8] >> (7 - i % 8) & 1 == 1 { 1.0 } else { -1.0 };
    Ok((0..bits).map(sign).collect())
}

/// Adds rows of [`packed`] bits, both blocks, to a sketch: the sums are those of the rows they came from.
/// Cost: about a twentieth of an operation a bit.
///
/// # Errors
/// [`Error::Task`] for another feature than `one-bit`, [`Error::Shape`] if the bytes are not whole rows,
/// [`Error::Incompatible`] for a sketch of another spec, [`Error::Full`] if it has no room.
pub fn add_packed(operator: &SketchOperator, bytes: &[u8], sketch: &mut Sketch) -> Result<()> {
    check_one_bit(operator.spec())?;
    operator.spec().check_features_suffice()?;
    let bits = operator.sketch_len();
    let len = packed_len(bits);
    if !bytes.len().is_multiple_of(len) {
        let (found, expected) = (bytes.len(), bytes.len() / len * len);
        return Err(Error::Shape { what: "bytes of rows of bits", found, expected });
    }
    sketch.check_spec(operator.spec(), operator.fingerprint())?;
    let n_rows = bytes.len() / len;
    sketch.add_rows(n_rows as u64, (n_rows as i64) << Sketch::GRID_BITS)?;
    let mut ones = vec![0i64; 8 * len];
    compressive_kernels::count_ones(bytes, len, &mut ones);
    let signs = ones.iter().map(|count| (2 * count - n_rows as i64) << Sketch::GRID_BITS);
    sketch.sums_mut().iter_mut().zip(signs).for_each(|(sum, more)| *sum += more);
    Ok(())
}

fn check_one_bit(spec: &SketchSpec) -> Result<()> {
    if spec.map.wave() == Some(&Wave::OneBit) {
        return Ok(());
    }
    let name = spec.map.name();
    let problem =
        format!("only `one-bit` features are bits, and these are `{name}`; use the feature `one-bit`");
    Err(Error::Task { field: "bits", problem })
}

#[cfg(test)]
mod tests;
