//! `demo`: a newcomer's first minute.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use compressive::ask::compare::compare;
use compressive::ask::drift::Verdict;
use compressive::design::{Request, Task};
use compressive::learn::{LearnParams, learn};
use compressive::model::Model;
use compressive::privacy::AnySketch;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator};
use compressive_data::{KMeansParams, Mixture, Rng, Sample, generate, kmeans, sse};
use compressive_io::{
    CellType, Dataset, DriveOptions, Job, ReadOptions, TableFormat, TableWriter, sketch_dataset, write_atomic,
};

use super::generate::{cells, column};
use crate::args::DemoArgs;
use crate::output::{bytes, count, number, plot, print, scatter, seconds, thousands};
use crate::words::Flags;
use compressive_report::{Material, Shapes, axes, picture, text as report};

const DIM: usize = 10;
const CLUSTERS: usize = 10;
/// Standard deviation of the centres, in units of k^(1/d) cluster widths.
const SEPARATION: f64 = 2.5;
/// How far one cluster moves overnight along every column, in cluster widths.
const MOVE: f64 = 1.0;
/// Rows of each day of the fortnight.
const DAY_ROWS: usize = 20_000;
/// Rows in the picture.
const DRAWN: usize = 1500;

/// Makes two days of data, sketches them, merges, subtracts and compares, then finds Monday's clusters in its
/// sketch.
pub fn run(args: &DemoArgs) -> Result<()> {
    #[cfg(feature = "collector")]
    if args.fleet {
        return super::demo_fleet::run(args);
    }
    let folder = Folder::new(args.dir.as_deref())?;
    let (monday, tuesday) = (folder.path.join("monday.npy"), folder.path.join("tuesday.npy"));
    let half = args.rows.div_ceil(2).max(1000);
    print(&format!(
        "1. Two days of data: {} x {DIM} columns each, {CLUSTERS} clusters; on Tuesday one cluster has moved.\n",
        count(half as u64, "row")
    ))?;
    let mut truth = truth()?;
    let rows = write_day(&monday, &truth, half, 1)?;
    move_one(&mut truth);
    write_day(&tuesday, &truth, half, 2)?;

    print("\n2. A recipe from a sample of Monday, then one pass over each day.\n")?;
    let mut dataset = open(&monday)?;
    let job = Job { request: Request::new(Task::Kmeans, CLUSTERS), ..Job::default() };
    let operator = job.recipe(&mut dataset, true, &DriveOptions::default())?.spec.build()?;
    let (a, a_time) = sketch(&mut dataset, &operator)?;
    let (b, b_time) = sketch(&mut open(&tuesday)?, &operator)?;
    for (name, sketch) in [("monday", &a), ("tuesday", &b)] {
        write_atomic(folder.path.join(format!("{name}.sketch")), &sketch.to_bytes())?;
    }
    let raw = 2 * monday.metadata()?.len();
    let (size, elapsed) = (a.to_bytes().len() as u64, a_time + b_time);
    let rate = (a.rows() + b.rows()) as f64 / elapsed.as_secs_f64().max(1e-9);
    print(&format!(
        "   {} of data became two sketches of {} in {} ({} rows/s, {} features/s).\n",
        bytes(raw),
        bytes(size),
        seconds(elapsed),
        thousands(rate as u64),
        number(rate * operator.spec().size as f64),
    ))?;
    add_and_subtract(&a, &b)?;

    print("\n4. Drift without data: is Tuesday like Monday?\n")?;
    let c = compare(&operator, &a, &b)?;
    print(&indent(&super::compare::describe(&c, Verdict::of(c.p_value))))?;

    print(
        "\n5. What Monday's sketch knows: |z| falls from 1 as the frequencies grow, at the pace of the clusters' width.\n",
    )?;
    let points: Vec<(f64, f64)> = operator.radii().into_iter().zip(a.modulus()?).collect();
    print(&plot(&points, 1.0 / (a.rows() as f64).sqrt(), "frequency radius", "|z|"))?;

    let (model, fit_time) = find_clusters(&folder, &operator, &a, &rows)?;
    if !folder.temporary {
        let days = fortnight(&folder, &operator)?;
        draw(&folder, &operator, a, &days, &model, &rows)?;
    }
    against_kmeans(&rows, &model, a_time, fit_time)?;
    folder.farewell()
}

/// Where the rows come from.
fn truth() -> Result<Mixture> {
    Ok(generate::separated(CLUSTERS, DIM, SEPARATION, &mut Rng::new(7))?)
}

/// One cluster moves.
fn move_one(truth: &mut Mixture) {
    truth.means[..DIM].iter_mut().for_each(|c| *c += MOVE);
}

/// Draws a day's rows and writes them.
fn write_day(path: &Path, truth: &Mixture, rows: usize, seed: u64) -> Result<Sample> {
    let sample = truth.sample(rows, &mut Rng::derived(7, seed))?;
    let columns: Vec<(String, CellType)> = (0..DIM).map(|c| (column(c), CellType::F32)).collect();
    let format = TableFormat::of(path, &columns)?;
    let mut writer = TableWriter::create(path, &format)?;
    writer.write(&format.encode(cells(&sample, false))?)?;
    writer.finish()?;
    Ok(sample)
}

fn add_and_subtract(a: &Sketch, b: &Sketch) -> Result<()> {
    print("\n3. Sketches add and subtract exactly.\n")?;
    let mut both = a.clone();
    both.merge(b)?;
    print(&format!("   monday + tuesday: the sketch of all {}\n", count(both.rows(), "row")))?;
    both.subtract(b)?;
    let same = both.to_bytes() == a.to_bytes();
    print(&format!(
        "   ... - tuesday: monday again, {}\n",
        if same { "to the byte" } else { "NOT to the byte" }
    ))
}

/// Learns the clusters from the sketch alone and draws them over the rows.
fn find_clusters(
    folder: &Folder,
    operator: &SketchOperator,
    sketch: &Sketch,
    rows: &Sample,
) -> Result<(Model, Duration)> {
    print("\n6. Monday's clusters, from its sketch alone.\n")?;
    let start = Instant::now();
    let params = LearnParams::new(Task::Kmeans, CLUSTERS)
        .threads(std::thread::available_parallelism().map_or(1, usize::from));
    let learned = learn(operator, &sketch.moments()?, &params)?;
    let elapsed = start.elapsed();
    write_atomic(folder.path.join("monday.json"), format!("{}\n", learned.model.to_json()).as_bytes())?;
    print(&indent(&report::learned(operator, &learned, elapsed, &Flags)))?;
    let shapes = Shapes::of(&learned.model, None).context("clusters have shapes")?;
    let axes = axes(&learned.model, &shapes);
    let plane = |row: &[f64]| [axes[0].of(row), axes[1].of(row)];
    let points: Vec<[f64; 2]> = rows.values.chunks_exact(DIM).take(100_000).map(plane).collect();
    let centres: Vec<[f64; 2]> = learned.model.locations().iter().map(|c| plane(c)).collect();
    print("\n   Rows (shades) and recovered centres (digits), in the plane that tells them apart best:\n")?;
    print(&indent(&scatter(&points, &centres, ["first", "second"])))?;
    Ok((learned.model, elapsed))
}

/// Two weeks of sketches in the folder; after the ninth day one cluster has moved.
fn fortnight(folder: &Folder, operator: &SketchOperator) -> Result<Vec<(String, AnySketch)>> {
    let mut truth = truth()?;
    let mut days = Vec::new();
    for day in 1..=14_u64 {
        if day == 10 {
            move_one(&mut truth);
        }
        let rows = truth.sample(DAY_ROWS, &mut Rng::derived(7, 100 + day))?;
        let mut sketch = Sketch::empty(operator);
        operator.accumulate(RowsRef::F64(&rows.values), None, &mut sketch, &mut Scratch::default())?;
        let name = format!("day-{day:02}");
        write_atomic(folder.path.join(format!("{name}.sketch")), &sketch.to_bytes())?;
        days.push((name, AnySketch::Plain(sketch)));
    }
    Ok(days)
}

/// Writes the clusters over some rows, and the drift over the fortnight, as one picture.
fn draw(
    folder: &Folder,
    operator: &SketchOperator,
    monday: Sketch,
    days: &[(String, AnySketch)],
    model: &Model,
    rows: &Sample,
) -> Result<()> {
    let bytes = monday.to_bytes().len();
    let sample: Vec<f64> = rows.values[..DRAWN.min(rows.values.len() / DIM) * DIM].to_vec();
    let material = Material {
        title: "The demo: clusters found in a sketch, and drift over a fortnight of sketches",
        operator,
        total: &AnySketch::Plain(monday),
        bytes,
        series: days,
        model: Some(model),
        candidates: &[],
        sample: Some(&sample),
        commands: &[],
        vocabulary: &Flags,
    };
    let picture = picture(&material)?.context("a model and a fortnight can be drawn")?;
    Ok(write_atomic(folder.path.join("demo.svg"), picture.as_bytes())?)
}

/// Runs k-means on all of Monday's rows, in memory, beside the model from the sketch.
fn against_kmeans(rows: &Sample, model: &Model, sketch_time: Duration, fit_time: Duration) -> Result<()> {
    print("\n7. The same by k-means on all of Monday's rows, which it needs in memory.\n")?;
    let start = Instant::now();
    let full = kmeans(rows.rows()?, CLUSTERS, &KMeansParams { n_init: 1, ..KMeansParams::default() })?;
    let full_time = start.elapsed();
    let ours = sse(rows.rows()?, &model.locations().concat())?;
    print(&format!(
        "   from the sketch   {:>8}   SSE {}   (one pass {}, learning {}; the next k needs no pass)\n   \
         k-means           {:>8}   SSE {}   ({} from a k-means++ start)\n   \
         SSE of the sketch's centres over that of k-means: {:.4}\n",
        seconds(sketch_time + fit_time),
        number(ours),
        seconds(sketch_time),
        seconds(fit_time),
        seconds(full_time),
        number(full.sse),
        count(full.info.iterations as u64, "iteration"),
        ours / full.sse,
    ))
}

pub fn indent(text: &str) -> String {
    text.lines().map(|line| format!("   {line}\n")).collect()
}

fn open(path: &Path) -> Result<Dataset> {
    Ok(Dataset::open(&[path.to_string_lossy().into_owned()], &ReadOptions::default())?)
}

fn sketch(dataset: &mut Dataset, operator: &SketchOperator) -> Result<(Sketch, Duration)> {
    let start = Instant::now();
    let outcome = sketch_dataset(dataset, operator, &DriveOptions::default())?;
    let sketch = outcome.sketches.into_values().next().context("no sketch was made")?;
    Ok((sketch, start.elapsed()))
}

/// The folder of the demo's files: the user's, which stays, or a temporary one.
pub struct Folder {
    pub path: PathBuf,
    temporary: bool,
}

impl Folder {
    pub fn new(dir: Option<&Path>) -> Result<Folder> {
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
            "\nThe files are in {dir}; {dir}/demo.svg draws Monday's clusters, and a fortnight of sketches. Try:\n\
             \x20 compressive inspect {dir}/monday.sketch\n\
             \x20 compressive compare {dir}/monday.sketch {dir}/tuesday.sketch\n\
             \x20 compressive merge {dir}/monday.sketch {dir}/tuesday.sketch -o {dir}/both.sketch\n\
             \x20 compressive fit {dir}/monday.sketch -k auto\n\
             \x20 compressive report {dir}/day-*.sketch {dir}/monday.json -o {dir}/report.html\n\
             \x20 compressive kmeans {dir}/tuesday.npy -k 10 -o {dir}/tuesday.json\n\
             \x20 compressive predict {dir}/tuesday.json {dir}/tuesday.npy -o {dir}/labels.csv\n"
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
