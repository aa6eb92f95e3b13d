//! One table in any number of files.

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use compressive::{Column, Missing};

use crate::batches;
use crate::chunk::{DataSource, RowReader};
use crate::error::{Error, Result};
use crate::inputs;
use crate::lookup::require_same_columns;
use crate::open;
use crate::options::ReadOptions;
use crate::plan::{self, Feature, LeftOut, Names, Plan, Scope};
use crate::strays::{self, Stray};
use crate::table::{Opened, Parts};

/// The rows of one or several inputs that have the same columns.
///
/// Opening looks at every input (footer, header or first records) but reads no rows beyond that; rows come
/// from [`Dataset::source`] in any number of passes, except from a stream, which gives them once.
pub struct Dataset {
    pub(crate) files: Vec<OpenedFile>,
    names: Arc<Names>,
    left_out: Vec<LeftOut>,
    options: ReadOptions,
}

/// An input with the columns found in it.
pub(crate) struct OpenedFile {
    pub opened: Opened,
    pub plan: Arc<Plan>,
}

impl Dataset {
    /// Opens files, globs, directories (all readable files below them, sorted) or `-` for standard input.
    ///
    /// # Errors
    /// Missing, empty, unreadable or unrecognised inputs; inputs with different columns; columns that are
    /// absent or not numeric.
    pub fn open(inputs: &[String], options: &ReadOptions) -> Result<Dataset> {
        let inputs = inputs::expand(inputs)?;
        let opened = inputs.iter().map(|input| open::open(input, options)).collect::<Result<Vec<_>>>()?;
        Dataset::new(opened, options)
    }

    /// Opens a stream of text (plain or gzip), npy or Arrow; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>, options: &ReadOptions) -> Result<Dataset> {
        Dataset::new(vec![open::open_stream(name, reader, options)?], options)
    }

    /// Takes Arrow record batches, which are read once; `name` stands for them in messages.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn from_batches(
        name: &str,
        batches: Box<dyn RecordBatchReader + Send>,
        options: &ReadOptions,
    ) -> Result<Dataset> {
        Dataset::new(vec![batches::open_stream(name, batches)], options)
    }

    /// Takes the Arrow record batches of a table in memory, which are held and can be read and sampled any
    /// number of times.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn from_memory(
        name: &str,
        batches: Box<dyn RecordBatchReader + Send>,
        options: &ReadOptions,
    ) -> Result<Dataset> {
        Dataset::new(vec![batches::open_memory(name, batches)?], options)
    }

    fn new(opened: Vec<Opened>, options: &ReadOptions) -> Result<Dataset> {
        // Columns are judged by the first input that has rows; one that has none may lie among others.
        let Some(first) = opened.iter().find(|table| table.has_rows) else {
            let first = opened.first().ok_or(Error::NoInput)?;
            return Err(Error::HeaderOnly { path: first.path.to_string(), columns: first.columns.len() });
        };
        let (names, left_out) = plan::choose(&first.path, &first.columns, options)?;
        if options.columns.is_none() && options.readings.is_none() {
            for other in &opened {
                require_same_columns((&first.path, &first.columns), (&other.path, &other.columns))?;
            }
        }
        let names = Arc::new(names);
        let resolve = |opened: Opened| {
            let plan = Plan::resolve(&opened.path, &opened.columns, &names, options, Scope::Rows)?;
            Ok(OpenedFile { opened, plan: Arc::new(plan) })
        };
        let files = opened.into_iter().map(resolve).collect::<Result<Vec<OpenedFile>>>()?;
        let mut dataset = Dataset { files, names, left_out, options: options.clone() };
        dataset.find_lengths()?;
        Ok(dataset)
    }

    /// The coordinates of a row, in the order asked for, else in file order: the feature columns, or what
    /// they are read as.
    pub fn columns(&self) -> &[String] {
        &self.names.coordinates
    }

    /// The feature columns, and how each is read.
    pub fn table_columns(&self) -> Vec<Column> {
        self.names.columns()
    }

    /// The columns that are not features, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Leaves these columns out from now on, where that is wanted and no columns were named; whether it did.
    pub(crate) fn leave_out(&mut self, columns: &[LeftOut]) -> Result<bool> {
        let named = self.options.columns.is_some() || self.options.readings.is_some();
        if named || !self.options.leave_out_unfit {
            return Ok(false);
        }
        let gone: HashSet<&str> = columns.iter().map(|left| left.name.as_str()).collect();
        let mut features = self.names.features.clone();
        features.retain(|feature| !gone.contains(feature.name.as_str()));
        self.left_out.extend_from_slice(columns);
        self.use_features(features).map(|()| true)
    }

    /// Uses these features from now on.
    pub(crate) fn use_features(&mut self, features: Vec<Feature>) -> Result<()> {
        if features.is_empty() {
            let path = self.paths().next().unwrap_or_default();
            return Err(plan::none_left(path, &self.left_out));
        }
        let mut names = (*self.names).clone();
        names.set_features(features, &self.options);
        self.names = Arc::new(names);
        self.plan_again()
    }

    /// Notes that a column is left out.
    pub(crate) fn note_left_out(&mut self, column: LeftOut) {
        self.left_out.push(column);
    }

    pub(crate) fn features(&self) -> &[Feature] {
        &self.names.features
    }

    /// Reads columns that were taken for numbers as texts, unless they were named; whether it did.
    pub(crate) fn read_as_text(&mut self, columns: &[String]) -> Result<bool> {
        let mut features = self.names.features.clone();
        let mut changed = false;
        let free =
            self.options.interpret && self.options.columns.is_none() && self.options.readings.is_none();
        for feature in features.iter_mut().filter(|feature| free && columns.contains(&feature.name)) {
            feature.read = plan::Read::Text { texts: Arc::default(), typed: true };
            changed = true;
        }
        if changed {
            self.use_features(features)?;
        }
        Ok(changed)
    }

    pub(crate) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// How to read a file for a purpose other than a pass.
    pub(crate) fn plan_for(&self, file: usize, scope: Scope) -> Result<Arc<Plan>> {
        let opened = &self.files[file].opened;
        let plan = Plan::resolve(&opened.path, &opened.columns, &self.names, &self.options, scope)?;
        Ok(Arc::new(plan))
    }

    /// Treats missing entries so from now on.
    pub(crate) fn treat_missing(&mut self, missing: Missing) -> Result<()> {
        self.options.missing = missing;
        self.plan_again()
    }

    fn plan_again(&mut self) -> Result<()> {
        for file in &mut self.files {
            let opened = &file.opened;
            let plan = Plan::resolve(&opened.path, &opened.columns, &self.names, &self.options, Scope::Rows)?;
            file.plan = Arc::new(plan);
        }
        Ok(())
    }

    /// Names of the inputs, in reading order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.opened.path)
    }

    /// Number of rows, where all formats know it without reading the rows.
    pub fn n_rows(&self) -> Option<u64> {
        self.files.iter().map(|file| file.opened.n_rows).sum()
    }

    /// Size of the inputs in bytes, unless one is a stream.
    pub fn n_bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.opened.n_bytes).sum()
    }

    /// What a reader of the table should know of how the files are read, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for remark in self.files.iter().flat_map(|file| &file.opened.remarks) {
            if !all.contains(remark) {
                all.push(remark.clone());
            }
        }
        all
    }

    /// The entries that counted as missing in the last pass as they were not what their columns hold.
    pub fn strays(&self) -> Vec<Stray> {
        strays::together(self.files.iter().map(|file| file.plan.strays.list()))
    }

    /// A pass over all rows.
    ///
    /// # Errors
    /// [`Error::StreamConsumed`] at once for a stream that was read already.
    pub fn source(&mut self) -> Result<DatasetSource<'_>> {
        self.files.iter().for_each(|file| file.plan.strays.clear());
        let names = Arc::clone(&self.names);
        Ok(DatasetSource { files: &mut self.files, names, next_file: 0, parts: None, bytes_before: 0 })
    }
}

/// A pass over the rows of a [`Dataset`].
pub struct DatasetSource<'a> {
    files: &'a mut [OpenedFile],
    names: Arc<Names>,
    next_file: usize,
    parts: Option<Box<dyn Parts>>,
    /// Bytes of the files done.
    bytes_before: u64,
}

impl DataSource for DatasetSource<'_> {
    fn columns(&self) -> &[String] {
        &self.names.coordinates
    }

    fn by(&self) -> Option<&str> {
        self.names.by.as_deref()
    }

    fn weights(&self) -> Option<&str> {
        self.names.weights.as_deref()
    }

    fn next_part(&mut self) -> Result<Option<Box<dyn RowReader + Send>>> {
        loop {
            if let Some(parts) = &mut self.parts {
                if let Some(reader) = parts.next_part()? {
                    return Ok(Some(reader));
                }
                let size = self.files[self.next_file - 1].opened.n_bytes;
                self.bytes_before += size.unwrap_or_else(|| parts.bytes_done());
                self.parts = None;
            }
            let Some(file) = self.files.get_mut(self.next_file) else { return Ok(None) };
            self.next_file += 1;
            self.parts = Some(file.opened.table.parts(&file.plan)?);
        }
    }

    fn bytes_done(&self) -> u64 {
        self.bytes_before + self.parts.as_ref().map_or(0, |parts| parts.bytes_done())
    }
}
