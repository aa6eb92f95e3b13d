//! What reading costs: rows in memory against the same rows from files, d = 10, m = 1000, f32 values.
//!
//! `cargo bench -p compressive-io --bench readers [-- ROWS]` (default 1,000,000). Every format is read by a
//! process of its own, so that its peak of resident memory is seen; times are the best of five passes. The
//! cost is given in wall time and in processor time; on a busy machine trust the time per row of reading
//! alone, against that of sketching.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arrow_array::{ArrayRef, Float32Array, RecordBatch};
use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec};
use compressive_io::{DataSource, Dataset, DriveOptions, ReadOptions, RowChunk, sketch_dataset};

const DIM: usize = 10;
const SIZE: usize = 1000;
const BLOCK_ROWS: usize = 1 << 16;
const PASSES: usize = 5;

fn operator() -> SketchOperator {
    let columns: Vec<String> = (0..DIM).map(|i| format!("x{i}")).collect();
    SketchSpec::new(columns, FrequencyLaw::AdaptedRadius, 1.0, SIZE).build().expect("the spec is valid")
}

/// Rows `first..first + n` of the table: sums of uniform variables, a function of the row number.
fn rows(first: usize, n: usize) -> Vec<f32> {
    let value = |i: usize| {
        let mut state = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
        let mut sum = 0.0;
        for _ in 0..4 {
            state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            sum += (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
        }
        sum
    };
    (first * DIM..(first + n) * DIM).map(value).collect()
}

fn blocks(n_rows: usize) -> impl Iterator<Item = Vec<f32>> {
    (0..n_rows).step_by(BLOCK_ROWS).map(move |first| rows(first, BLOCK_ROWS.min(n_rows - first)))
}

fn batch(block: &[f32]) -> RecordBatch {
    let column = |i: usize| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values(block.iter().skip(i).step_by(DIM).copied()))
    };
    RecordBatch::try_from_iter((0..DIM).map(|i| (format!("x{i}"), column(i)))).expect("columns match")
}

fn write_npy(path: &Path, n_rows: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let header = format!(
        "{:<117}\n",
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n_rows}, {DIM}), }}")
    );
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for block in blocks(n_rows) {
        block.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))?;
    }
    out.flush()
}

fn write_csv(path: &Path, n_rows: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let names: Vec<String> = (0..DIM).map(|i| format!("x{i}")).collect();
    writeln!(out, "{}", names.join(","))?;
    for block in blocks(n_rows) {
        for row in block.chunks(DIM) {
            let fields: Vec<String> = row.iter().map(f32::to_string).collect();
            writeln!(out, "{}", fields.join(","))?;
        }
    }
    out.flush()
}

fn write_gz(path: &Path, from: &Path) -> std::io::Result<()> {
    let mut out = flate2::write::GzEncoder::new(File::create(path)?, flate2::Compression::fast());
    std::io::copy(&mut File::open(from)?, &mut out)?;
    out.finish()?.flush()
}

fn write_parquet(path: &Path, n_rows: usize) -> std::io::Result<()> {
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let schema = batch(&rows(0, 1)).schema();
    let mut writer = parquet::arrow::ArrowWriter::try_new(File::create(path)?, schema, Some(properties))?;
    for block in blocks(n_rows) {
        writer.write(&batch(&block))?;
    }
    writer.close()?;
    Ok(())
}

fn write_arrow(path: &Path, n_rows: usize) -> std::io::Result<()> {
    let schema = batch(&rows(0, 1)).schema();
    let failed = std::io::Error::other;
    let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(path)?, &schema).map_err(failed)?;
    for block in blocks(n_rows) {
        writer.write(&batch(&block)).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

/// Wall and processor seconds.
#[derive(Clone, Copy)]
struct Seconds {
    wall: f64,
    cpu: f64,
}

/// Processor seconds of this process so far, in ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

/// Seconds of the best pass.
fn best(mut pass: impl FnMut()) -> Seconds {
    let mut best = Seconds { wall: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..PASSES {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        pass();
        best.wall = best.wall.min(start.elapsed().as_secs_f64());
        best.cpu = best.cpu.min(cpu_seconds() - cpu);
    }
    best
}

/// The same work on rows that are in memory.
fn in_memory(n_rows: usize) -> Seconds {
    let operator = operator();
    let values: Vec<f32> = blocks(n_rows).flatten().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    best(|| {
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut sketch, mut scratch) = (Sketch::empty(&operator), Scratch::default());
            loop {
                let start = next.fetch_add(4096 * DIM, Ordering::Relaxed);
                let Some(chunk) = values.get(start..values.len().min(start + 4096 * DIM)) else { break };
                if chunk.is_empty() {
                    break;
                }
                operator
                    .accumulate(RowsRef::F32(chunk), None, &mut sketch, &mut scratch)
                    .expect("rows are finite");
            }
            sketch
        };
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let sketches = handles.into_iter().map(|handle| handle.join().expect("workers do not panic"));
            let total: u64 = sketches.map(|sketch| sketch.rows()).sum();
            assert_eq!(total, n_rows as u64);
        });
    })
}

/// Reads all rows in this thread and does nothing with them.
fn read_only(dataset: &mut Dataset) {
    let mut source = dataset.source().expect("a file can be read again");
    let mut chunk = RowChunk::default();
    while let Some(mut part) = source.next_part().expect("the file is readable") {
        while part.next_rows(&mut chunk).expect("the rows are finite") {}
    }
}

/// Reads one file, in this process, and prints seconds and peak memory.
fn from_file(path: &str) {
    let operator = operator();
    let mut dataset =
        Dataset::open(&[path.to_owned()], &ReadOptions::default()).expect("the file is readable");
    let seconds = best(|| {
        sketch_dataset(&mut dataset, &operator, &DriveOptions::default()).expect("the rows are finite");
    });
    let reading = best(|| read_only(&mut dataset));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("?", str::trim);
    println!("{} {} {} {}", seconds.wall, seconds.cpu, reading.wall, peak.trim_end_matches(" kB"));
}

fn files(folder: &Path, n_rows: usize) -> std::io::Result<Vec<PathBuf>> {
    let at = |name: &str| folder.join(name);
    write_npy(&at("rows.npy"), n_rows)?;
    write_csv(&at("rows.csv"), n_rows)?;
    write_gz(&at("rows.csv.gz"), &at("rows.csv"))?;
    write_parquet(&at("rows.parquet"), n_rows)?;
    write_arrow(&at("rows.arrow"), n_rows)?;
    Ok(["rows.npy", "rows.parquet", "rows.arrow", "rows.csv", "rows.csv.gz"].map(at).to_vec())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [command, path] = &arguments[..]
        && command == "pass"
    {
        return from_file(path);
    }
    let n_rows = arguments.first().and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let paths = files(folder.path(), n_rows).expect("the files can be written");
    let memory = in_memory(n_rows);
    let report = |name: &str, seconds: Seconds, rest: &str| {
        let rate = n_rows as f64 / seconds.wall / 1e6;
        let cost = |ours: f64, base: f64| 100.0 * (ours / base - 1.0);
        let (wall, cpu) = (cost(seconds.wall, memory.wall), cost(seconds.cpu, memory.cpu));
        println!("{name:>12} {:8.3} s {rate:8.2} Mrow/s {wall:+8.1} % {cpu:+8.1} % {rest}", seconds.wall);
    };
    println!("n = {n_rows}, d = {DIM}, m = {SIZE}");
    println!(
        "wall time, speed, cost over memory (wall, processor), reading alone per row (one thread), peak memory"
    );
    report("in memory", memory, "");
    for path in paths {
        let run =
            Command::new(std::env::current_exe().expect("this program")).arg("pass").arg(&path).output();
        let output = String::from_utf8(run.expect("the pass runs").stdout).unwrap_or_default();
        let mut fields = output.split_whitespace();
        let mut number = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(f64::NAN);
        let seconds = Seconds { wall: number(), cpu: number() };
        let reading = format!("{:.0} ns", number() / n_rows as f64 * 1e9);
        let peak = format!("{:.0} MB", number() / 1024.0);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        report(&name, seconds, &format!("{reading:>8} {peak:>8}"));
    }
}
