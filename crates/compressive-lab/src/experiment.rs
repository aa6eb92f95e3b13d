//! The experiments of the papers, each run by its name, with the published numbers beside ours.
//!
//! One file per experiment; [`all`] lists them and [`find`] takes one by name. A run gives a [`Report`]
//! (paragraphs, tables with a verdict per row, figures), which [`write()`] turns into a Markdown page, a JSON
//! file and PNG figures. Seeds are fixed, and whole draws go to the threads: the same options give the same
//! numbers whatever the number of threads. Only the experiments that measure seconds (`speed`, `kmeans-time`,
//! `mixture-cost`, and a column of `mixture-table-3`) differ from run to run; the first three run one
//! measurement at a time.
//!
//! ```
//! use compressive_lab::experiment::{Options, find};
//!
//! let experiment = find("kmeans")?;
//! let report = experiment.run(&Options { draws: Some(1), ..Options::quick() }, &mut |_| ())?;
//! assert!(report.to_markdown().starts_with("# Compressive k-means"));
//! # Ok::<(), compressive_lab::Error>(())
//! ```

mod asymmetric;
mod asymmetric_rows;
mod asymmetric_scale;
mod audit;
mod bits;
mod classify;
mod classify_images;
mod classify_synthetic;
mod clock;
mod clusters;
mod costs;
mod decoder_costs;
mod decoder_failures;
mod draws;
mod embedding_error;
mod excess;
mod families;
mod fits;
mod fleet;
mod generator;
mod images;
mod kernel_errors;
mod kernel_estimates;
mod kernel_worst;
mod kernels;
mod kmeans;
mod kmeans_time;
mod labelled;
mod local_privacy;
mod mixture_bandwidths;
mod mixture_cost;
mod mixture_size;
mod mixture_table;
mod mixtures;
mod non_isotropic;
mod nystrom;
mod nystrom_scale;
mod one_bit;
mod pca;
mod periodic_features;
mod phase_mixture;
mod phase_one_bit;
mod private_kmeans;
mod private_mixture;
mod private_size;
mod queries;
mod questions;
mod report;
mod sounds;
mod speakers;
mod speed;
mod tasks_transition;
mod verdict;
mod write;

use std::path::PathBuf;

use crate::error::{Error, Result};

pub use report::{Cell, Figure, Outcome, Report, Row, Table, Verdict};
pub use write::{Provenance, pages, render, write};

/// Receives one line at a time on how far a run is.
pub type Progress<'a> = dyn FnMut(&str) + 'a;

/// How to run an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Draws a cell; by default each experiment's own number, at least 20 in a full run unless its page says
    /// otherwise.
    pub draws: Option<usize>,
    /// Fewer and smaller problems, in seconds instead of minutes.
    pub quick: bool,
    /// Threads; 0, the default, for all cores. Changes the time, never a number of a table (but for the
    /// experiments that measure seconds).
    pub threads: usize,
    /// Folder of the data files of the experiments on real data (`benches/real_data.py` makes them).
    pub data: Option<PathBuf>,
    /// Folder (there already) in which experiments of hours keep finished draws, to be taken up again after a
    /// stop; to be emptied when the program changes.
    pub keep: Option<PathBuf>,
}

impl Options {
    /// The options of a quick run.
    pub fn quick() -> Options {
        Options { quick: true, ..Options::default() }
    }

    /// The draws asked for, or the experiment's own number.
    fn draws(&self, full: usize, quick: usize) -> usize {
        self.draws.unwrap_or(if self.quick { quick } else { full }).max(1)
    }

    /// One value for a full run, another for a quick one.
    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// An experiment: where it was published, and how to run it.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line and in file names.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The paper with table or figure, by the keys of `docs/math.md`.
    pub reference: &'static str,
    work: fn(&Options, &mut Progress<'_>) -> Result<Report>,
}

impl Experiment {
    /// Runs it. Cost: minutes in full, seconds if quick.
    pub fn run(&self, options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
        let mut report = (self.work)(options, progress)?;
        report.name = self.name.into();
        report.title = self.title.into();
        report.reference = self.reference.into();
        Ok(report)
    }
}

/// All experiments, in the order they are listed.
pub fn all() -> &'static [Experiment] {
    &[
        kmeans::EXPERIMENT,
        kmeans_time::EXPERIMENT,
        decoder_failures::EXPERIMENT,
        one_bit::EXPERIMENT,
        images::EXPERIMENT,
        mixture_table::EXPERIMENT,
        mixture_bandwidths::EXPERIMENT,
        mixture_size::EXPERIMENT,
        mixture_cost::EXPERIMENT,
        embedding_error::EXPERIMENT,
        tasks_transition::EXPERIMENT,
        non_isotropic::EXPERIMENT,
        phase_mixture::EXPERIMENT,
        phase_one_bit::EXPERIMENT,
        asymmetric::EXPERIMENT,
        asymmetric_rows::EXPERIMENT,
        asymmetric_scale::EXPERIMENT,
        private_kmeans::EXPERIMENT,
        private_size::EXPERIMENT,
        private_mixture::EXPERIMENT,
        local_privacy::EXPERIMENT,
        nystrom::EXPERIMENT,
        nystrom::MIXTURES,
        nystrom_scale::EXPERIMENT,
        nystrom_scale::MIXTURES,
        audit::EXPERIMENT,
        pca::EXPERIMENT,
        queries::EXPERIMENT,
        families::EXPERIMENT,
        generator::EXPERIMENT,
        kernel_estimates::EXPERIMENT,
        periodic_features::EXPERIMENT,
        classify::EXPERIMENT,
        classify_synthetic::EXPERIMENT,
        classify_images::EXPERIMENT,
        fleet::EXPERIMENT,
        sounds::EXPERIMENT,
        speakers::EXPERIMENT,
        speed::EXPERIMENT,
    ]
}

/// The experiment of a name; the error lists the names there are.
pub fn find(name: &str) -> Result<&'static Experiment> {
    all().iter().find(|experiment| experiment.name == name).ok_or_else(|| Error::UnknownExperiment {
        name: name.into(),
        known: all().iter().map(|experiment| experiment.name).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests;
