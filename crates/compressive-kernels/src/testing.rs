//! Numbers for the tests.

/// A seeded source of 32 bits, of which the high ones are good.
pub(crate) fn bits(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    }
}

/// Numbers in [-1, 1).
pub(crate) fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut next = bits(seed);
    (0..len).map(|_| (next() >> 8) as f32 / 8_388_608.0 - 1.0).collect()
}
