use super::*;

fn kmeans(centers: &str, weights: &str) -> String {
    format!(
        r#"{{"format": 1, "task": "kmeans", "k": 2, "columns": ["x", "y"], "centers": {centers}, "weights": {weights}}}"#
    )
}

#[test]
fn a_model_survives_its_json() {
    let model = Model::from_json(&kmeans("[[0.1, 1], [2, 3e-7]]", "[0.25, 0.75]")).unwrap();
    assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
}

#[test]
fn wrong_models_are_refused_with_the_field() {
    let cases = [
        (kmeans("[[0, 1], [2]]", "[0.5, 0.5]"), "model field `centers`: row 2 has 1 numbers, expected 2"),
        (kmeans("[[0, 1]]", "[0.5, 0.5]"), "model field `centers`: there are 1 rows, expected 2"),
        (kmeans("[[0, 1], [2, 3]]", "[0.5, 0.6]"), "model field `weights`: they sum to 1.1, not to 1"),
        (kmeans("[[0, 1], [2, 3]]", "[1.5, -0.5]"), "model field `weights`: -0.5 is negative"),
    ];
    for (text, message) in cases {
        assert_eq!(Model::from_json(&text).unwrap_err().to_string(), message);
    }
    let nan = Model::from_json(&kmeans("[[0, NaN], [2, 3]]", "[0.5, 0.5]")).unwrap_err().to_string();
    assert!(nan.contains("model field `JSON`"), "{nan}");
}

fn gmm(covariances: &str) -> Model {
    let text = format!(
        r#"{{"format": 1, "task": "gmm", "k": 2, "columns": ["x", "y"], "weights": [0.25, 0.75],
            "means": [[1, -1], [4, 2]], "covariances": {covariances}}}"#
    );
    Model::from_json(&text).unwrap()
}

#[test]
fn the_log_density_is_the_textbook_one() {
    let model = gmm("[[[2, 1], [1, 2]], [[1, 0], [0, 1]]]");
    let scores = model.scores(&[2.0, 1.0]).unwrap();
    // First component: determinant 3, inverse ((2, -1), (-1, 2)) / 3; at x - mu = (1, 2) the form is 2.
    // Second: the form at (-2, -1) is 5.
    let tau = std::f64::consts::TAU;
    let (a, b) = (0.25 * (-1.0f64).exp() / (tau * 3.0f64.sqrt()), 0.75 * (-2.5f64).exp() / tau);
    assert!((scores.log_densities[0] - (a + b).ln()).abs() < 1e-14);
    assert!((scores.responsibilities[0] - a / (a + b)).abs() < 1e-14);
    assert_eq!((scores.labels[0], scores.distances[0]), (u32::from(b > a), 5.0));
}

#[test]
fn blocks_and_precisions_do_not_change_what_is_said_of_a_row() {
    let rows: Vec<f64> = (0..74).map(|i| f64::from((i * 37) % 64) / 8.0 - 2.0).collect();
    let singles: Vec<f32> = rows.iter().map(|x| *x as f32).collect();
    let full = gmm("[[[2, 1], [1, 2]], [[1, 0.5], [0.5, 3]]]");
    let models = [
        Model::from_json(&kmeans("[[0, 1], [2, 3]]", "[0.5, 0.5]")).unwrap(),
        gmm("[[2, 0.5], [1, 3]]"),
        full,
    ];
    for model in models {
        let all = model.scores(&rows).unwrap();
        assert_eq!(all.labels.len(), 37);
        let mut one_by_one = Scores::default();
        let wanted = Wanted { distances: true, log_densities: true, responsibilities: true };
        let predictor = model.predictor().unwrap();
        for row in singles.chunks(2) {
            predictor.measure(crate::RowsRef::F32(row), wanted, &mut one_by_one).unwrap();
        }
        assert_eq!(all, one_by_one);
        assert_eq!(model.assign(&rows).unwrap(), all.labels);
    }
}

#[test]
fn diagonal_and_full_covariances_say_the_same_even_far_away() {
    let (diagonal, full) = (gmm("[[2, 0.5], [1, 3]]"), gmm("[[[2, 0], [0, 0.5]], [[1, 0], [0, 3]]]"));
    for row in [[0.0, 0.0], [1e5, -2e5]] {
        let (a, b) = (diagonal.scores(&row).unwrap(), full.scores(&row).unwrap());
        assert!(a.log_densities[0].is_finite());
        assert!((a.log_densities[0] - b.log_densities[0]).abs() <= 1e-12 * a.log_densities[0].abs());
        assert!((a.responsibilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let beyond = diagonal.scores(&[1e200, 0.0]).unwrap();
    assert_eq!((beyond.log_densities[0], &beyond.responsibilities[..]), (f64::NEG_INFINITY, &[0.0, 0.0][..]));
}

#[test]
fn rows_that_are_no_rows_are_refused() {
    let model = gmm("[[2, 0.5], [1, 3]]");
    assert!(matches!(model.assign(&[1.0, 2.0, 3.0]), Err(Error::Shape { found: 3, .. })));
    assert!(matches!(
        model.assign(&[1.0, 2.0, f64::NAN, 4.0]),
        Err(Error::NotFinite { row: 1, column: 0, .. })
    ));
}
