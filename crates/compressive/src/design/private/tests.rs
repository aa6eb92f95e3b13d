use super::{Bounds, Purpose, Request, SketchSpec, Source, Stream, Task, look_spec};
use crate::design::{LawChoice, Look, design};
use crate::privacy::{PrivacyParams, SeededEntropy, privatize};
use crate::testing::{names, sketch_of};
use crate::{Feature, Wave};

const DIM: usize = 4;

fn columns() -> Vec<String> {
    (0..DIM).map(|c| c.to_string()).collect()
}

fn params(k: usize, half: f64) -> Request {
    let bounds = Bounds { low: vec![100.0 - half; DIM], high: vec![100.0 + half; DIM] };
    Request::new(Task::Kmeans, k).bounds(bounds)
}

/// k unit clusters around a mean of 103 in every column, their centres spread by 4.
fn rows(k: usize, n: usize) -> Vec<f64> {
    let mut stream = Stream::new(4, Purpose::PilotMixture, 1);
    let mut centres: Vec<f64> = (0..k * DIM).map(|_| 4.0 * stream.normal()).collect();
    for c in 0..DIM {
        let mean = (0..k).map(|l| centres[l * DIM + c]).sum::<f64>() / k as f64;
        (0..k).for_each(|l| centres[l * DIM + c] += 103.0 - mean);
    }
    (0..n * DIM).map(|i| centres[i / DIM % k * DIM + i % DIM] + stream.normal()).collect()
}

fn designed(epsilon: f64, half: f64) -> SketchSpec {
    designed_as(epsilon, params(6, half))
}

fn designed_as(epsilon: f64, params: Request) -> SketchSpec {
    let operator = look_spec(&columns(), &params).unwrap().build().unwrap();
    let rows = rows(6, 50_000);
    let sketch = sketch_of(&operator, &rows);
    let budget = PrivacyParams { epsilon, ..PrivacyParams::default() };
    let pilot = privatize(&sketch, &budget, &mut SeededEntropy::new(1)).unwrap();
    design(Look::Private(&pilot), &params).unwrap().spec
}

#[test]
fn a_private_look_finds_where_the_rows_are_and_how_wide_their_clusters() {
    for half in [15.0, 30.0] {
        let spec = designed(1.0, half);
        assert_eq!(spec.source, Some(Source::Private { epsilon: 1.0 }));
        for c in 0..DIM {
            assert!((spec.transform.centre[c] - 103.0).abs() < 1.5, "{half}: {:?}", spec.transform);
            assert!((2.5..6.5).contains(&spec.transform.spread[c]), "{half}: {:?}", spec.transform);
        }
        let width = spec.scale * spec.transform.spread[0] / 2.0;
        assert!((0.6..1.7).contains(&width), "{half}: {width}");
    }
}

#[test]
fn a_budget_too_small_to_see_anything_leaves_the_common_guess() {
    let spec = designed(1e-5, 15.0);
    let blind = design(Look::Bounds(&columns()), &params(6, 15.0)).unwrap().spec;
    assert_eq!(blind.source, Some(Source::Bounds));
    assert_eq!((blind.transform.centre[0], blind.transform.spread[0]), (100.0, 7.5));
    let width = |s: &SketchSpec| s.scale * s.transform.spread[0];
    assert!((0.4..2.5).contains(&(width(&spec) / width(&blind))), "{} {}", width(&spec), width(&blind));
    assert!((spec.transform.centre[0] - 100.0).abs() < 15.0);
}

#[test]
fn what_cannot_be_known_without_the_rows_is_refused() {
    let open = params(6, 15.0).bounds(None);
    assert!(design(Look::Bounds(&columns()), &open).unwrap_err().to_string().contains("declare it"));
    let mut flat = params(6, 15.0);
    flat.bounds = Some(Bounds { low: vec![1.0; DIM], high: vec![1.0; DIM] });
    assert!(design(Look::Bounds(&columns()), &flat).unwrap_err().to_string().contains("no width"));
    for wrong in [params(6, 15.0).whiten(true), params(6, 15.0).law(LawChoice::PilotMixture)] {
        assert!(design(Look::Bounds(&columns()), &wrong).unwrap_err().to_string().contains("privately"));
    }
    let quantised = params(6, 15.0).feature(Wave::OneBit);
    assert!(design(Look::Bounds(&columns()), &quantised).unwrap().spec.map.dithered());
}

#[test]
fn a_column_with_a_box_far_wider_than_the_others_keeps_its_mean() {
    let mut wide = params(6, 15.0);
    if let Some(bounds) = &mut wide.bounds {
        (bounds.low[0], bounds.high[0]) = (-100.0, 110.0);
    }
    let spec = designed_as(10.0, wide);
    assert!((spec.transform.centre[0] - 103.0).abs() < 4.0, "{:?}", spec.transform);
}

#[test]
fn a_recipe_for_principal_components_comes_from_the_bounds_and_takes_no_look() {
    let columns = names(&["a", "b"]);
    let params = Request::new(Task::Pca, 1)
        .feature(Feature::Quadratic { complex: true })
        .bounds(crate::Bounds { low: vec![0.0, -4.0], high: vec![2.0, 4.0] });
    let spec = design(Look::Bounds(&columns), &params).unwrap().spec;
    assert_eq!(spec.source, Some(crate::Source::Bounds));
    assert_eq!((spec.scale, spec.size, spec.transform.centre.clone()), (1.0, 8, vec![1.0, 0.0]));
    assert_eq!(spec.transform.spread[0], spec.transform.spread[1]);
    assert!(look_spec(&columns, &params).unwrap_err().to_string().contains("costs nothing"));
    let blind = params.bounds(None);
    assert!(design(Look::Bounds(&columns), &blind).unwrap_err().to_string().contains("declare it"));
}
