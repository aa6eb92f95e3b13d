use super::*;
use crate::privacy::calibrate::gaussian_delta;
use crate::privacy::sampler::Ratio;
use crate::privacy::{AnySketch, PrivateSketch};
use crate::{Directions, FrequencyLaw, Wave, Waves};

/// Recipes whose sensitivities differ in kind.
fn specs() -> Vec<SketchSpec> {
    let waves = |wave| SketchSpec::new(["a", "b"], Waves::new(wave, FrequencyLaw::AdaptedRadius), 1.0, 40);
    let mut squares =
        SketchSpec::new(["a", "b"], Map::Moments(Directions { complex: false, structured: false }), 1.0, 9);
    squares.bounds = Some(crate::Bounds { low: vec![-1.0, 0.0], high: vec![1.0, 3.0] });
    let mut all = vec![waves(Wave::Fourier), waves(Wave::OneBit), squares];
    all[0].source = Some(Source::Private { epsilon: 0.25 });
    all[1].source = Some(Source::Bounds);
    all
}

fn planned(spec: &SketchSpec, delta: f64, neighbours: Neighbours, rows_per_person: u32) -> Release {
    let params = PrivacyParams { epsilon: 4.0, delta, neighbours, rows_per_person, ..Default::default() };
    let params = PrivacyParams { public_spec: spec.source.is_none(), ..params };
    Release::plan(spec, &params).unwrap()
}

/// What a reader says to a file with this promise.
fn read(spec: &SketchSpec, release: Release) -> std::result::Result<(), String> {
    let sums = vec![0; spec.sketch_len()];
    let bytes = PrivateSketch::from_parts(spec.clone(), sums, 100, vec![release]).to_bytes();
    AnySketch::from_bytes(&bytes).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn every_promise_that_is_planned_is_believed() {
    for spec in specs() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            for (delta, people) in [(0.0, 1), (1e-6, 1), (0.0, 3), (1e-9, 5)] {
                read(&spec, planned(&spec, delta, neighbours, people)).unwrap();
            }
        }
    }
}

#[test]
fn promises_that_no_noise_keeps_are_refused() {
    let spec = &specs()[0];
    let good = planned(spec, 1e-6, Neighbours::AddRemove, 1);
    let laplace = planned(spec, 0.0, Neighbours::AddRemove, 1);
    let Mechanism::DiscreteLaplace { scale } = laplace.mechanism else { panic!("no delta") };
    let with = |change: &dyn Fn(&mut Release)| {
        let mut release = good.clone();
        change(&mut release);
        release
    };
    let scaled = |scale| Release { mechanism: Mechanism::DiscreteLaplace { scale }, ..laplace.clone() };
    let cases: Vec<(&str, Release)> = vec![
        ("-1 is not a positive number", with(&|r| r.epsilon = -1.0)),
        ("2 is not from 0 to below 1", with(&|r| r.delta = 2.0)),
        ("sigma 0 is too small", with(&|r| r.mechanism = Mechanism::DiscreteGaussian { sigma: 0 })),
        ("scale 0 where", scaled(0)),
        ("needs", scaled(scale - 1)),
        ("needs", scaled(u64::MAX)),
        ("at least 1 row", with(&|r| r.rows_per_person = 0)),
        ("not parts of 4", with(&|r| r.rows_per_person = u32::MAX)),
        ("not parts of 3", with(&|r| r.epsilon = 3.0)),
        ("not parts of 4", with(&|r| r.epsilon_sums = 4.0)),
        ("says otherwise", with(&|r| r.spec = SpecOrigin::Bounds)),
        ("says otherwise", with(&|r| r.spec = SpecOrigin::Paid { epsilon: 0.1 })),
        ("number of rows", with(&|r| r.rows_scale = None)),
        ("number of rows", with(&|r| r.rows_scale = Some(Ratio { numerator: 1, denominator: 0 }))),
        ("number of rows", with(&|r| r.rows_scale = Some(Ratio { numerator: 0, denominator: 1 }))),
        ("number of rows", with(&|r| r.neighbours = Neighbours::Replace)),
        ("hexadecimal", with(&|r| r.id = Some("x".into()))),
    ];
    for (words, release) in cases {
        let refused = read(spec, release.clone()).unwrap_err();
        assert!(refused.contains(words) && refused.contains("promise 1"), "{words}: {refused} {release:?}");
    }
    let local = LocalResponse::new(&specs()[1], 2.0).unwrap().release(7);
    read(&specs()[1], local.clone()).unwrap();
    let refused = read(&specs()[1], Release { epsilon: 1.0, ..local }).unwrap_err();
    assert!(refused.contains("answers of"), "{refused}");
}

/// The conditions of a kept promise, written down apart from the reader.
fn keeps(spec: &SketchSpec, r: &Release) -> bool {
    let k = f64::from(r.rows_per_person);
    let replace = r.neighbours == Neighbours::Replace;
    let cost = match r.spec {
        SpecOrigin::Paid { epsilon } => epsilon * k * if replace { 2.0 } else { 1.0 },
        _ => 0.0,
    };
    let origin = match r.spec {
        SpecOrigin::Paid { epsilon } => spec.source == Some(Source::Private { epsilon }),
        SpecOrigin::Bounds => spec.source == Some(Source::Bounds),
        SpecOrigin::DeclaredPublic => true,
    };
    let whole = r.epsilon_sums + r.epsilon_rows + cost <= r.epsilon * (1.0 + 1e-9);
    let rows = match r.rows_scale {
        None => replace,
        Some(s) => s.numerator as f64 * r.epsilon_rows >= k * s.denominator as f64 * (1.0 - 1e-9) && !replace,
    };
    let one = Sensitivity::of_spec(spec, r.neighbours).unwrap();
    let (l1, l2) = (one.l1 as f64 * k, (one.l2_squared as f64).sqrt() * k);
    let sums = match r.mechanism {
        Mechanism::DiscreteLaplace { scale } => scale as f64 * r.epsilon_sums >= l1 * (1.0 - 1e-9),
        Mechanism::DiscreteGaussian { sigma } => {
            let tails =
                (1.0 + r.epsilon_sums.exp()) * spec.sketch_len() as f64 / (23.0 * (sigma as f64).powi(2));
            r.epsilon_sums > 0.0 && gaussian_delta(r.epsilon_sums, sigma as f64 / l2) + tails <= r.delta
        }
        Mechanism::LocalResponse { .. } => false,
    };
    let sane =
        r.epsilon > 0.0 && r.epsilon_sums > 0.0 && r.epsilon_rows >= 0.0 && (0.0..1.0).contains(&r.delta);
    sane && k >= 1.0 && origin && whole && rows && sums
}

#[test]
fn of_thousands_of_hostile_files_none_is_believed_that_breaks_its_promise() {
    let mut seed = 7u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let (mut believed, mut refused) = (0, 0);
    let files = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    for _ in 0..files {
        let spec = &specs()[next() % 3];
        let neighbours = [Neighbours::AddRemove, Neighbours::Replace][next() % 2];
        let mut r = planned(spec, [0.0, 1e-6, 1e-3][next() % 3], neighbours, 1 + (next() % 3) as u32);
        let odd = [-1.0, 0.0, 1e-300, 0.5, 1.0, 1.0 - 1e-12, 1.0 + 1e-12, 2.0, 40.0, 1e300];
        for _ in 0..1 + next() % 2 {
            let (absolute, factor) = (odd[next() % odd.len()], odd[next() % odd.len()]);
            let new = |old: f64, pick: usize| if pick.is_multiple_of(2) { absolute } else { old * factor };
            let pick = next();
            let noise = |n: u64| match pick % 5 {
                0 => n.saturating_sub(1 + (pick % 3) as u64),
                1 => n.saturating_mul(2),
                2 => pick as u64,
                3 => 0,
                _ => (n as f64 * factor) as u64,
            };
            match next() % 9 {
                0 => r.epsilon = new(r.epsilon, pick),
                1 => r.delta = new(r.delta, pick),
                2 => r.epsilon_sums = new(r.epsilon_sums, pick),
                3 => r.epsilon_rows = new(r.epsilon_rows, pick),
                4 => r.rows_per_person = [0, 1, 2, 9, u32::MAX][pick % 5],
                5 => r.neighbours = [Neighbours::AddRemove, Neighbours::Replace][pick % 2],
                6 => {
                    r.mechanism = match r.mechanism {
                        Mechanism::DiscreteLaplace { scale } if pick % 7 > 0 => {
                            Mechanism::DiscreteLaplace { scale: noise(scale) }
                        }
                        Mechanism::DiscreteGaussian { sigma } if pick % 7 > 0 => {
                            Mechanism::DiscreteGaussian { sigma: noise(sigma) }
                        }
                        Mechanism::DiscreteLaplace { scale } => Mechanism::DiscreteGaussian { sigma: scale },
                        _ => Mechanism::DiscreteLaplace { scale: noise(1 << 30) },
                    }
                }
                7 => {
                    let own = r.rows_scale.unwrap_or(Ratio { numerator: 1, denominator: 1 });
                    let ratio = Ratio { numerator: noise(own.numerator), denominator: own.denominator };
                    r.rows_scale = [None, Some(ratio)][pick % 2];
                }
                _ => r.spec = [SpecOrigin::Bounds, SpecOrigin::Paid { epsilon: absolute }][pick % 2],
            }
        }
        // JSON has no infinity, so no file has one either.
        let finite = [r.epsilon, r.delta, r.epsilon_sums, r.epsilon_rows].iter().all(|x| x.is_finite());
        if !finite {
            continue;
        }
        match read(spec, r.clone()) {
            Ok(()) => {
                believed += 1;
                assert!(keeps(spec, &r), "believed: {r:?} of {spec:?}");
            }
            Err(_) => refused += 1,
        }
    }
    // More noise than promised is believed.
    assert!(believed > files / 20 && refused > files / 2, "{believed} {refused}");
}
