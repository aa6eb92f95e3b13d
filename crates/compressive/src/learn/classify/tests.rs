//! Tests of the classifiers.

use super::*;
use crate::Named;
use crate::design::Task;
use crate::design::{Look, Request, Scaling, design};
use crate::model::Covariances;
use crate::num::random::{Purpose, Stream};
use crate::testing::sketch_of;
use crate::{FrequencyLaw, RowsRef, SketchSpec};

/// Two classes about (-2, 0) and (2, 0), the second stretched.
fn rows(class: usize, n: usize) -> Vec<f64> {
    let mut stream = Stream::new(7, Purpose::Decode, class as u64);
    let centre = [-2.0, 2.0][class];
    (0..n).flat_map(|_| [centre + stream.normal(), [0.5, 2.0][class] * stream.normal()]).collect()
}

fn data(operator: &SketchOperator, n: [usize; 2]) -> Vec<ClassData> {
    let one = |class: usize| {
        let rows = rows(class, n[class]);
        let sketch = sketch_of(operator, &rows);
        ClassData {
            label: ["a", "b"][class].into(),
            moments: sketch.moments().expect("rows"),
            weight: n[class] as f64,
        }
    };
    vec![one(0), one(1)]
}

fn operator() -> SketchOperator {
    SketchSpec::new(["x", "y"], FrequencyLaw::Gaussian, 1.0, 100).build().expect("a spec")
}

#[test]
fn every_rule_tells_separate_classes_apart_and_survives_its_json() {
    let operator = operator();
    let data = data(&operator, [600, 300]);
    for method in Method::ALL.iter().copied() {
        let model = classify(&operator, &data, &ClassifyParams { method, ..ClassifyParams::default() })
            .expect("learned");
        let Content::Classify(classifier) = &model.content else { panic!("a classifier") };
        assert!((classifier.priors[0] - 2.0 / 3.0).abs() < 1e-12);
        let predictor = classifier.predictor(&model.columns).expect("prepared");
        let wrong: usize = (0..2)
            .map(|class| {
                let labels = predictor.classify(RowsRef::F64(&rows(class, 300))).expect("finite rows");
                labels.iter().filter(|label| **label != class as u32).count()
            })
            .sum();
        // Bayes' error is about 2.5% of 600 rows.
        assert!(wrong < 36, "{}: {wrong} of 600 are wrong", method.name());
        assert_eq!(Model::from_json(&model.to_json()).expect("its own JSON"), model);
    }
}

#[test]
fn a_class_of_one_row_gets_the_pooled_shape() {
    let operator = operator();
    let model = classify(&operator, &data(&operator, [500, 1]), &ClassifyParams::default());
    let Content::Classify(classifier) = model.expect("learned").content else { panic!("a classifier") };
    let Rule::Mixture { mixtures } = classifier.rule else { panic!("mixtures") };
    let Covariances::Diagonal(variances) = &mixtures[1].covariances else { panic!("too few rows for full") };
    assert!(variances[0].iter().all(|v| (0.1..2.0).contains(v)), "{variances:?}");
}

#[test]
fn one_class_an_empty_class_and_a_label_twice_are_refused() {
    let operator = operator();
    let good = data(&operator, [50, 50]);
    let message = |data: &[ClassData]| {
        classify(&operator, data, &ClassifyParams::default()).expect_err("refused").to_string()
    };
    assert!(message(&good[..1]).contains("two classes"));
    let mut empty = good.clone();
    empty[1].weight = 0.0;
    assert!(message(&empty).contains("`b` has no rows"));
    let mut twice = good;
    twice[1].label = "a".into();
    assert!(message(&twice).contains("`a` appears twice"));
}

/// Two classes that differ by 1 along (1, -1), across which they are 0.2 wide, and are 3 wide along (1, 1).
fn slanted(n: usize) -> (Vec<f64>, Vec<String>) {
    let mut stream = Stream::new(8, Purpose::Decode, 2);
    let mut rows = Vec::new();
    let mut labels = Vec::new();
    for i in 0..n {
        let (along, across) = (3.0 * stream.normal(), 0.2 * stream.normal() + [-0.5, 0.5][i % 2]);
        rows.extend([(along + across) / 2.0f64.sqrt(), (along - across) / 2.0f64.sqrt()]);
        labels.push(["a", "b"][i % 2].to_owned());
    }
    (rows, labels)
}

#[test]
fn whitened_classes_of_few_rows_share_the_covariance_within_classes() {
    let (rows, _) = slanted(4000);
    let columns = ["x".to_owned(), "y".to_owned()];
    let params = Request::new(Task::Classify, 1);
    let operator = design(Look::Sample { rows: &rows, columns: &columns }, &params)
        .expect("designed")
        .spec
        .build()
        .expect("valid");
    assert!(operator.spec().transform.whiten.is_some());
    let mut data = Vec::new();
    for class in 0..2 {
        // Three rows about the second class's centre: too few for a covariance of its own.
        let half = 0.5 / 2.0f64.sqrt();
        let kept: Vec<f64> = match class {
            0 => rows.chunks_exact(2).step_by(2).flatten().copied().collect(),
            _ => [-0.3, 0.0, 0.3].into_iter().flat_map(|t| [half + t, t - half]).collect(),
        };
        let sketch = sketch_of(&operator, &kept);
        let moments = sketch.moments().expect("rows");
        // Told as equally frequent, as they were in the sample that the recipe is from.
        data.push(ClassData { label: class.to_string(), moments, weight: 1.0 });
    }
    let model = classify(&operator, &data, &ClassifyParams::default()).expect("learned");
    let Content::Classify(classifier) = &model.content else { panic!("a classifier") };
    let Rule::Mixture { mixtures } = &classifier.rule else { panic!("mixtures") };
    for mixture in mixtures {
        let Covariances::Full(matrices) = &mixture.covariances else { panic!("whitened") };
        let [[a, b], [_, c]] = [[matrices[0][0][0], matrices[0][0][1]], [0.0, matrices[0][1][1]]];
        // (9 + 0.04) / 2 on the diagonal, (9 - 0.04) / 2 beside it: the variance across, (a + c) / 2 - b, is
        // 0.04, and 0.29 with the part between classes.
        assert!((4.0..5.0).contains(&a) && (4.0..5.0).contains(&c), "{matrices:?}");
        assert!((0.01..0.12).contains(&((a + c) / 2.0 - b)), "{matrices:?}");
    }
}

#[test]
fn the_rule_with_the_fewest_held_out_errors_is_chosen_and_too_few_rows_choose_nothing() {
    let (rows, labels) = slanted(300);
    let columns = ["x".to_owned(), "y".to_owned()];
    let params = Request::new(Task::Classify, 1).scaling(Scaling::Columns);
    let operator = design(Look::Sample { rows: &rows, columns: &columns }, &params)
        .expect("designed")
        .spec
        .build()
        .expect("valid");
    assert!(operator.spec().transform.whiten.is_none());
    let params = ClassifyParams::default();
    let choice = choose(&operator, &rows, &labels, &params).expect("valid").expect("enough rows");
    let error = |method| choice.errors.iter().find(|(m, _)| *m == method).expect("tried").1;
    assert_eq!((choice.rows, choice.errors.len()), (100, 4));
    assert_eq!(choice.method, Method::Mixture);
    assert!(error(Method::Mixture) < 0.03 && error(Method::Correlation) > 0.05, "{choice:?}");
    assert_eq!(choose(&operator, &rows[..40], &labels[..20], &params), Ok(None));
    assert_eq!(choose(&operator, &rows, &vec!["a".to_owned(); 300], &params), Ok(None));
    assert!(choose(&operator, &rows[..10], &labels, &params).is_err());
}

#[test]
fn mixtures_of_images_are_refused() {
    let shape = crate::ImageShape { height: 2, width: 1, channels: 1 };
    let images = crate::Images { shape, law: FrequencyLaw::Gaussian, dither: false.into() };
    let operator = SketchSpec::new(["x", "y"], Map::Images(images), 1.0, 20).build().expect("a spec");
    let data = data(&operator, [50, 50]);
    let message = |method| {
        classify(&operator, &data, &ClassifyParams { method, ..ClassifyParams::default() })
            .map_err(|e| e.to_string())
    };
    assert!(message(Method::Mixture).expect_err("refused").contains("nearest"));
    assert!(message(Method::default_for(&operator.spec().map)).is_ok());
}

/// Three classes of `n` rows each in 12 columns; class k is shifted by 3 along column k, and its first column
/// is skewed.
fn wide_rows(class: usize, n: usize) -> Vec<f64> {
    let mut stream = Stream::new(11, Purpose::Decode, class as u64);
    let mut row = || -> Vec<f64> {
        let value =
            |c: usize, x: f64| if c == 0 { x.exp() } else { x } + if c == class + 1 { 3.0 } else { 0.0 };
        (0..12).map(|c| value(c, stream.normal())).collect()
    };
    (0..n).flat_map(|_| row()).collect()
}

#[test]
fn a_class_of_few_rows_in_many_columns_keeps_its_mean_among_larger_ones() {
    let sizes = [60, 16, 60];
    let all: Vec<Vec<f64>> = sizes.iter().enumerate().map(|(k, &n)| wide_rows(k, n)).collect();
    let columns: Vec<String> = (0..12).map(|c| format!("x{c}")).collect();
    let params = Request::new(Task::Classify, 1);
    let operator = design(Look::Sample { rows: &all.concat(), columns: &columns }, &params)
        .unwrap()
        .spec
        .build()
        .unwrap();
    let one = |(k, rows): (usize, &Vec<f64>)| {
        let sketch = sketch_of(&operator, rows);
        ClassData { label: k.to_string(), moments: sketch.moments().unwrap(), weight: sizes[k] as f64 }
    };
    let data: Vec<ClassData> = all.iter().enumerate().map(one).collect();
    let model = classify(&operator, &data, &ClassifyParams::default()).unwrap();
    let Content::Classify(classifier) = &model.content else { panic!("a classifier") };
    let fresh: Vec<f64> = (0..3).flat_map(|k| wide_rows(k, 400).split_off(12 * 100)).collect();
    let labels = classifier.predictor(&columns).unwrap().classify(RowsRef::F64(&fresh)).unwrap();
    let right = labels.iter().enumerate().filter(|(i, label)| **label as usize == i / 300).count();
    // The best rule has about 3% errors, one learned from 136 rows some more, and a class with a wrong mean
    // is lost.
    assert!(right >= 780, "{right} of 900");
}
