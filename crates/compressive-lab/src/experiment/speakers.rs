//! Speaker verification with a background model from a sketch: equal error rates against the size of the
//! sketch, on synthetic speakers.

use compressive::design::{Request, Task};
use compressive::learn::Decoder;

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::report::{Cell, Figure, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress, fits};
use crate::plot::{Lines, Series};
use crate::simulate::speakers::{DIM, SOUNDS, Sizes, Speakers};
use compressive_data::Mixture;
use compressive_data::Rows;
use compressive_data::{EmParams, Rng, em};

/// \[KBGP18\] tables 4 and 5, and figure 7.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "speakers",
    title: "Speaker verification with a background model from a sketch",
    reference: "[KBGP18] section 6, tables 4 and 5, figure 7 (NIST05, d = 12, K = 8, 64 and 512, n = 2e8); synthetic speakers here",
    work: run,
};

/// The decoders, with the names of their curves.
const DECODERS: [&str; 3] = ["cl-ompr", "split", "auto"];
/// Searches of `auto`.
const SEARCHES: usize = 2;
/// Share of the frames, evenly spread, that the smaller of both EM sees.
const FEW: usize = 50;
/// Points of error that count as similar.
const NEAR: f64 = 1.0;
/// Sizes in numbers of parameters: those of the paper's m = 1e3 and 1e4 at K = 64.
const SMALL: f64 = 0.6;
const LARGE: f64 = 6.0;

/// Equal error rates in percent of one draw, for one K.
#[derive(Clone)]
struct Rates {
    /// By size and decoder.
    sketched: Vec<[f64; 3]>,
    /// EM on few frames, and on all.
    direct: [f64; 2],
    /// Mean variance of a component by `auto` at the largest size, and by EM on all frames.
    widths: [f64; 2],
}

/// Why what falls short does.
const WHY: &str = "Speech is a smooth density, these are 20 separate clusters: splitting, which never looks elsewhere than where a Gaussian already is, falls behind here, as it does on the clusters of figure 5 of the paper. With fewer components than sounds (K = 8) every background from a sketch is of no use at any size tried, while EM's is: far worse than published at K = 8. Why is not known. That a sketch is matched best by narrow components on a few sounds alone is not borne out: on average those of `auto` are nearly as wide as those of EM (last but one table; a sound's variance is 1.03).";

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let sizes = options.pick(
        Sizes { background: 100, frames: 1000, enrolled: 100, enrolment: 1000, claims: 5, claim: 60 },
        Sizes { background: 40, frames: 400, enrolled: 20, enrolment: 300, claims: 4, claim: 60 },
    );
    let ks: &[usize] = options.pick(&[8, SOUNDS], &[SOUNDS]);
    let ratios: &[f64] = options.pick(&[0.2, SMALL, 2.0, LARGE, 10.0], &[2.0]);
    let draws = options.draws(5, 1);
    let columns =
        ["K", "m/(K(2d+1))", "m", "`cl-ompr`", "`split`", "`auto`", "EM, few frames", "EM, all frames"];
    let mut table = Table::new("Equal error rate in percent, mean over the draws", &columns);
    let mut stated = Table::new("What the paper states or shows", &["statement", "K", "found"]);
    let mut widths =
        Table::new("Mean variance of a component", &["K", "`auto`, largest m", "EM, all frames"]);
    let mut figures = Vec::new();
    for &k in ks {
        let label = format!("K = {k}");
        let outcomes =
            draws::map(draws, options.threads, &label, progress, |draw| one_draw(sizes, k, ratios, draw))?;
        let average = |pick: &dyn Fn(&Rates) -> f64| mean(&outcomes.iter().map(pick).collect::<Vec<f64>>());
        let direct = [0, 1].map(|of| average(&|rates| rates.direct[of]));
        let mut curves: [Vec<(f64, f64)>; 3] = Default::default();
        for (at, &ratio) in ratios.iter().enumerate() {
            let found = [0, 1, 2].map(|decoder| average(&|rates| rates.sketched[at][decoder]));
            curves.iter_mut().zip(found).for_each(|(curve, rate)| curve.push((ratio.log10(), rate)));
            let mut cells = vec![Cell::number("k", k as f64, 0), Cell::text(ratio.to_string())];
            cells.push(Cell::number("size", size(k, ratio) as f64, 0));
            cells.extend(found.iter().chain(&direct).map(|rate| Cell::number("rate", *rate, 1)));
            table.push(cells, None);
            state(&mut stated, k, ratio, found, direct);
        }
        let found = [0, 1].map(|of| average(&|rates| rates.widths[of]));
        let cells = found.map(|variance| Cell::number("variance", variance, 2));
        widths.push([vec![Cell::number("k", k as f64, 0)], cells.to_vec()].concat(), None);
        figures.push(figure(k, curves, direct)?);
    }
    let tables = vec![table, stated, widths, published()];
    Ok(Report { text: text(sizes, draws), tables, figures, ..Report::default() }.explain("", WHY))
}

fn text(sizes: Sizes, draws: usize) -> Vec<String> {
    let frames = sizes.background * sizes.frames;
    vec![
        format!(
            "Synthetic speech: {SOUNDS} sounds, Gaussians in d = {DIM} coefficients, which every speaker says in their own way and a little differently in every session. The background is {} speakers with {} frames each; {} further speakers are enrolled with {} \
             frames and make {} claims of {} frames each, against their own model and another's; {draws} draws (the paper: five experiments). Speaker models are the background with its means adapted; a claim is judged by the mean log-likelihood ratio.",
            sizes.background, sizes.frames, sizes.enrolled, sizes.enrolment, sizes.claims, sizes.claim
        ),
        format!(
            "The background is a mixture of K diagonal Gaussians: from a sketch of all {frames} frames by `cl-ompr` (one start an atom, as published), `split` (algorithm 2 of the paper) and `auto` ({SEARCHES} searches), or by EM (best of three) on every {FEW}th frame or on \
             all. The paper's rates are on recordings, shown below as published on other data: only relations are judged. m = {SMALL}K(2d+1) and {LARGE}K(2d+1) are its m = 1e3 and 1e4 at K = 64."
        ),
    ]
}

/// What is stated of a size, and of the rates of `cl-ompr`, `split` and `auto` there, beside EM on few and on
/// all frames.
fn state(table: &mut Table, k: usize, ratio: f64, [greedy, split, auto]: [f64; 3], [few, all]: [f64; 2]) {
    let mut push = |statement: &str, found: String, met: bool, bar: String| {
        let cells = vec![Cell::text(statement), Cell::number("k", k as f64, 0), Cell::text(found)];
        table.push(cells, Some(Verdict::bar(met, bar)));
    };
    if ratio == SMALL && k == SOUNDS {
        push(
            "small sketches: splitting ahead of CL-OMPR (32.5 against 40.3 at K = 64, m = 1e3)",
            format!("{split:.1} against {greedy:.1}"),
            split < greedy,
            "`split` ahead".into(),
        );
    }
    if ratio == LARGE && k == SOUNDS {
        push(
            "large sketches: splitting and CL-OMPR similar (29.0 against 29.4 at K = 64, m = 1e4)",
            format!("{split:.1} against {greedy:.1}"),
            (split - greedy).abs() <= NEAR,
            format!("within {NEAR} point"),
        );
    }
    if ratio == LARGE {
        let published = match k {
            SOUNDS => "29.0 against 29.5 at K = 64, m = 1e4",
            _ => "31.2 against 31.4 at K = 8, m = 1e3",
        };
        push(
            &format!("a sketch of all frames ahead of EM on few of them ({published}, by splitting)"),
            format!("`split` {split:.1}, `auto` {auto:.1} against {few:.1}"),
            auto <= few,
            "`auto` not behind".into(),
        );
        push(
            "not of the paper: a sketch near EM on all frames",
            format!("`auto` {auto:.1} against {all:.1}"),
            auto <= all + NEAR,
            format!("`auto` within {NEAR} point"),
        );
    }
}

/// The published rates, on other data.
fn published() -> Table {
    let columns =
        ["K", "m", "m/(K(2d+1))", "CL-OMPR", "splitting, n = 3e5", "splitting, n = 2e8", "EM, n = 3e5"];
    let mut table = Table::new("Published, on other data (NIST05): equal error rate in percent", &columns);
    let splitting = [
        (8, 31.4, [[32.5, 31.2], [32.1, 30.7], [32.5, 30.7]]),
        (64, 29.5, [[31.1, 32.5], [30.2, 29.0], [29.8, 28.6]]),
        (512, 27.5, [[31.2, 29.4], [30.3, 29.1], [29.4, 29.2]]),
    ];
    for (k, em, rates) in splitting {
        for (at, pair) in rates.into_iter().enumerate() {
            let m = 10usize.pow(at as u32 + 3);
            let greedy = if k == 64 { [40.3, 29.4, 28.8][at].to_string() } else { String::new() };
            let mut cells =
                vec![Cell::number("k", f64::from(k), 0), Cell::number("frequencies", m as f64, 0)];
            cells.push(Cell::number("size", m as f64 / (25.0 * f64::from(k)), 1));
            cells.push(Cell::text(greedy));
            cells.extend(pair.map(|rate| Cell::number("published", rate, 1)));
            cells.push(Cell::number("published", em, 1));
            table.push(cells, None);
        }
    }
    table
}

fn figure(k: usize, curves: [Vec<(f64, f64)>; 3], direct: [f64; 2]) -> Result<Figure> {
    let ends: Vec<f64> = curves[0].first().into_iter().chain(curves[0].last()).map(|point| point.0).collect();
    let mut series: Vec<Series> =
        DECODERS.iter().zip(curves).map(|(name, points)| Series { name: (*name).into(), points }).collect();
    for (name, rate) in ["EM, few frames", "EM, all frames"].into_iter().zip(direct) {
        series.push(Series { name: name.into(), points: ends.iter().map(|x| (*x, rate)).collect() });
    }
    let lines = Lines {
        title: format!("Equal error rate against the size of the sketch, K = {k}"),
        x_label: "log10 of m/(K(2d+1))".into(),
        y_label: "equal error rate, %".into(),
        series,
    };
    Ok(Figure {
        file: format!("speakers-{k}.png"),
        alt: format!(
            "Equal error rate in percent against log10 of m/(K(2d+1)) for K = {k}: cl-ompr, split, auto, and EM on few and on all frames."
        ),
        png: lines.to_png()?,
    })
}

fn size(k: usize, ratio: f64) -> usize {
    ((ratio * Task::Gmm.parameters(k, DIM) as f64).round() as usize).max(k)
}

fn one_draw(sizes: Sizes, k: usize, ratios: &[f64], draw: u64) -> Result<Rates> {
    let speakers = Speakers::simulate(sizes, &mut Rng::derived(17_000, draw));
    let rate = |mixture: &Mixture| -> Result<f64> {
        Ok(100.0 * speakers.equal_error_rate(&mixture.to_model(Speakers::columns()), draw)?)
    };
    let (mut sketched, mut width) = (Vec::new(), f64::NAN);
    for &ratio in ratios {
        let params = Request::new(Task::Gmm, k).outline(false).size(size(k, ratio)).seed(draw);
        let sketch = fits::designed(&speakers.frames, DIM, &params)?;
        let found = [
            sketch.published_mixture(k)?,
            sketch.mixture_of(k, Decoder::Split, 1)?,
            sketch.mixture_of(k, Decoder::Auto, SEARCHES)?,
        ];
        sketched.push([rate(&found[0])?, rate(&found[1])?, rate(&found[2])?]);
        width = mean(&found[2].covariances);
    }
    let few: Vec<f64> = speakers.frames.chunks_exact(DIM).step_by(FEW).flatten().copied().collect();
    let params = EmParams { n_init: 3, tolerance: 1e-6, threads: 1, seed: draw, ..EmParams::default() };
    let direct = |rows: &[f64]| -> Result<Mixture> { Ok(em(Rows::new(rows, DIM)?, k, &params)?.mixture) };
    let (few, all) = (direct(&few)?, direct(&speakers.frames)?);
    let widths = [width, mean(&all.covariances)];
    Ok(Rates { sketched, direct: [rate(&few)?, rate(&all)?], widths })
}
