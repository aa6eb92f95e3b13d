//! Small tables written in every format, and rows read back.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch};
use compressive::RowsRef;
use compressive_io::{DataSource, Dataset, Error, ReadOptions, RowChunk};
use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = PathBuf::from(self.path(name));
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
}

/// A table of f64 values, row-major.
#[derive(Debug, Clone)]
pub struct Table {
    pub values: Vec<f64>,
    pub dim: usize,
}

impl Table {
    /// Deterministic values that are exact in f32.
    pub fn new(n_rows: usize, dim: usize) -> Self {
        let mut state = 1u64;
        let values = (0..n_rows * dim)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                f64::from(((state >> 40) as f32 - 8_388_608.0) / 65536.0)
            })
            .collect();
        Table { values, dim }
    }

    pub fn n_rows(&self) -> usize {
        self.values.len() / self.dim
    }

    pub fn column(&self, i: usize) -> Vec<f64> {
        self.values.iter().skip(i).step_by(self.dim).copied().collect()
    }

    pub fn names(&self) -> Vec<String> {
        (0..self.dim).map(|i| format!("x{i}")).collect()
    }

    pub fn csv(&self, delimiter: char, end: &str) -> String {
        let line = |fields: Vec<String>| fields.join(&delimiter.to_string()) + end;
        let rows = self.values.chunks(self.dim).map(|row| line(row.iter().map(f64::to_string).collect()));
        std::iter::once(line(self.names())).chain(rows).collect()
    }

    pub fn npy(&self, descr: &str, fortran: bool) -> Vec<u8> {
        let values =
            if fortran { (0..self.dim).flat_map(|i| self.column(i)).collect() } else { self.values.clone() };
        let data: Vec<u8> = match descr {
            "<f4" => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
            "<f8" => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            "<i2" => values.iter().flat_map(|v| (*v as i16).to_le_bytes()).collect(),
            "<i8" => values.iter().flat_map(|v| (*v as i64).to_le_bytes()).collect(),
            "|u1" => values.iter().map(|v| *v as u8).collect(),
            other => panic!("no writer for {other}"),
        };
        npy_bytes(descr, fortran, &format!("({}, {})", self.n_rows(), self.dim), &data)
    }

    pub fn batch(&self, single: bool) -> RecordBatch {
        let columns = (0..self.dim).map(|i| {
            let column = self.column(i);
            let array: ArrayRef = if single {
                Arc::new(Float32Array::from_iter_values(column.iter().map(|v| *v as f32)))
            } else {
                Arc::new(Float64Array::from(column))
            };
            (format!("x{i}"), array)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    }
}

pub fn npy_bytes(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn parquet_bytes(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    use parquet::basic::Compression;
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_compression(Compression::SNAPPY)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Cuts a batch into pieces of `rows` rows.
fn pieces(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> + '_ {
    (0..batch.num_rows()).step_by(rows).map(move |at| batch.slice(at, rows.min(batch.num_rows() - at)))
}

pub fn arrow_file_bytes(batch: &RecordBatch, batch_rows: usize) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    pieces(batch, batch_rows).for_each(|piece| writer.write(&piece).unwrap());
    writer.into_inner().unwrap()
}

pub fn arrow_stream_bytes(batch: &RecordBatch, batch_rows: usize) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    pieces(batch, batch_rows).for_each(|piece| writer.write(&piece).unwrap());
    writer.into_inner().unwrap()
}

/// Everything a pass over a data set gives.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    pub values: Vec<f64>,
    pub weights: Vec<f64>,
    pub keys: Vec<String>,
    pub numbers: Vec<u64>,
    pub skipped: usize,
    pub singles: bool,
}

pub fn read(dataset: &mut Dataset) -> Result<Rows, Error> {
    let mut source = dataset.source()?;
    let mut rows = Rows::default();
    let mut chunk = RowChunk::default();
    while let Some(mut part) = source.next_part()? {
        while part.next_rows(&mut chunk)? {
            match chunk.rows() {
                RowsRef::F32(values) => {
                    rows.singles = true;
                    rows.values.extend(values.iter().map(|v| f64::from(*v)));
                }
                RowsRef::F64(values) => rows.values.extend(values),
            }
            rows.weights.extend(chunk.row_weights().unwrap_or_default());
            if let Some(keys) = chunk.group_keys() {
                assert_eq!(keys.len(), chunk.n_rows());
                rows.keys.extend((0..keys.len()).map(|i| keys.get(i).to_owned()));
            }
            rows.numbers.extend((0..chunk.n_rows()).map(|i| chunk.row_number(i)));
            rows.skipped += chunk.n_skipped();
        }
    }
    Ok(rows)
}

pub fn open(inputs: &[&str], options: &ReadOptions) -> Result<Dataset, Error> {
    let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
    Dataset::open(&inputs, options)
}

/// Opens and reads one file.
pub fn read_file(path: &str, options: &ReadOptions) -> Result<Rows, Error> {
    read(&mut open(&[path], options)?)
}

/// The message of what must fail.
pub fn failure<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("this must fail"),
        Err(error) => error.to_string(),
    }
}

/// Asserts that a message has all the parts a user needs.
#[track_caller]
pub fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
    }
}
