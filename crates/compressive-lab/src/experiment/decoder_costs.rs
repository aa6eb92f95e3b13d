//! The cost of the centres that decoders find, beside that of the solution, against the size of the sketch:
//! the second part of `decoder-failures`.

use compressive::design::scale::ScaleRule;
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::costs::EQUAL;
use crate::experiment::decoder_failures::{Drawn, K, RUNS, figure, heads, rules};
use crate::experiment::draws::{self, median};
use crate::experiment::report::{Cell, Figure, Table, Verdict};
use crate::experiment::{Options, Progress};

/// The least cost that figures tell apart.
const FLOOR: f64 = 1e-5;
/// Decoders of the second part.
const DECODERS: [&str; 4] = ["`cl-ompr`", "`cl-ompr` x10", "`genetic`", "`auto`"];

/// Costs a frequency, that of the solution first, and relative SSE of the decoders.
type Costs = ([f64; 5], [f64; 4]);

/// Costs and losses in a draw, at every size.
fn costs_of((dim, n_rows): (usize, usize), ratios: &[f64], rule: ScaleRule, draw: u64) -> Result<Vec<Costs>> {
    let drawn = Drawn::new(dim, n_rows, draw)?;
    let mut all = Vec::new();
    for &ratio in ratios {
        let sketched = drawn.sketched(ratio, rule, draw)?;
        let found = [
            sketched.published_centers(K, 1)?,
            sketched.published_centers(K, RUNS)?,
            sketched.genetic_centers(K, draw)?,
            sketched.centers(K, Decoder::Auto, 1)?,
        ];
        let mut costs = [sketched.cost_of_centers(&drawn.centers)?; 5];
        let mut rsse = [0.0; 4];
        for (at, centers) in found.iter().enumerate() {
            costs[at + 1] = sketched.cost_of_centers(centers)?;
            rsse[at] = drawn.rsse(centers)?;
        }
        all.push((costs, rsse));
    }
    Ok(all)
}

/// The table of \[Sch21\] figure 6.7 and its figures.
pub(super) fn table(
    options: &Options,
    draws: usize,
    progress: &mut Progress<'_>,
) -> Result<(Table, Vec<Figure>)> {
    let problem = options.pick((5, 100_000), (2, 10_000));
    let ratios: &[f64] = options.pick(&[0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0], &[1.0, 3.0]);
    let of = |what: &'static str| DECODERS.map(|name| format!("{name}, {what}"));
    let columns = [
        ["scale", "m/(Kd)", "solution, cost"].map(str::to_owned).to_vec(),
        of("cost").to_vec(),
        of("relative SSE").to_vec(),
    ];
    let title = format!(
        "Cost of points a frequency, in thousandths, and relative SSE (figure 6.7): medians, d = {}, n = {}",
        problem.0, problem.1
    );
    let mut table = Table::new(title, &columns.concat().iter().map(String::as_str).collect::<Vec<_>>());
    let mut figures = Vec::new();
    for (name, rule) in rules(options) {
        let label = format!("figure 6.7, {name}");
        let outcomes = draws::map(draws, options.threads, &label, progress, |draw| {
            costs_of(problem, ratios, rule, draw)
        })?;
        let (mut curves, mut losses) = (vec![Vec::new(); 5], vec![Vec::new(); 4]);
        for (at, &ratio) in ratios.iter().enumerate() {
            let middle = |pick: &dyn Fn(&Costs) -> f64| {
                median(&outcomes.iter().map(|outcome| pick(&outcome[at])).collect::<Vec<_>>())
            };
            let costs: [f64; 5] = std::array::from_fn(|method| middle(&|o| o.0[method]));
            let rsse: [f64; 4] = std::array::from_fn(|method| middle(&|o| o.1[method]));
            let mut cells = heads(name, ratio);
            cells.extend(costs.map(|cost| Cell::text(format!("{:.2}", 1e3 * cost)).with("cost", cost)));
            cells.extend(rsse.map(|loss| Cell::number("median", loss, 3)));
            curves
                .iter_mut()
                .zip(costs)
                .for_each(|(curve, c)| curve.push((ratio.log10(), c.max(FLOOR).log10())));
            losses.iter_mut().zip(rsse).for_each(|(curve, loss)| curve.push((ratio.log10(), loss.log10())));
            table.push(cells, (!options.quick).then(|| judge_costs(ratio, costs)).flatten());
        }
        figures.extend(cost_figures(name, curves, losses)?);
    }
    Ok((table, figures))
}

/// The costs, and the losses, of all decoders with one rule for the scale.
fn cost_figures(
    name: &str,
    curves: Vec<Vec<(f64, f64)>>,
    losses: Vec<Vec<(f64, f64)>>,
) -> Result<[Figure; 2]> {
    let plain = DECODERS.map(|name| name.replace('`', ""));
    let names: Vec<String> = std::iter::once("solution".to_owned()).chain(plain).collect();
    let (cost, loss) = (format!("cost-{name}"), format!("decoders-{name}"));
    let title = |what: &str| format!("{what} against m, scale by {name}");
    Ok([
        figure(
            &cost,
            &title("Cost of points"),
            "log10 of the cost a frequency (at least -5)",
            &names,
            curves,
        )?,
        figure(&loss, &title("Relative SSE"), "log10 of relative SSE", &names[1..], losses)?,
    ])
}

/// What the thesis states of costs: those of the solution, `cl-ompr`, x10, `genetic` and `auto`.
fn judge_costs(ratio: f64, [solution, once, best, genetic, _]: [f64; 5]) -> Option<Verdict> {
    match ratio {
        r if r < 1.0 => None,
        r if r < 2.0 => Some(Verdict::bar(
            solution < once.min(best).min(genetic),
            "the solution has a lower cost than `cl-ompr`, x10 and `genetic` find",
        )),
        _ => Some(Verdict::bar(genetic <= once * (1.0 + EQUAL), "`genetic` at most as high as `cl-ompr`")),
    }
}
