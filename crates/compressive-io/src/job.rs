//! From inputs to a sketch: open, pilot, design, the look that is paid for, and the pass over all rows.
//!
//! The program, Python and whoever pushes rows to a collector take these steps from here, so that one file,
//! task and map give one recipe everywhere.

use compressive::design::{Designed, Look, Reason, Request, design, look_spec};
use compressive::privacy::{PrivacyParams, PrivateSketch, privatize};
use compressive::{Column, Missing, Parameter, Remedy, Sketch, SketchOperator, SketchSpec};

use crate::dataset::Dataset;
use crate::driver::{DriveOptions, Outcome, sketch_dataset};
use crate::entropy::OsEntropy;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::pilot::Pilot;
use crate::plan::LeftOut;
use crate::unfit;

/// Rows that a recipe is chosen on and a sketch is made of: a [`Dataset`], or what another language holds in
/// memory.
pub trait Readable {
    /// Names of the coordinates of a row.
    fn columns(&self) -> &[String];

    /// The columns that they are coordinates of, and how these are read.
    fn table_columns(&self) -> Vec<Column> {
        self.columns().iter().map(Column::number).collect()
    }

    /// Samples at most `n_max` rows.
    ///
    /// # Errors
    /// Rows that cannot be read, and if there are none.
    fn pilot(&mut self, n_max: usize, seed: u64) -> Result<Pilot>;

    /// Sums all rows.
    ///
    /// # Errors
    /// As [`sketch_dataset`].
    fn sketch(&mut self, operator: &SketchOperator, options: &DriveOptions<'_>) -> Result<Outcome>;

    /// Whether a second pass would find no rows.
    fn is_read_once(&self) -> bool;

    /// Leaves out columns that the pilot shows to be of no use; `false` where all columns were asked for.
    ///
    /// # Errors
    /// Inputs whose columns contradict each other.
    fn leave_out(&mut self, columns: &[LeftOut]) -> Result<bool> {
        let _ = columns;
        Ok(false)
    }

    /// Deals with missing entries as the recipe does.
    ///
    /// # Errors
    /// As [`Readable::leave_out`].
    fn treat_missing(&mut self, missing: Missing) -> Result<()> {
        let _ = missing;
        Ok(())
    }
}

impl Readable for Dataset {
    fn columns(&self) -> &[String] {
        Dataset::columns(self)
    }

    fn table_columns(&self) -> Vec<Column> {
        Dataset::table_columns(self)
    }

    fn pilot(&mut self, n_max: usize, seed: u64) -> Result<Pilot> {
        Dataset::pilot(self, n_max, seed)
    }

    fn sketch(&mut self, operator: &SketchOperator, options: &DriveOptions<'_>) -> Result<Outcome> {
        sketch_dataset(self, operator, options)
    }

    fn is_read_once(&self) -> bool {
        self.n_bytes().is_none()
    }

    fn leave_out(&mut self, columns: &[LeftOut]) -> Result<bool> {
        Dataset::leave_out(self, columns)
    }

    fn treat_missing(&mut self, missing: Missing) -> Result<()> {
        Dataset::treat_missing(self, missing)
    }
}

/// What is to be sketched, and how the recipe is found.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Files, globs, folders, or `-`.
    pub inputs: Vec<String>,
    /// How they are read: columns, weights, groups, format.
    pub read: ReadOptions,
    /// A recipe to use as it is.
    pub spec: Option<SketchSpec>,
    /// What is asked of a recipe that is chosen here.
    pub request: Request,
    /// Rows of the pilot sample; by default those of [`Defaults`](compressive::design::Defaults).
    pub pilot_rows: Option<usize>,
    /// Choose the recipe for a private release, by a look that costs this epsilon; with 0 without a look.
    pub private: Option<f64>,
}

/// A recipe, and how it was found.
#[derive(Debug)]
pub struct Recipe {
    /// The recipe.
    pub spec: SketchSpec,
    /// Why it is what it is; empty if it was given.
    pub reasons: Vec<Reason>,
    /// The rows that it was chosen on; none for a given or private recipe.
    pub pilot: Option<Pilot>,
}

impl Job {
    /// Opens the inputs, with the columns of the given recipe if there is one.
    ///
    /// # Errors
    /// As [`Dataset::open`], and [`Error::OtherColumns`].
    pub fn open(&self) -> Result<Dataset> {
        let mut read = self.read.clone();
        if let Some(spec) = &self.spec {
            let table = spec.table_columns();
            let names: Vec<&str> = table.iter().map(|column| column.column.as_str()).collect();
            if let Some(asked) = read.columns.as_ref().filter(|asked| **asked != names) {
                let (asked, spec) = (asked.join(","), names.join(","));
                return Err(Error::OtherColumns { asked, spec }.advised());
            }
            read.readings = Some(table);
        }
        read.interpret = self.private.is_none();
        // Until a sample is looked at, missing entries are handed on.
        let unseen = if self.private.is_some() { Missing::Error } else { Missing::Fill };
        let chosen = self.request.missing.unwrap_or(unseen);
        read.missing = self.spec.as_ref().map_or(chosen, |spec| spec.missing);
        Dataset::open(&self.inputs, &read)
    }

    /// The pilot sample.
    ///
    /// # Errors
    /// As [`Dataset::pilot`].
    pub fn pilot(&self, table: &mut dyn Readable) -> Result<Pilot> {
        let usual = self.request.pilot_rows(table.columns().len())?;
        let rows = self.pilot_rows.unwrap_or(usual);
        table.pilot(rows.max(2), self.request.seed)
    }

    /// The recipe: the one that is given, or else one chosen on a pilot, from bounds, or by a look that is
    /// paid for, which is a pass over all rows with `options`. `again` says that a pass over the rows is to
    /// follow.
    ///
    /// # Errors
    /// Those of the pilot, of [`design`] and of a pass; [`Error::ReadOnce`] for a look at rows that are
    /// needed again.
    pub fn recipe(
        &self,
        table: &mut dyn Readable,
        again: bool,
        options: &DriveOptions<'_>,
    ) -> Result<Recipe> {
        if let Some(spec) = &self.spec {
            return Ok(Recipe { spec: spec.clone(), reasons: Vec::new(), pilot: None });
        }
        let Some(epsilon) = self.private else {
            let mut request = self.request.clone();
            let known = table.columns().to_vec();
            let mut pilot = self.pilot(table)?;
            unfit::widen(&mut request, &known, &pilot);
            let unfit = unfit::unfit(&pilot, &table.table_columns());
            if !unfit.is_empty() && table.leave_out(&unfit)? {
                unfit::keep(&mut pilot, &mut request, table.columns());
            }
            request.readings = table.table_columns();
            let look = Look::Sample { rows: &pilot.rows, columns: &pilot.columns };
            let Designed { spec, reasons, .. } = design(look, &request)?;
            table.treat_missing(spec.missing)?;
            pilot.fill(&spec);
            return Ok(Recipe { spec, reasons, pilot: Some(pilot) });
        };
        let request = self.request.clone().readings(table.table_columns());
        let Designed { spec, reasons, .. } = if epsilon == 0.0 {
            design(Look::Bounds(table.columns()), &request)?
        } else {
            let seen = self.paid_look(table, epsilon, again, options)?;
            design(Look::Private(&seen), &request)?
        };
        Ok(Recipe { spec, reasons, pilot: None })
    }

    /// A small private sketch of all rows. Its own recipe comes from the bounds alone, which costs nothing,
    /// so all of epsilon is for the sums and their number.
    fn paid_look(
        &self,
        table: &mut dyn Readable,
        epsilon: f64,
        again: bool,
        options: &DriveOptions<'_>,
    ) -> Result<PrivateSketch> {
        let operator = look_spec(table.columns(), &self.request)?.build()?;
        if again && table.is_read_once() {
            return Err(Error::ReadOnce.advised());
        }
        let mut all = Sketch::empty(&operator);
        for group in table.sketch(&operator, options)?.sketches.values() {
            all.merge(group)?;
        }
        if all.holds_heavy_rows() {
            let problem = "a look at the rows is made to hide one row of weight 1, and some weigh more";
            return Err(Error::Core(
                compressive::Error::Privacy { field: "weights", problem: problem.into() }
                    .advise(Remedy::Say("design the spec on the rows without weights first", None))
                    .advise(Remedy::Drop(Parameter::Weights)),
            ));
        }
        let params = PrivacyParams::new(epsilon);
        Ok(privatize(&all, &params, &mut OsEntropy)?)
    }
}
