//! Cubes: one sketch for each group, all of one recipe, in one Parquet file that any engine can read.
//!
//! ```text
//! KEY ...     text, one column for each column that the rows were grouped by
//! rows        int64
//! weight      double
//! sketch      binary, the slim form (`Sketch::to_slim_bytes`)
//! ```
//!
//! Rows are sorted by their keys. The file's metadata have the recipe once, as JSON under `compressive.spec`,
//! and the version of this layout under `compressive.cube`. The keys are read first, and of the sketches only
//! those that are asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use ::parquet::basic::Compression;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use compressive::{Sketch, SketchSpec};

use crate::atomic::AtomicFile;
use crate::error::{Error, Result, path_text};
use crate::guard::guarded;

const FORMAT: &str = "Parquet";
/// The layout that is written.
const VERSION: &str = "1";
const VERSION_KEY: &str = "compressive.cube";
const SPEC_KEY: &str = "compressive.spec";
/// The columns beside the keys.
const VALUES: [&str; 3] = ["rows", "weight", "sketch"];
/// Sketches of a row group: small enough that one of a large cube costs little more than itself.
const GROUP_ROWS: usize = 512;

/// Names of a group, one for each key.
pub type Names = Vec<String>;

/// A cube that was opened: its groups are known, its sketches are read when they are asked for.
#[derive(Debug)]
pub struct Cube {
    path: Arc<str>,
    file: File,
    metadata: ArrowReaderMetadata,
    keys: Vec<String>,
    groups: Vec<(Names, u64)>,
    /// The sketch of no rows, which has the recipe.
    empty: Sketch,
}

/// Writes a cube, whole or not at all; groups without rows are written, too.
///
/// # Errors
/// [`Error::Cube`] for no group, other numbers of names than keys, a key that is called as one of the other
/// columns, or sketches of several recipes; [`Error::Io`].
pub fn write_cube(path: &Path, keys: &[String], groups: &BTreeMap<Names, Sketch>) -> Result<()> {
    let name = path_text(path);
    let wrong = |problem: String| Error::Cube { path: name.clone(), problem };
    let Some(first) = groups.values().next() else { return Err(wrong("there is no group to write".into())) };
    if let Some(key) = keys.iter().find(|key| VALUES.contains(&key.as_str())) {
        return Err(wrong(format!("a cube has a column {key} of its own; rename the one to group by")));
    }
    if let Some(names) = groups.keys().find(|names| names.len() != keys.len()) {
        return Err(wrong(format!("a group of {} names where there are {} keys", names.len(), keys.len())));
    }
    if let Some(other) = groups.values().find(|sketch| sketch.fingerprint() != first.fingerprint()) {
        let mut sum = first.clone();
        // The error names the fields that differ.
        sum.merge(other)?;
    }
    let mut fields: Vec<Field> = keys.iter().map(|key| Field::new(key, DataType::Utf8, false)).collect();
    let types = [DataType::Int64, DataType::Float64, DataType::Binary];
    fields.extend(VALUES.iter().zip(types).map(|(name, kind)| Field::new(*name, kind, false)));
    let schema = Arc::new(Schema::new(fields));
    let said = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_dictionary_enabled(true)
        .set_column_dictionary_enabled(VALUES[2].into(), false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![
            said(VERSION_KEY, VERSION.into()),
            said(SPEC_KEY, first.spec().to_json()),
        ]))
        .build();
    let failed = |error: ::parquet::errors::ParquetError| Error::Io {
        path: name.clone(),
        action: "write",
        source: std::io::Error::other(error),
    };
    let file = AtomicFile::create(path)?;
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(failed)?;
    let all: Vec<(&Names, &Sketch)> = groups.iter().collect();
    for part in all.chunks(GROUP_ROWS) {
        let key = |k: usize| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(part.iter().map(|(names, _)| &names[k])))
        };
        let mut columns: Vec<ArrayRef> = (0..keys.len()).map(key).collect();
        columns.push(Arc::new(Int64Array::from_iter_values(part.iter().map(|(_, s)| s.rows() as i64))));
        columns.push(Arc::new(Float64Array::from_iter_values(part.iter().map(|(_, s)| s.weight()))));
        columns.push(Arc::new(BinaryArray::from_iter_values(part.iter().map(|(_, s)| s.to_slim_bytes()))));
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns);
        writer.write(&batch.map_err(|e| failed(e.into()))?).map_err(failed)?;
    }
    writer.into_inner().map_err(failed)?.commit()
}

impl Cube {
    /// Whether a path names a cube rather than a sketch: by its extension.
    pub fn is_cube(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
    }

    /// Opens a cube and reads its keys.
    ///
    /// # Errors
    /// [`Error::Cube`] for a Parquet file that is none, or a newer one; what opening Parquet files gives.
    pub fn open(path: &Path) -> Result<Cube> {
        let name: Arc<str> = path_text(path).into();
        let file = crate::fileio::open(&name)?;
        let load = || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
        let metadata = guarded(&name, FORMAT, load)?;
        let wrong = |problem: &str| Error::Cube { path: name.to_string(), problem: problem.into() };
        let said = |key: &str| {
            let all = metadata.metadata().file_metadata().key_value_metadata()?;
            all.iter().find(|pair| pair.key == key)?.value.clone()
        };
        let Some(version) = said(VERSION_KEY) else {
            return Err(wrong("this is a table, not a cube; make one by sketching it by a column"));
        };
        if version != VERSION {
            return Err(wrong("this cube was written by a newer version; update to read it"));
        }
        let spec = said(SPEC_KEY).ok_or_else(|| wrong("it has no recipe"))?;
        let empty = Sketch::empty(&SketchSpec::from_json(&spec)?.build()?);
        let names = metadata.schema().fields().iter().map(|field| field.name().clone());
        let keys: Vec<String> = names.filter(|name| !VALUES.contains(&name.as_str())).collect();
        let mut cube = Cube { path: name, file, metadata, keys, groups: Vec::new(), empty };
        cube.groups = cube.read_groups()?;
        Ok(cube)
    }

    /// What the rows were grouped by.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The groups' names and numbers of rows, in the order of the names.
    pub fn groups(&self) -> &[(Names, u64)] {
        &self.groups
    }

    /// The sketch of no rows, which has the recipe of all.
    pub fn empty(&self) -> &Sketch {
        &self.empty
    }

    /// The places of the groups that fit all conditions.
    ///
    /// # Errors
    /// [`Error::Cube`] for an unknown key, or if nothing fits.
    pub fn select(&self, conditions: &[Condition]) -> Result<Vec<usize>> {
        let wrong = |problem: String| Error::Cube { path: self.path.to_string(), problem };
        let mut places = Vec::new();
        let mut tests = Vec::new();
        for condition in conditions {
            let Some(key) = self.keys.iter().position(|key| *key == condition.key) else {
                let keys = self.keys.join(", ");
                return Err(wrong(format!("it has no key {}; its keys are {keys}", condition.key)));
            };
            tests.push((key, condition));
        }
        for (place, (names, _)) in self.groups.iter().enumerate() {
            if tests.iter().all(|(key, condition)| condition.fits(&names[*key])) {
                places.push(place);
            }
        }
        if places.is_empty() {
            let shown: Vec<&str> = self.groups.iter().take(3).map(|(names, _)| names[0].as_str()).collect();
            return Err(wrong(format!("no group fits; the first are {}", shown.join(", "))));
        }
        Ok(places)
    }

    /// The sketches at some places, which ascend, one after the other.
    ///
    /// # Errors
    /// What reading Parquet files gives; a sketch that was changed; what `each` fails with.
    pub fn each(&self, places: &[usize], mut each: impl FnMut(Sketch) -> Result<()>) -> Result<()> {
        let mut selectors = Vec::new();
        let mut next = 0;
        for &place in places {
            selectors.push(RowSelector::skip(place.saturating_sub(next)));
            selectors.push(RowSelector::select(1));
            next = place + 1;
        }
        selectors.push(RowSelector::skip(self.groups.len().saturating_sub(next)));
        let mut outcome = Ok(());
        self.read(&VALUES[2..], Some(RowSelection::from(selectors)), |batch| {
            let column = batch.column(0).as_binary_opt::<i32>().filter(|column| column.null_count() == 0)?;
            for bytes in column.iter().flatten() {
                if outcome.is_ok() {
                    outcome = self.empty.from_slim_bytes(bytes).map_err(Error::from).and_then(&mut each);
                }
            }
            Some(())
        })?;
        outcome
    }

    /// The sum of the sketches at some places, which ascend.
    ///
    /// # Errors
    /// As [`each`](Cube::each).
    pub fn sum(&self, places: &[usize]) -> Result<Sketch> {
        let parts: Vec<(usize, usize)> = places.iter().map(|place| (*place, 0)).collect();
        Ok(self.sums(&parts, 1)?.swap_remove(0))
    }

    /// Several sums in one pass over the file: for places, which ascend, with the number of the sum that each
    /// belongs to.
    ///
    /// # Errors
    /// As [`each`](Cube::each).
    pub fn sums(&self, parts: &[(usize, usize)], count: usize) -> Result<Vec<Sketch>> {
        let mut totals = vec![self.empty.clone(); count];
        let places: Vec<usize> = parts.iter().map(|(place, _)| *place).collect();
        let mut sums = parts.iter().map(|(_, sum)| *sum);
        self.each(&places, |sketch| match sums.next().and_then(|sum| totals.get_mut(sum)) {
            Some(total) => Ok(total.merge(&sketch)?),
            None => Ok(()),
        })?;
        Ok(totals)
    }

    fn read_groups(&self) -> Result<Vec<(Names, u64)>> {
        let mut groups = Vec::new();
        let mut wanted: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        wanted.push(VALUES[0]);
        self.read(&wanted, None, |batch| {
            let keys: Option<Vec<&StringArray>> =
                self.keys.iter().map(|key| batch.column_by_name(key)?.as_string_opt::<i32>()).collect();
            let (keys, rows) = (keys?, batch.column_by_name(VALUES[0])?.as_primitive_opt::<Int64Type>()?);
            for row in 0..batch.num_rows() {
                let names = keys.iter().map(|key| key.value(row).to_owned()).collect();
                groups.push((names, u64::try_from(rows.value(row)).ok()?));
            }
            Some(())
        })?;
        Ok(groups)
    }

    /// Reads some columns of some rows, batch by batch; `each` says None to what no cube has.
    fn read(
        &self,
        columns: &[&str],
        selection: Option<RowSelection>,
        mut each: impl FnMut(&RecordBatch) -> Option<()>,
    ) -> Result<()> {
        let failed = |source| Error::Io { path: self.path.to_string(), action: "read", source };
        let file = self.file.try_clone().map_err(failed)?;
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask).with_batch_size(GROUP_ROWS);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let mut reader = guarded(&self.path, FORMAT, || builder.build())?;
        while let Some(batch) = guarded(&self.path, FORMAT, || reader.next().transpose())? {
            if each(&batch).is_none() {
                let problem = "its columns are not those of a cube".into();
                return Err(Error::Cube { path: self.path.to_string(), problem });
            }
        }
        Ok(())
    }
}

/// What a group's name must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    key: String,
    /// From and to, both included; the same for one value.
    from: String,
    to: String,
}

impl Condition {
    /// That the name of a key is one value.
    pub fn is(key: &str, value: &str) -> Condition {
        Condition { key: key.into(), from: value.into(), to: value.into() }
    }

    /// That it lies between two, both included; an empty end is open. Numbers are compared as numbers, other
    /// names, such as dates, by their letters.
    pub fn between(key: &str, from: &str, to: &str) -> Condition {
        Condition { key: key.into(), from: from.into(), to: to.into() }
    }

    /// Reads `key=value`, `key=from..to`, `key=from..` or `key=..to`.
    pub fn parse(text: &str) -> Option<Condition> {
        let (key, value) = text.split_once('=')?;
        let made = match value.split_once("..") {
            Some((from, to)) => Condition::between(key, from, to),
            None => Condition::is(key, value),
        };
        (!key.is_empty()).then_some(made)
    }

    fn fits(&self, name: &str) -> bool {
        use std::cmp::Ordering::{Greater, Less};
        if self.from == self.to {
            return name == self.from;
        }
        let order = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b),
            _ => a.cmp(b),
        };
        (self.from.is_empty() || order(name, &self.from) != Less)
            && (self.to.is_empty() || order(name, &self.to) != Greater)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compressive::FrequencyLaw;

    fn spec() -> SketchSpec {
        SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 1.0, 7)
    }

    /// 40 days of 30 regions.
    fn groups() -> BTreeMap<Names, Sketch> {
        let sketch = |i: usize| spec().sketch(&vec![i as f64 / 100.0, 1.0]).unwrap();
        let name = |i: usize| vec![format!("d{:02}", i / 30), (i % 30).to_string()];
        (0..1200).map(|i| (name(i), sketch(i))).collect()
    }

    fn keys() -> Vec<String> {
        vec!["day".into(), "region".into()]
    }

    #[test]
    fn any_slice_of_a_cube_is_the_sum_of_its_sketches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cube.parquet");
        let groups = groups();
        write_cube(&path, &keys(), &groups).unwrap();
        let cube = Cube::open(&path).unwrap();
        assert_eq!((cube.keys(), cube.groups().len()), (&keys()[..], 1200));
        for (text, many) in [("day=d07", 30), ("region=2..11", 400), ("day=d38..", 60), ("day=..d00", 30)] {
            let condition = Condition::parse(text).unwrap();
            let places = cube.select(std::slice::from_ref(&condition)).unwrap();
            assert_eq!(places.len(), many, "{text}");
            let mut expected = cube.empty().clone();
            for place in &places {
                expected.merge(&groups[&cube.groups()[*place].0]).unwrap();
            }
            assert_eq!(cube.sum(&places).unwrap().to_bytes(), expected.to_bytes(), "{text}");
        }
        let days: Vec<(usize, usize)> = (0..1200).map(|place| (place, place / 30)).collect();
        let sums = cube.sums(&days, 40).unwrap();
        assert_eq!(sums[7], cube.sum(&cube.select(&[Condition::is("day", "d07")]).unwrap()).unwrap());
        let both = [Condition::is("day", "d07"), Condition::is("region", "3")];
        let place = cube.select(&both).unwrap();
        assert_eq!(cube.sum(&place).unwrap(), groups[&vec!["d07".to_owned(), "3".to_owned()]]);
    }

    #[test]
    fn what_is_no_cube_is_refused_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cube.parquet");
        let mut groups = groups();
        write_cube(&path, &keys(), &groups).unwrap();
        let cube = Cube::open(&path).unwrap();
        let text = |error: Error| error.to_string();
        assert!(text(cube.select(&[Condition::is("month", "1")]).unwrap_err()).contains("day, region"));
        assert!(text(cube.select(&[Condition::is("day", "x")]).unwrap_err()).contains("no group fits"));
        let other = SketchSpec::new(["a", "b"], FrequencyLaw::AdaptedRadius, 2.0, 7);
        groups.insert(vec!["z".into(), "z".into()], other.sketch(&vec![1.0, 1.0]).unwrap());
        assert!(write_cube(&path, &keys(), &groups).is_err());
        assert!(write_cube(&path, &["rows".into(), "b".into()], &groups).is_err());
        assert!(write_cube(&path, &keys(), &BTreeMap::new()).is_err());
        let bytes = std::fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(bytes.len() / 50) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Cube::open(&path).is_err(), "{length}");
        }
    }
}
