//! How much one row can change the integer sums of a sketch.
//!
//! With a and b the entries of one row at one frequency, in units of $2^{-24}$ and as rounded by the kernel,
//! and m frequencies:
//!
//! | feature | add or remove, L1 | L2 | replace, L1 | L2 |
//! |---|---|---|---|---|
//! | `fourier` | $\sqrt2\,m$ | $\sqrt m$ | $2\sqrt2\,m$ | $2\sqrt m$ |
//! | `one-bit` | $2m$ | $\sqrt{2m}$ | $4m$ | $2\sqrt{2m}$ |
//! | `sawtooth` | $\tfrac32 m$ | $\sqrt{\tfrac54 m}$ | $3m$ | $2\sqrt{\tfrac54 m}$ |
//! | `cosine` | $m$ | $\sqrt m$ | $2m$ | $2\sqrt m$ |
//! | `nystrom` | $m$ | $\sqrt m$ | $m$ | $\sqrt m$ |
//! | `periodic` | $m \max_t (\lvert f\rvert + \lvert g\rvert)$ | $\sqrt{m \max_t (f^2 + g^2)}$ | $m \max(\mathrm{range}(f + g), \mathrm{range}(f - g))$ | at most twice |
//!
//! | `quadratic` | see [`Sensitivity::of_operator`] | | | |
//!
//! times $2^{24}$ (for tables $g(t) = f(t - \pi/2)$), plus at most $2^{-24}$ of it for the kernel's rounding:
//! the maxima over a phase were taken over every phase the kernel can meet
//! ([`Wave::reach`](compressive_kernels::Wave::reach)), so the bounds hold for the sums as they are, not for
//! an idealised cosine. They are attained, or approached as closely as one likes, when the frequencies are
//! linearly independent over the rationals (\[CSH21\]), or when all landmarks are near to each other; only
//! the L2 bound of replacing a `sawtooth` row is 5% above the truth, $\sqrt{4.5 m}$. Weights of the law
//! `weighted` enter when a sketch is decoded, not when it is made, and change nothing here. No feature needs
//! rows clipped to the box: all are bounded everywhere.

use compressive_kernels::Wave as Kernel;

use crate::error::Result;
use crate::names::named;
use crate::sketch::Sketch;
use crate::sketch::map::waves::{Wave, interpolate};
use crate::sketch::map::{Feature, Map};
use crate::sketch::operator::SketchOperator;
use crate::sketch::spec::SketchSpec;

mod quadratic;

/// Which tables count as neighbours: what an observer must not be able to tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Neighbours {
    /// One row more or less; the number of rows is protected too.
    #[default]
    AddRemove,
    /// One row with other values; the number of rows is public.
    Replace,
}

named!(Neighbours, "a relation between tables", {
    AddRemove => "add-remove": "One row more or less: the number of rows is protected, too",
    Replace => "replace": "One row with other values: the number of rows is public",
});

/// Columns up to which the directions of the quadratic feature are looked at. The look takes two matrices of
/// $d^2$ numbers, which a file of a few hundred kilobytes must not be able to ask for without bound.
const SHARP_COLUMNS: usize = 4096;

/// The largest change of a sketch's integer sums between neighbours, in units of $2^{-24}$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sensitivity {
    /// Sum of the absolute changes.
    pub l1: u128,
    /// Sum of the squared changes.
    pub l2_squared: u128,
}

impl Sensitivity {
    /// The sensitivity of a sketch made with a spec; its directions are drawn where it depends on them.
    pub fn of_spec(spec: &SketchSpec, neighbours: Neighbours) -> Result<Sensitivity> {
        match &spec.map {
            Map::Moments(_) if spec.dim() <= SHARP_COLUMNS => {
                Ok(Sensitivity::of_operator(&spec.clone().build()?, neighbours))
            }
            map => Ok(Sensitivity::new(&map.feature(), spec.size, neighbours)),
        }
    }

    /// The sensitivity of an operator's sums: that of [`Sensitivity::new`] for the periodic features, and for
    /// the quadratic one a bound from its directions and the data box, which is several times smaller. Cost
    /// of the latter: $m d^2 + 16 d^3$, or $m d^2$ beyond 1000 columns.
    pub fn of_operator(operator: &SketchOperator, neighbours: Neighbours) -> Sensitivity {
        let spec = operator.spec();
        let general = Sensitivity::new(&spec.map.feature(), spec.size, neighbours);
        if !matches!(spec.map, Map::Moments(_)) {
            return general;
        }
        let own = quadratic::sensitivity(operator, neighbours);
        Sensitivity { l1: own.l1.min(general.l1), l2_squared: own.l2_squared.min(general.l2_squared) }
    }

    /// The sensitivity of the sums of m frequencies, or of quadratic features whatever their directions.
    /// Cost: none, or O(L) for a table of L values.
    pub fn new(feature: &Feature, size: usize, neighbours: Neighbours) -> Sensitivity {
        let (l1, l2_squared) = match feature {
            Feature::Wave(wave) => match (wave, wave.kernel()) {
                (Wave::Periodic { table }, _) => table_reach(table, neighbours),
                (_, Some(kernel)) => kernel_reach(kernel, neighbours),
                (_, None) => unreachable!("only tables have no kernel"),
            },
            Feature::Conv(_) => kernel_reach(Kernel::Fourier, neighbours),
            Feature::Quadratic { .. } => quadratic_reach(neighbours),
            // Entries are not negative, so two rows differ by no more than one has.
            Feature::Nystrom => kernel_reach(Kernel::Gaussian, Neighbours::AddRemove),
        };
        let m = size as u128;
        Sensitivity { l1: m * u128::from(l1), l2_squared: m * u128::from(l2_squared) }
    }

    /// The sensitivity to a person with up to `rows` rows.
    pub fn of_persons(self, rows: u32) -> Sensitivity {
        let rows = u128::from(rows);
        // What does not fit asks for more noise than there can be, which is refused.
        let l2_squared = (rows * rows).saturating_mul(self.l2_squared);
        Sensitivity { l1: rows.saturating_mul(self.l1), l2_squared }
    }

    /// The sensitivity when each row contributes only `kept` of its m frequencies, drawn at random and scaled
    /// up by m / `kept`: L1 stays, L2 grows by $\sqrt{m / \text{kept}}$, both rounded up.
    pub fn subsampled(self, kept: usize, size: usize) -> Sensitivity {
        let (kept, size) = (kept.clamp(1, size.max(1)) as u128, size as u128);
        Sensitivity { l1: self.l1, l2_squared: (self.l2_squared * size).div_ceil(kept) }
    }
}

/// The largest $|a| + |b|$ and $a^2 + b^2$ of one frequency's change; two rows differ by at most twice what
/// one has.
fn kernel_reach(wave: Kernel, neighbours: Neighbours) -> (u64, u64) {
    let (l1, l2_squared) = wave.reach();
    match neighbours {
        Neighbours::AddRemove => (l1, l2_squared),
        Neighbours::Replace => (2 * l1, 4 * l2_squared),
    }
}

/// As [`kernel_reach`], for the quadratic feature whatever its directions: squares lie in $[0, 1]$, values in
/// $[-1, 1]$. [`Sensitivity::of_operator`] knows better.
fn quadratic_reach(neighbours: Neighbours) -> (u64, u64) {
    match neighbours {
        Neighbours::AddRemove => Kernel::Quadratic.reach(),
        Neighbours::Replace => (3 << 24, 5 << 48),
    }
}

/// As [`kernel_reach`], for a table. Between neighbouring breakpoints of $f(t)$ and $g(t) = f(t - \pi/2)$
/// both are linear, so $|f| + |g|$ and $f^2 + g^2$ are convex and largest at a breakpoint, and so are the
/// extremes of $f + g$ and $f - g$, whose ranges are the largest L1 change between two rows. Their largest L2
/// change is bounded by twice the norm and by $\sqrt2$ times the range of f.
fn table_reach(table: &[f64], neighbours: Neighbours) -> (u64, u64) {
    const UNIT: f64 = (1u64 << Sketch::GRID_BITS) as f64;
    let n = table.len() as f64;
    let breakpoints = (0..table.len()).flat_map(|i| [i as f64 / n, (i as f64 / n + 0.25) % 1.0]);
    let (mut l1, mut l2_squared) = (0f64, 0f64);
    // Lowest and highest of f, f + g, f - g.
    let mut ranges = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    for turns in breakpoints {
        let (f, g) = (interpolate(table, turns), interpolate(table, (turns + 0.75) % 1.0));
        l1 = l1.max(f.abs() + g.abs());
        l2_squared = l2_squared.max(f * f + g * g);
        for ((low, high), value) in ranges.iter_mut().zip([f, f + g, f - g]) {
            (*low, *high) = (low.min(value), high.max(value));
        }
    }
    let [own, sum, difference] = ranges.map(|(low, high)| high - low);
    if neighbours == Neighbours::Replace {
        l1 = sum.max(difference);
        l2_squared = (4.0 * l2_squared).min(2.0 * own * own);
    }
    // Four units cover the rounding of the entries to the grid, and that of these sums.
    let l2 = l2_squared.sqrt() * UNIT + 4.0;
    ((l1 * UNIT + 4.0).ceil() as u64, (l2 * l2).ceil() as u64)
}

#[cfg(test)]
mod tests;
