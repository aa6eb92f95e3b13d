use super::*;
use crate::design::Task;
use crate::design::{Look, Request, Scaling, design};
use crate::learn::learn;
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::RowsRef;
use crate::testing::{names, sketch_of};
use crate::{Feature, FrequencyLaw};

/// Rows with columns of different size and mean, of which one combination has most of the variance.
fn rows(n: usize) -> Vec<f64> {
    let mut stream = Stream::new(8, Purpose::Decode, 3);
    (0..n)
        .flat_map(|_| {
            let (long, short) = (5.0 * stream.normal(), stream.normal());
            let rest = [0.2 * stream.normal(), 0.2 * stream.normal(), 0.2 * stream.normal()];
            [100.0 + 0.6 * long + rest[0], -7.0 + 0.8 * long + rest[1], short + rest[2]]
        })
        .collect()
}

fn sketched(rows: &[f64], scaling: Scaling) -> (SketchOperator, Moments) {
    let columns = names(&["a", "b", "c"]);
    let params = Request::new(Task::Pca, 2).scaling(scaling).feature(Feature::Quadratic { complex: false });
    let operator = design(Look::Sample { rows, columns: &columns }, &params).unwrap().spec.build().unwrap();
    let moments = sketch_of(&operator, rows).moments().unwrap();
    (operator, moments)
}

fn params(k: usize) -> LearnParams {
    LearnParams { task: Task::Pca, k: Components::Exactly(k), ..LearnParams::default() }
}

#[test]
fn mean_components_and_variances_are_told_in_the_users_units() {
    let rows = rows(4000);
    let (operator, moments) = sketched(&rows, Scaling::Auto);
    // 24 directions for 6 unknowns: every decoder finds the covariance itself.
    for decoder in [Decoder::Auto, Decoder::Psd, Decoder::Nuclear] {
        let model = learn(&operator, &moments, &LearnParams { decoder, ..params(2) }).unwrap().model;
        let Content::Pca { mean, components, explained_variance, total_variance, scale, .. } = &model.content
        else {
            panic!("principal components")
        };
        let exact: Vec<f64> = (0..3).map(|c| rows.iter().skip(c).step_by(3).sum::<f64>() / 4000.0).collect();
        assert!(mean.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-4), "{mean:?} {exact:?}");
        assert!(scale.is_none());
        let first = &components[0];
        assert!((first[0] - 0.6).abs() < 0.01 && (first[1] - 0.8).abs() < 0.01, "{first:?}");
        assert!((components[1][2] - 1.0).abs() < 0.01, "{components:?}");
        let square =
            |c: usize| rows.iter().skip(c).step_by(3).map(|x| (x - exact[c]).powi(2)).sum::<f64>() / 4000.0;
        let total = square(0) + square(1) + square(2);
        let tolerance = if decoder == Decoder::Nuclear { 0.01 } else { 1e-3 };
        assert!((total_variance / total - 1.0).abs() < tolerance, "{decoder:?}: {total_variance} {total}");
        // What the model says is explained is what is explained.
        let (all, left) = model.projector().unwrap().errors(RowsRef::F64(&rows)).unwrap();
        let explained: f64 = explained_variance.iter().sum();
        assert!((all / 4000.0 / total - 1.0).abs() < 1e-6);
        assert!(((all - left) / 4000.0 / explained - 1.0).abs() < tolerance, "{decoder:?}: {explained}");
    }
}

#[test]
fn columns_scaled_one_by_one_give_components_in_their_units() {
    let rows = rows(4000);
    let (operator, moments) = sketched(&rows, Scaling::Columns);
    let model = learn(&operator, &moments, &params(2)).unwrap().model;
    let Content::Pca { components, scale: Some(scale), total_variance, .. } = &model.content else {
        panic!("components with a scale: {:?}", model.content)
    };
    assert_eq!(scale, &operator.spec().transform.spread);
    // Standardised, the two long columns weigh the same, and the total is near the number of columns.
    assert!((components[0][0] - components[0][1]).abs() < 0.02, "{components:?}");
    assert!((total_variance - 3.0).abs() < 0.2, "{total_variance}");
}

#[test]
fn what_cannot_be_learned_is_refused_with_the_remedy() {
    let rows = rows(100);
    let (operator, moments) = sketched(&rows, Scaling::Auto);
    let refused = |params: &LearnParams| learn(&operator, &moments, params).unwrap_err().to_string();
    assert!(refused(&params(4)).contains("ask for 1 to 3"));
    let between = LearnParams { k: Components::Between(1, 3), ..params(1) };
    assert!(refused(&between).contains("ask for 3"));
    let wrong = LearnParams { decoder: Decoder::ClOmpr, ..params(1) };
    assert!(refused(&wrong).contains("eigen, factorised, psd and nuclear"));
    let kmeans = LearnParams { task: Task::Kmeans, ..params(2) };
    let message = crate::learn::learn(&operator, &moments, &kmeans).unwrap_err().to_string();
    assert!(message.contains("task kmeans"), "{message}");
    let mut fourier = operator.spec().clone();
    fourier.map = FrequencyLaw::Gaussian.into();
    let message = learn(&fourier.build().unwrap(), &moments, &params(2)).unwrap_err().to_string();
    assert!(message.contains("`fourier`") && message.contains("task pca"), "{message}");
    let mut small = operator.spec().clone();
    small.size = 4;
    let few = Moments { mean: moments.mean[..8].to_vec(), ..moments.clone() };
    let message = learn(&small.build().unwrap(), &few, &params(2)).unwrap_err().to_string();
    assert!(message.contains("at least 6 directions, and this one has 4"), "{message}");
    let equal = Moments { mean: vec![0.0; moments.mean.len()], ..moments.clone() };
    assert!(learn(&operator, &equal, &params(1)).unwrap_err().to_string().contains("no variance"));
    let gmm = LearnParams { decoder: Decoder::Psd, task: Task::Gmm, ..params(2) };
    assert!(crate::learn::learn(&operator, &moments, &gmm).is_err());
}

#[test]
fn exact_moments_give_the_components_of_the_rows() {
    let rows = rows(4000);
    let columns = names(&["a", "b", "c"]);
    for scaling in [Scaling::Auto, Scaling::Columns] {
        let request = Request::new(Task::Pca, 2).scaling(scaling);
        let look = Look::Sample { rows: &rows, columns: &columns };
        let spec = design(look, &request).unwrap().spec;
        assert_eq!(
            (spec.map.name(), spec.moments),
            (crate::FeatureName::Fourier, Some(crate::MomentSet::Full))
        );
        let operator = spec.build().unwrap();
        let moments = sketch_of(&operator, &rows).moments().unwrap();
        let learned = learn(&operator, &moments, &params(2)).unwrap();
        let Content::Pca { mean, explained_variance, total_variance, .. } = &learned.model.content else {
            panic!("principal components")
        };
        let exact: Vec<f64> = (0..3).map(|c| rows.iter().skip(c).step_by(3).sum::<f64>() / 4000.0).collect();
        assert!(mean.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-8), "{mean:?} {exact:?}");
        assert_eq!(learned.model.origin.as_ref().unwrap().decoder, "eigen");
        // What the components leave is the smallest eigenvalue, to rounding: no other plane leaves less.
        let (all, left) = learned.model.projector().unwrap().errors(RowsRef::F64(&rows)).unwrap();
        let explained: f64 = explained_variance.iter().sum();
        assert!((all / 4000.0 / total_variance - 1.0).abs() < 1e-8, "{all} {total_variance}");
        assert!((left / 4000.0 / (total_variance - explained) - 1.0).abs() < 1e-6, "{left} {explained}");
    }
}

#[test]
fn without_pairs_of_columns_components_come_from_directions() {
    let rows = rows(100);
    let columns = names(&["a", "b", "c"]);
    let spec = |request: &Request| design(Look::Sample { rows: &rows, columns: &columns }, request);
    let request = Request::new(Task::Pca, 2);
    let plain = spec(&request.clone().moments(false)).unwrap().spec;
    assert_eq!((plain.map.name(), plain.moments), (crate::FeatureName::Quadratic, None));
    let message =
        spec(&request.clone().moments(false).feature(crate::Wave::Fourier)).unwrap_err().to_string();
    assert!(message.contains("all pairs of columns") && message.contains("quadratic"), "{message}");
    let operator = plain.build().unwrap();
    let moments = sketch_of(&operator, &rows).moments().unwrap();
    let asked = LearnParams { decoder: Decoder::Eigen, ..params(2) };
    assert!(learn(&operator, &moments, &asked).unwrap_err().to_string().contains("`eigen` needs"));
}

#[test]
fn whitened_sketches_have_components_where_they_keep_moments() {
    let rows = rows(4000);
    let columns = names(&["a", "b", "c"]);
    let model = |whiten| {
        let request = Request::new(Task::Kmeans, 2).whiten(whiten).scaling(Scaling::Common);
        let spec = design(Look::Sample { rows: &rows, columns: &columns }, &request).unwrap().spec;
        let operator = spec.build().unwrap();
        let moments = sketch_of(&operator, &rows).moments().unwrap();
        learn(&operator, &moments, &params(2)).unwrap().model
    };
    let [plain, white] = [false, true].map(|whiten| match model(whiten).content {
        Content::Pca { components, explained_variance, .. } => (components, explained_variance),
        _ => panic!("components"),
    });
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6 * a.abs().max(1.0));
    assert!(close(&plain.1, &white.1), "{plain:?} {white:?}");
    assert!(plain.0.iter().zip(&white.0).all(|(a, b)| close(a, b)), "{plain:?} {white:?}");
}
