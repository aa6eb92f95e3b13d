//! The one error type of the crate.

/// What can go wrong with an experiment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no experiment of this name.
    #[error("there is no experiment `{name}`; the experiments are {known}")]
    UnknownExperiment {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file or folder.
        path: String,
        /// What went wrong with it.
        problem: String,
    },
    /// An experiment's data are not there.
    #[error(
        "the experiment needs the data file {file}, which is not there; make it with `python benches/real_data.py FOLDER` and give that folder with --data FOLDER"
    )]
    NoData {
        /// The file looked for.
        file: String,
    },
    /// Rows, a parameter or a mixture was refused.
    #[error(transparent)]
    Data(#[from] compressive_data::Error),
    /// The library refused a spec, a sketch or a task.
    #[error(transparent)]
    Library(#[from] compressive::Error),
}

/// Short for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
