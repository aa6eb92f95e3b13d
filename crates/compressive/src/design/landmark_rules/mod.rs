//! Landmarks of Nystrom sketches: which rows of a pilot sample the kernel is evaluated at.
//!
//! A Nystrom sketch \[CCDR22\] sums the kernel values $\kappa(u, y_j) = e^{-|u - y_j|^2 / 2\sigma^2}$ of
//! every row at m landmarks $y_j$. What can be learned from it is what the span of
//! $\kappa(y_1, \cdot) \dots \kappa(y_m, \cdot)$ holds of the data's mean embedding, so the landmarks should
//! span as much of the data as they can.
//!
//! | name | rule | cost, n pilot rows | reference |
//! |---|---|---|---|
//! | `uniform` | uniformly, without replacement | n | \[CCDR22\] section 3.2 |
//! | `leverage` | with probability proportional to approximate ridge leverage scores (BLESS) | $n m^2$ | \[CCDR22\] section 3.2, \[RCCR18\] |
//! | `greedy` | the row farthest from the span so far: pivoted Cholesky | $n m^2$ | \[CCDR22\] section 3.2 |
//! | `rpcholesky` | a row drawn with probability proportional to its squared distance from the span so far | $n m^2$ | \[CETW25\] |
//! | `box` | uniformly in the declared data box, which needs no row | m | this project's own |
//!
//! The landmarks are rows of the pilot in working coordinates, rounded to single precision (what the kernel
//! computes with), and are written into the spec: a sketch with landmarks from the data shows m of its rows
//! to whoever reads it. Only `box` landmarks may be published without a thought.

mod largest_pivot;
mod leverage;
mod pilot;
mod rpcholesky;
mod uniform;

#[cfg(test)]
mod tests;

use crate::design::scale::spread_rows;
use crate::error::remedy::{Parameter, Remedy};
use crate::error::{Error, Result};
use crate::num::random::{Purpose, Stream};

use crate::sketch::map::landmarks::{LandmarkRule, single};
use pilot::Pilot;

/// Pilot rows looked at for each landmark, if there are more than [`ROWS_MIN`].
const ROWS_PER_LANDMARK: usize = 5;
/// Pilot rows looked at in any case.
const ROWS_MIN: usize = 10_000;

/// Chooses `size` landmarks among pilot rows (row-major, working coordinates) for the kernel of width
/// `scale`.
///
/// Fails if there are fewer rows than landmarks. Rules that run out of rows with anything new to add fill up
/// with other rows, drawn uniformly.
pub fn choose(
    rule: LandmarkRule,
    rows: &[f64],
    dim: usize,
    scale: f64,
    size: usize,
    seed: u64,
) -> Result<Vec<Vec<f64>>> {
    let n_rows = rows.len() / dim;
    if n_rows < size {
        return Err(Error::Spec {
            field: "size",
            problem: format!("{size} landmarks cannot be chosen among {n_rows} pilot rows"),
        }
        .advise(Remedy::Raise(Parameter::Pilot))
        .advise(Remedy::Lower(Parameter::Size)));
    }
    let rows = spread_rows(rows, dim, ROWS_MIN.max(ROWS_PER_LANDMARK.saturating_mul(size)), seed);
    let pilot = Pilot::new(&rows, dim, scale);
    let mut stream = Stream::new(seed, Purpose::Landmarks, 0);
    let mut chosen = match rule {
        LandmarkRule::Uniform => Vec::new(),
        LandmarkRule::Leverage => leverage::leverage(&pilot, size, &mut stream),
        LandmarkRule::Greedy => largest_pivot::greedy(&pilot, size),
        LandmarkRule::Rpcholesky => rpcholesky::rpcholesky(&pilot, size, &mut stream),
        LandmarkRule::Box => {
            return Err(Error::Spec {
                field: "law",
                problem: "landmarks in the box are for specs from declared bounds, which see no rows".into(),
            });
        }
    };
    uniform::fill(pilot.len(), size, &mut chosen, &mut stream);
    Ok(chosen.iter().map(|&i| pilot.row(i).iter().map(|&x| single(x)).collect()).collect())
}

/// `size` landmarks uniform in a box of working coordinates.
pub(crate) fn in_box(low: &[f64], high: &[f64], size: usize, seed: u64) -> Vec<Vec<f64>> {
    let point = |j: usize| {
        let mut stream = Stream::new(seed, Purpose::Landmarks, 1 + j as u64);
        low.iter().zip(high).map(|(l, h)| single(l + (h - l) * stream.uniform())).collect()
    };
    (0..size).map(point).collect()
}
