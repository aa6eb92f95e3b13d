//! Adam (Kingma and Ba, ICLR 2015, algorithm 1): gradient steps scaled by running moments of the gradient.

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Running moments.
pub(super) struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    /// Powers of the two decay rates.
    powers: (f64, f64),
}

impl Adam {
    pub fn new(len: usize) -> Adam {
        Adam { first: vec![0.0; len], second: vec![0.0; len], powers: (1.0, 1.0) }
    }

    /// One step of the given rate, in place.
    pub fn update(&mut self, weights: &mut [f32], gradient: &[f64], rate: f64) {
        self.powers = (self.powers.0 * BETA1, self.powers.1 * BETA2);
        let (bias1, bias2) = (1.0 - self.powers.0, 1.0 - self.powers.1);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((w, &g), (m, v)) in weights.iter_mut().zip(gradient).zip(moments) {
            *m = BETA1 * *m + (1.0 - BETA1) * g;
            *v = BETA2 * *v + (1.0 - BETA2) * g * g;
            *w -= (rate * (*m / bias1) / ((*v / bias2).sqrt() + EPSILON)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate_and_a_bowl_is_descended() {
        let mut weights = [3.0f32, -2.0];
        let mut adam = Adam::new(2);
        adam.update(&mut weights, &[6.0, -0.004], 0.1);
        assert!((weights[0] - 2.9).abs() < 1e-6 && (weights[1] + 1.9).abs() < 1e-5, "{weights:?}");
        for step in 0..2000 {
            let gradient = weights.map(|w| 2.0 * f64::from(w));
            adam.update(&mut weights, &gradient, 0.1 * (1.0 - f64::from(step) / 2000.0));
        }
        assert!(weights.iter().all(|w| w.abs() < 1e-3), "{weights:?}");
    }
}
