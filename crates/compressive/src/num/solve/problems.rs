//! Problems for the tests: those of `testdata/solvers/`, whose solutions by scipy are stored with them, and a
//! source of numbers.

use serde::Deserialize;

use super::{LeastSquares, add_scaled, dot};

/// Numbers in [-1, 1) by a 64-bit linear congruential generator.
pub(super) struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A solution of scipy.
#[derive(Deserialize)]
pub(super) struct Solution {
    pub x: Vec<f64>,
    pub value: f64,
    #[serde(default)]
    pub iterations: usize,
    #[serde(default)]
    pub evaluations: usize,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    t: Vec<f64>,
    y: Vec<f64>,
    ridge: f64,
}

/// A problem of `bounded.json`.
#[derive(Deserialize)]
pub(super) struct Problem {
    pub name: String,
    kind: String,
    data: Data,
    pub start: Vec<f64>,
    lower: Vec<Option<f64>>,
    upper: Vec<Option<f64>>,
    pub lbfgs: Solution,
    pub least_squares: Option<Solution>,
}

pub(super) fn bounded() -> Vec<Problem> {
    serde_json::from_str(include_str!("../../../../../testdata/solvers/bounded.json")).unwrap()
}

impl Problem {
    pub fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let side = |values: &[Option<f64>], open: f64| values.iter().map(|v| v.unwrap_or(open)).collect();
        (side(&self.lower, f64::NEG_INFINITY), side(&self.upper, f64::INFINITY))
    }

    /// Calls `each(residual, row of the Jacobian)`.
    fn rows(&self, x: &[f64], mut each: impl FnMut(f64, &[f64])) {
        let mut row = vec![0.0; x.len()];
        let data = &self.data;
        if self.kind == "linear" {
            data.a.iter().zip(&data.b).for_each(|(a, b)| each(dot(a, x) - b, a));
            return;
        }
        if self.kind == "rosenbrock" {
            for i in 0..x.len() - 1 {
                row.fill(0.0);
                (row[i], row[i + 1]) = (-20.0 * x[i], 10.0);
                each(10.0 * (x[i + 1] - x[i] * x[i]), &row);
                (row[i], row[i + 1]) = (-1.0, 0.0);
                each(1.0 - x[i], &row);
            }
            return;
        }
        for (&t, &y) in data.t.iter().zip(&data.y) {
            let model = match self.kind.as_str() {
                "decay" => decay(x, t, &mut row),
                "exponentials" => exponentials(x, t, &mut row),
                "bumps" => bumps(x, t, &mut row),
                kind => panic!("unknown kind {kind}"),
            };
            each(model - y, &row);
        }
    }

    /// Value and gradient, for the quasi-Newton method.
    pub fn objective(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = 0.0;
        if self.kind == "logistic" {
            for a in &self.data.a {
                let margin = dot(a, x);
                value += (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
                add_scaled(gradient, -1.0 / (1.0 + margin.exp()), a);
            }
            add_scaled(gradient, self.data.ridge, x);
            return value + 0.5 * self.data.ridge * dot(x, x);
        }
        self.rows(x, |r, row| {
            value += 0.5 * r * r;
            add_scaled(gradient, r, row);
        });
        value
    }
}

impl LeastSquares for &Problem {
    fn n_params(&self) -> usize {
        self.start.len()
    }

    fn cost(&mut self, x: &[f64]) -> f64 {
        let mut cost = 0.0;
        self.rows(x, |r, _| cost += 0.5 * r * r);
        cost
    }

    fn normal(&mut self, x: &[f64], hessian: &mut [f64], gradient: &mut [f64]) -> f64 {
        let mut cost = 0.0;
        self.rows(x, |r, row| {
            cost += 0.5 * r * r;
            add_scaled(gradient, r, row);
            for (target, &value) in hessian.chunks_exact_mut(row.len()).zip(row) {
                add_scaled(target, value, row);
            }
        });
        cost
    }
}

/// $x_0 e^{-x_1 t} + x_2$ and its gradient.
fn decay(x: &[f64], t: f64, row: &mut [f64]) -> f64 {
    let e = (-x[1] * t).exp();
    row.copy_from_slice(&[e, -x[0] * t * e, 1.0]);
    x[0] * e + x[2]
}

/// $\sum_l a_l e^{-b_l t}$, x = (a, b).
fn exponentials(x: &[f64], t: f64, row: &mut [f64]) -> f64 {
    let k = x.len() / 2;
    let mut sum = 0.0;
    for l in 0..k {
        let e = (-x[k + l] * t).exp();
        (row[l], row[k + l]) = (e, -x[l] * t * e);
        sum += x[l] * e;
    }
    sum
}

/// $\sum_l a_l e^{-(t - c_l)^2 / 2 w_l^2}$, x = (a, c, w).
fn bumps(x: &[f64], t: f64, row: &mut [f64]) -> f64 {
    let k = x.len() / 3;
    let mut sum = 0.0;
    for l in 0..k {
        let (a, u, w) = (x[l], (t - x[k + l]) / x[2 * k + l], x[2 * k + l]);
        let e = (-0.5 * u * u).exp();
        (row[l], row[k + l], row[2 * k + l]) = (e, a * e * u / w, a * e * u * u / w);
        sum += a * e;
    }
    sum
}
