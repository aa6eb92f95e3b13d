//! Draws of an experiment on several threads, and what is said of them in a table.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::error::{Error, Result};
use crate::experiment::{Options, Progress};
use compressive_data::parallel::thread_count;

/// Calls `work(draw)` for every draw, whole draws at a time, and returns the results in the order of the
/// draws.
///
/// Progress is reported after each. The first error, in that order, is returned; draws not yet begun are then
/// left out.
pub(super) fn map<T: Send>(
    draws: usize,
    threads: usize,
    label: &str,
    progress: &mut Progress<'_>,
    work: impl Fn(u64) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<Result<T>>> = (0..draws).map(|_| None).collect();
    std::thread::scope(|scope| {
        let (next, work) = (&next, &work);
        for _ in 0..thread_count(threads).min(draws) {
            let sender = sender.clone();
            scope.spawn(move || {
                loop {
                    let draw = next.fetch_add(1, Ordering::Relaxed);
                    if draw >= draws {
                        return;
                    }
                    let result = work(draw as u64);
                    if result.is_err() {
                        next.fetch_max(draws, Ordering::Relaxed);
                    }
                    // Fails only if the receiver is gone, and then nobody waits for the result.
                    let _ = sender.send((draw, result));
                }
            });
        }
        drop(sender);
        for (done, (draw, result)) in receiver.iter().enumerate() {
            results[draw] = Some(result);
            progress(&format!("{label}: {} of {draws} draws", done + 1));
        }
    });
    results.into_iter().flatten().collect()
}

/// As [`map`], for experiments of hours: each finished draw is kept as a file in the folder `options.keep`,
/// and is read from there when the experiment is run again.
pub(super) fn map_kept(
    options: &Options,
    draws: usize,
    key: &str,
    progress: &mut Progress<'_>,
    work: impl Fn(u64) -> Result<Vec<Vec<f64>>> + Sync,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let size = if options.quick { "quick" } else { "full" };
    let file =
        |draw: u64| options.keep.as_ref().map(|folder| folder.join(format!("{key}-{size}-{draw}.json")));
    map(draws, options.threads, key, progress, |draw| {
        let Some(path) = file(draw) else { return work(draw) };
        let kept = std::fs::read(&path).ok();
        if let Some(kept) = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok(kept);
        }
        let found = work(draw)?;
        let failed = |problem: String| Error::File { path: path.display().to_string(), problem };
        let text = serde_json::to_vec(&found).map_err(|e| failed(e.to_string()))?;
        compressive_io::write_atomic(&path, &text).map_err(|e| failed(e.to_string()))?;
        Ok(found)
    })
}

/// The middle value, the mean of the two middle ones if their number is even; NaN for none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The mean; NaN for no values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The share of values at most `limit`; NaN for no values.
pub(super) fn share(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|value| **value <= limit).count() as f64 / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_come_back_in_order_whatever_the_number_of_threads() {
        let run = |threads| {
            map(17, threads, "x", &mut |_| (), |draw| Ok(compressive_data::Rng::derived(3, draw).next_u64()))
        };
        let alone = run(1).expect("no error");
        assert_eq!(alone.len(), 17);
        assert_eq!(run(4), Ok(alone));
    }

    #[test]
    fn every_draw_is_told_and_an_error_is_returned() {
        let mut lines = Vec::new();
        map(3, 2, "cell", &mut |line| lines.push(line.to_owned()), |_| Ok(())).expect("no error");
        assert_eq!(lines, ["cell: 1 of 3 draws", "cell: 2 of 3 draws", "cell: 3 of 3 draws"]);
        let refuse = |draw: u64| match draw {
            2 => Err(Error::NoData { file: "draw 2".into() }),
            _ => Ok(draw),
        };
        let outcome = map(5, 2, "cell", &mut |_| (), refuse);
        assert_eq!(outcome, Err(Error::NoData { file: "draw 2".into() }));
    }

    #[test]
    fn kept_draws_are_not_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options { keep: Some(folder.path().into()), ..Options::quick() };
        let made = AtomicUsize::new(0);
        let run = |draws| {
            map_kept(&options, draws, "cell", &mut |_| (), |draw| {
                made.fetch_add(1, Ordering::Relaxed);
                Ok(vec![vec![1.0 / (draw + 3) as f64]])
            })
        };
        let first = run(2).expect("no error");
        let all = run(5).expect("no error");
        assert_eq!((made.load(Ordering::Relaxed), &all[..2], all.len()), (5, &first[..], 5));
        std::fs::write(folder.path().join("cell-quick-0.json"), "[[0.3").expect("a broken file");
        assert_eq!(run(1).expect("made again"), first[..1]);
    }

    #[test]
    fn summaries_are_those_of_the_values() {
        let values = [3.0, 1.0, 2.0, 10.0];
        assert_eq!((median(&values), median(&values[..3]), mean(&values)), (2.5, 2.0, 4.0));
        assert_eq!(share(&values, 2.0), 0.5);
        assert!(median(&[]).is_nan());
    }
}
