use super::*;
use crate::Wave;
use crate::design::{Look, Request, design};
use crate::error::remedy::{Parameter, Remedy};
use crate::model::{Content, Covariances, Explained, Stop};
use crate::num::random::{Purpose, Stream};
use crate::testing::{columns, sketch_of};

/// The operator and the moments of some rows, designed for k components.
fn sketched(rows: &[f64], dim: usize, task: Task, k: usize, wave: Wave) -> (SketchOperator, Moments) {
    let columns = columns(dim);
    let spec =
        design(Look::Sample { rows, columns: &columns }, &Request::new(task, k).feature(wave)).unwrap().spec;
    let operator = spec.build().unwrap();
    let moments = sketch_of(&operator, rows).moments().unwrap();
    (operator, moments)
}

/// Rows around the given centres in turn, with the given deviations of each column.
fn around(centers: &[[f64; 2]], deviations: [f64; 2], n: usize) -> Vec<f64> {
    let mut stream = Stream::new(11, Purpose::PilotMixture, 3);
    let mut rows = Vec::with_capacity(2 * n);
    for i in 0..n {
        let center = centers[i % centers.len()];
        rows.extend((0..2).map(|c| center[c] + deviations[c] * stream.normal()));
    }
    rows
}

const CENTERS: [[f64; 2]; 4] = [[0.0, 0.0], [10.0, 0.0], [0.0, 9.0], [-8.0, -7.0]];

/// Largest distance of a true centre to the nearest location of the model.
fn worst(model: &Model) -> f64 {
    let distance = |a: &[f64; 2], b: &Vec<f64>| (a[0] - b[0]).hypot(a[1] - b[1]);
    let nearest =
        |a: &[f64; 2]| model.locations().iter().map(|b| distance(a, b)).fold(f64::INFINITY, f64::min);
    CENTERS.iter().map(nearest).fold(0.0, f64::max)
}

#[test]
fn a_mixture_comes_back_in_the_units_of_the_table() {
    let rows = around(&CENTERS, [1.0, 0.5], 40_000);
    for covariance in [
        CovarianceKind::Diag,
        CovarianceKind::Full,
        CovarianceKind::Known(vec![vec![1.0, 0.0], vec![0.0, 0.25]]),
    ] {
        let (operator, moments) = sketched(&rows, 2, Task::Gmm, 4, Wave::Fourier);
        let params = LearnParams {
            task: Task::Gmm,
            k: Components::Exactly(4),
            covariance: covariance.clone(),
            ..LearnParams::default()
        };
        let learned = learn(&operator, &moments, &params).unwrap();
        // A mean of 10,000 rows has a deviation of 0.01 in each column.
        assert!(worst(&learned.model) < 0.06, "{covariance:?}: {:?}", learned.model.locations());
        let Content::Gmm { covariances, weights, .. } = &learned.model.content else { panic!("a mixture") };
        assert!(weights.iter().all(|w| (w - 0.25).abs() < 0.01), "{weights:?}");
        assert_eq!(matches!(covariances, Covariances::Diagonal(_)), covariance == CovarianceKind::Diag);
        for l in 0..4 {
            let sigma = covariances.matrix(l);
            assert!((sigma[0][0] - 1.0).abs() < 0.08 && (sigma[1][1] - 0.25).abs() < 0.02, "{sigma:?}");
            assert!(sigma[0][1].abs() < 0.03, "{sigma:?}");
        }
    }
}

#[test]
fn the_number_of_clusters_is_found_for_every_feature() {
    let rows = around(&CENTERS, [1.0, 0.5], 20_000);
    for feature in [Wave::Fourier, Wave::OneBit, Wave::Sawtooth] {
        let (operator, moments) = sketched(&rows, 2, Task::Kmeans, 6, feature.clone());
        let params = LearnParams { k: Components::Between(1, 6), ..LearnParams::default() };
        let learned = learn(&operator, &moments, &params).unwrap();
        assert_eq!(learned.model.k, 4, "{}: {:?}", feature.name(), learned.candidates);
        assert!(worst(&learned.model) < 0.1);
        assert!(learned.candidates[2].misfit.value() > 10.0 * learned.candidates[3].misfit.value());
    }
}

#[test]
fn more_components_than_the_rows_have_places_are_still_all_there() {
    let rows: Vec<f64> = (0..1000).map(|i| f64::from(i % 2)).collect();
    let (operator, moments) = sketched(&rows, 1, Task::Kmeans, 5, Wave::Fourier);
    for decoder in [Decoder::Auto, Decoder::ClOmpr, Decoder::Split] {
        let params = LearnParams { k: Components::Exactly(5), decoder, ..LearnParams::default() };
        let model = learn(&operator, &moments, &params).unwrap().model;
        assert_eq!(model.locations().len(), 5);
        assert!(model.weights().iter().all(|w| *w > 0.0), "{decoder:?}: {:?}", model.weights());
    }
}

#[test]
fn irregular_clusters_get_the_centres_of_lowest_sse() {
    // Four half-moons: their k-means centres are not the means of any Gaussians.
    let mut stream = Stream::new(2, Purpose::PilotMixture, 1);
    let mut rows = Vec::new();
    for i in 0..20_000usize {
        let angle = std::f64::consts::PI * stream.uniform();
        let side = if i % 2 == 0 { 1.0 } else { -1.0 };
        let far = if i % 4 < 2 { 0.0 } else { 12.0 };
        rows.push(3.0 * angle.cos() + far + 0.2 * stream.normal());
        rows.push(side * (4.0 * angle.sin() + 2.0) + 0.2 * stream.normal());
    }
    let (operator, moments) = sketched(&rows, 2, Task::Kmeans, 4, Wave::Fourier);
    let params = LearnParams { k: Components::Exactly(4), ..LearnParams::default() };
    let learned = learn(&operator, &moments, &params).unwrap();
    assert_eq!(learned.candidates[0].misfit.explained(), Explained::No);
    let sse = |centers: &[Vec<f64>]| -> f64 {
        let nearest = |r: &[f64]| {
            centers
                .iter()
                .map(|c| (r[0] - c[0]).powi(2) + (r[1] - c[1]).powi(2))
                .fold(f64::INFINITY, f64::min)
        };
        rows.chunks(2).map(nearest).sum()
    };
    // The mean height of a half-moon is 2 + 8 / pi.
    let height = 2.0 + 8.0 / std::f64::consts::PI;
    let ideal = [[0.0, height], [0.0, -height], [12.0, height], [12.0, -height]].map(|c| c.to_vec());
    let ratio = sse(learned.model.locations()) / sse(&ideal);
    assert!(ratio < 1.01, "{ratio}");
}

#[test]
fn the_misfit_of_a_model_is_that_of_its_explanation() {
    use crate::ask::explain::explain;
    let rows = around(&CENTERS, [1.0, 0.5], 5_000);
    for task in [Task::Kmeans, Task::Kmedians, Task::Gmm] {
        let (operator, moments) = sketched(&rows, 2, task, 4, Wave::Fourier);
        let params = LearnParams { task, k: Components::Between(3, 5), ..LearnParams::default() };
        let learned = learn(&operator, &moments, &params).unwrap();
        let misfit = learned.model.origin.as_ref().unwrap().misfit;
        assert_eq!(misfit.explained(), Explained::Yes, "{misfit:?}");
        let candidate = learned.candidates.iter().find(|c| c.k == learned.model.k).unwrap();
        assert_eq!(misfit, candidate.misfit);
        let read = Model::from_json(&learned.model.to_json()).unwrap();
        let again = explain(&operator, &moments, &read).unwrap().misfit;
        assert_eq!((misfit.value(), misfit.explained()), (again.value(), again.explained()));
    }
}

#[test]
fn impossible_requests_say_why() {
    let rows = around(&CENTERS, [1.0, 0.5], 500);
    let (operator, moments) = sketched(&rows, 2, Task::Kmeans, 2, Wave::Fourier);
    let message = |params: LearnParams| learn(&operator, &moments, &params).unwrap_err().to_string();
    let with = |k| LearnParams { k, ..LearnParams::default() };
    assert!(message(with(Components::Exactly(0))).contains("ask for 1 or more"));
    assert!(message(with(Components::Exactly(501))).contains("500 rows"));
    assert!(message(with(Components::Exactly(100))).contains("at least 100 frequencies"));
    assert!(message(with(Components::Between(3, 2))).contains("3 to 2"));
    let known = |sigma| LearnParams {
        task: Task::Gmm,
        covariance: CovarianceKind::Known(sigma),
        k: Components::Exactly(2),
        ..LearnParams::default()
    };
    assert!(message(known(vec![vec![1.0]])).contains("2 rows of 2 numbers"));
    assert!(message(known(vec![vec![1.0, 2.0], vec![2.0, 1.0]])).contains("positive definite"));

    let equal = vec![3.0; 200];
    let sketch = sketch_of(&operator, &equal);
    let error =
        learn(&operator, &sketch.moments().unwrap(), &with(Components::Exactly(2))).unwrap_err().to_string();
    assert!(error.contains("all 100 rows of the sketch are equal"), "{error}");
    let one = learn(&operator, &sketch.moments().unwrap(), &with(Components::Exactly(1))).unwrap();
    assert!(
        (one.model.locations()[0][0] - 3.0).abs() < 1e-3
            && one.model.origin.unwrap().info.stop != Stop::BadInput
    );
}

#[test]
fn a_diagnosis_tells_stuck_from_small_from_good() {
    use crate::ask::diagnose::{Verdict, diagnose};
    let rows = around(&CENTERS, [1.0, 0.5], 20_000);
    let (operator, moments) = sketched(&rows, 2, Task::Kmeans, 4, Wave::Fourier);
    let params = LearnParams { k: Components::Exactly(4), ..LearnParams::default() };
    let good = learn(&operator, &moments, &params).unwrap().model;
    assert_eq!(diagnose(&operator, &moments, &good, None, 1).unwrap().verdict, Verdict::Good);
    let mut stuck = good.clone();
    let Content::Kmeans { centers, .. } = &mut stuck.content else { panic!("k-means") };
    centers[0] = centers[1].iter().map(|x| x + 0.3).collect();
    let found = diagnose(&operator, &moments, &stuck, None, 1).unwrap();
    assert_eq!(found.verdict, Verdict::DecoderStuck);
    assert!(found.misfit.value() > 10.0 * found.reference_misfit && found.distance > 1.0, "{found:?}");

    let mut spec = operator.spec().clone();
    spec.scale *= 200.0;
    let blurred = spec.build().unwrap();
    let sketch = sketch_of(&blurred, &rows);
    let found = diagnose(&blurred, &sketch.moments().unwrap(), &good, Some(&good), 1).unwrap();
    assert_eq!(found.verdict, Verdict::ScaleWrong, "{found:?}");
    let smaller = vec![Remedy::Lower(Parameter::Scale), Remedy::Drop(Parameter::Scale)];
    assert_eq!(found.remedies, [Remedy::SketchAgain(smaller)]);
}

/// Student's law of two degrees: its variance is infinite, so the range is set by a few rows.
#[test]
fn clusters_with_heavy_tails_are_found_in_the_range_of_their_outliers() {
    let mut stream = Stream::new(13, Purpose::PilotMixture, 5);
    let mut rows = Vec::new();
    for i in 0..40_000 {
        let wide = 0.5 / (-stream.uniform().ln()).sqrt();
        rows.extend(CENTERS[i % 4].map(|c| c + wide * stream.normal()));
    }
    assert!(rows.iter().any(|x| x.abs() > 50.0));
    // Mixtures are not asked: the likeliest one has a component for the tails of all, in
    // expectation-maximisation on the rows as well.
    for task in [Task::Kmeans, Task::Kmedians] {
        let (operator, moments) = sketched(&rows, 2, task, 4, Wave::Fourier);
        let params = LearnParams { task, k: Components::Exactly(4), ..LearnParams::default() };
        let learned = learn(&operator, &moments, &params).unwrap();
        assert!(worst(&learned.model) < 0.3, "{task:?}: {:?}", learned.model.locations());
    }
}

/// Statistical: at low frequencies residuals are below their unit; the mean square of 80 and more is between
/// 0.4 and 1.35 but for one run in thousands. The seed is fixed.
#[test]
fn a_right_model_leaves_noise_at_every_frequency_and_a_wrong_one_more() {
    use crate::ask::explain::explain;
    let mean_square = |entries: &[crate::ask::explain::Entry]| {
        entries.iter().map(|e| e.residual * e.residual).sum::<f64>() / entries.len() as f64
    };
    let rows = around(&CENTERS, [1.0, 0.5], 20_000);
    for feature in [Wave::Fourier, Wave::OneBit] {
        for task in [Task::Gmm, Task::Kmeans] {
            let (operator, moments) = sketched(&rows, 2, task, 4, feature.clone());
            let params = LearnParams { task, k: Components::Exactly(4), ..LearnParams::default() };
            let model = learn(&operator, &moments, &params).unwrap().model;
            let found = explain(&operator, &moments, &model).unwrap();
            let left = mean_square(&found.entries);
            assert!(
                left > 0.4 && left < 1.35 && (found.misfit.value() - 1.0).abs() < 0.35,
                "{feature:?} {task:?}: {left} {found:?}"
            );
            assert!(found.shares.iter().all(|s| (s - 0.25).abs() < 0.02), "{:?}", found.shares);
            let variance = found.covariances.matrix(0);
            assert!(
                (variance[0][0] - 1.0).abs() < 0.15 && (variance[1][1] - 0.25).abs() < 0.05,
                "{variance:?}"
            );

            let mut fewer = model.clone();
            fewer.k = 3;
            match &mut fewer.content {
                Content::Kmeans { centers: places, weights } => {
                    (places.truncate(3), *weights = vec![1.0 / 3.0; 3])
                }
                Content::Gmm { means: places, weights, covariances: Covariances::Diagonal(all) } => {
                    all.truncate(3);
                    (places.truncate(3), *weights = vec![1.0 / 3.0; 3])
                }
                other => panic!("{other:?}"),
            };
            assert!(mean_square(&explain(&operator, &moments, &fewer).unwrap().entries) > 100.0);
        }
    }
}

/// Mean squared distance of rows of two columns to the nearest location.
fn mean_squares(rows: &[f64], model: &Model) -> f64 {
    let distance = |row: &[f64], at: &Vec<f64>| (row[0] - at[0]).powi(2) + (row[1] - at[1]).powi(2);
    let nearest =
        |row: &[f64]| model.locations().iter().map(|at| distance(row, at)).fold(f64::INFINITY, f64::min);
    rows.chunks_exact(2).map(nearest).sum::<f64>() / (rows.len() / 2) as f64
}

#[test]
fn a_table_with_a_mean_is_as_good_as_one_without() {
    const LEN: usize = 200;
    let rows = around(&CENTERS, [1.0, 0.5], 20_000);
    // Values over a turn by the share of it, the wave beginning where the cosine is largest.
    let table = |value: &dyn Fn(f64) -> f64| Wave::Periodic {
        table: (0..LEN).map(|i| value((i as f64 + 0.5) / LEN as f64)).collect(),
    };
    let square = |high: f64, low: f64, duty: f64| {
        table(&move |turns: f64| if (turns - turns.round()).abs() < 0.5 * duty { high } else { low })
    };
    let cosine = |turns: f64| (std::f64::consts::TAU * turns).cos();
    let plain = [square(1.0, -1.0, 0.5), table(&cosine)];
    let with_mean = [
        square(1.0, 0.0, 0.5),
        table(&move |turns| 0.5 + 0.5 * cosine(turns)),
        square(1.0, -0.8, 0.5),
        table(&move |turns| 0.1 + 0.9 * cosine(turns)),
        square(1.0, -1.0, 0.55),
    ];
    let params = LearnParams { k: Components::Exactly(4), ..LearnParams::default() };
    let squares = |feature: &Wave| {
        let (operator, moments) = sketched(&rows, 2, Task::Kmeans, 4, feature.clone());
        let model = learn(&operator, &moments, &params).unwrap().model;
        let found = crate::ask::diagnose::diagnose(&operator, &moments, &model, None, 1).unwrap();
        assert_eq!(found.verdict, crate::ask::diagnose::Verdict::Good, "{feature:?}: {}", found.finding);
        mean_squares(&rows, &model)
    };
    let expected = plain.iter().map(squares).fold(f64::INFINITY, f64::min);
    for feature in with_mean {
        assert!(feature.surrogate().offset > 0.04);
        let found = squares(&feature);
        assert!(found < 1.01 * expected, "{found} against {expected}: {feature:?}");
    }
}

#[test]
fn a_search_without_time_still_gives_a_usable_model_that_says_it_was_cut() {
    let rows = around(&CENTERS, [1.0, 0.5], 5_000);
    let columns = columns(2);
    for task in [Task::Kmeans, Task::Kmedians, Task::Gmm, Task::Stable] {
        for outline in [true, false] {
            let request = Request::new(task, 4).outline(outline);
            let spec = design(Look::Sample { rows: &rows, columns: &columns }, &request).unwrap().spec;
            let operator = spec.build().unwrap();
            let moments = sketch_of(&operator, &rows).moments().unwrap();
            let run = |budget: Budget| learn(&operator, &moments, &LearnParams::new(task, 4).budget(budget));
            let cut = run(Budget::new(|| true)).unwrap().model;
            cut.validate().unwrap();
            assert_eq!((cut.k, cut.origin.unwrap().info.stop), (4, Stop::Cut), "{task}");
            if task == Task::Kmeans && outline {
                let whole = run(Budget::new(|| false)).unwrap().model;
                assert_eq!(whole, run(Budget::default()).unwrap().model);
                assert!(worst(&whole) < 0.1 && whole.origin.unwrap().info.stop != Stop::Cut);
            }
        }
    }
}
