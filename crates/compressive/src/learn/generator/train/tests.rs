use super::*;
use crate::design::{LawChoice, Look, Request, Task, design};
use crate::testing::sketch_of;

/// A sketch of a correlated Gaussian in odd units: mean (100, -3), deviations 20 and 0.5, correlation 0.6.
fn gaussian() -> (SketchOperator, Moments) {
    let n = 20_000;
    let mut draws = vec![0.0f32; 2 * n];
    normals(99, 0, &mut draws);
    let row = |z: &[f32]| {
        let (a, b) = (f64::from(z[0]), f64::from(z[1]));
        [100.0 + 20.0 * a, -3.0 + 0.5 * (0.6 * a + 0.8 * b)]
    };
    let rows: Vec<f64> = draws.chunks_exact(2).flat_map(row).collect();
    let params = Request::new(Task::Generate, 10).law(LawChoice::MultiScale).size(300);
    let columns = ["x".to_owned(), "y".to_owned()];
    let operator = design(Look::Sample { rows: &rows, columns: &columns }, &params)
        .expect("designed")
        .spec
        .build()
        .expect("built");
    let sketch = sketch_of(&operator, &rows);
    (operator, sketch.moments().expect("rows"))
}

fn small() -> TrainParams {
    TrainParams { layers: vec![32], steps: 400, batch: 500, rate: 1e-2, threads: 2, ..TrainParams::default() }
}

fn generator(model: &Model) -> &Generator {
    match &model.content {
        Content::Generator(generator) => generator,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_generator_learns_the_mean_and_covariance_of_a_gaussian() {
    let (operator, moments) = gaussian();
    let model = train(&operator, &moments, &small(), &mut |_, _| ()).expect("trained");
    let n = 20_000;
    let rows = generator(&model).sample(n, 5).expect("drawn");
    let mean = |f: &dyn Fn(&[f64]) -> f64| rows.chunks_exact(2).map(f).sum::<f64>() / n as f64;
    let (mx, my) = (mean(&|r| r[0]), mean(&|r| r[1]));
    let (vx, vy) = (mean(&|r| (r[0] - mx).powi(2)), mean(&|r| (r[1] - my).powi(2)));
    let c = mean(&|r| (r[0] - mx) * (r[1] - my)) / (vx * vy).sqrt();
    // One fixed seed, and 20,000 rows: their standard errors are 0.7% of a deviation, so the tolerances are
    // for the network.
    assert!((mx - 100.0).abs() < 1.0 && (my + 3.0).abs() < 0.025, "{mx} {my}");
    assert!((vx.sqrt() / 20.0 - 1.0).abs() < 0.05 && (vy.sqrt() / 0.5 - 1.0).abs() < 0.05, "{vx} {vy}");
    assert!((c - 0.6).abs() < 0.04, "{c}");
    let origin = model.origin.expect("an origin");
    assert!(origin.info.cost < 4e-4, "{origin:?}");
}

#[test]
fn the_same_seed_gives_the_same_network_whatever_the_threads() {
    let (operator, moments) = gaussian();
    let short = TrainParams { steps: 10, ..small() };
    let first = train(&operator, &moments, &short, &mut |_, _| ()).expect("trained");
    for threads in [1, 3] {
        let again = train(&operator, &moments, &TrainParams { threads, ..short.clone() }, &mut |_, _| ());
        assert_eq!(first, again.expect("trained"), "{threads} threads");
    }
    let other = train(&operator, &moments, &TrainParams { seed: 1, ..short }, &mut |_, _| ());
    assert_ne!(generator(&first).weights, generator(&other.expect("trained")).weights);
}

#[test]
fn gradients_in_the_weights_are_slopes_of_the_loss() {
    let (operator, moments) = gaussian();
    let sketch = SketchLayer::new(&operator, &moments).expect("a layer");
    let (widths, params) = ([3, 8, 6, 2], TrainParams { batch: 301, ..small() });
    let mut weights = first_weights(&widths, params.activation, 4);
    let mut batch = Batch::new(sketch, &widths, &params);
    let gradient = batch.step(5, &weights).1.to_vec();
    let scale = gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
    for at in [0, 10, 23, 40, 77, gradient.len() - 1] {
        let mut loss = |by: f32| {
            weights[at] += by;
            let loss = batch.step(5, &weights).0;
            weights[at] -= by;
            loss
        };
        let slope = (loss(3e-3) - loss(-3e-3)) / 6e-3;
        assert!((slope - gradient[at]).abs() < 0.02 * scale, "{at}: {slope} {}", gradient[at]);
    }
}

#[test]
fn impossible_parameters_are_refused_with_their_numbers() {
    let (operator, moments) = gaussian();
    let refuse = |params: TrainParams| {
        train(&operator, &moments, &params, &mut |_, _| ()).expect_err("refused").to_string()
    };
    assert!(refuse(TrainParams { layers: vec![5, 0], ..small() }).contains("(layers): a width of 0"));
    assert!(refuse(TrainParams { latent: Some(70_000), ..small() }).contains("70000"));
    assert!(refuse(TrainParams { steps: 0, ..small() }).contains("(steps)"));
    assert!(refuse(TrainParams { batch: 1, ..small() }).contains("(batch): 1 rows"));
    assert!(refuse(TrainParams { rate: f64::NAN, ..small() }).contains("(rate): a learning rate of NaN"));
    let wild = TrainParams { rate: 1.0, layers: vec![64; 8], ..small() };
    if let Err(error) = train(&operator, &moments, &wild, &mut |_, _| ()) {
        assert!(error.to_string().contains("lower the learning rate"), "{error}");
    }
}
