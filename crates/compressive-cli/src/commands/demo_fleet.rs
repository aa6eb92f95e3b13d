//! `demo --fleet`: a collector and fifty sensors on this machine, and the model learned from what they sent.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use compressive::design::{Look, Request, Task, design};
use compressive::features::{packed, packed_len};
use compressive::learn::{LearnParams, learn};
use compressive::privacy::LocalResponse;
use compressive::{RowsRef, Scratch, Sketch, SketchOperator, Wave};
use compressive_client::{BatchKind, Client, Place, Sent};
use compressive_collector::{Limits, Log, Serve, Server};
use compressive_data::{KMeansParams, Mixture, Rng, Sample, generate, lloyd, sse};
use compressive_io::OsEntropy;
use compressive_report::text as report;

use super::demo::{Folder, indent};
use super::serve::stopped;
use crate::args::DemoArgs;
use crate::output::{bytes, count, print, seconds, thousands};
use crate::words::Flags;

const SENSORS: usize = 50;
const DIM: usize = 4;
const CLUSTERS: usize = 5;
const SEPARATION: f64 = 2.5;
const SIZE: usize = 10 * CLUSTERS * DIM;
/// Readings of a batch.
const BATCH: usize = 200;
/// How many batches one is sent twice, as after an answer that was lost.
const TWICE: usize = 7;
/// How often a batch is tried.
const ATTEMPTS: usize = 50;
const STREAM: &str = "fleet";

/// A server, a fleet and a model.
pub fn run(args: &DemoArgs) -> Result<()> {
    let folder = Folder::new(args.dir.as_deref())?;
    let (server, address) = start(folder.path.join("collector"))?;
    let url = format!("http://{address}");
    print(&format!("1. A collector at {url}: one program, one folder, open to this machine alone.\n"))?;

    let truth = generate::separated(CLUSTERS, DIM, SEPARATION, &mut Rng::new(9))?;
    let sample = truth.sample(10_000, &mut Rng::derived(9, 1))?;
    let names: Vec<String> = (0..DIM).map(super::generate::column).collect();
    let params = Request::new(Task::Kmeans, CLUSTERS).size(SIZE).feature(Wave::OneBit);
    let operator = design(Look::Sample { rows: &sample.values, columns: &names }, &params)?.spec.build()?;
    let client = Client::new(&url, None, None)?;
    client.make_stream(STREAM, operator.spec(), "day", args.local_epsilon)?;
    let local = args.local_epsilon.map(|epsilon| LocalResponse::new(operator.spec(), epsilon)).transpose()?;
    tell_recipe(&operator, local.as_ref())?;

    let each = args.rows.div_ceil(SENSORS).clamp(100, 20_000);
    let start = Instant::now();
    let (readings, repeated) = send_all(&client, &operator, local.as_ref(), &truth, each)?;
    let elapsed = start.elapsed();
    let rate = readings.len() as f64 / DIM as f64 / elapsed.as_secs_f64().max(1e-9);
    print(&format!(
        "\n3. {SENSORS} sensors sent {} in {}: {} a second, each batch acknowledged after it was on the disk.\n   {} came twice, as if the answer had been lost on the way, and counted once.\n",
        count((readings.len() / DIM) as u64, "reading"),
        seconds(elapsed),
        thousands(rate as u64),
        count(repeated as u64, "batch"),
    ))?;
    let centers = ask(&client, &operator, &readings, local.is_some())?;
    compare(&readings, &centers)?;
    // Closes its connections, for which the collector would wait.
    drop(client);
    if args.stay {
        print(&format!(
            "\nThe collector stays at {url} until Ctrl-C: its page shows the stream and its model.\n"
        ))?;
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(stopped());
    } else {
        print("\nTo look at the collector's page meanwhile: compressive demo --fleet --stay\n")?;
    }
    server.stop()
}

/// A collector on a thread of its own.
struct Running {
    stop: tokio::sync::oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Running {
    fn stop(self) -> Result<()> {
        // The receiver is there until the server has ended.
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| anyhow!("the collector did not end well"))
    }
}

fn start(directory: PathBuf) -> Result<(Running, std::net::SocketAddr)> {
    let serve = Serve {
        directory,
        address: ([127, 0, 0, 1], 0).into(),
        open: true,
        limits: Limits::default(),
        tls: None,
        log: Log::None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = runtime.block_on(Server::start(&serve))?;
    let address = server.address()?;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let thread = std::thread::spawn(move || {
        runtime.block_on(server.run(async {
            // A sender that is gone says the same as one that tells to stop.
            let _ = stopped.await;
        }));
    });
    Ok((Running { stop, thread }, address))
}

fn tell_recipe(operator: &SketchOperator, local: Option<&LocalResponse>) -> Result<()> {
    let bits = operator.sketch_len() as u64;
    print(
        "\n2. A recipe made on a small public sample, one-bit features: a sensor needs no more than this to send.\n",
    )?;
    match local {
        None => print(&format!(
            "   a reading leaves its sensor as {bits} bits: the signs of {} waves, and of the same a quarter turn on.\n",
            operator.spec().size,
        )),
        Some(local) => print(&format!(
            "   a reading reports {} of its {bits} signs, randomised: epsilon {} holds against the collector, too.\n",
            local.entries(),
            local.epsilon(),
        )),
    }
}

/// Every sensor's readings, in any order, to the collector; returns them all, and how many batches came
/// twice.
fn send_all(
    client: &Client,
    operator: &SketchOperator,
    local: Option<&LocalResponse>,
    truth: &Mixture,
    each: usize,
) -> Result<(Vec<f64>, usize)> {
    let outcomes: Vec<Result<(Vec<f64>, usize)>> = std::thread::scope(|scope| {
        let sensor = |number: usize| {
            move || -> Result<(Vec<f64>, usize)> {
                let readings = truth.sample(each, &mut Rng::derived(10, number as u64))?.values;
                let repeated = send(client, operator, local, number, &readings)?;
                Ok((readings, repeated))
            }
        };
        let threads: Vec<_> = (0..SENSORS).map(|number| scope.spawn(sensor(number))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|outcome| outcome.unwrap_or_else(|_| Err(anyhow!("a sensor failed")))).collect()
    });
    let (mut all, mut repeated) = (Vec::new(), 0);
    for outcome in outcomes {
        let (readings, twice) = outcome?;
        all.extend(readings);
        repeated += twice;
    }
    Ok((all, repeated))
}

/// One sensor: packs its readings and sends them until they are acknowledged.
fn send(
    client: &Client,
    operator: &SketchOperator,
    local: Option<&LocalResponse>,
    sensor: usize,
    readings: &[f64],
) -> Result<usize> {
    let place = Place { stream: STREAM, bucket: None, fingerprint: operator.fingerprint() };
    let kind = compressive_client::kind(operator, local.is_some());
    let (mut buffer, mut repeated) = (Scratch::default(), 0);
    for (number, batch) in readings.chunks(BATCH * DIM).enumerate() {
        let mut body = Vec::with_capacity(BATCH * packed_len(operator.sketch_len()));
        packed(operator, 2, RowsRef::F64(batch), &mut body, &mut buffer)?;
        if let Some(local) = local {
            body = local.reports(&body, &mut OsEntropy)?;
        }
        let key = format!("sensor-{sensor}-{number}");
        deliver(client, &place, &key, kind, &body)?;
        if (sensor + number).is_multiple_of(TWICE) {
            repeated += usize::from(deliver(client, &place, &key, kind, &body)?);
        }
    }
    Ok(repeated)
}

/// Whether the batch had been counted before.
fn deliver(client: &Client, place: &Place<'_>, key: &str, kind: BatchKind, body: &[u8]) -> Result<bool> {
    for attempt in 0..ATTEMPTS {
        if let Sent::Counted(_, repeated) = client.send(place, key, None, kind, body)? {
            return Ok(repeated);
        }
        std::thread::sleep(Duration::from_millis(10 << attempt.min(6)));
    }
    Err(anyhow!("the collector accepted no batch in {ATTEMPTS} attempts"))
}

/// Asks for the stream's sketch, says what it is, and learns from it; returns the centres.
fn ask(client: &Client, operator: &SketchOperator, readings: &[f64], local: bool) -> Result<Vec<f64>> {
    let moments = if local {
        let sketch = client.private(&[STREAM.to_owned()], None, None)?;
        print(&format!(
            "\n4. What the collector has: the sum of {} with random answers, {}. No reading can be recovered from it, nor from what was sent.\n",
            count(sketch.rows() as u64, "report"),
            bytes(sketch.to_bytes().len() as u64),
        ))?;
        sketch.moments()
    } else {
        let sketch = client.sketch(&[STREAM.to_owned()], None, None)?;
        let mut offline = Sketch::empty(operator);
        operator.accumulate(RowsRef::F64(readings), None, &mut offline, &mut Scratch::default())?;
        let same = sketch.to_bytes() == offline.to_bytes();
        print(&format!(
            "\n4. What the collector has: {} in a sketch of {}, {} that of all readings sketched in one place.\n",
            count(sketch.rows(), "reading"),
            bytes(sketch.to_bytes().len() as u64),
            if same { "to the byte" } else { "NOT to the byte" },
        ))?;
        sketch.moments()?
    };
    print("\n5. The model, from the sums alone.\n")?;
    let start = Instant::now();
    let params = LearnParams::new(Task::Kmeans, CLUSTERS)
        .threads(std::thread::available_parallelism().map_or(1, usize::from));
    let learned = learn(operator, &moments, &params)?;
    print(&indent(&report::learned(operator, &learned, start.elapsed(), &Flags)))?;
    Ok(learned.model.locations().concat())
}

/// The model beside k-means on the readings themselves, which no server had.
fn compare(readings: &[f64], centers: &[f64]) -> Result<()> {
    let sample = Sample { values: readings.to_vec(), dim: DIM, labels: Vec::new() };
    let rows = sample.rows()?;
    let best = lloyd(rows, centers, &KMeansParams::default()).context("k-means on all readings")?.sse;
    print(&format!(
        "   SSE over that of k-means on all readings, started there: {:.4}\n",
        sse(rows, centers)? / best
    ))
}
