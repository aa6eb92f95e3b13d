//! The least part of the rows that must move between cells for one sketch to become another.
//!
//! Let $w$ be the weights of the cells for the rows of both sketches together and $\delta$ the difference of
//! the weights of B and A. The difference of the sketches is $\Delta = \Psi(\delta + e) + \epsilon$: $\epsilon$
//! is the scatter of rows within cells, and e that of the numbers of rows in them, of variance
//! $D_a = w_a\,(1/n_A + 1/n_B)$. With $\Psi$ and $\Delta$ divided by the deviations of $\epsilon$ and
//! $G = D^{1/2} \Psi^\top \Psi D^{1/2}$, all that $\Delta$ says of $u = D^{-1/2} \delta$ is
//!
//! $$ q = (I + G)^{-1} D^{1/2} \Psi^\top \Delta \sim N(P u, P), \qquad P = I - (I + G)^{-1} . $$
//!
//! 1. Minimise $\tfrac12 u^\top P u - q^\top u + \lambda \sum_a |\delta_a|$ by descent in one coordinate at a
//!    time, for $\lambda$ falling from where $\delta = 0$. Neither side's weights may become negative.
//! 2. $S = \lVert q - P u \rVert^2$ has the mean $\operatorname{tr} P$ and the variance
//!    $2 \lVert P \rVert_F^2$ for the true u. The share is $\tfrac12 \sum_a |\delta_a|$ where S has come down to
//!    its mean, and the interval that where S is within two deviations of it. What no
//!    $\delta$ explains counts as noise.
//! 3. Rows may be where no cell is: $\Delta$, and then what the cells leave of it, is searched for places by
//!    mean shift, and those that chance does not explain become cells.
//!
//! This is the total variation between two densities, the least of those that the sketches allow: rows that
//! differ by chance alone have a share near 0, not that of the noise in the weights.
//!
//! Cost: that of the pooled density, then A^2 m + A^3, with A cells that have a weight. This project's own.

mod least;

use crate::ask::drift::difference::least::{Least, Path};
use crate::density::Density;
use crate::density::cells::Blocks;
use crate::density::table::FREQUENCIES;
use crate::density::target::Target;
use crate::density::weigh::{Prior, System};
use crate::learn::propose::Correlation;
use crate::num::linear::dot;
use crate::num::random::{Purpose, Stream};
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;

/// Places of each sign that step 3 looks for, before a fit and after it.
const NEW_PLACES: usize = 3;
/// Deviations of what is left along a new place that chance does not explain: the largest of some thousand
/// independent ones is near 4.
const BEYOND_CHANCE: f64 = 6.0;
/// Starting points and sweeps of the search for new places.
const SEARCH: (usize, usize) = (60, 40);
/// New places may gain up to this many times what a first look gives.
const ROOM: f64 = 2.0;
/// Where rows came to a place that no cell is near, the share is known to this factor beside its interval:
/// how tight they are is not known, and neighbouring cells make up for a wrong guess.
const NEW_IS_ROUGH: f64 = 3.0;
/// An S of up to this many times its mean is explained: a little above 1 is the step of the path.
const EXPLAINED: f64 = 1.1;
/// The box that is searched is this much wider than the data box.
const WIDER: f64 = 2.0;

/// What moved between two sketches.
pub(super) struct Difference {
    /// The density of all rows.
    pub pooled: Density,
    /// Its cells that have a weight, and new ones.
    pub blocks: Blocks,
    /// Their weights for all rows, 1 in all.
    pub weights: Vec<f64>,
    /// What each of them gained from A to B, as a part of all rows.
    pub gains: Vec<f64>,
    /// Cells of the pooled density that have a weight, the first of `blocks`, and their weights.
    pub pooled_blocks: Blocks,
    pub pooled_weights: Vec<f64>,
    /// $1/n_A + 1/n_B$.
    pub inverse_rows: f64,
    /// Half the sum of |gain| at the least, in the middle and at the most.
    pub share: [f64; 3],
}

/// Steps 1 to 3 for two sketches and that of all rows of both; none without an outline.
pub(super) fn difference(pooled: &Target, a: &Target, b: &Target) -> Option<Difference> {
    let density = Density::weighed(pooled)?;
    let kept: Vec<usize> = (0..density.blocks.len()).filter(|&i| density.weights()[i] > 0.0).collect();
    let mut weights: Vec<f64> = kept.iter().map(|&i| density.weights()[i]).collect();
    let mut blocks = density.blocks.select(&kept);
    let target = pooled.first(FREQUENCIES).unwrap_or_else(|| pooled.clone());
    let sides = [a.rows, b.rows];
    let mut equations = Equations::new(&target, a, b, &blocks, &weights);
    let mut places = equations.new_places(&blocks, &[]);
    if !places.is_empty() {
        add(&mut blocks, &mut weights, &places, sides);
        equations = Equations::new(&target, a, b, &blocks, &weights);
    }
    let (mut share, mut gains) = equations.fit()?;
    places = equations.new_places(&blocks, &gains);
    if !places.is_empty() {
        add(&mut blocks, &mut weights, &places, sides);
        (share, gains) = Equations::new(&target, a, b, &blocks, &weights).fit()?;
    }
    if blocks.len() > kept.len() {
        share[0] /= NEW_IS_ROUGH;
        share[2] = (share[2] * NEW_IS_ROUGH).min(1.0);
    }
    let inverse_rows = 1.0 / a.rows + 1.0 / b.rows;
    let pooled_weights = kept.iter().map(|&i| density.weights()[i]).collect();
    let pooled_blocks = density.blocks.select(&kept);
    Some(Difference {
        pooled: density,
        blocks,
        weights,
        gains,
        pooled_blocks,
        pooled_weights,
        inverse_rows,
        share,
    })
}

impl Difference {
    /// Mean and variances of all rows, in working coordinates.
    pub fn moments(&self) -> ExactMoments {
        let d = self.blocks.dim;
        let cells = || {
            self.blocks.centres.chunks_exact(d).zip(self.blocks.variances.chunks_exact(d)).zip(&self.weights)
        };
        let (mut mean, mut variances) = (vec![0.0; d], vec![0.0; d]);
        for ((x, _), w) in cells() {
            mean.iter_mut().zip(x).for_each(|(m, x)| *m += w * x);
        }
        for ((x, v), w) in cells() {
            (0..d).for_each(|c| variances[c] += w * (v[c] + (x[c] - mean[c]).powi(2)));
        }
        ExactMoments { mean, covariance: Covariance::Diagonal(variances) }
    }
}

/// Makes cells of places. Their rows are all on one side.
fn add(blocks: &mut Blocks, weights: &mut Vec<f64>, places: &[New], rows: [f64; 2]) {
    let typical = typical_cell(blocks, weights);
    for New { place, gain } in places {
        let mut cell = blocks.select(&[typical]);
        cell.centres.clone_from(place);
        blocks.extend(&cell);
        // Between a point and a cell is every width that a tight group can have.
        blocks.push_point(place);
        let side = if *gain > 0.0 { rows[1] } else { rows[0] };
        weights.extend([ROOM * gain.abs() * side / (rows[0] + rows[1]); 2]);
    }
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
}

/// A place that no cell is near.
struct New {
    place: Vec<f64>,
    /// About the part of all rows that came there.
    gain: f64,
}

/// The cell of middling size.
fn typical_cell(blocks: &Blocks, weights: &[f64]) -> usize {
    let size = |a: &usize| blocks.variances[a * blocks.dim..(a + 1) * blocks.dim].iter().sum::<f64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| size(a).total_cmp(&size(b)));
    order[order.len() / 2]
}

/// The equations of the module.
struct Equations<'a> {
    target: &'a Target,
    system: System,
    /// $\Delta$ in deviations.
    right: Vec<f64>,
    weights: Vec<f64>,
    /// $\sqrt{D_a}$.
    roots: Vec<f64>,
    /// Rows of all over those of A and of B.
    sides: [f64; 2],
}

impl<'a> Equations<'a> {
    fn new(target: &'a Target, a: &Target, b: &Target, blocks: &Blocks, weights: &[f64]) -> Equations<'a> {
        let inverse_rows = 1.0 / a.rows + 1.0 / b.rows;
        let noisy = Target { noise: target.noise * target.rows * inverse_rows, ..target.clone() };
        let system = System::new(&noisy, blocks, None, &Prior { shares: weights, rows: 1.0, blur: 0.0 });
        let m = target.re.len();
        let minus =
            |x: &[f64], y: &[f64]| -> Vec<f64> { x.iter().zip(y).take(m).map(|(x, y)| x - y).collect() };
        let right = system.right_of_difference(target, &minus(&b.re, &a.re), &minus(&b.im, &a.im));
        let n = a.rows + b.rows;
        Equations {
            target,
            system,
            right,
            weights: weights.to_vec(),
            roots: weights.iter().map(|w| (w * inverse_rows).sqrt()).collect(),
            sides: [n / a.rows, n / b.rows],
        }
    }

    /// Steps 1 and 2. What S has above its mean at the end of the path counts as noise.
    fn fit(&self) -> Option<Path> {
        let limit = |(w, s): (&f64, &f64)| (-w * self.sides[0] / s, w * self.sides[1] / s);
        let limits = self.weights.iter().zip(&self.roots).map(limit).collect();
        let least = Least::new(&self.system.left, &self.right, &self.roots, limits)?;
        let (share, gains) = least.path(1.0);
        let noise = least.excess(&gains);
        Some(if noise > EXPLAINED { least.path(noise) } else { (share, gains) })
    }

    /// The difference without that of these gains.
    fn right_without(&self, gains: &[f64]) -> Vec<f64> {
        let mut left = self.right.clone();
        let rows = self.system.left.chunks_exact(left.len()).zip(gains).filter(|(_, g)| **g != 0.0);
        for (row, gain) in rows {
            left.iter_mut().zip(row).for_each(|(l, x)| *l -= gain * x);
        }
        left
    }

    /// Step 3: places where the difference without that of some gains shows rows that came or went.
    fn new_places(&self, blocks: &Blocks, gains: &[f64]) -> Vec<New> {
        let (target, d, m) = (self.target, blocks.dim, self.target.re.len());
        if target.metric.is_some() {
            // Kernel values show no rows far from the landmarks.
            return Vec::new();
        }
        let right = self.right_without(gains);
        let mut wide = target.clone();
        for (low, high) in wide.low.iter_mut().zip(&mut wide.high) {
            let (middle, half) = (0.5 * (*low + *high), 0.5 * WIDER * (*high - *low));
            (*low, *high) = (middle - half, middle + half);
        }
        (wide.start_low, wide.start_high) = (wide.low.clone(), wide.high.clone());
        let width = blocks.variances.iter().sum::<f64>() / blocks.variances.len() as f64;
        let mut stream = Stream::new(0, Purpose::Decode, 0);
        let mut found = Vec::new();
        for sign in [1.0, -1.0] {
            let signed: Vec<f64> = right.iter().map(|x| sign * x).collect();
            // Long waves have small errors, and divided by them would make all bumps one.
            let plain = self.system.undivided(&signed);
            let im = plain.get(m..2 * m).map_or_else(|| vec![0.0; m], <[f64]>::to_vec);
            let correlation = Correlation::new(&wide, (&plain[..m], &im), width);
            for place in correlation.maxima(SEARCH.0, SEARCH.1, NEW_PLACES, &mut stream).0 {
                let cell = Blocks { dim: d, centres: place, variances: vec![width; d], factors: Vec::new() };
                let (along, square, noise) = self.against_the_rest(&cell, &signed);
                if along > BEYOND_CHANCE * noise.sqrt() {
                    found.push(New { place: cell.centres, gain: sign * along / square });
                }
            }
        }
        found
    }

    /// Rows that came to a cell left the others. With the direction c of that in the sketch: how far a
    /// difference is along it, $c^\top \Delta$; $|c|^2$; and the variance of the first by chance.
    fn against_the_rest(&self, cell: &Blocks, difference: &[f64]) -> (f64, f64, f64) {
        let sketch = cell.sketches(self.target);
        let mut direction = self.system.right_of_difference(self.target, &sketch.re, &sketch.im);
        let cells = || self.system.left.chunks_exact(self.right.len());
        for (row, w) in cells().zip(&self.weights) {
            direction.iter_mut().zip(row).for_each(|(c, x)| *c -= w * x);
        }
        // The last equation is that of the weights' sum.
        if let Some(sum) = direction.last_mut() {
            *sum = 0.0;
        }
        let along: Vec<f64> = cells().map(|row| dot(row, &direction)).collect();
        let mean: f64 = along.iter().zip(&self.weights).map(|(x, w)| w * x).sum();
        let of_cells: f64 = along.iter().zip(&self.roots).map(|(x, s)| (s * (x - mean)).powi(2)).sum();
        let square = dot(&direction, &direction);
        (dot(&direction, difference), square, square + of_cells)
    }
}
