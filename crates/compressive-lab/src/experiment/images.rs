//! Compressive k-means on images: scikit-learn's digits and Fashion-MNIST, both after PCA.

use std::path::{Path, PathBuf};

use compressive::RowsRef;
use compressive::design::{Request, Task};
use compressive::learn::Decoder;
use compressive_io::{DataSource, Dataset, ReadOptions, RowChunk};

use crate::error::{Error, Result};
use crate::experiment::draws::{self, median};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use compressive_data::Rows;
use compressive_data::{KMeansParams, kmeans, sse};

/// k-means of images after PCA.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "images",
    title: "Compressive k-means on images",
    reference: "data of scikit-learn (digits, 1797 images) and of Fashion-MNIST (70,000 images); [KTTG17] section 4 has MNIST",
    work: run,
};

const K: usize = 10;
/// m in units of k d.
const SIZES: [f64; 3] = [2.0, 5.0, 10.0];

/// A data set, its file, and the largest median relative SSE allowed at m = 5 k d.
struct Set {
    name: &'static str,
    file: &'static str,
    bar: f64,
}

const SETS: [Set; 2] = [
    Set { name: "digits, PCA to 10", file: "digits-pca10.npy", bar: 1.06 },
    Set { name: "Fashion-MNIST, PCA to 20", file: "fashion-mnist-pca20.npy", bar: 1.05 },
];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let draws = options.draws(20, 2);
    let columns = ["data", "n", "m/(kd)", "`auto`", "`auto`, worst", "Lloyd, 1 start", "Lloyd, 10 starts"];
    let mut table = Table::new("Median relative SSE", &columns);
    // A quick run needs no file but the one that comes with the source.
    for set in if options.quick { &SETS[..1] } else { &SETS[..] } {
        let (values, dim) = read(&find(set.file, options.data.as_deref())?)?;
        let rows = Rows::new(&values, dim)?;
        progress(&format!("{}: reference", set.name));
        let params = KMeansParams { n_init: 50, threads: options.threads, ..KMeansParams::default() };
        let best = kmeans(rows, K, &params)?;
        let tens: Vec<f64> = best
            .info
            .sse_starts
            .chunks(10)
            .map(|c| c.iter().copied().fold(f64::MAX, f64::min) / best.sse)
            .collect();
        let ones: Vec<f64> = best.info.sse_starts.iter().map(|sse| sse / best.sse).collect();
        let outcomes = draws::map(draws, options.threads, set.name, progress, |draw| {
            let one = |size: f64| {
                let size = Some((size * (K * dim) as f64).round() as usize);
                let params = Request::new(Task::Kmeans, K).outline(false).size(size).seed(draw);
                let centers = fits::designed(&values, dim, &params)?.centers(K, Decoder::Auto, 1)?;
                Ok(sse(rows, &centers)? / best.sse)
            };
            SIZES.into_iter().map(one).collect::<Result<Vec<f64>>>()
        })?;
        for (at, size) in SIZES.into_iter().enumerate() {
            let rsse: Vec<f64> = outcomes.iter().map(|outcome| outcome[at]).collect();
            let worst = rsse.iter().copied().fold(0.0, f64::max);
            let cells = vec![
                Cell::text(set.name),
                Cell::number("rows", rows.n_rows() as f64, 0),
                Cell::number("size", size, 0),
                Cell::number("median", median(&rsse), 3).with("draws", draws as f64),
                Cell::number("worst", worst, 3),
                Cell::number("median", median(&ones), 3),
                Cell::number("median", median(&tens), 3),
            ];
            let verdict = Verdict::bar(median(&rsse) <= set.bar, format!("median at most {}", set.bar));
            table.push(cells, (size == 5.0).then_some(verdict));
        }
    }
    let text = format!(
        "k = {K}; principal components in their own units, in which the SSE is measured; transform, law and scale are the program's own. {draws} draws of the frequencies. The reference is \
         the best of 50 k-means++ starts of Lloyd's algorithm on all rows; its starts one by one, and by tens, are the last columns."
    );
    Ok(Report { text: vec![text], tables: vec![table], ..Report::default() })
}

/// The rows of the digits and their number of columns.
pub(super) fn digits(folder: Option<&Path>) -> Result<(Vec<f64>, usize)> {
    read(&find(SETS[0].file, folder)?)
}

/// A data file in the folder given, else among the test data of the source.
pub(super) fn find(file: &str, folder: Option<&Path>) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/real");
    let places = folder.map(Path::to_path_buf).into_iter().chain([source]);
    let mut paths = places.map(|place| place.join(file));
    paths.find(|path| path.is_file()).ok_or_else(|| Error::NoData { file: file.into() })
}

/// All rows of a table, in order, and the number of columns.
pub(super) fn read(path: &Path) -> Result<(Vec<f64>, usize)> {
    let failed =
        |e: compressive_io::Error| Error::File { path: path.display().to_string(), problem: e.to_string() };
    let inputs = [path.display().to_string()];
    let mut dataset = Dataset::open(&inputs, &ReadOptions::default()).map_err(failed)?;
    let dim = dataset.columns().len();
    let (mut values, mut chunk) = (Vec::new(), RowChunk::default());
    let mut source = dataset.source().map_err(failed)?;
    while let Some(mut part) = source.next_part().map_err(failed)? {
        while part.next_rows(&mut chunk).map_err(failed)? {
            match chunk.rows() {
                RowsRef::F32(rows) => values.extend(rows.iter().map(|x| f64::from(*x))),
                RowsRef::F64(rows) => values.extend_from_slice(rows),
            }
        }
    }
    Ok((values, dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named_with_the_way_to_make_it() {
        let message = find("no-such-table.npy", None).expect_err("not there").to_string();
        assert!(message.contains("no-such-table.npy") && message.contains("real_data.py"), "{message}");
    }

    #[test]
    fn the_digits_have_their_rows_and_falling_variances() {
        let path = find(SETS[0].file, None).expect("comes with the source");
        let (values, dim) = read(&path).expect("readable");
        assert_eq!((values.len() / dim, dim), (1797, 10));
        let square = |c: usize| values.iter().skip(c).step_by(dim).map(|x| x * x).sum::<f64>() / 1797.0;
        assert!((1..10).all(|c| square(c) < square(c - 1)));
        // The first component of the 8 x 8 images has a variance of 179.
        assert!((square(0) - 178.9).abs() < 0.5, "{}", square(0));
    }
}
