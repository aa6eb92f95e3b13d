//! Speed of the kernels in 1e9 elements (rows x frequencies) per second: best of several runs, two threads.
//!
//! ```text
//! cargo bench -p compressive-kernels --bench kernels [-- FILTER] [--threads N]
//! ```
//!
//! FILTER keeps the lines that contain it, for example `dense` or `d=784`.
//!
//! Last table (2 virtual cores of an AMD EPYC of the Zen 3 family at about 3.1 GHz, AVX2; other work was
//! running, so the best of four runs of this program; the crossover lines are from one run):
//!
//! ```text
//!                            fourier   cosine  one-bit sawtooth weighted
//! dense      d=2    m=1000     4.575    6.937   14.703    8.078    2.335
//! dense      d=10   m=1000     3.304    4.324    6.013    4.886    1.933
//! dense      d=20   m=2000     2.402    2.895    3.612    3.127    1.590
//! dense      d=100  m=2000     0.838    0.896    0.956    0.924    0.717
//! dense      d=784  m=4000     0.118    0.119    0.118    0.119    0.112
//! dense      d=2000 m=4000     0.040    0.041    0.039    0.040    0.039
//! structured d=2    m=1000     1.547    1.712    1.987    1.874    1.130
//! structured d=10   m=1000     1.455    1.770    1.985    1.689    1.178
//! structured d=20   m=2000     1.619    1.843    1.946    1.812    1.144
//! structured d=100  m=2000     1.469    1.557    1.826    1.839    1.197
//! structured d=784  m=4000     1.357    1.498    1.642    1.555    1.053
//! structured d=2000 m=4000     1.231    1.338    1.227    1.293    0.971
//!                              dense structured (fourier)
//! crossover  d=10   m=4000     3.006    1.590
//! crossover  d=16   m=4000     2.764    1.604
//! crossover  d=24   m=4000     2.200    1.633
//! crossover  d=32   m=4000     1.865    1.612
//! crossover  d=40   m=4000     1.598    1.596
//! crossover  d=48   m=4000     1.426    1.756
//! crossover  d=64   m=4000     1.189    1.765
//! crossover  d=96   m=4000     0.754    1.387
//! ```
//!
//! Structured frequencies win from d = 40 on, at m = 1000 as at m = 4000. Rows of 784 columns run at 185
//! GFLOP/s.
//!
//! Rejected variants, one thread unless said otherwise:
//!
//! - One odd polynomial for both functions, cos(2 pi r) = sin(2 pi (1/4 - |r|)): 24 operations a vector
//!   instead of 21 (counted, not timed).
//! - Estrin's scheme in place of Horner's: one more multiplication, equal within noise (0.62 s against 0.60
//!   to 0.63 s for 1e9 elements at d = 10).
//! - 1, 2 or 4 rows of features side by side instead of 3: 0.63 to 0.67, 0.63, 0.65 s against 0.60 to 0.62 s.
//! - Degree 8 for the cosine: one operation fewer, but an error of 1.5e-7 instead of 1.1e-7 (on a
//!   grid of 1e5 phases).
//! - No prefetch of the next panel: 0.055 to 0.057 instead of 0.059 at d = 784. Blocks of 128 columns:
//!   0.055.
//! - Hadamard transforms one after the other, 10 passes at p = 1024: 0.65 instead of 0.68 at d = 784, 0.67
//!   instead of 0.80 at d = 10 (runs of a few milliseconds).

use compressive_kernels::{Backend, Projection, Scratch, Table, Wave, accumulate, accumulate_weighted};
use std::time::Instant;

const SHAPES: [(usize, usize); 6] =
    [(2, 1000), (10, 1000), (20, 2000), (100, 2000), (784, 4000), (2000, 4000)];
const WAVES: [Wave; 5] = [Wave::Fourier, Wave::Cosine, Wave::OneBit, Wave::Sawtooth, Wave::Quadratic];

/// Dimensions around the one from which structured frequencies win.
const CROSSOVER: [usize; 8] = [10, 16, 24, 32, 40, 48, 64, 96];

/// Runs of each measurement; the best counts, as other work on the machine can only slow a run down. Many
/// short runs find a quiet moment more easily than a few long ones.
const TRIES: usize = 60;

/// A seeded generator of uniform numbers.
struct Uniform(u64);

impl Uniform {
    /// `count` numbers in [-bound, bound).
    fn many(&mut self, count: usize, bound: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / 8_388_608.0 - 1.0) * bound
        };
        (0..count).map(|_| next()).collect()
    }
}

/// What to measure: one projection, and how many elements make a run of about a hundredth of a second.
struct Workload {
    projection: Projection,
    elements: usize,
}

fn dense(dim: usize, size: usize) -> Workload {
    let mut numbers = Uniform(7);
    let dither = numbers.many(size, 0.5);
    let projection = Projection::dense(dim, &numbers.many(dim * size, 0.3), &dither);
    Workload { projection, elements: 1_000_000_000 / (dim + 25) }
}

fn structured(dim: usize, size: usize) -> Workload {
    let mut numbers = Uniform(7);
    let padded = size.next_multiple_of(Projection::padded_dim(dim));
    let signs: Vec<f32> = numbers.many(3 * padded, 1.0).iter().map(|x| x.signum()).collect();
    let (gains, dither) = (numbers.many(size, 0.01), numbers.many(size, 0.5));
    Workload { projection: Projection::structured(dim, &signs, &gains, &dither), elements: 10_000_000 }
}

/// Kernel values at landmarks; rows have their squared norm as one more column.
fn landmarks(dim: usize, size: usize) -> Workload {
    let mut numbers = Uniform(7);
    let weights = numbers.many((dim + 1) * size, 0.3);
    let start: Vec<f32> = numbers.many(size, 0.5).iter().map(|s| s - 5.0).collect();
    let projection = Projection::exponents(dim + 1, &weights, &start);
    Workload { projection, elements: 1_000_000_000 / (dim + 25) }
}

/// Elements per second, in 1e9; with a weight per row if `weighted`.
fn speed(work: &Workload, wave: Wave, weighted: bool, threads: usize) -> f64 {
    let (p, backend) = (&work.projection, Backend::best());
    // Rows of at most 4 MiB, so that large dimensions do not measure the memory.
    let n = (work.elements / p.size()).min((1 << 20) / p.dim()).next_multiple_of(126);
    let repeats = (work.elements / (n * p.size())).max(1);
    let rows = Uniform(11).many(n * p.dim(), 3.0);
    let weights: Vec<i64> = (0..n as i64).map(|i| i * 12_345_678 % (1 << 26)).collect();
    let run = || {
        let mut sums = vec![0; wave.blocks() * p.size()];
        let mut scratch = Scratch::default();
        for _ in 0..repeats {
            if weighted {
                accumulate_weighted(backend, p, wave, &rows, &weights, &mut sums, &mut scratch);
            } else {
                accumulate(backend, p, wave, &rows, &mut sums, &mut scratch);
            }
        }
        std::hint::black_box(sums);
    };
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let begin = Instant::now();
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
        best = best.min(begin.elapsed().as_secs_f64());
    }
    (threads * repeats * n * p.size()) as f64 / best / 1e9
}

/// One line per shape: every wave, and Fourier with weights.
fn shapes_table(name: &str, make: fn(usize, usize) -> Workload, filter: &str, threads: usize) {
    for (dim, size) in SHAPES {
        let label = format!("{name:10} d={dim:<4} m={size:<4}");
        if !label.contains(filter) {
            continue;
        }
        let work = make(dim, size);
        let values = WAVES.map(|wave| format!(" {:8.3}", speed(&work, wave, false, threads)));
        println!("{label} {} {:8.3}", values.concat(), speed(&work, Wave::Fourier, true, threads));
    }
}

/// One line per shape: Gaussian kernel values, side by side with dense Fourier features.
fn landmark_table(filter: &str, threads: usize) {
    for (dim, size) in SHAPES {
        let label = format!("landmarks  d={dim:<4} m={size:<4}");
        if label.contains(filter) {
            let gaussian = speed(&landmarks(dim, size), Wave::Gaussian, false, threads);
            let fourier = speed(&dense(dim, size), Wave::Fourier, false, threads);
            println!("{label}  {gaussian:8.3} {fourier:8.3}");
        }
    }
}

/// One line per shape: a table of 256 values, side by side with dense Fourier features.
fn periodic_table(filter: &str, threads: usize) {
    let values: Vec<f64> = (0..256).map(|i| (std::f64::consts::TAU * f64::from(i) / 256.0).cos()).collect();
    let table = Table::new(&values);
    for (dim, size) in SHAPES {
        let label = format!("periodic   d={dim:<4} m={size:<4}");
        if label.contains(filter) {
            let speeds = [Wave::Periodic(&table), Wave::Fourier]
                .map(|wave| speed(&dense(dim, size), wave, false, threads));
            println!("{label}  {:8.3} {:8.3}", speeds[0], speeds[1]);
        }
    }
}

/// One line per dimension and size: Fourier, dense against structured.
fn crossover_table(filter: &str, threads: usize) {
    for size in [1000, 4000] {
        for dim in CROSSOVER {
            let label = format!("crossover  d={dim:<4} m={size:<4}");
            if label.contains(filter) {
                let speeds = [dense(dim, size), structured(dim, size)]
                    .map(|work| speed(&work, Wave::Fourier, false, threads));
                println!("{label}  {:8.3} {:8.3}", speeds[0], speeds[1]);
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let flag = arguments.iter().position(|a| a == "--threads");
    let threads = flag.and_then(|i| arguments.get(i + 1)).and_then(|n| n.parse().ok()).unwrap_or(2);
    let filter = if flag == Some(0) { "" } else { arguments.first().map_or("", String::as_str) };
    println!("backend {}, {threads} threads, 1e9 elements/s", Backend::best().name());
    println!("{:25}{:>9}{:>9}{:>9}{:>9}{:>9}", "", "fourier", "cosine", "one-bit", "sawtooth", "weighted");
    shapes_table("dense", dense, filter, threads);
    shapes_table("structured", structured, filter, threads);
    println!("{:25}{:>9}{:>9}", "", "gaussian", "fourier");
    landmark_table(filter, threads);
    println!("{:25}{:>9}{:>9}", "", "periodic", "fourier");
    periodic_table(filter, threads);
    println!("{:25}{:>9}{:>11}", "", "dense", "structured");
    crossover_table(filter, threads);
}
