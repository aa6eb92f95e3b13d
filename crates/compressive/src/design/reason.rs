//! Why a recipe is what it is.

use std::fmt;

use crate::design::Task;

/// One thing to tell the user about a recipe. How to change it is for the surface to say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// It was chosen on a sample.
    Sample {
        /// Rows of the sample.
        rows: usize,
    },
    /// It comes from the declared box alone.
    Bounds {
        /// The scale.
        scale: f64,
    },
    /// It comes from the declared box and a private look at all rows.
    PrivateLook {
        /// The scale.
        scale: f64,
        /// What the look cost.
        epsilon: f64,
    },
    /// The size is that of the task.
    Size {
        /// The task.
        task: Task,
        /// Clusters or components.
        k: usize,
        /// Number of parameters p.
        parameters: usize,
    },
    /// Each column is divided by its own spread, because they are too different for one unit.
    OwnSpreads {
        /// Largest spread over the smallest.
        ratio: f64,
        /// The ratio up to which columns are taken to share a unit.
        most: f64,
    },
    /// Correlations between the columns are removed.
    Whitened {
        /// Whether that was asked for.
        asked: bool,
    },
    /// The scale is made for wider clusters than were found.
    WidthHeld {
        /// The estimated width of the clusters, in spreads of the columns.
        estimated: f64,
        /// The width that the scale is made for.
        held: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Sample { rows } => write!(f, "recipe chosen on a sample of {}", rows_of(rows)),
            Reason::Bounds { scale } => write!(
                f,
                "recipe from the bounds alone, scale {scale:.4}: no row was looked at, nothing was paid"
            ),
            Reason::PrivateLook { scale, epsilon } => write!(
                f,
                "recipe from the bounds and a private look at all rows, scale {scale:.4}: paid epsilon {epsilon} for \
                 add-remove neighbours, which a release takes from its budget"
            ),
            Reason::Size { task: Task::Generate, .. } => f.write_str("size for a generative network"),
            Reason::Size { task: Task::Drift, .. } => f.write_str("size for differences between sketches"),
            Reason::Size { task, k, parameters } => {
                write!(f, "size for {task} with k = {k} ({} parameters)", thousands(parameters))
            }
            Reason::OwnSpreads { ratio, most } => write!(
                f,
                "each column divided by its own spread, because they differ by a factor of {}, above {most}: columns of \
                 different units",
                thousands(ratio.min(1e15) as usize)
            ),
            Reason::Whitened { asked: true } => f.write_str("correlations between the columns removed, as asked"),
            Reason::Whitened { asked: false } => f.write_str(
                "correlations between the columns removed, because classes differ where the whole table hardly does",
            ),
            Reason::WidthHeld { estimated, held } => write!(
                f,
                "scale made for clusters of {held:.2} spreads, because those found, of {estimated:.2e}, are far \
                 narrower than their distances"
            ),
        }
    }
}

fn rows_of(rows: usize) -> String {
    format!("{} row{}", thousands(rows), if rows == 1 { "" } else { "s" })
}

/// 12,345.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_as_sentences() {
        let said =
            Reason::Sample { rows: 1 }.to_string() + "; " + &Reason::Sample { rows: 12_345 }.to_string();
        assert_eq!(said, "recipe chosen on a sample of 1 row; recipe chosen on a sample of 12,345 rows");
        let size = Reason::Size { task: Task::Kmeans, k: 10, parameters: 1000 }.to_string();
        assert_eq!(size, "size for kmeans with k = 10 (1,000 parameters)");
    }
}
