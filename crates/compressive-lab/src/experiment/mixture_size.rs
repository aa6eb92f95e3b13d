//! A mixture of twenty components: how near `auto` comes to expectation-maximisation on all rows.

use compressive::design::LawChoice;
use compressive::task::Decoder;

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::mixtures::{cell, designed, em_best, log_kl, parameters};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use crate::{Rng, generate};

/// The right half of \[KBGP18\] figure 5, at its n = 3e5.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "mixture-size",
    title: "A mixture of 20 Gaussians: from the sketch against all rows",
    reference: "[KBGP18] figure 5, right (d = 10, K = 20), and section 5.5 (m = 5(2d+1)K)",
    work: run,
};

/// m in units of K(2d+1), with the largest gap to EM allowed.
const SIZES: [(usize, f64); 2] = [(5, 0.5), (10, 0.3)];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let (k, dim, n_rows, runs) = options.pick((20, 10, 300_000, 10), (5, 5, 30_000, 3));
    let draws = options.draws(20, 2);
    let label = format!("d = {dim}, K = {k}");
    let outcomes = draws::map(draws, options.threads, &label, progress, |draw| {
        let mut rng = Rng::derived(3000, draw);
        let truth = generate::random_variances(k, dim, &mut rng)?;
        let sample = truth.sample(n_rows, &mut rng)?;
        let em = log_kl(&truth, &em_best(&sample, k, draw, runs)?, n_rows)?;
        let mut auto = Vec::new();
        for (size, _) in SIZES {
            let frequencies = size * parameters(k, dim);
            let sketched = designed(&sample, k, frequencies, LawChoice::AdaptedRadius, draw)?;
            auto.push(log_kl(&truth, &sketched.mixture(k, Decoder::Auto, 1)?, n_rows)?);
        }
        Ok((auto, em))
    })?;
    let columns = ["problem", "m/(K(2d+1))", "`auto`", "EM on all rows", "gap"];
    let mut table =
        Table::new("Log of the symmetric KL divergence: mean (median); lower is better", &columns);
    let em: Vec<f64> = outcomes.iter().map(|(_, em)| *em).collect();
    for (at, (size, bar)) in SIZES.into_iter().enumerate() {
        let auto: Vec<f64> = outcomes.iter().map(|(auto, _)| auto[at]).collect();
        let gap = mean(&auto) - mean(&em);
        let cells = vec![
            Cell::text(&label),
            Cell::number("size", size as f64, 0),
            cell(&auto),
            cell(&em),
            Cell::number("gap", gap, 2),
        ];
        let verdict = Verdict::bar(gap <= bar, format!("within {bar} of EM"));
        table.push(cells, (!options.quick).then_some(verdict));
    }
    let text = format!(
        "K diagonal Gaussians with means N(0, K^(2/d) I) and variances U[0.25, 1.75], {n_rows} rows, {draws} draws; law, scale and transform are the program's own. EM is the best of \
         {runs} restarts on all rows. The gap is that of the means over the draws."
    );
    Ok(Report { text: vec![text], tables: vec![table], ..Report::default() })
}
