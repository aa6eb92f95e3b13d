//! Which views of the components tell most.
//!
//! A column tells the components apart by the share of its variance that lies between them. Directions that
//! tell most are the eigenvectors of the variance between the components, in units of the mean width within
//! them (Fisher's discriminants, with columns taken as uncorrelated within components).

use compressive::model::{Content, Model};
use compressive::symmetric_eigen;

use crate::shapes::{Shapes, dot};
use crate::words::number;

/// Columns offered as axes beside the directions.
const COLUMNS: usize = 20;

/// A straight line to project on: the coordinate of x is $v^\top x + b$.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it is called, in short.
    pub name: String,
    /// The same with what it is made of.
    pub label: String,
    /// v, d numbers.
    pub vector: Vec<f64>,
    /// b.
    pub offset: f64,
}

impl Axis {
    /// The coordinate of a row.
    pub fn of(&self, row: &[f64]) -> f64 {
        dot(&self.vector, row) + self.offset
    }
}

/// Columns, the one that tells most first, with the share of its variance that lies between the components.
pub fn telling_columns(shapes: &Shapes) -> Vec<(usize, f64)> {
    let share = |c: usize| {
        let (between, all) = shapes.variances(c);
        if all > 0.0 { between / all } else { 0.0 }
    };
    let mut order: Vec<(usize, f64)> = (0..shapes.dim()).map(|c| (c, share(c))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order
}

/// The axes offered, the two to start with first: directions if there are more than two columns, then the
/// columns that tell most.
pub fn axes(model: &Model, shapes: &Shapes) -> Vec<Axis> {
    if shapes.dim() <= 2 {
        return columns(&model.shown_columns());
    }
    let mut all = match &model.content {
        Content::Pca { mean, components, scale, .. } => components
            .iter()
            .take(4)
            .enumerate()
            .map(|(l, v)| score(format!("pc{}", l + 1), v, mean, scale.as_deref()))
            .collect(),
        _ => directions(model, shapes),
    };
    let names = model.shown_columns();
    all.extend(telling_columns(shapes).into_iter().take(COLUMNS).map(|(c, _)| column(&names, c)));
    all
}

/// The first columns as axes, as they are.
pub(crate) fn columns(names: &[String]) -> Vec<Axis> {
    (0..names.len().min(COLUMNS)).map(|c| column(names, c)).collect()
}

fn column(names: &[String], c: usize) -> Axis {
    let vector = (0..names.len()).map(|i| if i == c { 1.0 } else { 0.0 }).collect();
    Axis { name: names[c].clone(), label: names[c].clone(), vector, offset: 0.0 }
}

/// The score of a principal component.
fn score(label: String, component: &[f64], mean: &[f64], scale: Option<&[f64]>) -> Axis {
    let vector: Vec<f64> =
        component.iter().enumerate().map(|(c, v)| v / scale.map_or(1.0, |s| s[c])).collect();
    Axis { offset: -dot(&vector, mean), name: label.clone(), label, vector }
}

/// The two directions in which the components are furthest apart.
fn directions(model: &Model, shapes: &Shapes) -> Vec<Axis> {
    let d = shapes.dim();
    let mean: Vec<f64> = (0..d).map(|c| shapes.mean(c)).collect();
    let width: Vec<f64> = (0..d)
        .map(|c| {
            let (between, all) = shapes.variances(c);
            let within = all - between;
            (if within > 1e-9 * all { within } else { all }).sqrt().max(f64::MIN_POSITIVE)
        })
        .collect();
    let mut scatter = vec![0.0; d * d];
    for (w, m) in shapes.weights.iter().zip(&shapes.means) {
        let apart: Vec<f64> = (0..d).map(|c| (m[c] - mean[c]) / width[c]).collect();
        for i in 0..d {
            (0..=i).for_each(|j| scatter[i * d + j] += w * apart[i] * apart[j]);
        }
    }
    // Where fewer than three components leave a direction open, the one of the largest spread is taken.
    let trace: f64 = (0..d).map(|c| scatter[c * d + c]).sum::<f64>().max(1.0);
    (0..d).for_each(|c| scatter[c * d + c] += 1e-6 * trace * shapes.variances(c).1 / width[c].powi(2));
    let (_, vectors) = symmetric_eigen(&scatter, d);
    (0..2)
        .map(|number| {
            let v = &vectors[number * d..(number + 1) * d];
            let sign = if v.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())) < Some(0.0) {
                -1.0
            } else {
                1.0
            };
            let vector: Vec<f64> = (0..d).map(|c| sign * v[c] / width[c]).collect();
            let name = format!("direction {}", number + 1);
            let label = format!("{name} ({})", ingredients(model, v, sign));
            Axis { offset: -dot(&vector, &mean), name, label, vector }
        })
        .collect()
}

/// The largest entries of a direction, with their columns.
fn ingredients(model: &Model, v: &[f64], sign: f64) -> String {
    let mut order: Vec<usize> = (0..v.len()).collect();
    order.sort_by(|&a, &b| v[b].abs().total_cmp(&v[a].abs()));
    let names = model.shown_columns();
    let part = |&c: &usize| format!("{} {}", number((100.0 * sign * v[c]).round() / 100.0), names[c]);
    let parts: Vec<String> = order.iter().take(3).map(part).collect();
    format!("{}{}", parts.join(", "), if v.len() > 3 { " ..." } else { "" })
}
