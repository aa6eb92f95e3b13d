//! Columns in which many rows have one value: counts that are mostly zero, flags, grades.

/// Share of equal values from which a column is one of them.
const OFTEN: f64 = 0.1;

/// For each column whether more than a tenth of the rows share a value. Cost: n d log n.
pub(crate) fn repeated(rows: &[f64], dim: usize) -> Vec<bool> {
    let share = |c: usize| {
        let mut column: Vec<f64> = rows.iter().skip(c).step_by(dim).copied().collect();
        column.sort_by(f64::total_cmp);
        let longest = column.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
        longest as f64 / column.len().max(1) as f64
    };
    (0..dim).map(|c| share(c) > OFTEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_few_values_is_told_from_one_of_many() {
        let rows: Vec<f64> =
            (0..100).flat_map(|i| [f64::from(i % 3), f64::from(i), f64::from(i / 10)]).collect();
        assert_eq!(repeated(&rows, 3), [true, false, false]);
    }
}
