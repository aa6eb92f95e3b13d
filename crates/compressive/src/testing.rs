//! What tests of several layers share.

use crate::{RowsRef, Scratch, Sketch, SketchOperator};

/// Names of columns that were given as literals.
pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Names for `dim` columns: c0, c1, ...
pub(crate) fn columns(dim: usize) -> Vec<String> {
    (0..dim).map(|c| format!("c{c}")).collect()
}

/// The sketch of finite rows.
pub(crate) fn sketch_of(operator: &SketchOperator, rows: &[f64]) -> Sketch {
    weighted_sketch_of(operator, RowsRef::F64(rows), None)
}

/// The sketch of finite rows of either precision, with their weights if there are any.
pub(crate) fn weighted_sketch_of(
    operator: &SketchOperator,
    rows: RowsRef<'_>,
    weights: Option<&[f64]>,
) -> Sketch {
    let mut sketch = Sketch::empty(operator);
    operator
        .accumulate(rows, weights, &mut sketch, &mut Scratch::default())
        .expect("finite rows and weights");
    sketch
}
