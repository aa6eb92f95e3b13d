//! Tables with a class for each row, their splits, and the errors of classifiers on them.

use compressive::learn::classify::{ClassData, ClassifyParams, classify};
use compressive::model::Content;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator};

use crate::error::Result;
use crate::experiment::{Options, images};
use compressive_data::Rng;

/// Rows without their class, and the classes.
pub(super) struct Labelled {
    pub rows: Vec<f64>,
    pub dim: usize,
    pub classes: Vec<usize>,
}

impl Labelled {
    /// A data file whose first column is the class, 0 to K - 1.
    pub fn read(file: &str, options: &Options) -> Result<Labelled> {
        let (values, width) = images::read(&images::find(file, options.data.as_deref())?)?;
        let classes = values.iter().step_by(width).map(|class| *class as usize).collect();
        let rows = values.chunks_exact(width).flat_map(|row| row[1..].iter().copied()).collect();
        Ok(Labelled { rows, dim: width - 1, classes })
    }

    /// Brings every column to [-1, 1].
    pub fn scale_columns(&mut self) {
        for c in 0..self.dim {
            let column = || self.rows.iter().skip(c).step_by(self.dim);
            let low = column().copied().fold(f64::INFINITY, f64::min);
            let high = column().copied().fold(f64::NEG_INFINITY, f64::max);
            let scaled = |x: &mut f64| *x = 2.0 * (*x - low) / (high - low) - 1.0;
            self.rows.iter_mut().skip(c).step_by(self.dim).for_each(scaled);
        }
    }

    /// Names for the columns.
    pub fn columns(&self) -> Vec<String> {
        (1..=self.dim).map(|c| format!("x{c}")).collect()
    }
}

/// Rows to learn from, and rows to test with.
pub(super) struct Split<'a> {
    pub all: &'a Labelled,
    pub train: Vec<usize>,
    pub test: Vec<usize>,
}

impl<'a> Split<'a> {
    /// Two thirds of the rows to learn from, drawn at random.
    pub fn random(all: &'a Labelled, rng: &mut Rng) -> Split<'a> {
        let n = all.classes.len();
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, rng.below(i + 1)));
        let test = order.split_off((2 * n + 1) / 3);
        Split { all, train: order, test }
    }

    /// The last rows to test with.
    pub fn last(all: &'a Labelled, tests: usize) -> Split<'a> {
        let n = all.classes.len();
        Split { all, train: (0..n - tests).collect(), test: (n - tests..n).collect() }
    }

    /// Some rows, of one class or of all.
    pub fn rows(&self, which: &[usize], class: Option<usize>) -> Vec<f64> {
        let kept = which.iter().filter(|i| class.is_none_or(|class| self.all.classes[**i] == class));
        kept.flat_map(|i| self.all.rows[i * self.all.dim..][..self.all.dim].iter().copied()).collect()
    }

    /// The sketch of each class of the rows to learn from.
    pub fn sketches(&self, operator: &SketchOperator) -> Result<Vec<ClassData>> {
        let classes = self.all.classes.iter().max().map_or(0, |most| most + 1);
        let one = |class: usize| {
            let rows = self.rows(&self.train, Some(class));
            let mut sketch = Sketch::empty(operator);
            operator.accumulate(RowsRef::F64(&rows), None, &mut sketch, &mut Scratch::default())?;
            let weight = sketch.weight();
            Ok(ClassData::new(class.to_string(), sketch.moments()?, weight))
        };
        (0..classes).map(one).collect()
    }

    /// Share of test rows given to a wrong class, in percent.
    pub fn error(
        &self,
        operator: &SketchOperator,
        sketches: &[ClassData],
        params: &ClassifyParams,
    ) -> Result<f64> {
        let model = classify(operator, sketches, params)?;
        let Content::Classify(classifier) = &model.content else {
            return Err(
                compressive_data::Error::TooFewRows { what: "a classifier", rows: 0, needed: 1 }.into()
            );
        };
        let labels =
            classifier.predictor(&model.columns)?.classify(RowsRef::F64(&self.rows(&self.test, None)))?;
        let wrong =
            labels.iter().zip(&self.test).filter(|(label, i)| **label as usize != self.all.classes[**i]);
        Ok(100.0 * wrong.count() as f64 / self.test.len() as f64)
    }
}
