//! Places that rows came to or went from, as one Gaussian each.
//!
//! With $g = \Sigma^{-1} \Delta$ and the direction $f(c, v)$ from A to $N(c, \operatorname{diag} v)$ in the
//! view, the share that fits best is $\pi = f^\top g / f^\top \Sigma^{-1} f$, and lowers the squared distance
//! by $(f^\top g)^2 / f^\top \Sigma^{-1} f$. That is climbed from the cells where it is largest, and from where
//! the moments show a cluster far away: with the changes $\delta$ of the mean and $\lambda$ of the second
//! moment along it, $c = \mu + \delta / \pi$ and $\pi = |\delta|^2 / \lambda$.

use crate::ask::drift::difference::Difference;
use crate::ask::drift::reasons::measure::{Measure, View};
use crate::ask::drift::reasons::{Candidate, Kind, State};
use crate::density::atom::{AtomFamily, Batch, Gaussian, Shape};
use crate::num::linear::dot;
use crate::num::solve::{LbfgsParams, minimize};
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;

/// Cells of each sign that are looked at.
const LOOKED_AT: usize = 8;
/// Starts of each sign that are climbed from.
const STARTS: usize = 2;
/// Steps of a climb.
const STEPS: usize = 25;
/// Variances are within these parts of those of all rows.
const VARIANCES: (f64, f64) = (1e-4, 1.0);
/// Least share that is a place.
const LEAST_SHARE: f64 = 1e-4;

struct Search<'a> {
    measure: &'a Measure<'a>,
    family: Gaussian,
    /// A in deviations.
    from: Vec<f64>,
    /// $\Sigma^{-1} \Delta$.
    pull: Vec<f64>,
    full: bool,
    dim: usize,
    /// Cells: which, $f^\top g$ and $|f|^2$.
    cells: Vec<(usize, f64, f64)>,
}

impl Search<'_> {
    /// Normal laws of these parameters in the view, less A.
    fn direction(&self, atom: &[f64], values: &Batch) -> Vec<f64> {
        let view = View { re: values.re.clone(), im: values.im.clone(), exact: self.moments(atom) };
        let mut entries = self.measure.entries(&view);
        // The sum of the weights does not change.
        entries.iter_mut().zip(&self.from).for_each(|(x, y)| *x -= y);
        entries
    }

    fn moments(&self, atom: &[f64]) -> ExactMoments {
        let d = self.dim;
        let covariance = match self.full {
            true => Covariance::Full(
                (0..d).map(|i| (0..d).map(|j| if i == j { atom[d + i] } else { 0.0 }).collect()).collect(),
            ),
            false => Covariance::Diagonal(atom[d..].to_vec()),
        };
        ExactMoments { mean: atom[..d].to_vec(), covariance }
    }

    /// By how much the best share of a place lowers the squared distance, and that share.
    fn gain(&self, atom: &[f64]) -> (f64, f64) {
        let mut values = Batch::default();
        self.family.sketch_batch(atom, &[], &mut values);
        let f = self.direction(atom, &values);
        let square = self.measure.square(&f);
        let along = dot(&f, &self.pull);
        (along * along / square, along / square)
    }

    /// Minus the gain and its gradient, for centres in units and logarithms of variances.
    fn descend(&self, x: &[f64], units: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.dim;
        let atom = self.atom(x, units);
        let mut values = Batch::default();
        self.family.sketch_batch(&atom, &[], &mut values);
        let f = self.direction(&atom, &values);
        let inverse = self.measure.solve(&f);
        let (along, square) = (dot(&f, &self.pull), dot(&f, &inverse));
        let part = along / square;
        // d gain = (2 part g - 2 part^2 inverse) df.
        let cotangent: Vec<f64> =
            self.pull.iter().zip(&inverse).map(|(g, h)| -2.0 * part * (g - part * h)).collect();
        let mut by_atom = self.measure.pull_back(&self.family, &atom, &values, &cotangent);
        for c in 0..d {
            by_atom[c] *= units[c];
            by_atom[d + c] *= atom[d + c];
        }
        gradient.copy_from_slice(&by_atom);
        -along * part
    }

    fn atom(&self, x: &[f64], units: &[f64]) -> Vec<f64> {
        let d = self.dim;
        (0..2 * d).map(|i| if i < d { x[i] * units[i] } else { x[i].exp() }).collect()
    }
}

impl Search<'_> {
    /// Cells that might have gained or lost, as atoms, with the gain and the share of each.
    fn starts(&self, found: &Difference, all: &[f64]) -> (Vec<Vec<f64>>, Vec<(f64, f64)>) {
        let d = self.dim;
        let mut order: Vec<(f64, usize)> = Vec::new();
        for sign in [1.0, -1.0] {
            let mut own: Vec<(f64, usize)> = self
                .cells
                .iter()
                .map(|(a, along, square)| (sign * along * along.abs() / square, *a))
                .filter(|(score, _)| *score > 0.0)
                .collect();
            own.sort_by(|x, y| y.0.total_cmp(&x.0));
            own.truncate(LOOKED_AT);
            order.extend(own);
        }
        let blocks = &found.blocks;
        let floor = |(v, all): (&f64, &f64)| v.max(0.01 * all);
        let atom = |a: usize| -> Vec<f64> {
            let own = blocks.variances[a * d..(a + 1) * d].iter().zip(all).map(floor);
            blocks.centres[a * d..(a + 1) * d].iter().copied().chain(own).collect()
        };
        // Those that the difference's own search added come last.
        let own = order.iter().map(|(_, a)| *a);
        let added = found.pooled_weights.len()..blocks.len();
        let starts: Vec<Vec<f64>> = own.chain(added).map(atom).collect();
        let scored = starts.iter().map(|atom| self.gain(atom)).collect();
        (starts, scored)
    }
}

/// The best place that rows came to, and the best that they went from.
pub(super) fn of_places(
    measure: &Measure<'_>,
    state: &State,
    difference: &[f64],
    found: &Difference,
) -> Vec<Candidate> {
    let d = state.blocks.dim;
    let family = measure.target.points.with_covariance(Shape::Diagonal);
    let (from, pull) = (measure.entries(&state.view), measure.solve(difference));
    let cells = measure
        .cells()
        .map(|(a, mut cell)| {
            cell.iter_mut().zip(&from).for_each(|(x, y)| *x -= y);
            (a, dot(&cell, &pull), dot(&cell, &cell))
        })
        .collect();
    let search = Search {
        measure,
        family,
        from,
        pull,
        cells,
        full: matches!(state.view.exact.covariance, Covariance::Full(_)),
        dim: d,
    };
    let all = state.view.exact.variances();
    let units: Vec<f64> = all.iter().map(|v| v.max(1e-12).sqrt()).collect();
    let (starts, scored) = search.starts(found, &all);
    let mut found = Vec::new();
    for sign in [1.0, -1.0] {
        let mut order: Vec<usize> = (0..starts.len()).filter(|&a| sign * scored[a].1 > 0.0).collect();
        order.sort_by(|x, y| scored[*y].0.total_cmp(&scored[*x].0));
        let mut best: Option<(f64, f64, Vec<f64>)> = None;
        for &start in order.iter().take(STARTS) {
            let atom = &starts[start];
            let mut x: Vec<f64> =
                (0..2 * d).map(|i| if i < d { atom[i] / units[i] } else { atom[i].ln() }).collect();
            let lower: Vec<f64> = (0..2 * d)
                .map(|i| if i < d { f64::NEG_INFINITY } else { (VARIANCES.0 * all[i - d].max(1e-12)).ln() })
                .collect();
            let upper: Vec<f64> = (0..2 * d)
                .map(|i| if i < d { f64::INFINITY } else { (VARIANCES.1 * all[i - d].max(1e-12)).ln() })
                .collect();
            let params = LbfgsParams { iterations_max: STEPS, ftol: 1e-3, ..LbfgsParams::default() };
            minimize(&mut |x, g| search.descend(x, &units, g), &mut x, &lower, &upper, &params);
            let atom = search.atom(&x, &units);
            let (gain, share) = search.gain(&atom);
            if sign * share > LEAST_SHARE && best.as_ref().is_none_or(|b| gain > b.0) {
                best = Some((gain, share, atom));
            }
        }
        if let Some((_, share, atom)) = best {
            found.push(state.with(share, &atom, &search));
        }
    }
    found
}

impl State {
    /// Rows that came to a place, or went.
    fn with(&self, share: f64, atom: &[f64], search: &Search<'_>) -> Candidate {
        let d = search.dim;
        let mut values = Batch::default();
        search.family.sketch_batch(atom, &[], &mut values);
        let place = View { re: values.re, im: values.im, exact: search.moments(atom) };
        let mut after = State {
            blocks: self.blocks.clone(),
            weights: self.weights.clone(),
            view: self.view.mixed(&place, share),
        };
        if share > 0.0 {
            after.blocks.push_point(&atom[..d]);
            after.weights.iter_mut().for_each(|w| *w *= 1.0 - share);
            after.weights.push(share);
        }
        let kind = Kind::Place { share, centre: atom[..d].to_vec(), variances: atom[d..].to_vec() };
        Candidate { kind, parameters: 2 * d + 1, after }
    }
}
