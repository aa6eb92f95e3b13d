use super::*;
use crate::Wave;
use crate::testing::names;

fn pilot(n: usize, f: impl Fn(&mut Stream) -> Vec<f64>) -> Vec<f64> {
    let mut stream = Stream::new(21, Purpose::PilotMixture, 77);
    (0..n).flat_map(|_| f(&mut stream)).collect()
}

#[test]
fn columns_of_any_unit_come_out_centred_with_unit_spread() {
    let rows = pilot(4000, |s| vec![1.7e9 + 60.0 * s.normal(), 1e-6 * s.normal() - 5.0]);
    let spec = design(Look::Sample { rows: &rows, columns: &names(&["time", "tiny"]) }, &Request::default())
        .unwrap()
        .spec;
    let t = &spec.transform;
    assert!((t.centre[0] - 1.7e9).abs() < 6.0 && (t.spread[0] / 60.0 - 1.0).abs() < 0.08, "{t:?}");
    assert!((t.spread[1] / 1e-6 - 1.0).abs() < 0.08, "{t:?}");
    let bounds = spec.bounds.unwrap();
    assert!(bounds.low[0] < 1.7e9 - 150.0 && bounds.high[0] > 1.7e9 + 150.0);
    assert_eq!((spec.size, spec.map.structured(), spec.map.dithered()), (200, false, false));
}

#[test]
fn outliers_do_not_move_centre_and_spread() {
    let mut rows = pilot(2000, |s| vec![s.normal()]);
    for i in 0..20 {
        rows[i * 100] = 1e9;
    }
    let spec =
        design(Look::Sample { rows: &rows, columns: &names(&["x"]) }, &Request::default()).unwrap().spec;
    assert!(spec.transform.centre[0].abs() < 0.1 && (spec.transform.spread[0] - 1.0).abs() < 0.1);
}

#[test]
fn a_column_that_is_mostly_one_value_is_scaled_by_its_deviation() {
    let rows = pilot(1000, |s| vec![if s.uniform() < 0.1 { 5.0 } else { 0.0 }]);
    let spec =
        design(Look::Sample { rows: &rows, columns: &names(&["rare"]) }, &Request::default()).unwrap().spec;
    assert!((spec.transform.spread[0] - 1.5).abs() < 0.15, "{:?}", spec.transform);
}

#[test]
fn structured_frequencies_are_chosen_where_they_win() {
    for (dim, size, wins) in
        [(10, 1000, false), (32, 4000, false), (64, 4000, true), (784, 4000, true), (784, 50, false)]
    {
        assert_eq!(structured_wins(dim, size), wins, "{dim} {size}");
    }
}

#[test]
fn whitening_makes_the_pilots_covariance_the_identity() {
    let rows = pilot(3000, |s| {
        let (a, b, c) = (s.normal(), s.normal(), s.normal());
        vec![a, a + 0.1 * b, 3.0 * c - a]
    });
    let white = Request::default().whiten(true).settled(true, 2).unwrap();
    let (transform, _) = transform(&rows, &names(&["a", "b", "c"]), &white, &mut Vec::new()).unwrap();
    let white = to_working(&rows, &transform);
    for i in 0..3 {
        for j in 0..3 {
            let product = |r: &[f64]| r[i] * r[j];
            let mean = |c: usize| white.chunks_exact(3).map(|r| r[c]).sum::<f64>() / 3000.0;
            let covariance = white.chunks_exact(3).map(product).sum::<f64>() / 3000.0 - mean(i) * mean(j);
            let unit = if i == j { 1.0 } else { 0.0 };
            assert!((covariance - unit).abs() < 1e-3, "{i} {j}: {covariance}");
        }
    }
}

#[test]
fn the_pilot_mixture_finds_the_clusters_shapes() {
    // Two clusters: wide along the first column, wide along the second.
    let rows = pilot(4000, |s| {
        let (a, b) = (s.normal(), s.normal());
        if s.uniform() < 0.3 { vec![a - 20.0, 0.1 * b] } else { vec![0.1 * a + 20.0, b] }
    });
    let FrequencyLaw::PilotMixture { components, .. } = pilot_mixture(&rows, 2, 2, 1) else { panic!() };
    assert_eq!(components.len(), 2);
    for component in components {
        let Covariance::Diagonal(v) = component.covariance else { panic!() };
        let (wide, narrow) = if component.weight < 0.5 { (v[0], v[1]) } else { (v[1], v[0]) };
        let weight = if component.weight < 0.5 { component.weight } else { 1.0 - component.weight };
        assert!((weight - 0.3).abs() < 0.03);
        assert!((wide - 1.0).abs() < 0.1 && narrow < 0.02, "{v:?}");
    }
}

#[test]
fn what_cannot_be_designed_says_why() {
    let fails = |rows: &[f64], columns: &[&str], params: &Request| {
        design(Look::Sample { rows, columns: &names(columns) }, params).unwrap_err().to_string()
    };
    let defaults = Request::default();
    assert!(fails(&[1.0, 2.0], &["a", "b"], &defaults).contains("at least 2 rows, and there are 1"));
    let constant = fails(&[1.0, 7.0, 2.0, 7.0], &["a", "b"], &defaults);
    assert!(constant.contains("`b` is constant (7") && constant.contains("leave it out"), "{constant}");
    assert!(fails(&[], &[], &defaults).contains("no numeric columns"));
    let zero = Request::new(Task::Kmeans, 0);
    assert!(fails(&[1.0, 2.0], &["a"], &zero).contains("give k 1 or more"));
}

#[test]
fn every_law_and_feature_gives_a_valid_spec() {
    let rows = pilot(500, |s| (0..3).map(|_| s.normal()).collect());
    for law in ["gaussian", "folded-gaussian", "adapted-radius", "weighted", "pilot-mixture"] {
        for wave in Wave::plain() {
            let dithered = wave.is_dithered();
            let params = Request::default().law(law.parse::<LawChoice>().unwrap()).feature(wave);
            let spec = design(Look::Sample { rows: &rows, columns: &names(&["a", "b", "c"]) }, &params)
                .unwrap()
                .spec;
            assert_eq!((spec.map.law_name(), spec.map.dithered()), (law, dithered));
        }
    }
}

#[test]
fn columns_of_one_unit_keep_their_proportions_for_kmeans_only() {
    let mut stream = Stream::new(5, Purpose::PilotMixture, 9);
    let rows: Vec<f64> = (0..2000).flat_map(|_| [stream.normal(), 8.0 * stream.normal()]).collect();
    let spread = |task, second: f64, scaling| {
        let rows: Vec<f64> = rows.chunks(2).flat_map(|r| [r[0], second * r[1]]).collect();
        let params = Request::new(task, 10).scaling(scaling);
        design(Look::Sample { rows: &rows, columns: &names(&["a", "b"]) }, &params)
            .unwrap()
            .spec
            .transform
            .spread
    };
    let one = spread(Task::Kmeans, 1.0, Scaling::Auto);
    assert!(one[0] == one[1] && (one[0] - (65.0f64 / 2.0).sqrt()).abs() < 0.6, "{one:?}");
    for other in [
        spread(Task::Gmm, 1.0, Scaling::Auto),
        spread(Task::Kmeans, 1.0, Scaling::Columns),
        spread(Task::Kmeans, 100.0, Scaling::Auto),
    ] {
        assert!(other[1] > 7.0 * other[0], "{other:?}");
    }
    let common = spread(Task::Gmm, 100.0, Scaling::Common);
    assert_eq!(common[0], common[1]);
}

#[test]
fn without_moments_a_recipe_for_principal_components_is_quadratic_with_one_spread_and_a_wide_box() {
    let mut stream = Stream::new(6, Purpose::PilotMixture, 9);
    let rows: Vec<f64> = (0..3000).flat_map(|_| [stream.normal(), 100.0 * stream.normal()]).collect();
    let params = Request::new(Task::Pca, 2).moments(false);
    let columns = names(&["a", "b"]);
    let spec = design(Look::Sample { rows: &rows, columns: &columns }, &params).unwrap().spec;
    assert_eq!((spec.size, spec.scale, spec.map.dithered()), (16, 1.0, false));
    assert_eq!((spec.map.law_name(), spec.map.name().name()), ("gaussian", "quadratic"));
    assert_eq!(spec.transform.spread[0], spec.transform.spread[1]);
    let column = |c: usize| rows.iter().skip(c).step_by(2).copied();
    let bounds = spec.bounds.as_ref().unwrap();
    for c in 0..2 {
        let (low, high) = (column(c).fold(f64::MAX, f64::min), column(c).fold(f64::MIN, f64::max));
        assert!((bounds.high[c] - bounds.low[c] - 2.0 * (high - low)).abs() < 1e-9 * (high - low));
        assert!((bounds.high[c] + bounds.low[c] - high - low).abs() < 1e-9 * (high - low));
    }
    let declared = Bounds { low: vec![-9.0; 2], high: vec![9.0; 2] };
    let with = params.clone().bounds(declared.clone());
    assert_eq!(
        design(Look::Sample { rows: &rows, columns: &columns }, &with).unwrap().spec.bounds,
        Some(declared)
    );
    let own = params.clone().scaling(Scaling::Columns);
    let spread = design(Look::Sample { rows: &rows, columns: &columns }, &own).unwrap().spec.transform.spread;
    assert!(spread[1] > 50.0 * spread[0]);
    let refused = |params: Request| {
        design(Look::Sample { rows: &rows, columns: &columns }, &params).unwrap_err().to_string()
    };
    assert!(refused(params.clone().k(3)).contains("2 or fewer"));
    assert!(refused(params.clone().whiten(true)).contains("leave whitening out"));
    assert!(refused(params.clone().feature(Wave::OneBit)).contains("one-bit"));
    assert!(
        refused(params.task(Task::Gmm).feature(Feature::Quadratic { complex: false })).contains("task pca")
    );
}

#[test]
fn moments_are_kept_by_default_where_rows_are_seen_and_summed() {
    use crate::MomentSet::{Diagonal, Full};
    let sample = |dim: usize, request: &Request| {
        let rows = pilot(300, |s| (0..dim).map(|_| s.normal()).collect());
        design(Look::Sample { rows: &rows, columns: &crate::testing::columns(dim) }, request).unwrap().spec
    };
    let waves = |wave: Wave| Request::new(Task::Kmeans, 2).size(10).feature(wave);
    assert_eq!(sample(FULL_MOMENTS, &waves(Wave::Fourier)).moments, Some(Full));
    assert_eq!(sample(FULL_MOMENTS + 1, &waves(Wave::Fourier)).moments, Some(Diagonal));
    assert_eq!(sample(3, &waves(Wave::Fourier).moments(false)).moments, None);
    assert_eq!(sample(3, &waves(Wave::OneBit)).moments, None);
    assert_eq!(sample(3, &waves(Wave::OneBit).moments(true)).moments, Some(Full));
    assert_eq!(sample(3, &Request::new(Task::Kmeans, 2).feature(Feature::Nystrom)).moments, Some(Full));
    assert_eq!(
        sample(3, &Request::new(Task::Pca, 2).feature(Feature::Quadratic { complex: false })).moments,
        None
    );
    // Beyond the pairs, components come from directions.
    assert_eq!(sample(FULL_MOMENTS + 1, &Request::new(Task::Pca, 1)).map.name(), FeatureName::Quadratic);
    let bounds = Bounds { low: vec![-1.0; 2], high: vec![1.0; 2] };
    let unseen = Request::new(Task::Kmeans, 2).bounds(bounds);
    let columns = names(&["a", "b"]);
    assert_eq!(design(Look::Bounds(&columns), &unseen).unwrap().spec.moments, None);
    let message = design(Look::Bounds(&columns), &unseen.moments(true)).unwrap_err().to_string();
    assert!(message.contains("without a free look"), "{message}");
}
