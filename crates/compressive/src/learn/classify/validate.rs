//! The rule that classifies held-out rows best.
//!
//! 1. Of each class every third row is held out; the others are sketched.
//! 2. Every rule is learned from these sketches and gives the held-out rows to classes.
//! 3. In the order mixture, nearest, centred, correlation, a rule takes the place of the best before it if it
//!    has fewer errors, $e < e'$, by more than the chance of so few rows: $e' - e > \sqrt{e + e'}$.
//!
//! Cost: one sketch of the rows, and a classifier of each kind.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::learn::classify::{ClassData, ClassifyParams, Method, classify};
use crate::model::Content;
use crate::sketch::Sketch;
use crate::sketch::map::Map;
use crate::sketch::operator::{RowsRef, Scratch, SketchOperator};

/// What held-out rows say of the rules.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The best rule.
    pub method: Method,
    /// Share of held-out rows that each rule gives to a wrong class.
    pub errors: Vec<(Method, f64)>,
    /// Rows held out.
    pub rows: usize,
}

/// Rows of a class, of which one is held out.
const EVERY: usize = 3;
/// Fewest held-out rows that decide anything.
const ROWS_MIN: usize = 10;

/// Chooses by `rows` (in the user's units, row-major) and their labels; none if they are too few, or of one
/// class.
pub fn choose(
    operator: &SketchOperator,
    rows: &[f64],
    labels: &[String],
    params: &ClassifyParams,
) -> Result<Option<Choice>> {
    let d = operator.dim();
    if rows.len() != labels.len() * d {
        let (found, expected) = (rows.len(), labels.len() * d);
        return Err(Error::Shape { what: "values of the labelled rows", found, expected });
    }
    let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, label) in labels.iter().enumerate() {
        classes.entry(label).or_default().push(i);
    }
    let held = |(place, _): &(usize, &usize)| place % EVERY == EVERY - 1;
    let n_held: usize = classes.values().map(|all| all.len() / EVERY).sum();
    if classes.len() < 2 || n_held < ROWS_MIN {
        return Ok(None);
    }
    let (mut data, mut tests, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    let row = |i: usize| rows[i * d..(i + 1) * d].iter().copied();
    for (k, (label, all)) in classes.iter().enumerate() {
        let kept = all.iter().enumerate().filter(|pair| !held(pair));
        let kept: Vec<f64> = kept.flat_map(|(_, i)| row(*i)).collect();
        let mut sketch = Sketch::empty(operator);
        operator.accumulate(RowsRef::F64(&kept), None, &mut sketch, &mut Scratch::default())?;
        let weight = sketch.weight();
        data.push(ClassData { label: (*label).to_owned(), moments: sketch.moments()?, weight });
        for (_, i) in all.iter().enumerate().filter(held) {
            tests.extend(row(*i));
            truth.push(k as u32);
        }
    }
    let mut errors = Vec::new();
    for method in [Method::Mixture, Method::Nearest, Method::Centred, Method::Correlation] {
        if method == Method::Mixture && matches!(operator.spec().map, Map::Images(_)) {
            continue;
        }
        let model = classify(operator, &data, &ClassifyParams { method, ..params.clone() })?;
        let Content::Classify(classifier) = &model.content else {
            unreachable!("classifiers are classifiers")
        };
        let found = classifier.predictor(&model.columns)?.classify(RowsRef::F64(&tests))?;
        let wrong = found.iter().zip(&truth).filter(|(a, b)| a != b).count();
        errors.push((method, wrong as f64 / n_held as f64));
    }
    let mut best = errors[0];
    for rule in &errors[1..] {
        let (old, new) = (best.1 * n_held as f64, rule.1 * n_held as f64);
        if old - new > (old + new).sqrt() {
            best = *rule;
        }
    }
    Ok(Some(Choice { method: best.0, errors, rows: n_held }))
}
