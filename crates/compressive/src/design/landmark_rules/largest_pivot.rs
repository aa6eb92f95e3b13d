//! Greedy landmarks: pivoted Cholesky (\[CCDR22\] section 3.2).
//!
//! 1. Start with the residual $d_i = \kappa(x_i, x_i) = 1$ of every row.
//! 2. The next landmark is the row of the largest residual, the first of equals: the row that is farthest
//!    from the span of the landmarks.
//! 3. One step of Cholesky's factorisation updates the residuals; again from 2.
//!
//! Cost: $n m^2 / 2$ multiply-adds and n m kernel values, in memory for n m numbers. Outliers are chosen
//! first, which is what bounds the error of the worst row.

use super::pilot::{Partial, Pilot};

/// Residual of a row below which it is in the span already, up to rounding.
pub(super) const SPANNED: f64 = 1e-12;

/// Up to `size` rows; fewer if the others are in their span.
pub(super) fn greedy(pilot: &Pilot, size: usize) -> Vec<usize> {
    let mut partial = Partial::new(pilot);
    while partial.pivots.len() < size {
        // Step 2.
        let farthest = (0..pilot.len())
            .fold(0, |best, i| if partial.residual[i] > partial.residual[best] { i } else { best });
        if !(partial.residual[farthest] > SPANNED) {
            break;
        }
        // Step 3.
        let root = partial.residual[farthest].sqrt();
        partial.add(&[farthest], &[root]);
    }
    partial.pivots
}
