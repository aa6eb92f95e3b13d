//! Rows in the coordinates of principal components: $c_l = e_l^\top (x - \mu) / s$, and what is left of them.
//! Missing entries take the model's `fill`.
//!
//! Cost per row: k d multiply-adds.

use crate::error::remedy::{Command, Remedy};
use crate::error::{Error, Result};
use crate::model::{Content, Model, check_table};
use crate::num::linear::dot;
use crate::sketch::operator::RowsRef;

/// Principal components prepared for many rows.
#[derive(Clone, Debug)]
pub struct Projector {
    mean: Vec<f64>,
    inverse: Vec<f64>,
    components: Vec<Vec<f64>>,
    /// What takes the place of a missing entry of each column; empty if none may be missing.
    fill: Vec<f64>,
}

impl Model {
    /// The principal components prepared for many rows; other models have a
    /// [`Predictor`](crate::model::Predictor) instead.
    pub fn projector(&self) -> Result<Projector> {
        let Content::Pca { mean, components, scale, .. } = &self.content else {
            return Err(Error::Model {
                field: "task".into(),
                problem: format!("a {} model has no coordinates to transform rows into", self.task()),
            }
            .advise(Remedy::Run("give rows their labels", Command::Predict)));
        };
        let inverse = match scale {
            None => vec![1.0; mean.len()],
            Some(scale) => scale.iter().map(|s| 1.0 / s).collect(),
        };
        let fill = self.fill.clone();
        Ok(Projector { mean: mean.clone(), inverse, components: components.clone(), fill })
    }
}

impl Projector {
    /// Number of components.
    pub fn k(&self) -> usize {
        self.components.len()
    }

    /// Adds the k coordinates of each row, in the user's units, to the end of `out`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the values are not whole rows, [`Error::NotFinite`] for the first value that is
    /// not finite.
    pub fn project(&self, rows: RowsRef<'_>, out: &mut Vec<f64>) -> Result<()> {
        self.for_each(rows, |_, coordinates| out.extend_from_slice(coordinates))
    }

    /// Sums over the rows of $\lVert x - \mu \rVert^2$ and of the part of it that the components leave, in
    /// the model's units.
    ///
    /// # Errors
    /// As for [`project`](Projector::project).
    pub fn errors(&self, rows: RowsRef<'_>) -> Result<(f64, f64)> {
        let (mut total, mut left) = (0.0, 0.0);
        self.for_each(rows, |centred, coordinates| {
            let all = dot(centred, centred);
            total += all;
            left += (all - dot(coordinates, coordinates)).max(0.0);
        })?;
        Ok((total, left))
    }

    /// Calls `take` with each row, centred and scaled, and its coordinates.
    fn for_each(&self, rows: RowsRef<'_>, take: impl FnMut(&[f64], &[f64])) -> Result<()> {
        match rows {
            RowsRef::F32(values) => self.each_value(values, take),
            RowsRef::F64(values) => self.each_value(values, take),
        }
    }

    fn each_value<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        mut take: impl FnMut(&[f64], &[f64]),
    ) -> Result<()> {
        let d = self.mean.len();
        if !values.len().is_multiple_of(d) {
            let expected = values.len() / d * d;
            return Err(Error::Shape { what: "values of the rows", found: values.len(), expected });
        }
        let usable = |x: f64| x.is_finite() || (x.is_nan() && !self.fill.is_empty());
        if let Some(at) = values.iter().position(|v| !usable((*v).into())) {
            return Err(Error::NotFinite { row: at / d, column: at % d, value: values[at].into() });
        }
        let (mut centred, mut coordinates) = (vec![0.0; d], vec![0.0; self.k()]);
        for row in values.chunks_exact(d) {
            for (c, target) in centred.iter_mut().enumerate() {
                let value = row[c].into();
                let value = if value.is_nan() { self.fill[c] } else { value };
                *target = (value - self.mean[c]) * self.inverse[c];
            }
            for (target, component) in coordinates.iter_mut().zip(&self.components) {
                *target = dot(&centred, component);
            }
            take(&centred, &coordinates);
        }
        Ok(())
    }
}

/// Checks shapes and values of the parameters.
pub(super) fn check(content: &Content, k: usize, d: usize) -> Result<()> {
    let Content::Pca { mean, components, explained_variance, noise_variance, total_variance, scale } =
        content
    else {
        return Ok(());
    };
    let fail = |field: &str, problem: String| Err(Error::Model { field: field.into(), problem });
    if k > d {
        return fail("k", format!("{k} principal components of {d} columns; there are at most {d}"));
    }
    check_table("mean", std::slice::from_ref(mean), 1, d)?;
    check_table("components", components, k, d)?;
    check_table("explained_variance", std::slice::from_ref(explained_variance), 1, k)?;
    for (i, a) in components.iter().enumerate() {
        for (j, b) in components.iter().enumerate().take(i + 1) {
            let product = dot(a, b);
            let expected = if i == j { 1.0 } else { 0.0 };
            if !((product - expected).abs() < 1e-6) {
                return fail(
                    "components",
                    format!("rows {} and {} have the inner product {product}, not {expected}", j + 1, i + 1),
                );
            }
        }
    }
    let variances = explained_variance.iter().chain([noise_variance, total_variance]);
    if let Some(v) = variances.into_iter().find(|v| !(**v >= 0.0 && v.is_finite())) {
        return fail("explained_variance", format!("the variance {v} is not a number of at least 0"));
    }
    if explained_variance.windows(2).any(|pair| pair[0] < pair[1]) {
        return fail("explained_variance", "the variances do not fall from one component to the next".into());
    }
    if let Some(scale) = scale {
        check_table("scale", std::slice::from_ref(scale), 1, d)?;
        if let Some(s) = scale.iter().find(|s| !(**s > 0.0)) {
            return fail("scale", format!("{s} is not positive"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(scale: Option<Vec<f64>>) -> Model {
        let content = Content::Pca {
            mean: vec![1.0, 2.0],
            components: vec![vec![0.6, 0.8]],
            explained_variance: vec![4.0],
            noise_variance: 1.0,
            total_variance: 5.0,
            scale,
        };
        Model::new(content, 1, vec!["a".into(), "b".into()])
    }

    #[test]
    fn coordinates_are_inner_products_with_the_centred_row() {
        let projector = model(None).projector().unwrap();
        let mut out = Vec::new();
        projector.project(RowsRef::F64(&[1.0, 2.0, 2.0, 2.0, 1.0, 1.0]), &mut out).unwrap();
        projector.project(RowsRef::F32(&[11.0, 2.0]), &mut out).unwrap();
        for (found, expected) in out.iter().zip([0.0, 0.6, -0.8, 6.0]) {
            assert!((found - expected).abs() < 1e-15, "{out:?}");
        }
        let (total, left) = projector.errors(RowsRef::F64(&[2.0, 2.0, 1.0, 1.0])).unwrap();
        assert!((total - 2.0).abs() < 1e-15 && (left - 1.0).abs() < 1e-15, "{total} {left}");
        assert!(projector.project(RowsRef::F64(&[f64::NAN, 2.0]), &mut Vec::new()).is_err());
        let filled = Model { fill: vec![11.0, 0.0], ..model(None) }.projector().unwrap();
        let mut out = Vec::new();
        filled.project(RowsRef::F64(&[f64::NAN, 2.0]), &mut out).unwrap();
        assert!((out[0] - 6.0).abs() < 1e-15);
        let scaled = model(Some(vec![10.0, 1.0])).projector().unwrap();
        let mut out = Vec::new();
        scaled.project(RowsRef::F64(&[11.0, 2.0]), &mut out).unwrap();
        assert!((out[0] - 0.6).abs() < 1e-15);
    }

    #[test]
    fn a_model_survives_its_json_and_bad_ones_are_named() {
        for scale in [None, Some(vec![1.0, 2.5])] {
            let model = model(scale);
            assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
            assert!(model.assign(&[0.0, 0.0]).unwrap_err().to_string().contains("transform"));
        }
        let text = model(None).to_json();
        for (from, to, words) in [
            ("0.6", "0.7", "inner product"),
            ("\"total_variance\": 5.0", "\"total_variance\": -5.0", "-5"),
            ("\"k\": 1", "\"k\": 2", "expected 2"),
            ("\"k\": 1", "\"k\": 3", "at most 2"),
        ] {
            assert!(text.contains(from), "{text}");
            let message = Model::from_json(&text.replace(from, to)).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
