//! Changes of single columns, applied to a distribution.

use crate::ask::drift::columns::Statistic;
use crate::ask::drift::difference::Difference;
use crate::ask::drift::places::Place;
use crate::ask::drift::reasons::measure::{Measure, View};
use crate::ask::drift::reasons::{Candidate, Kind, State};
use crate::density::cells::Blocks;
use crate::density::target::Target;
use crate::model::Working;
use crate::num::linear::{cholesky, dot};
use crate::num::math::ln;
use crate::sketch::ExactMoments;
use crate::sketch::frequency::Covariance;
use crate::sketch::spec::Transform;

/// Candidates of one kind that are carried out: those whose moments moved most.
const LIKELY: usize = 4;
/// Columns that are drawn anew, which columns without any correlation may have been as well.
const REDRAWN: usize = 12;
/// Added to correlations before they are solved for.
const RIDGE: f64 = 1e-6;

/// The way between the user's units and working coordinates.
pub(super) struct Coordinates<'a> {
    transform: &'a Transform,
    working: &'a Working,
}

/// An affine map $u \mapsto M u + t$ of working coordinates.
struct Affine {
    /// d rows of d.
    matrix: Vec<f64>,
    shift: Vec<f64>,
}

/// Mean, deviations and correlations of columns.
struct Columns {
    mean: Vec<f64>,
    deviations: Vec<f64>,
    /// d rows of d, or none.
    correlations: Option<Vec<f64>>,
}

impl Columns {
    fn new(working: &Working, exact: &ExactMoments) -> Option<Columns> {
        let (mean, covariance) = working.moments(exact);
        let d = mean.len();
        Some(match covariance? {
            Covariance::Full(rows) => {
                let deviations: Vec<f64> = (0..d).map(|c| rows[c][c].max(0.0).sqrt()).collect();
                let entry = |at: usize| {
                    let (i, j) = (at / d, at % d);
                    let unit = deviations[i] * deviations[j];
                    if i == j {
                        1.0
                    } else if unit > 0.0 {
                        (rows[i][j] / unit).clamp(-1.0, 1.0)
                    } else {
                        0.0
                    }
                };
                let correlations = Some((0..d * d).map(entry).collect());
                Columns { mean, deviations, correlations }
            }
            Covariance::Diagonal(v) => {
                let deviations = v.iter().map(|v| v.max(0.0).sqrt()).collect();
                Columns { mean, deviations, correlations: None }
            }
        })
    }
}

impl<'a> Coordinates<'a> {
    pub fn new(transform: &'a Transform, working: &'a Working) -> Coordinates<'a> {
        Coordinates { transform, working }
    }

    /// A map $x \mapsto m + T (x - m) + t$ of columns, in working coordinates.
    fn affine(&self, map: &[f64], middle: &[f64], shift: &[f64]) -> Affine {
        let (d, t) = (middle.len(), self.transform);
        let forward = |x: &[f64]| -> Vec<f64> {
            let scaled: Vec<f64> = x.iter().zip(&t.spread).map(|(x, s)| x / s).collect();
            match &t.whiten {
                Some(rows) => rows.iter().map(|row| dot(row, &scaled)).collect(),
                None => scaled,
            }
        };
        let origin = self.working.location(&vec![0.0; d]);
        let mut matrix = vec![0.0; d * d];
        let mut unit = vec![0.0; d];
        for c in 0..d {
            unit[c] = 1.0;
            let x: Vec<f64> = self.working.location(&unit).iter().zip(&origin).map(|(x, o)| x - o).collect();
            unit[c] = 0.0;
            let mapped: Vec<f64> = map.chunks_exact(d).map(|row| dot(row, &x)).collect();
            forward(&mapped).iter().enumerate().for_each(|(i, y)| matrix[i * d + c] = *y);
        }
        // Where the origin of the working coordinates goes.
        let off: Vec<f64> = origin.iter().zip(middle).map(|(o, m)| o - m).collect();
        let goes: Vec<f64> =
            (0..d).map(|i| dot(&map[i * d..(i + 1) * d], &off) - off[i] + shift[i]).collect();
        Affine { matrix, shift: forward(&goes) }
    }

    /// A place in the user's units.
    pub fn place(&self, share: f64, centre: &[f64], variances: &[f64], found: &Difference) -> Place {
        let d = centre.len();
        let all = found.moments();
        let covariance = Covariance::Diagonal(variances.to_vec());
        let own = ExactMoments { mean: centre.to_vec(), covariance };
        let columns = Columns::new(self.working, &all);
        let location = self.working.location(centre);
        let spreads: Vec<f64> = match Columns::new(self.working, &own) {
            Some(own) => own.deviations,
            None => vec![0.0; d],
        };
        let telling = |c: usize| {
            let Some(all) = &columns else { return 0.0 };
            let unit = all.deviations[c].max(f64::MIN_POSITIVE);
            let (x, v) = ((location[c] - all.mean[c]) / unit, (spreads[c] / unit).powi(2));
            0.5 * (v + x * x - 1.0 - ln(v.max(1e-4)))
        };
        Place { share, telling: (0..d).map(telling).collect(), location }
    }
}

impl State {
    /// What the cells would show.
    pub(super) fn shown(&self, blocks: &Blocks, target: &Target) -> (Vec<f64>, Vec<f64>) {
        let m = target.size();
        let all = blocks.sketches(target);
        let (mut re, mut im) = (vec![0.0; m], vec![0.0; m]);
        for ((row, other), w) in all.re.chunks_exact(m).zip(all.im.chunks_exact(m)).zip(&self.weights) {
            re.iter_mut().zip(row).for_each(|(s, x)| *s += w * x);
            im.iter_mut().zip(other).for_each(|(s, x)| *s += w * x);
        }
        (re, im)
    }

    /// The state with all rows moved. What the cells miss in the sketch stays.
    fn moved(&self, map: &Affine, shown: &(Vec<f64>, Vec<f64>), measure: &Measure<'_>) -> State {
        let d = self.blocks.dim;
        let blocks = self.blocks.mapped(&map.matrix, &map.shift);
        let (re, im) = self.shown(&blocks, measure.target);
        let change = |old: &[f64], from: &[f64], to: &[f64]| -> Vec<f64> {
            old.iter().zip(from.iter().zip(to)).map(|(x, (f, t))| x + t - f).collect()
        };
        let row = |i: usize| &map.matrix[i * d..(i + 1) * d];
        let exact = &self.view.exact;
        let mean = (0..d).map(|i| dot(row(i), &exact.mean) + map.shift[i]).collect();
        let covariance = match &exact.covariance {
            Covariance::Diagonal(v) => Covariance::Diagonal(
                (0..d).map(|i| row(i).iter().zip(v).map(|(m, v)| m * m * v).sum()).collect(),
            ),
            Covariance::Full(rows) => {
                let half: Vec<Vec<f64>> =
                    (0..d).map(|i| rows.iter().map(|r| dot(row(i), r)).collect()).collect();
                Covariance::Full(half.iter().map(|h| (0..d).map(|j| dot(row(j), h)).collect()).collect())
            }
        };
        State {
            blocks,
            weights: self.weights.clone(),
            view: View {
                re: change(&self.view.re, &shown.0, &re),
                im: change(&self.view.im, &shown.1, &im),
                exact: ExactMoments { mean, covariance },
            },
        }
    }

    /// The state with a column drawn anew for a part of the rows: what would be if all were, and the part
    /// that fits best. None where it is not between 0 and 1. With M the projection on the column's direction,
    /// the characteristic function is the product of those of $M u$ and $u - M u$.
    fn redrawn(
        &self,
        c: usize,
        projection: &[f64],
        measure: &Measure<'_>,
        difference: &[f64],
    ) -> Option<State> {
        let (d, m) = (self.blocks.dim, measure.target.size());
        let target = Target { harmonics: Vec::new(), ..measure.target.clone() };
        let rest: Vec<f64> =
            projection.iter().enumerate().map(|(at, x)| f64::from(u8::from(at / d == at % d)) - x).collect();
        let zero = vec![0.0; d];
        let of = |matrix: &[f64]| self.shown(&self.blocks.mapped(matrix, &zero), &target);
        let (old, own, others) = (self.shown(&self.blocks, &target), of(projection), of(&rest));
        let mut view = self.view.clone();
        for (j, xi) in target.points.dither().iter().enumerate().take(m) {
            // Both factors are turned by the dither, the product only once.
            let (sin, cos) = xi.sin_cos();
            let (x, y) = (own.0[j] * cos + own.1[j] * sin, own.1[j] * cos - own.0[j] * sin);
            view.re[j] += x * others.0[j] - y * others.1[j] - old.0[j];
            view.im[j] += x * others.1[j] + y * others.0[j] - old.1[j];
        }
        if !target.complex {
            view.im.fill(0.0);
        }
        if let Covariance::Full(rows) = &mut view.exact.covariance {
            for j in (0..d).filter(|j| *j != c) {
                (rows[c][j], rows[j][c]) = (0.0, 0.0);
            }
        }
        let entries = measure.entries(&view);
        let direction: Vec<f64> =
            entries.iter().zip(measure.entries(&self.view)).map(|(x, y)| x - y).collect();
        let inverse = measure.solve(&direction);
        let part = dot(&inverse, difference) / dot(&inverse, &direction);
        if !(part > 0.0) {
            return None;
        }
        let view = self.view.mixed(&view, part.min(1.0));
        Some(State { view, ..self.clone() })
    }
}

/// $\ln (x / y)$ of deviations, 0 if there is none.
fn log_ratio(x: f64, y: f64) -> f64 {
    if x > f64::MIN_POSITIVE && y > f64::MIN_POSITIVE { ln(x / y) } else { 0.0 }
}

/// The columns with the largest scores.
fn largest(scores: impl Iterator<Item = f64>, most: usize) -> Vec<usize> {
    let scores: Vec<f64> = scores.map(|s| if s.is_finite() { s.abs() } else { 0.0 }).collect();
    let mut order: Vec<usize> = (0..scores.len()).filter(|&c| scores[c] > 0.0).collect();
    order.sort_by(|x, y| scores[*y].total_cmp(&scores[*x]));
    order.truncate(most);
    order
}

/// Candidates of means, deviations and correlations.
pub(super) fn of_columns(
    measure: &Measure<'_>,
    state: &State,
    goal: &View,
    difference: &[f64],
    coordinates: &Coordinates<'_>,
) -> Vec<Candidate> {
    let columns = |view: &View| Columns::new(coordinates.working, &view.exact);
    let (Some(from), Some(to)) = (columns(&state.view), columns(goal)) else { return Vec::new() };
    let d = from.mean.len();
    let shown = state.shown(&state.blocks, measure.target);
    let identity: Vec<f64> = (0..d * d).map(|at| f64::from(u8::from(at / d == at % d))).collect();
    let (mut all, mut redrawn) = (Vec::new(), Vec::new());
    let mut push = |statistic: Statistic, parameters: usize, map: &[f64], shift: &[f64]| {
        let affine = coordinates.affine(map, &from.mean, shift);
        let after = state.moved(&affine, &shown, measure);
        all.push(Candidate { kind: Kind::Statistic(statistic), parameters, after });
    };
    for c in largest((0..d).map(|c| (to.mean[c] - from.mean[c]) / from.deviations[c]), LIKELY) {
        let mut shift = vec![0.0; d];
        shift[c] = to.mean[c] - from.mean[c];
        push(Statistic::Mean { column: c }, 1, &identity, &shift);
    }
    for c in largest((0..d).map(|c| log_ratio(to.deviations[c], from.deviations[c])), LIKELY) {
        let mut map = identity.clone();
        map[c * d + c] = to.deviations[c] / from.deviations[c];
        push(Statistic::Deviation { column: c }, 1, &map, &vec![0.0; d]);
    }
    let (Some(before), Some(after)) = (&from.correlations, &to.correlations) else { return all };
    let score = |i: usize, j: usize| {
        let (x, y) = (before[i * d + j], after[i * d + j]);
        (y - x) / (1.0 - (0.5 * (x + y)).powi(2)).max(RIDGE)
    };
    let of_row = |i: usize| (0..d).filter(|j| *j != i).map(|j| score(i, j).powi(2)).sum::<f64>();
    for (rank, c) in largest((0..d).map(of_row), REDRAWN).into_iter().enumerate() {
        let partner =
            (0..d).filter(|j| *j != c).max_by(|x, y| score(c, *x).abs().total_cmp(&score(c, *y).abs()));
        let Some(partner) = partner else { continue };
        let statistic = Statistic::Correlation { columns: [c.min(partner), c.max(partner)] };
        if let Some(row) = regression(c, before, after, d).filter(|_| rank < LIKELY) {
            let mut map = identity.clone();
            let unit = |j: usize| from.deviations[c] / from.deviations[j];
            (0..d).for_each(|j| map[c * d + j] = if j == c { row[j] } else { row[j] * unit(j) });
            if map.iter().all(|x| x.is_finite()) {
                push(statistic, d - 1, &map, &vec![0.0; d]);
            }
        }
        // A product of kernel values is no kernel value of the product.
        if measure.target.metric.is_none() && coordinates.transform.whiten.is_none() {
            let mut only = vec![0.0; d * d];
            only[c * d + c] = 1.0;
            redrawn.extend(state.redrawn(c, &only, measure, difference).map(|after| Candidate {
                kind: Kind::Statistic(statistic),
                parameters: 1,
                after,
            }));
        }
    }
    all.extend(redrawn);
    all
}

/// The row of a map of standardised columns that gives column c the correlations `after` where they were
/// `before`: what the others say of c by regression, and the rest of c scaled.
fn regression(c: usize, before: &[f64], after: &[f64], d: usize) -> Option<Vec<f64>> {
    let others: Vec<usize> = (0..d).filter(|j| *j != c).collect();
    let n = others.len();
    let matrix: Vec<Vec<f64>> = others
        .iter()
        .map(|&i| others.iter().map(|&j| before[i * d + j] + if i == j { RIDGE } else { 0.0 }).collect())
        .collect();
    let lower = cholesky(&matrix)?;
    let solve = |right: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let mut x: Vec<f64> = others.iter().map(|&j| right(j)).collect();
        for i in 0..n {
            let known: f64 = (0..i).map(|j| lower[i][j] * x[j]).sum();
            x[i] = (x[i] - known) / lower[i][i];
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| lower[j][i] * x[j]).sum();
            x[i] = (x[i] - known) / lower[i][i];
        }
        x
    };
    let (old, new) = (solve(&|j| before[c * d + j]), solve(&|j| after[c * d + j]));
    let rest = |slopes: &[f64], side: &[f64]| {
        1.0 - slopes.iter().zip(&others).map(|(s, &j)| s * side[c * d + j]).sum::<f64>()
    };
    let (was, is) = (rest(&old, before), rest(&new, after));
    if !(was > 0.0 && is >= 0.0) {
        return None;
    }
    let scale = (is / was).sqrt();
    let mut row = vec![0.0; d];
    row[c] = scale;
    others.iter().zip(old.iter().zip(&new)).for_each(|(&j, (o, n))| row[j] = n - scale * o);
    Some(row)
}
