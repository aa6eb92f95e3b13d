//! Tables written row by row: CSV, Parquet or npy by the file's extension, in chunks, so that memory does not
//! grow with the rows.
//!
//! Work is split in two: [`TableFormat::encode`] turns the columns of a chunk into bytes (or Arrow arrays)
//! and can run on any thread; [`TableWriter::write`] appends the encoded chunks in order. The file appears
//! under its name with [`TableWriter::finish`].
//!
//! A missing number is NaN, and an empty field in CSV. An npy file is one array: of one dimension for one
//! column, else of two, with the type of the columns if they have one in common and f64 if not.

mod rows;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{DataType, Field, Schema};

use crate::atomic::AtomicFile;
use crate::error::{Error, Result, path_text};

pub use rows::RowMajor;

/// Values of a row group of Parquet, which the encoder holds in memory.
const GROUP_VALUES: usize = 1 << 22;
/// Bytes of an npy header: room for any number of rows, which is known at the end only.
const NPY_HEADER: usize = 128;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    /// Whole numbers from 0 to 255.
    U8,
    /// Whole numbers.
    I32,
    /// Numbers in single precision.
    F32,
    /// Numbers in double precision.
    F64,
    /// Text; not in npy files.
    Text,
}

/// The values of one column in a chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Whole numbers from 0 to 255.
    U8(Vec<u8>),
    /// Whole numbers.
    I32(Vec<i32>),
    /// Numbers in single precision.
    F32(Vec<f32>),
    /// Numbers in double precision.
    F64(Vec<f64>),
    /// Text.
    Text(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileFormat {
    Csv,
    Parquet,
    Npy,
}

/// What a table's file looks like: its format and columns.
#[derive(Debug, Clone)]
pub struct TableFormat {
    kind: FileFormat,
    names: Vec<String>,
    schema: Arc<Schema>,
    /// The one type of an npy array.
    common: CellType,
    /// Whether an npy array has two dimensions in any case.
    matrix: bool,
}

/// A chunk of rows ready to be appended.
#[derive(Debug)]
pub struct Encoded {
    body: Body,
    rows: usize,
}

#[derive(Debug)]
enum Body {
    Bytes(Vec<u8>),
    Batch(RecordBatch),
}

impl Encoded {
    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        match &self.body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Batch(batch) => batch.get_array_memory_size(),
        }
    }
}

impl TableFormat {
    /// The format that the extension of `path` names: `.csv`, `.parquet` or `.npy`.
    ///
    /// # Errors
    /// [`Error::OutputFormat`] for another extension.
    pub fn of(path: &Path, columns: &[(String, CellType)]) -> Result<TableFormat> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let kind = match extension.as_deref() {
            Some("csv") => FileFormat::Csv,
            Some("parquet") => FileFormat::Parquet,
            Some("npy") => FileFormat::Npy,
            _ => return Err(Error::OutputFormat { path: path_text(path) }),
        };
        if kind == FileFormat::Npy && columns.iter().any(|(_, cell)| *cell == CellType::Text) {
            return Err(Error::OutputFormat { path: path_text(path) });
        }
        let field = |(name, cell): &(String, CellType)| Field::new(name, data_type(*cell), false);
        let first = columns.first().map_or(CellType::F64, |(_, cell)| *cell);
        let uniform = columns.iter().all(|(_, cell)| *cell == first);
        let single = columns.iter().any(|(_, cell)| *cell == CellType::F32);
        Ok(TableFormat {
            kind,
            names: columns.iter().map(|(name, _)| name.clone()).collect(),
            schema: Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>())),
            // Labels beside values in single precision are small whole numbers, which fit.
            common: if uniform {
                first
            } else if single {
                CellType::F32
            } else {
                CellType::F64
            },
            matrix: false,
        })
    }

    /// Encodes a chunk: one entry of `cells` per column, of equal lengths.
    ///
    /// # Errors
    /// [`Error::WrongWidth`] if columns are missing, too many, or of different lengths or types.
    pub fn encode(&self, cells: Vec<Cells>) -> Result<Encoded> {
        let rows = cells.first().map_or(0, Cells::len);
        let fits = |(cells, field): (&Cells, &Arc<Field>)| {
            cells.len() == rows && *field.data_type() == data_type(cells.cell_type())
        };
        if cells.len() != self.names.len() || !cells.iter().zip(self.schema.fields()).all(fits) {
            return Err(Error::WrongWidth { expected: self.names.len(), found: cells.len() });
        }
        let body = match self.kind {
            FileFormat::Csv => Body::Bytes(csv(&cells, rows)),
            FileFormat::Npy => Body::Bytes(npy(&cells, rows, self.common)),
            FileFormat::Parquet => {
                let arrays = cells.into_iter().map(Cells::into_array).collect();
                let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
                Body::Batch(batch.map_err(|_| Error::WrongWidth { expected: self.names.len(), found: 0 })?)
            }
        };
        Ok(Encoded { body, rows })
    }

    /// The npy header of a number of rows, padded to [`NPY_HEADER`] bytes.
    fn npy_header(&self, rows: u64) -> Vec<u8> {
        let descr = match self.common {
            CellType::U8 => "|u1",
            CellType::I32 => "<i4",
            CellType::F32 => "<f4",
            CellType::F64 | CellType::Text => "<f8",
        };
        let shape = match self.names.len() {
            1 if !self.matrix => format!("({rows},)"),
            columns => format!("({rows}, {columns})"),
        };
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let width = NPY_HEADER - 10;
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend((width as u16).to_le_bytes());
        header.extend(format!("{text:<pad$}\n", pad = width - 1).as_bytes());
        header
    }
}

/// A table on its way to a file.
pub struct TableWriter {
    path: String,
    format: TableFormat,
    out: Out,
    rows: u64,
}

enum Out {
    Plain(AtomicFile),
    Parquet(Box<ArrowWriter<AtomicFile>>),
}

impl TableWriter {
    /// Starts a file; nothing appears under its name before [`TableWriter::finish`].
    ///
    /// # Errors
    /// [`Error::Io`] if the directory is missing or not writable.
    pub fn create(path: &Path, format: &TableFormat) -> Result<TableWriter> {
        let mut file = AtomicFile::create(path)?;
        let name = path_text(path);
        let out = match format.kind {
            FileFormat::Csv => {
                let quoted: Vec<String> = format.names.iter().map(|name| quote(name)).collect();
                file.append(format!("{}\n", quoted.join(",")).as_bytes())?;
                Out::Plain(file)
            }
            FileFormat::Npy => {
                file.append(&format.npy_header(0))?;
                Out::Plain(file)
            }
            FileFormat::Parquet => {
                let rows = (GROUP_VALUES / format.names.len().max(1)).clamp(1 << 12, 1 << 20);
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(rows))
                    .build();
                let writer = ArrowWriter::try_new(file, Arc::clone(&format.schema), Some(properties));
                Out::Parquet(Box::new(writer.map_err(|error| failed(&name, error))?))
            }
        };
        Ok(TableWriter { path: name, format: format.clone(), out, rows: 0 })
    }

    /// Appends a chunk that was encoded for this format.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full.
    pub fn write(&mut self, chunk: &Encoded) -> Result<()> {
        self.rows += chunk.rows as u64;
        match (&mut self.out, &chunk.body) {
            (Out::Plain(file), Body::Bytes(bytes)) => file.append(bytes),
            (Out::Parquet(writer), Body::Batch(batch)) => {
                writer.write(batch).map_err(|error| failed(&self.path, error))
            }
            _ => Err(Error::OutputFormat { path: self.path.clone() }),
        }
    }

    /// Completes the file, gives it its name and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full or the name is taken by a directory.
    pub fn finish(self) -> Result<u64> {
        match self.out {
            Out::Plain(mut file) => {
                if self.format.kind == FileFormat::Npy {
                    file.replace_start(&self.format.npy_header(self.rows))?;
                }
                file.commit()?;
            }
            Out::Parquet(writer) => {
                let mut file = writer.into_inner().map_err(|error| failed(&self.path, error))?;
                file.flush().map_err(|source| Error::Io {
                    path: self.path.clone(),
                    action: "write",
                    source,
                })?;
                file.commit()?;
            }
        }
        Ok(self.rows)
    }
}

fn failed(path: &str, error: ::parquet::errors::ParquetError) -> Error {
    Error::Io { path: path.to_owned(), action: "write", source: std::io::Error::other(error) }
}

fn data_type(cell: CellType) -> DataType {
    match cell {
        CellType::U8 => DataType::UInt8,
        CellType::I32 => DataType::Int32,
        CellType::F32 => DataType::Float32,
        CellType::F64 => DataType::Float64,
        CellType::Text => DataType::Utf8,
    }
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::U8(values) => values.len(),
            Cells::I32(values) => values.len(),
            Cells::F32(values) => values.len(),
            Cells::F64(values) => values.len(),
            Cells::Text(values) => values.len(),
        }
    }

    fn cell_type(&self) -> CellType {
        match self {
            Cells::U8(_) => CellType::U8,
            Cells::I32(_) => CellType::I32,
            Cells::F32(_) => CellType::F32,
            Cells::F64(_) => CellType::F64,
            Cells::Text(_) => CellType::Text,
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Cells::U8(values) => Arc::new(UInt8Array::from(values)),
            Cells::I32(values) => Arc::new(Int32Array::from(values)),
            Cells::F32(values) => Arc::new(Float32Array::from(values)),
            Cells::F64(values) => Arc::new(Float64Array::from(values)),
            Cells::Text(values) => Arc::new(StringArray::from(values)),
        }
    }

    fn get(&self, row: usize) -> f64 {
        match self {
            Cells::U8(values) => f64::from(values[row]),
            Cells::I32(values) => f64::from(values[row]),
            Cells::F32(values) => f64::from(values[row]),
            Cells::F64(values) => values[row],
            Cells::Text(_) => f64::NAN,
        }
    }

    /// One field of text: the shortest that reads back the same; empty for NaN.
    fn put(&self, row: usize, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _ = match self {
            Cells::U8(values) => write!(out, "{}", values[row]),
            Cells::I32(values) => write!(out, "{}", values[row]),
            Cells::F32(values) if values[row].is_nan() => Ok(()),
            Cells::F64(values) if values[row].is_nan() => Ok(()),
            Cells::F32(values) => write!(out, "{:?}", values[row]),
            Cells::F64(values) => write!(out, "{:?}", values[row]),
            // Readers skip empty lines, so an empty text needs its quotes.
            Cells::Text(values) if values[row].is_empty() => write!(out, "\"\""),
            Cells::Text(values) => write!(out, "{}", quote(&values[row])),
        };
    }
}

fn csv(cells: &[Cells], rows: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows * cells.len() * 4);
    for row in 0..rows {
        for (i, column) in cells.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            column.put(row, &mut out);
        }
        out.push(b'\n');
    }
    out
}

fn npy(cells: &[Cells], rows: usize, common: CellType) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows * cells.len() * 8);
    for row in 0..rows {
        for column in cells {
            match (common, column) {
                (CellType::U8, Cells::U8(values)) => out.push(values[row]),
                (CellType::I32, Cells::I32(values)) => out.extend(values[row].to_le_bytes()),
                (CellType::F32, _) => out.extend((column.get(row) as f32).to_le_bytes()),
                _ => out.extend(column.get(row).to_le_bytes()),
            }
        }
    }
    out
}

fn quote(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{DataSource, RowChunk};
    use crate::dataset::Dataset;
    use crate::options::ReadOptions;
    use compressive::RowsRef;

    /// All values of a file, row-major, as the readers see them.
    fn read(path: &Path) -> Vec<f64> {
        let mut dataset = Dataset::open(&[path_text(path)], &ReadOptions::default()).unwrap();
        let (mut source, mut chunk, mut all) = (dataset.source().unwrap(), RowChunk::default(), Vec::new());
        while let Some(mut part) = source.next_part().unwrap() {
            while part.next_rows(&mut chunk).unwrap() {
                match chunk.rows() {
                    RowsRef::F32(values) => all.extend(values.iter().map(|v| f64::from(*v))),
                    RowsRef::F64(values) => all.extend_from_slice(values),
                }
            }
        }
        all
    }

    #[test]
    fn the_readers_find_what_was_written_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let columns = [("a".to_owned(), CellType::I32), ("b, c".to_owned(), CellType::F64)];
        for name in ["t.csv", "t.parquet", "t.npy"] {
            let path = folder.path().join(name);
            let format = TableFormat::of(&path, &columns).unwrap();
            let mut writer = TableWriter::create(&path, &format).unwrap();
            for first in [0, 2] {
                let chunk = vec![Cells::I32(vec![first, -1]), Cells::F64(vec![0.1, 1e-300])];
                writer.write(&format.encode(chunk).unwrap()).unwrap();
            }
            assert!(!path.exists());
            assert_eq!(writer.finish().unwrap(), 4);
            assert_eq!(read(&path), [0.0, 0.1, -1.0, 1e-300, 2.0, 0.1, -1.0, 1e-300], "{name}");
        }
    }

    #[test]
    fn other_extensions_and_wrong_columns_are_refused() {
        let columns = [("a".to_owned(), CellType::I32)];
        let error = TableFormat::of(Path::new("t.txt"), &columns).unwrap_err().to_string();
        assert!(error.contains("t.txt") && error.contains(".parquet"), "{error}");
        let format = TableFormat::of(Path::new("t.csv"), &columns).unwrap();
        assert!(format.encode(vec![Cells::F64(vec![1.0])]).is_err());
        assert!(format.encode(vec![]).is_err());
    }
}
