//! A trained network as a model keeps it, and how rows are drawn from it.

pub(crate) mod latent;
pub(crate) mod network;
mod weights;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::Working;
use crate::sketch::spec::Transform;
use latent::{SAMPLE_STREAMS, normals};
pub use network::Activation;
use network::{Pass, n_weights};

/// Most weights of a network.
pub(crate) const WEIGHTS_MAX: usize = 1 << 27;
/// Widest layer.
pub(crate) const WIDTH_MAX: usize = 1 << 16;
/// Most layers.
const LAYERS_MAX: usize = 1000;
/// Rows that are made at a time.
const CHUNK: usize = 256;

/// A network from latent rows to rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Width p of the latent rows, widths of the hidden layers, and the number d of columns.
    pub layers: Vec<usize>,
    /// What follows each hidden layer.
    pub activation: Activation,
    /// Added to the output times the spread: the columns' centres.
    pub centre: Vec<f64>,
    /// The columns' spreads.
    pub spread: Vec<f64>,
    /// The matrix that whitened the rows, d x d, whose inverse is applied to the output first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whiten: Option<Vec<Vec<f64>>>,
    /// Of each layer the matrix (inputs x outputs, row-major), then the biases; in JSON the little-endian
    /// bytes in base64.
    #[serde(with = "weights")]
    pub weights: Vec<f32>,
}

impl Generator {
    /// Checks shapes and values for a model of d columns.
    pub(crate) fn check(&self, k: usize, d: usize) -> Result<()> {
        let fail = |field: &str, problem: String| Err(Error::Model { field: field.into(), problem });
        if k != 1 {
            return fail("k", format!("{k}; a generative network is one component"));
        }
        if !(2..=LAYERS_MAX).contains(&self.layers.len()) {
            return fail("layers", format!("{} widths; there are 2 to {LAYERS_MAX}", self.layers.len()));
        }
        if let Some(width) = self.layers.iter().find(|w| !(1..=WIDTH_MAX).contains(*w)) {
            return fail("layers", format!("a width of {width}; widths are 1 to {WIDTH_MAX}"));
        }
        let last = self.layers[self.layers.len() - 1];
        if last != d {
            return fail("layers", format!("the last gives {last} numbers for {d} columns"));
        }
        let expected = n_weights(&self.layers);
        if expected > WEIGHTS_MAX || self.weights.len() != expected {
            let found = self.weights.len();
            return fail("weights", format!("there are {found}, and the layers have {expected}"));
        }
        if let Some(i) = self.weights.iter().position(|w| !w.is_finite()) {
            return fail("weights", format!("number {} is {}", i + 1, self.weights[i]));
        }
        for (field, values) in [("centre", &self.centre), ("spread", &self.spread)] {
            if values.len() != d || values.iter().any(|x| !x.is_finite()) {
                return fail(field, format!("it must be {d} finite numbers"));
            }
        }
        if let Some(s) = self.spread.iter().find(|s| **s <= 0.0) {
            return fail("spread", format!("{s} is not positive"));
        }
        let square = |m: &Vec<Vec<f64>>| m.len() == d && m.iter().all(|row| row.len() == d);
        if !self.whiten.iter().all(square) || Working::new(&self.transform()).is_err() {
            return fail("whiten", format!("it is not an invertible {d} x {d} matrix"));
        }
        Ok(())
    }

    /// The map from the table's units to the network's.
    fn transform(&self) -> Transform {
        let whiten = self.whiten.clone();
        Transform { centre: self.centre.clone(), spread: self.spread.clone(), whiten }
    }

    /// Number of columns d.
    pub fn dim(&self) -> usize {
        self.centre.len()
    }

    /// Width p of the latent rows.
    pub fn latent(&self) -> usize {
        self.layers[0]
    }

    /// Draws rows in the user's units, row-major. Row i depends on (seed, i) alone, so that a longer sample
    /// starts with a shorter one. Cost: one multiply-add for each row and weight.
    pub fn sample(&self, n_rows: usize, seed: u64) -> Result<Vec<f64>> {
        self.sample_from(0, n_rows, seed)
    }

    /// Draws the rows `first..first + n_rows` of a sample.
    pub fn sample_from(&self, first: usize, n_rows: usize, seed: u64) -> Result<Vec<f64>> {
        let working = Working::new(&self.transform())?;
        let p = self.latent();
        let mut rows = Vec::with_capacity(n_rows * self.dim());
        for start in (0..n_rows).step_by(CHUNK) {
            let mut pass = Pass::new(&self.layers, CHUNK.min(n_rows - start));
            for (i, row) in pass.input().chunks_exact_mut(p).enumerate() {
                normals(seed, SAMPLE_STREAMS + (first + start + i) as u64, row);
            }
            pass.forward(&self.layers, self.activation, &self.weights);
            for u in pass.output().chunks_exact(self.dim()) {
                let u: Vec<f64> = u.iter().map(|x| f64::from(*x)).collect();
                rows.extend(working.location(&u));
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, Model};

    fn model() -> Model {
        let weights =
            vec![0.1, -0.2, f32::MIN_POSITIVE, 1.0, 1.0, 1.0, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.0, -7.5];
        let generator = Generator {
            layers: vec![1, 3, 2],
            activation: Activation::LeakyRelu,
            centre: vec![1.0, 2.0],
            spread: vec![0.1, 30.0],
            whiten: None,
            weights,
        };
        let columns = vec!["x".into(), "y".into()];
        Model::new(Content::Generator(generator), 1, columns)
    }

    #[test]
    fn a_generator_survives_its_json_exactly() {
        let text = model().to_json();
        assert!(text.contains("\"task\": \"generate\""), "{text}");
        assert_eq!(Model::from_json(&text).expect("read"), model());
    }

    #[test]
    fn wrong_generators_are_refused_with_the_field() {
        let refuse = |damage: &dyn Fn(&mut Generator)| {
            let mut damaged = model();
            let Content::Generator(generator) = &mut damaged.content else { panic!("a generator") };
            damage(generator);
            Model::from_json(&damaged.to_json()).expect_err("refused").to_string()
        };
        assert_eq!(
            refuse(&|g| g.layers[1] = 4),
            "model field `weights`: there are 14, and the layers have 18"
        );
        assert!(refuse(&|g| _ = g.layers.pop()).contains("`layers`: the last gives 3 numbers for 2 columns"));
        assert!(refuse(&|g| g.layers.truncate(1)).contains("`layers`: 1 widths"));
        assert!(refuse(&|g| g.layers[0] = 0).contains("`layers`: a width of 0"));
        assert!(refuse(&|g| g.layers[1] = usize::MAX).contains("`layers`: a width of"));
        assert!(refuse(&|g| g.weights[1] = f32::NAN).contains("`weights`: number 2 is NaN"));
        assert!(refuse(&|g| g.spread[0] = 0.0).contains("`spread`: 0 is not positive"));
        assert!(refuse(&|g| _ = g.centre.pop()).contains("`centre`"));
        assert!(refuse(&|g| g.whiten = Some(vec![vec![1.0, 1.0]; 2])).contains("`whiten`"));
        let cut = model().to_json().replace("=\"", "\"");
        assert!(Model::from_json(&cut).expect_err("refused").to_string().contains("base64"));
    }

    #[test]
    fn every_truncation_and_flipped_byte_is_refused_or_gives_a_valid_model() {
        let text = model().to_json().into_bytes();
        for at in 0..text.len() {
            assert!(Model::from_json(&String::from_utf8_lossy(&text[..at])).is_err(), "{at} bytes");
            let mut flipped = text.clone();
            flipped[at] ^= 0x11;
            if let Ok(read) = Model::from_json(&String::from_utf8_lossy(&flipped)) {
                read.validate().expect("what is read is valid");
            }
        }
    }

    #[test]
    fn rows_do_not_depend_on_where_a_draw_starts() {
        let Content::Generator(generator) = model().content else { panic!("a generator") };
        let rows = generator.sample(600, 3).expect("drawn");
        assert_eq!(rows[80..], generator.sample_from(40, 560, 3).expect("drawn"));
        assert_ne!(rows, generator.sample(600, 4).expect("drawn"));
    }
}
