//! Rows from memory or from a file into a sketch: the measured side of `benches/throughput.py`, which runs it
//! beside numpy.
//!
//! `cargo bench -p compressive-cli --bench throughput -- --rows 1000000 --dim 10 --size 1000 [--feature one-bit] [--structured] [--threads 2] [--repeat 5] [--file x.npy]`
//! prints one JSON line with the best time. Without `--file` the rows are made in memory.

use std::collections::HashMap;
use std::time::Instant;

use compressive::{FeatureName, FrequencyLaw, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec, Waves};
use compressive_io::{Dataset, DriveOptions, ReadOptions, sketch_dataset};

fn main() {
    let mut flags: HashMap<String, String> = HashMap::new();
    let mut args = std::env::args().skip(1).peekable();
    while let Some(flag) = args.next() {
        let value = args.next_if(|a| !a.starts_with("--")).unwrap_or_default();
        flags.insert(flag.trim_start_matches('-').to_owned(), value);
    }
    let number = |name: &str, default: usize| flags.get(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let (rows, dim, size) = (number("rows", 1_000_000), number("dim", 10), number("size", 1000));
    let (threads, repeat) = (number("threads", 2), number("repeat", 5));
    let operator =
        operator(dim, size, flags.get("feature").map(String::as_str), flags.contains_key("structured"));

    let file = flags.get("file");
    let data = if file.is_none() { noise(rows * dim) } else { Vec::new() };
    let mut best = f64::INFINITY;
    let mut check = 0;
    for _ in 0..repeat {
        let start = Instant::now();
        let sketch = match file {
            Some(path) => from_file(path, &operator, threads),
            None => from_memory(&data, &operator, threads),
        };
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(sketch.rows(), rows as u64, "the file must have --rows rows");
        check = sketch.sums()[0];
    }
    let elements = rows as f64 * size as f64 / best;
    println!("{{\"seconds\": {best:.6}, \"elements_per_second\": {elements:.4e}, \"first_sum\": {check}}}");
}

fn operator(dim: usize, size: usize, feature: Option<&str>, structured: bool) -> SketchOperator {
    let name: FeatureName = feature.unwrap_or("fourier").parse().expect("the name of a feature");
    let wave = name.wave().expect("the name of a wave");
    let waves = Waves { structured, ..Waves::new(wave, FrequencyLaw::AdaptedRadius) };
    SketchSpec::new((0..dim).map(|c| format!("x{c}")), waves, 1.0, size)
        .build()
        .expect("the bench's spec is valid")
}

/// Uniform numbers in [-2, 2]; their law does not change the work.
fn noise(n: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    (0..n).map(|_| next()).collect()
}

fn from_memory(data: &[f32], operator: &SketchOperator, threads: usize) -> Sketch {
    let dim = operator.dim();
    let share = data.len() / dim / threads + 1;
    std::thread::scope(|scope| {
        let workers: Vec<_> = data
            .chunks(share * dim)
            .map(|part| {
                scope.spawn(move || {
                    let (mut sketch, mut scratch) = (Sketch::empty(operator), Scratch::default());
                    for chunk in part.chunks(4096 * dim) {
                        operator
                            .accumulate(RowsRef::F32(chunk), None, &mut sketch, &mut scratch)
                            .expect("finite rows");
                    }
                    sketch
                })
            })
            .collect();
        let mut all = Sketch::empty(operator);
        for worker in workers {
            all.merge(&worker.join().expect("no worker panics")).expect("one spec");
        }
        all
    })
}

fn from_file(path: &str, operator: &SketchOperator, threads: usize) -> Sketch {
    let options = ReadOptions { columns: Some(operator.spec().columns.clone()), ..ReadOptions::default() };
    let mut dataset = Dataset::open(&[path.to_owned()], &options).expect("a readable file");
    let drive = DriveOptions { threads, ..DriveOptions::default() };
    let outcome = sketch_dataset(&mut dataset, operator, &drive).expect("good rows");
    outcome.sketches.into_values().next().expect("one sketch")
}
