use super::*;
use crate::num::random::{Purpose, Stream};
use crate::testing::sketch_of;
use crate::{FrequencyLaw, SketchSpec};

fn operator() -> SketchOperator {
    SketchSpec::new(["a", "b"], FrequencyLaw::FoldedGaussian, 1.0, 100).build().unwrap()
}

/// Sketches of `n` rows each: two columns of two clusters, with the first moved by `shift`.
struct Source {
    stream: Stream,
    operator: SketchOperator,
    n: usize,
}

impl Source {
    fn new(draw: u64, n: usize) -> Source {
        Source { stream: Stream::new(5, Purpose::TestNoise, draw), operator: operator(), n }
    }

    fn next(&mut self, shift: f64) -> Sketch {
        let mut rows = Vec::with_capacity(2 * self.n);
        for _ in 0..self.n {
            let cluster = 3.0 * self.stream.below(2) as f64;
            rows.push(cluster + shift + self.stream.normal());
            rows.push(self.stream.normal());
        }
        sketch_of(&self.operator, &rows)
    }
}

#[test]
fn without_a_change_alarms_are_at_least_a_run_length_apart() {
    const TARGET: f64 = 50.0;
    let (mut alarms, mut seen) = (0, 0);
    for draw in 0..40 {
        let mut source = Source::new(draw, 50);
        let mut watch = Watch::new(operator(), TARGET).unwrap();
        for _ in 0..500 {
            alarms += u64::from(watch.push(source.next(0.0)).unwrap().is_some());
            seen += 1;
        }
    }
    let length = seen as f64 / alarms.max(1) as f64;
    // Twice as long would be a blind watch.
    assert!((0.8 * TARGET..2.0 * TARGET).contains(&length), "{length}");
}

#[test]
fn a_change_is_seen_soon_and_dated() {
    let (mut delays, mut off) = (Vec::new(), Vec::new());
    for draw in 0..20 {
        let mut source = Source::new(100 + draw, 100);
        // A false alarm in the first 60 sketches has a probability of 0.01%.
        let mut watch = Watch::new(operator(), 1_000_000.0).unwrap();
        let alarm = (0..100).find_map(|t| {
            let shift = if t < 60 { 0.0 } else { 0.4 };
            watch.push(source.next(shift)).unwrap()
        });
        let alarm = alarm.unwrap();
        delays.push(alarm.seen as i64 - 60);
        off.push(alarm.change as i64 - 60);
        assert!(alarm.between.0 <= 60 && 60 <= alarm.between.1, "{:?} {}", alarm.between, alarm.change);
        assert_eq!(watch.seen(), alarm.seen);
    }
    assert!(off.iter().all(|o| o.abs() <= 5), "{off:?}");
    assert!(delays.iter().all(|d| (1..=20).contains(d)), "{delays:?}");
}
