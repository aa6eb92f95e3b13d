//! How good a model is.
//!
//! | measure | of | reference |
//! |---|---|---|
//! | [`rsse`], [`reference_sse`] | centres, against k-means on all rows | \[KTTG17\]; \[Sch21\] section 5.4.2 |
//! | [`ari`], [`ari_of_counts`] | two partitions | Hubert and Arabie (1985) |
//! | [`match_centers`] | centres, against the true ones | |
//! | [`log_likelihood`] | a mixture, on rows | |
//! | [`symmetric_kl`], [`symmetric_kl_balanced`] | two mixtures | \[KBGP18\] eq. 24 |
//! | [`mmd`], [`mmd_gaussian`] | two mixtures | \[KBGP18\] eq. 22 and 23 |
//! | [`Reference::mmd`], [`median_distance`] | two samples | Gretton et al. (2012) |

mod divergence;
mod matching;
mod partition;
mod samples;

pub use divergence::{
    Estimate, characteristic, log_likelihood, mmd, mmd_gaussian, symmetric_kl, symmetric_kl_balanced,
};
pub use matching::{Matching, match_centers};
pub use partition::{ari, ari_of_counts, reference_sse, rsse};
pub use samples::{Reference, median_distance};

#[cfg(test)]
mod tests;
