//! A fully connected network: forward, and the gradient back to its weights.
//!
//! Layer l maps $x \mapsto a(x W_l + b_l)$ with the activation a, the last without. All weights are in one
//! row: $W_1$ (inputs x outputs, row-major), $b_1$, $W_2$, ... Cost for n rows: n multiply-adds a weight
//! forward, two more back.

use compressive_kernels::single_product;

use super::latent::{WEIGHT_STREAMS, normals};
use crate::names::named;

/// Slope of the leaky ReLU below zero, as in \[Sch21\] section 6.2.4.
const LEAK: f32 = 0.2;

/// What follows each hidden layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// $\max(x, 0.2 x)$, as in \[Sch21\] section 6.2.4.
    #[default]
    LeakyRelu,
    /// $\max(x, 0)$.
    Relu,
    /// $(x + \sqrt{x^2 + 1}) / 2$, a ReLU without the kink.
    Smooth,
}

named!(Activation, "an activation", {
    LeakyRelu => "leaky-relu": "max(x, x/5)",
    Relu => "relu": "max(x, 0)",
    Smooth => "smooth": "(x + sqrt(x^2 + 1)) / 2",
});

impl Activation {
    fn apply(self, values: &mut [f32]) {
        match self {
            Activation::LeakyRelu => {
                values.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { LEAK * *x })
            }
            Activation::Relu => values.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 }),
            Activation::Smooth => values.iter_mut().for_each(|x| *x = 0.5 * (*x + (*x * *x + 1.0).sqrt())),
        }
    }

    /// Multiplies a gradient in y = a(x) by the slope at x, computed from y.
    fn pull_back(self, values: &[f32], gradient: &mut [f32]) {
        let pairs = gradient.iter_mut().zip(values);
        match self {
            Activation::LeakyRelu => pairs.for_each(|(g, y)| *g *= if *y > 0.0 { 1.0 } else { LEAK }),
            Activation::Relu => pairs.for_each(|(g, y)| *g *= if *y > 0.0 { 1.0 } else { 0.0 }),
            // x = y - 1/(4y), so the slope is y^2 / (y^2 + 1/4).
            Activation::Smooth => pairs.for_each(|(g, y)| *g *= y * y / (y * y + 0.25)),
        }
    }

    /// Variance of first weights, times the inputs, that keeps the size of the values.
    fn gain(self) -> f32 {
        match self {
            Activation::LeakyRelu | Activation::Relu => 2.0,
            Activation::Smooth => 1.0,
        }
    }
}

/// Number of weights and biases between layers of these widths.
pub(crate) fn n_weights(widths: &[usize]) -> usize {
    widths.windows(2).map(|pair| pair[0] * pair[1] + pair[1]).sum()
}

/// Random first weights: $W \sim N(0, g / \text{inputs})$ with the activation's g before it and 1 at the end;
/// biases zero.
pub(crate) fn first_weights(widths: &[usize], activation: Activation, seed: u64) -> Vec<f32> {
    let mut all = Vec::with_capacity(n_weights(widths));
    for (l, pair) in widths.windows(2).enumerate() {
        let gain = if l + 2 == widths.len() { 1.0 } else { activation.gain() };
        let mut weights = vec![0.0; pair[0] * pair[1]];
        normals(seed, WEIGHT_STREAMS + l as u64, &mut weights);
        let deviation = (gain / pair[0] as f32).sqrt();
        all.extend(weights.iter().map(|w| w * deviation));
        all.resize(all.len() + pair[1], 0.0);
    }
    all
}

/// Values and gradients of some rows in every layer, kept from one step to the next.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// Of each layer, n rows; first the latent rows, last the output.
    pub values: Vec<Vec<f32>>,
    /// Gradient in the values of the layer at hand, and in those before it.
    gradients: (Vec<f32>, Vec<f32>),
}

impl Pass {
    pub fn new(widths: &[usize], n_rows: usize) -> Pass {
        Pass { values: widths.iter().map(|w| vec![0.0; w * n_rows]).collect(), gradients: Default::default() }
    }

    /// The latent rows.
    pub fn input(&mut self) -> &mut [f32] {
        &mut self.values[0]
    }

    /// What the network made.
    pub fn output(&self) -> &[f32] {
        &self.values[self.values.len() - 1]
    }

    /// Fills all values from the latent rows.
    pub fn forward(&mut self, widths: &[usize], activation: Activation, weights: &[f32]) {
        let n = self.values[0].len() / widths[0];
        let mut start = 0;
        for (l, pair) in widths.windows(2).enumerate() {
            let [inputs, outputs] = [pair[0], pair[1]];
            let (matrix, bias) = weights[start..].split_at(inputs * outputs);
            let (before, after) = self.values.split_at_mut(l + 1);
            for row in after[0].chunks_exact_mut(outputs) {
                row.copy_from_slice(&bias[..outputs]);
            }
            single_product((n, inputs, outputs), &before[l], (inputs, 1), matrix, &mut after[0]);
            if l + 2 < widths.len() {
                activation.apply(&mut after[0]);
            }
            start += inputs * outputs + outputs;
        }
    }

    /// Adds the gradient in all weights to `total`, for a gradient in the output.
    pub fn backward(
        &mut self,
        (widths, activation): (&[usize], Activation),
        weights: &[f32],
        output_gradient: &[f32],
        total: &mut [f32],
    ) {
        let n = self.values[0].len() / widths[0];
        let (here, before) = (&mut self.gradients.0, &mut self.gradients.1);
        here.clear();
        here.extend_from_slice(output_gradient);
        let mut end = weights.len();
        for l in (1..widths.len()).rev() {
            let [inputs, outputs] = [widths[l - 1], widths[l]];
            let start = end - inputs * outputs - outputs;
            let (matrix, bias) = total[start..end].split_at_mut(inputs * outputs);
            for row in here.chunks_exact(outputs) {
                bias.iter_mut().zip(row).for_each(|(b, g)| *b += g);
            }
            single_product((inputs, n, outputs), &self.values[l - 1], (1, inputs), here, matrix);
            if l > 1 {
                let transposed = transposed(&weights[start..end - outputs], inputs);
                before.clear();
                before.resize(n * inputs, 0.0);
                single_product((n, outputs, inputs), here, (outputs, 1), &transposed, before);
                activation.pull_back(&self.values[l - 1], before);
                std::mem::swap(here, before);
            }
            end = start;
        }
    }
}

/// The transpose of a row-major matrix with so many rows.
fn transposed(matrix: &[f32], rows: usize) -> Vec<f32> {
    let columns = matrix.len() / rows;
    (0..matrix.len()).map(|i| matrix[i % rows * columns + i / rows]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_in_the_weights_are_the_slopes_of_what_the_network_makes() {
        let widths = [3, 18, 5, 2];
        for activation in [Activation::LeakyRelu, Activation::Relu, Activation::Smooth] {
            let mut weights = first_weights(&widths, activation, 4);
            let mut pass = Pass::new(&widths, 7);
            normals(1, 1, pass.input());
            let mut direction = vec![0.0; 14];
            normals(1, 2, &mut direction);
            let mut gradient = vec![0.0; weights.len()];
            pass.forward(&widths, activation, &weights);
            pass.backward((&widths, activation), &weights, &direction, &mut gradient);
            let scale = gradient.iter().fold(0.0f32, |most, g| most.max(g.abs()));
            for at in [0, 30, 53, 60, 100, 155, 165, weights.len() - 1] {
                let mut value = |by: f32| {
                    weights[at] += by;
                    pass.forward(&widths, activation, &weights);
                    weights[at] -= by;
                    pass.output().iter().zip(&direction).map(|(u, g)| f64::from(u * g)).sum::<f64>()
                };
                let slope = ((value(1e-3) - value(-1e-3)) / 2e-3) as f32;
                let gap = (slope - gradient[at]).abs();
                assert!(gap < 0.01 * scale, "{activation:?} {at}: {slope} {}", gradient[at]);
            }
        }
    }

    #[test]
    fn an_affine_network_is_a_matrix_product() {
        let mut pass = Pass::new(&[2, 1], 2);
        pass.input().copy_from_slice(&[1.0, 2.0, -1.0, 0.5]);
        pass.forward(&[2, 1], Activation::Relu, &[3.0, 5.0, -20.0]);
        assert_eq!(pass.output(), [-7.0, -20.5], "no activation at the end");
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
