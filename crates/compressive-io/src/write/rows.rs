//! Tables of one type that come row by row, as random features do, instead of column by column.

use super::{Body, CellType, Cells, Encoded, FileFormat, TableFormat};
use crate::error::{Error, Result};

/// The values of a chunk, row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowMajor<'a> {
    /// Small whole numbers, or eight bits each.
    U8(&'a [u8]),
    /// Numbers in single precision.
    F32(&'a [f32]),
}

impl RowMajor<'_> {
    fn len(&self) -> usize {
        match self {
            RowMajor::U8(values) => values.len(),
            RowMajor::F32(values) => values.len(),
        }
    }

    fn cell_type(&self) -> CellType {
        match self {
            RowMajor::U8(_) => CellType::U8,
            RowMajor::F32(_) => CellType::F32,
        }
    }

    fn column(&self, column: usize, width: usize) -> Cells {
        match self {
            RowMajor::U8(values) => Cells::U8(values.iter().skip(column).step_by(width).copied().collect()),
            RowMajor::F32(values) => Cells::F32(values.iter().skip(column).step_by(width).copied().collect()),
        }
    }
}

impl TableFormat {
    /// The same, but an npy file has two dimensions even if there is one column.
    pub fn matrix(mut self) -> TableFormat {
        self.matrix = true;
        self
    }

    /// Encodes a chunk of whole rows; every column has the type of the values.
    ///
    /// An npy file, row-major itself, takes the values as they are.
    ///
    /// # Errors
    /// [`Error::WrongWidth`] if the values are not whole rows, or of another type than the columns.
    pub fn encode_rows(&self, values: RowMajor<'_>) -> Result<Encoded> {
        let width = self.names.len().max(1);
        if !values.len().is_multiple_of(width) {
            return Err(Error::WrongWidth { expected: width, found: values.len() % width });
        }
        let rows = values.len() / width;
        if self.kind != FileFormat::Npy || self.common != values.cell_type() {
            return self.encode((0..self.names.len()).map(|c| values.column(c, width)).collect());
        }
        let bytes = match values {
            RowMajor::U8(values) => values.to_vec(),
            RowMajor::F32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        Ok(Encoded { body: Body::Bytes(bytes), rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::TableWriter;

    #[test]
    fn rows_and_columns_give_the_same_file_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let singles = [0.5f32, -1.0, f32::NAN, 0.25, 1.0, -0.75];
        for name in ["t.csv", "t.parquet", "t.npy"] {
            let columns: Vec<_> = ["a", "b", "c"].map(|n| (n.to_owned(), CellType::F32)).into();
            let mut files = Vec::new();
            for by_rows in [false, true] {
                let path = folder.path().join(format!("{by_rows}-{name}"));
                let format = TableFormat::of(&path, &columns).unwrap();
                let mut writer = TableWriter::create(&path, &format).unwrap();
                let chunk = if by_rows {
                    format.encode_rows(RowMajor::F32(&singles))
                } else {
                    let column = |c: usize| Cells::F32(vec![singles[c], singles[3 + c]]);
                    format.encode((0..3).map(column).collect())
                };
                writer.write(&chunk.unwrap()).unwrap();
                assert_eq!(writer.finish().unwrap(), 2);
                files.push(std::fs::read(path).unwrap());
            }
            assert_eq!(files[0], files[1], "{name}");
        }
    }

    #[test]
    fn one_column_of_bytes_is_a_matrix_if_asked() {
        let folder = tempfile::tempdir().unwrap();
        let columns = [("bits".to_owned(), CellType::U8)];
        for (matrix, shape) in [(false, "(2,)"), (true, "(2, 1)")] {
            let path = folder.path().join("t.npy");
            let format = TableFormat::of(&path, &columns).unwrap();
            let format = if matrix { format.matrix() } else { format };
            let mut writer = TableWriter::create(&path, &format).unwrap();
            writer.write(&format.encode_rows(RowMajor::U8(&[7, 200])).unwrap()).unwrap();
            writer.finish().unwrap();
            let file = std::fs::read(path).unwrap();
            let header = String::from_utf8_lossy(&file[10..128]).into_owned();
            assert!(header.contains("'|u1'") && header.contains(shape), "{header}");
            assert_eq!(file[128..], [7, 200]);
        }
    }

    #[test]
    fn values_that_are_not_whole_rows_or_of_another_type_are_refused() {
        let columns: Vec<_> = ["a", "b"].map(|n| (n.to_owned(), CellType::U8)).into();
        let format = TableFormat::of(std::path::Path::new("t.npy"), &columns).unwrap();
        assert!(format.encode_rows(RowMajor::U8(&[1, 2, 3])).is_err());
        assert!(format.encode_rows(RowMajor::F32(&[1.0, 2.0])).is_err());
    }
}
