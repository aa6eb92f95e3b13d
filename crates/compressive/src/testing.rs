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

/// Holds the vector-Jacobian product of the features at `u` to central differences, within a tolerance for
/// each entry of the gradient.
pub(crate) fn check_vjp(operator: &SketchOperator, u: &[f64], v: &[f64], tolerance: impl Fn(f64) -> f64) {
    let value = |u: &[f64]| {
        let mut features = vec![0.0; v.len()];
        operator.features(u, &mut features);
        features.iter().zip(v).map(|(a, b)| a * b).sum::<f64>()
    };
    let mut gradient = vec![0.0; u.len()];
    operator.features_vjp(u, v, &mut gradient);
    for c in 0..u.len() {
        let (mut low, mut high) = (u.to_vec(), u.to_vec());
        low[c] -= 1e-5;
        high[c] += 1e-5;
        let difference = (value(&high) - value(&low)) / 2e-5;
        assert!(
            (difference - gradient[c]).abs() < tolerance(gradient[c]),
            "{c}: {difference} {}",
            gradient[c]
        );
    }
}
