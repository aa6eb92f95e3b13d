use super::*;
use crate::num::random::{Purpose, Stream};
use crate::sketch::operator::RowsRef;
use crate::testing::{check_vjp, columns, sketch_of, weighted_sketch_of};
use crate::{Map, Source};

const UNIT: i64 = 1 << Sketch::GRID_BITS;

/// A spec over a box that is neither centred nor a cube; `whiten` mixes the columns.
fn spec(dim: usize, size: usize, structured: bool, complex: bool, whiten: bool) -> SketchSpec {
    let map = Map::Moments(Directions { complex, structured });
    let mut spec = SketchSpec::new(columns(dim), map, 1.0, size);
    spec.seed = 9;
    spec.transform.centre = (0..dim).map(|c| 0.3 * c as f64).collect();
    spec.transform.spread = (0..dim).map(|c| 1.0 + 0.2 * c as f64).collect();
    if whiten {
        let entry = |i: usize, j: usize| if i == j { 1.0 } else { 0.3 / (1 + i + 2 * j) as f64 };
        spec.transform.whiten = Some((0..dim).map(|i| (0..dim).map(|j| entry(i, j)).collect()).collect());
    }
    let ends = |side: f64| (0..dim).map(|c| side * (1.0 + c as f64) + 0.5).collect();
    spec.bounds = Some(Bounds { low: ends(-1.0), high: ends(2.0) });
    spec
}

fn kinds() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|i| (i & 1 != 0, i & 2 != 0, i & 4 != 0))
}

/// Rows of which a few lie outside of the box.
fn rows(spec: &SketchSpec, n: usize) -> Vec<f64> {
    let Bounds { low, high } = spec.bounds.as_ref().unwrap();
    let mut stream = Stream::new(3, Purpose::Decode, 1);
    let value = |c: usize, x: f64| 0.5 * (low[c] + high[c]) + 0.25 * x * (high[c] - low[c]);
    (0..n * spec.dim()).map(|i| value(i % spec.dim(), stream.normal())).collect()
}

#[test]
fn sums_agree_with_the_double_precision_features_of_clipped_rows() {
    for (structured, complex, whiten) in kinds() {
        let op = spec(5, 40, structured, complex, whiten).build().unwrap();
        let mut data = rows(op.spec(), 300);
        let mean = sketch_of(&op, &data).moments().unwrap().mean;
        clip(op.spec().bounds.as_ref().unwrap(), &mut data);
        let (mut expected, mut f, mut u) = (vec![0.0; 80], vec![0.0; 80], vec![0.0; 5]);
        for row in data.chunks_exact(5) {
            op.working(row, &mut u);
            op.features(&u, &mut f);
            expected.iter_mut().zip(&f).for_each(|(e, f)| *e += f / 300.0);
        }
        let error = mean.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 3e-7, "{structured} {complex} {whiten}: {error:e}");
    }
}

#[test]
fn no_corner_of_the_box_leaves_the_unit_interval_and_the_farthest_nearly_reaches_it() {
    for (structured, complex, whiten) in kinds() {
        let op = spec(4, 30, structured, complex, whiten).build().unwrap();
        let Bounds { low, high } = op.spec().bounds.clone().unwrap();
        let mut largest = [0i64; 30];
        for corner in 0..16 {
            let row: Vec<f64> = (0..4).map(|c| if corner >> c & 1 == 0 { low[c] } else { high[c] }).collect();
            for (most, sum) in largest.iter_mut().zip(sketch_of(&op, &row).sums()) {
                *most = (*most).max(*sum);
            }
        }
        assert!(largest.iter().all(|q| *q <= UNIT), "{structured} {complex} {whiten}: {largest:?}");
        // Real directions attain their bound at a corner, up to the slack; complex ones only if both parts do
        // there.
        let near = UNIT - if complex { UNIT / 2 } else { UNIT / 10_000 };
        assert!(largest.iter().all(|q| *q >= near), "{structured} {complex} {whiten}: {largest:?}");
    }
}

#[test]
fn one_column_attains_the_unit_for_complex_directions_too_and_stays_within_the_weight() {
    let op = spec(1, 30, false, true, false).build().unwrap();
    let edge = op.spec().bounds.as_ref().unwrap().high[0];
    // Tiny weights are where rounding each square by itself would add more than the weight.
    for weight in [1.0, 1e-7, 3e-7, 0.3] {
        let sketch = weighted_sketch_of(&op, RowsRef::F64(&[1e9]), Some(&[weight]));
        assert_eq!(sketch.sums(), weighted_sketch_of(&op, RowsRef::F64(&[edge]), Some(&[weight])).sums());
        assert!(sketch.sums().iter().all(|s| s.abs() <= sketch.weight_units()), "{weight}");
        assert_eq!(Sketch::from_bytes(&sketch.to_bytes()).unwrap(), sketch);
    }
    let squares = sketch_of(&op, &[edge]).sums()[..30].to_vec();
    assert!(squares.iter().all(|q| (UNIT - 200..=UNIT).contains(q)), "{squares:?}");
}

#[test]
fn whole_weights_are_copies_and_no_backend_or_grouping_changes_a_sum() {
    for (structured, complex, whiten) in kinds() {
        let op = spec(3, 37, structured, complex, whiten).build().unwrap();
        let data = rows(op.spec(), 200);
        let weights: Vec<f64> = (0..200).map(|i| f64::from(i % 4)).collect();
        let copies: Vec<f64> =
            data.chunks_exact(3).zip(&weights).flat_map(|(row, &w)| row.repeat(w as usize)).collect();
        let whole = sketch_of(&op, &copies);
        let weighted = weighted_sketch_of(&op, RowsRef::F64(&data), Some(&weights));
        let mut noted = whole.clone();
        noted.note_weights(weighted.row_weights());
        assert_eq!(weighted.to_bytes(), noted.to_bytes());
        for backend in Backend::available() {
            assert_eq!(sketch_of(&op.clone().with_backend(backend), &copies), whole);
        }
        let mut parts = Sketch::empty(&op);
        for part in copies.rchunks(7 * 3) {
            parts.merge(&sketch_of(&op, part)).unwrap();
        }
        assert_eq!(parts, whole);
        parts.subtract(&sketch_of(&op, &copies[..30])).unwrap();
        assert_eq!(parts, sketch_of(&op, &copies[30..]));
    }
}

#[test]
fn the_vector_jacobian_product_agrees_with_central_differences() {
    for complex in [false, true] {
        let op = spec(4, 30, false, complex, false).build().unwrap();
        let mut stream = Stream::new(4, Purpose::Decode, 2);
        let u: Vec<f64> = (0..4).map(|_| stream.normal()).collect();
        let v: Vec<f64> = (0..60).map(|_| stream.normal()).collect();
        check_vjp(&op, &u, &v, |_| 1e-8);
    }
}

#[test]
fn a_box_that_is_a_point_is_sketched_as_zeros() {
    let mut spec = spec(2, 10, false, false, false);
    spec.bounds = Some(Bounds { low: spec.transform.centre.clone(), high: spec.transform.centre.clone() });
    let sketch = sketch_of(&spec.build().unwrap(), &[5.0, -7.0]);
    assert!(sketch.sums().iter().all(|s| *s == 0));
}

#[test]
fn a_spec_without_box_or_with_one_too_wide_is_refused() {
    type Spoil = fn(&mut SketchSpec);
    let cases: [(&str, Spoil); 2] = [
        ("`bounds`: the feature `quadratic` clips rows", |s| s.bounds = None),
        ("narrower box", |s| s.bounds.as_mut().unwrap().high[1] = 1e300),
    ];
    for (words, spoil) in cases {
        let mut spec = spec(2, 10, false, false, false);
        spec.source = Some(Source::Bounds);
        spoil(&mut spec);
        let message = spec.build().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn the_spec_writes_complex_only_where_it_is_so() {
    let plain = spec(1, 5, false, false, false).to_json();
    assert!(plain.contains(r#""feature":{"name":"quadratic"},"#), "{plain}");
    let complex = spec(1, 5, false, true, false);
    assert!(complex.to_json().contains(r#""feature":{"name":"quadratic","complex":true},"#));
    assert_eq!(SketchSpec::from_json(&complex.to_json()).unwrap(), complex);
    let unknown = plain.replace(r#"{"name":"quadratic"}"#, r#"{"name":"quadratic","cubic":true}"#);
    assert!(SketchSpec::from_json(&unknown).unwrap_err().to_string().contains("cubic"));
}
