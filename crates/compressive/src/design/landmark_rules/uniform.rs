//! Uniform landmarks: rows drawn without replacement (\[CCDR22\] section 3.2).

use crate::num::random::Stream;

/// Adds rows among `n` that are not chosen yet, each as likely as any other, until there are `size`. Cost: n.
///
/// `size` must be at most `n`.
pub(super) fn fill(n: usize, size: usize, chosen: &mut Vec<usize>, stream: &mut Stream) {
    let mut taken = vec![false; n];
    chosen.iter().for_each(|&i| taken[i] = true);
    let mut left: Vec<usize> = (0..n).filter(|&i| !taken[i]).collect();
    // Fisher and Yates's shuffle, as far as it is needed.
    let missing = size.saturating_sub(chosen.len()).min(left.len());
    for i in 0..missing {
        let other = i + stream.below(left.len() - i);
        left.swap(i, other);
    }
    chosen.extend_from_slice(&left[..missing]);
}
