//! The one error type of the crate: every variant carries the numbers and says what to do next.

/// What can go wrong with rows, parameters or a mixture.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of values does not fit the dimension, the components or its counterpart.
    #[error("{what}: got {found} values, expected {expected}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The count found.
        found: usize,
        /// The count expected.
        expected: usize,
    },
    /// A value of a row is NaN or infinite.
    #[error("row {row}, column {column}: {value} is not a finite number; remove the row first")]
    NotFinite {
        /// Index of the row, from 0.
        row: usize,
        /// Index of the column, from 0.
        column: usize,
        /// The value met.
        value: f64,
    },
    /// A parameter is out of its range.
    #[error("parameter `{name}` is {value}; it must be {allowed}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The range allowed.
        allowed: &'static str,
    },
    /// There are fewer rows than needed.
    #[error("{what} needs at least {needed} rows, and there are {rows}")]
    TooFewRows {
        /// What was asked for.
        what: &'static str,
        /// Rows there are.
        rows: usize,
        /// Rows needed.
        needed: usize,
    },
    /// A component of a mixture is not a Gaussian.
    #[error("component {component}: its {what} is not usable ({value}); it must be {allowed}")]
    Component {
        /// Index of the component, from 0.
        component: usize,
        /// Weight, mean, variance or covariance.
        what: &'static str,
        /// The value met.
        value: f64,
        /// The range allowed.
        allowed: &'static str,
    },
}

/// Short for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Refuses a zero where at least one is needed.
pub(crate) fn at_least_one(name: &'static str, value: usize) -> Result<()> {
    if value == 0 {
        return Err(Error::Parameter { name, value: 0.0, allowed: "at least 1" });
    }
    Ok(())
}

/// Refuses anything but a positive, finite number.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<()> {
    if !(value > 0.0 && value.is_finite()) {
        return Err(Error::Parameter { name, value, allowed: "a positive finite number" });
    }
    Ok(())
}

/// Refuses a count that differs from the expected one.
pub(crate) fn expect_len(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found != expected {
        return Err(Error::Shape { what, found, expected });
    }
    Ok(())
}
