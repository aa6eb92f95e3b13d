//! Rows in blocks of 16, transposed: lanes are rows, so that one loop body serves 16 rows and compiles to
//! vector instructions.

use std::ops::Range;

use crate::rows::Rows;

/// Rows per block: eight SSE2 registers of f64, which hide the latency of the additions.
pub(crate) const LANES: usize = 16;

/// One number for each row of a block.
pub(crate) type Lanes = [f64; LANES];

/// A block of rows, one `Lanes` per column. Lanes past the last row repeat it.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Index of the first row.
    pub(crate) start: usize,
    /// Rows in the block, 1 to `LANES`.
    pub(crate) len: usize,
    /// The d columns.
    pub(crate) columns: Vec<Lanes>,
}

impl Block {
    fn fill(&mut self, rows: Rows<'_>, range: Range<usize>) {
        self.start = range.start;
        self.len = range.len();
        for lane in 0..LANES {
            let row = rows.row(range.start + lane.min(self.len - 1));
            for (column, &value) in self.columns.iter_mut().zip(row) {
                column[lane] = value;
            }
        }
    }

    /// $\lVert x_i - p\rVert^2$ for the rows of the block, by differences: no cancellation for data far from
    /// the origin.
    pub(crate) fn squared_distances(&self, point: &[f64]) -> Lanes {
        let mut sum = [0.0; LANES];
        for (column, &coordinate) in self.columns.iter().zip(point) {
            for (total, &value) in sum.iter_mut().zip(column) {
                let difference = value - coordinate;
                *total += difference * difference;
            }
        }
        sum
    }

    /// Index of the nearest centre (the first of equals) and the squared distance to it, for the rows of the
    /// block.
    pub(crate) fn nearest(&self, centers: &[f64]) -> ([u32; LANES], Lanes) {
        let mut best = [f64::INFINITY; LANES];
        // Indices as f64, so that comparison and choice run in the same registers.
        let mut index = [0.0; LANES];
        for (number, center) in centers.chunks_exact(self.columns.len()).enumerate() {
            let squared = self.squared_distances(center);
            for lane in 0..LANES {
                let closer = squared[lane] < best[lane];
                best[lane] = if closer { squared[lane] } else { best[lane] };
                index[lane] = if closer { number as f64 } else { index[lane] };
            }
        }
        (index.map(|number| number as u32), best)
    }
}

/// Visits the rows of a range in blocks.
pub(crate) fn for_blocks(rows: Rows<'_>, range: Range<usize>, mut visit: impl FnMut(&Block)) {
    let mut block = Block { start: 0, len: 0, columns: vec![[0.0; LANES]; rows.dim()] };
    for start in range.clone().step_by(LANES) {
        block.fill(rows, start..(start + LANES).min(range.end));
        visit(&block);
    }
}

/// The sum of all lanes, as a tree.
pub(crate) fn sum_lanes(lanes: &Lanes) -> f64 {
    let mut part = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            part[lane] += part[lane + half];
        }
        half /= 2;
    }
    part[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_centre_agrees_with_the_plain_loop_far_from_the_origin() {
        let values: Vec<f64> = (0..3 * 21).map(|i| 1.7e9 + f64::from(i * 37 % 11)).collect();
        let rows = Rows::new(&values, 3).expect("whole rows");
        let centers: Vec<f64> = (0..3 * 5).map(|i| 1.7e9 + f64::from(i * 29 % 13)).collect();
        let mut seen = 0;
        for_blocks(rows, 2..21, |block| {
            let (index, best) = block.nearest(&centers);
            for lane in 0..block.len {
                let row = rows.row(block.start + lane);
                let distance = |c: usize| -> f64 {
                    row.iter().zip(&centers[3 * c..]).map(|(x, y)| (x - y) * (x - y)).sum()
                };
                let least = (0..5).map(distance).fold(f64::INFINITY, f64::min);
                assert_eq!(best[lane], least);
                assert_eq!(distance(index[lane] as usize), least);
                seen += 1;
            }
        });
        assert_eq!(seen, 19);
    }

    #[test]
    fn the_lanes_are_all_summed() {
        let lanes: Lanes = std::array::from_fn(|lane| (1 << lane) as f64);
        assert_eq!(sum_lanes(&lanes), 65535.0);
    }
}
