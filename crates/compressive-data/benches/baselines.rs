//! Seconds of the baselines that see all rows, and their quality. `cargo bench -p compressive-data`
//!
//! Lines: problem (n, d, k), seconds, quality. The seeds are fixed, so the quality repeats to the last digit.
//!
//! Last run, two cores shared with other work (load 4.6):
//!
//! | | n | d | k | seconds | quality |
//! |---|---|---|---|---|---|
//! | k-means, s = 2.5 | 1e5 | 10 | 10 | 1.37 | RSSE 1.0000 |
//! | k-means, s = 1.5 | 1e5 | 10 | 10 | 1.30 | RSSE 0.9999 |
//! | k-means, s = 1.5 | 3e5 | 10 | 10 | 3.06 | RSSE 1.0000 |
//! | EM | 3e5 | 2 | 3 | 21.5 | log KL -10.25 |
//! | EM | 3e5 | 20 | 5 | 5.5 | log KL -7.25 |
//! | EM | 1e5 | 10 | 20 | 12.2 | log KL -5.49 |

use std::time::Instant;

use compressive_data::metric::{ari, reference_sse, rsse, symmetric_kl};
use compressive_data::{EmParams, KMeansParams, Result, Rng, em, generate, kmeans};

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let clock = Instant::now();
    Ok((work()?, clock.elapsed().as_secs_f64()))
}

fn bench_kmeans(n_rows: usize, dim: usize, k: usize, separation: f64) -> Result<()> {
    let truth = generate::separated(k, dim, separation, &mut Rng::new(1))?;
    let (sample, drawing) = timed(|| truth.sample(n_rows, &mut Rng::new(2)))?;
    let rows = sample.rows()?;
    let (fit, seconds) = timed(|| kmeans(rows, k, &KMeansParams::default()))?;
    let one = KMeansParams { n_init: 1, max_iterations: 1, ..Default::default() };
    let reference = reference_sse(rows, k, Some(&truth.means), &one)?;
    println!(
        "k-means, 10 starts, n={n_rows} d={dim} k={k} s={separation}: {seconds:.2} s ({} iterations in the best), \
         RSSE to the true means {:.4}, ARI {:.4}; drawing the rows {drawing:.2} s",
        fit.info.iterations,
        rsse(rows, &fit.centers, reference)?,
        ari(&sample.labels, &fit.labels)?
    );
    Ok(())
}

fn bench_em(n_rows: usize, dim: usize, k: usize) -> Result<()> {
    let truth = generate::random_variances(k, dim, &mut Rng::new(1))?;
    let sample = truth.sample(n_rows, &mut Rng::new(2))?;
    let (fit, seconds) = timed(|| em(sample.rows()?, k, &EmParams::default()))?;
    let (kl, measuring) = timed(|| symmetric_kl(&truth, &fit.mixture, 500_000, 3))?;
    println!(
        "EM, diagonal, 10 restarts, n={n_rows} d={dim} k={k}: {seconds:.2} s ({} iterations in the best), \
         log symmetric KL {:.2} (p / n: {:.2}), measured in {measuring:.2} s",
        fit.info.iterations,
        kl.value.ln(),
        (truth.n_params() as f64 / n_rows as f64).ln()
    );
    Ok(())
}

fn main() -> Result<()> {
    // `cargo test --benches` runs this too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    bench_kmeans(100_000, 10, 10, 2.5)?;
    bench_kmeans(100_000, 10, 10, 1.5)?;
    bench_kmeans(300_000, 10, 10, 1.5)?;
    bench_em(300_000, 2, 3)?;
    bench_em(300_000, 20, 5)?;
    bench_em(100_000, 10, 20)
}
