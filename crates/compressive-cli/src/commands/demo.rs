//! `demo`: a newcomer's first minute.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use compressive::compare::compare;
use compressive::design::{DesignParams, design};
use compressive::{Sketch, SketchOperator};
use compressive_io::{Dataset, DriveOptions, ReadOptions, sketch_dataset, write_atomic};

use crate::args::DemoArgs;
use crate::output::{bytes, count, number, plot, print, seconds, thousands};

const DIM: usize = 10;
const CLUSTERS: usize = 10;

/// Makes two days of data, sketches them, merges, subtracts and compares.
pub fn run(args: &DemoArgs) -> Result<()> {
    let folder = Folder::new(args.dir.as_deref())?;
    let (monday, tuesday) = (folder.path.join("monday.npy"), folder.path.join("tuesday.npy"));
    let half = args.rows.div_ceil(2).max(10);
    print(&format!(
        "1. Two days of data: {} x {DIM} columns each, {CLUSTERS} clusters; on Tuesday one cluster has moved.\n",
        count(half as u64, "row")
    ))?;
    let moved = 1.0;
    write_atomic(&monday, &npy(half, 1, 0.0))?;
    write_atomic(&tuesday, &npy(half, 2, moved))?;
    let raw = 2 * monday.metadata()?.len();

    print("\n2. A recipe from a sample of Monday, then one pass over each day.\n")?;
    let mut dataset = open(&monday)?;
    let pilot = dataset.pilot(10_000, 0)?;
    let params = DesignParams { k: CLUSTERS, ..DesignParams::default() };
    let operator = design(&pilot.rows, &pilot.columns, &params)?.build()?;
    let start = Instant::now();
    let a = sketch(&mut dataset, &operator)?;
    let b = sketch(&mut open(&tuesday)?, &operator)?;
    let elapsed = start.elapsed();
    for (name, sketch) in [("monday", &a), ("tuesday", &b)] {
        write_atomic(folder.path.join(format!("{name}.sketch")), &sketch.to_bytes())?;
    }
    let size = a.to_bytes().len() as u64;
    let rate = (a.rows() + b.rows()) as f64 / elapsed.as_secs_f64().max(1e-9);
    print(&format!(
        "   {} of data became two sketches of {} in {} ({} rows/s, {} features/s).\n",
        bytes(raw),
        bytes(size),
        seconds(elapsed),
        thousands(rate as u64),
        number(rate * operator.spec().size as f64),
    ))?;

    print("\n3. Sketches add and subtract exactly.\n")?;
    let mut both = a.clone();
    both.merge(&b)?;
    print(&format!("   monday + tuesday: the sketch of all {}\n", count(both.rows(), "row")))?;
    both.subtract(&b)?;
    let same = both.to_bytes() == a.to_bytes();
    print(&format!(
        "   ... - tuesday: monday again, {}\n",
        if same { "to the byte" } else { "NOT to the byte" }
    ))?;

    print("\n4. Drift without data: is Tuesday like Monday?\n")?;
    let c = compare(&operator, &a, &b)?;
    print(&indent(&super::compare::describe(&c)))?;

    print(
        "\n5. What Monday's sketch knows: |z| falls from 1 as the frequencies grow, at the pace of the clusters' width.\n",
    )?;
    let points: Vec<(f64, f64)> = operator.radii().into_iter().zip(a.modulus()?).collect();
    print(&plot(&points, 1.0 / (a.rows() as f64).sqrt(), "frequency radius", "|z|"))?;
    folder.farewell()
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("   {line}\n")).collect()
}

fn open(path: &Path) -> Result<Dataset> {
    Ok(Dataset::open(&[path.to_string_lossy().into_owned()], &ReadOptions::default())?)
}

fn sketch(dataset: &mut Dataset, operator: &SketchOperator) -> Result<Sketch> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let outcome = sketch_dataset(dataset, operator, &DriveOptions { threads, ..DriveOptions::default() })?;
    outcome.sketches.into_values().next().context("no sketch was made")
}

/// The folder of the demo's files: the user's, which stays, or a temporary one.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn new(dir: Option<&Path>) -> Result<Folder> {
        let path = match dir {
            Some(dir) => dir.to_path_buf(),
            None => std::env::temp_dir().join(format!("compressive-demo-{}", std::process::id())),
        };
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Folder { path, temporary: dir.is_none() })
    }

    fn farewell(&self) -> Result<()> {
        if self.temporary {
            return print("\nTo keep the files and try the commands on them: compressive demo --dir demo\n");
        }
        let dir = self.path.display();
        print(&format!(
            "\nThe files are in {dir}. Try:\n\
             \x20 compressive inspect {dir}/monday.sketch\n\
             \x20 compressive compare {dir}/monday.sketch {dir}/tuesday.sketch\n\
             \x20 compressive merge {dir}/monday.sketch {dir}/tuesday.sketch -o {dir}/both.sketch\n\
             \x20 compressive sketch {dir}/monday.npy -k 10 -o {dir}/again.sketch\n"
        ))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            // Nothing can be done about files that cannot be removed, and nothing depends on it.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// An `.npy` file of unit Gaussians around common centres, the first of which is moved by `shift` along every column.
fn npy(rows: usize, seed: u64, shift: f64) -> Vec<u8> {
    let mut centres = Normal(7);
    let mut centre: Vec<f64> = (0..CLUSTERS * DIM).map(|_| 3.0 * centres.next()).collect();
    centre[..DIM].iter_mut().for_each(|c| *c += shift);
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {DIM}), }}");
    let padding = 64 - (10 + header.len() + 1) % 64;
    header.push_str(&" ".repeat(padding % 64));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    let mut noise = Normal(seed << 40);
    for _ in 0..rows {
        let cluster = noise.uniform() as usize % CLUSTERS;
        for c in &centre[cluster * DIM..][..DIM] {
            file.extend(((c + noise.next()) as f32).to_le_bytes());
        }
    }
    file
}

/// SplitMix64 with normal numbers as sums of twelve uniforms: plenty for a demo.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn next(&mut self) -> f64 {
        // Four 16-bit uniforms from each of three words.
        let total: u64 = (0..3)
            .map(|_| self.uniform())
            .map(|w| (0..4).map(|i| (w >> (16 * i)) & 0xffff).sum::<u64>())
            .sum();
        total as f64 / 65_535.0 - 6.0
    }
}
