//! Fuzz targets for every reader of bytes from outside, chosen by the variable `FUZZ_TARGET`.
//!
//! Whatever the bytes are, a reader gives a value or an error: it never panics, and its memory stays within
//! `-rss_limit_mb`. What was read is written and read again, and must be the same.
#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use compressive::privacy::{AnySketch, LocalResponse};
use compressive::{FrequencyLaw, Sketch, SketchOperator, SketchSpec, Wave, Waves, features, model::Model};
use compressive_io::{Dataset, DriveOptions, ReadOptions, has_compressed_buffers, sketch_dataset};
use libfuzzer_sys::fuzz_target;

/// A target by its name.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 7] = [
    ("sketch", sketch),
    ("spec", spec),
    ("model", model),
    ("table", table),
    ("csv", csv),
    ("bits", bits),
    ("reports", reports),
];

static CHOSEN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    let names: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
    found.unwrap_or_else(|| panic!("set FUZZ_TARGET to one of {}", names.join(", "))).1
});

static OPERATOR: LazyLock<SketchOperator> = LazyLock::new(|| {
    let waves = Waves::usual(Wave::OneBit, FrequencyLaw::AdaptedRadius);
    SketchSpec::new(["x", "y"], waves, 1.0, 30).build().expect("a recipe")
});

fuzz_target!(|bytes: &[u8]| (*CHOSEN)(bytes));

fn sketch(bytes: &[u8]) {
    match AnySketch::from_bytes(bytes) {
        Ok(AnySketch::Plain(sketch)) => {
            let again = sketch.to_bytes();
            assert_eq!(Sketch::from_bytes(&again).expect("what was written").to_bytes(), again);
        }
        Ok(AnySketch::Private(sketch)) => {
            AnySketch::from_bytes(&sketch.to_bytes()).expect("what was written");
        }
        Err(_) => {}
    }
}

fn spec(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(spec) = SketchSpec::from_json(text) {
        let again = SketchSpec::from_json(&spec.to_json()).expect("what was written");
        assert_eq!(again.fingerprint(), spec.fingerprint());
        // A recipe of moderate size can be built, or says why not.
        if spec.size.saturating_mul(spec.columns.len()) < 10_000 {
            drop(spec.build());
        }
    }
}

fn model(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(model) = Model::from_json(text) {
        Model::from_json(&model.to_json()).expect("what was written");
    }
}

fn rows(bytes: &[u8], header: Option<bool>) {
    let options = ReadOptions { header, ..ReadOptions::of(OPERATOR.spec().table_columns()) };
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut dataset) = Dataset::from_reader("fuzzed", reader, &options) else { return };
    let pass = DriveOptions { threads: 1, ..DriveOptions::default() };
    drop(sketch_dataset(&mut dataset, &OPERATOR, &pass));
}

/// Any format that its first bytes tell.
fn table(bytes: &[u8]) {
    let _ = has_compressed_buffers(bytes);
    rows(bytes, None);
}

fn csv(bytes: &[u8]) {
    rows(bytes, Some(true));
}

fn bits(bytes: &[u8]) {
    let mut sketch = Sketch::empty(&OPERATOR);
    if features::add_packed(&OPERATOR, bytes, &mut sketch).is_ok() {
        Sketch::from_bytes(&sketch.to_bytes()).expect("what was written");
    }
}

fn reports(bytes: &[u8]) {
    if let Ok(sum) = LocalResponse::add_up(OPERATOR.spec(), bytes) {
        AnySketch::from_bytes(&sum.to_bytes()).expect("what was written");
    }
}
