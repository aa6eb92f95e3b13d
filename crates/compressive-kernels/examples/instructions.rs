//! A small fixed workload to count instructions of: d = 10, m = 1000, 2000 rows, Fourier, on the backend
//! named by the first argument (default: the best one of this processor).
//!
//! ```text
//! cargo build --release -p compressive-kernels --example instructions
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/instructions avx2
//! ```
//!
//! The second argument repeats the workload (default 1): the difference between two counts is free of
//! start-up.

use compressive_kernels::{Backend, Projection, Scratch, Wave, accumulate};

const DIM: usize = 10;
const SIZE: usize = 1000;
const ROWS: usize = 2000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| Backend::best().name().to_owned());
    let repeats: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let Some(backend) = Backend::available().into_iter().find(|b| b.name() == name) else {
        eprintln!("this processor has no backend {name}");
        std::process::exit(2);
    };
    let number = |i: usize, bound: f32| (i.wrapping_mul(2_654_435_761) % 20_011) as f32 / 20_011.0 * bound;
    let frequencies: Vec<f32> = (0..DIM * SIZE).map(|i| number(i, 0.5)).collect();
    let rows: Vec<f32> = (0..DIM * ROWS).map(|i| number(i, 4.0)).collect();
    let projection = Projection::dense(DIM, &frequencies, &[0.0; SIZE]);
    let mut sums = vec![0; 2 * SIZE];
    let mut scratch = Scratch::default();
    for _ in 0..repeats {
        accumulate(backend, &projection, Wave::Fourier, &rows, &mut sums, &mut scratch);
    }
    println!("{} x {ROWS} rows on {name}: first sums {:?}", repeats, &sums[..3]);
}
