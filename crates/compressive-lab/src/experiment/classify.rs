//! Classification of small tables from one sketch per class: \[Sch21\] table 6.1, and mixtures beside it.

use compressive::design::{Look, Request, Task, design};
use compressive::learn::classify::{ClassifyParams, Method, choose};
use compressive::{FrequencyLaw, SketchSpec};

use crate::error::Result;
use crate::experiment::draws::{self, mean};
use crate::experiment::labelled::{Labelled, Split};
use crate::experiment::report::{Cell, Report, Table, Verdict};
use crate::experiment::{Experiment, Options, Progress};
use compressive_data::Rng;

/// Classifiers of three small tables.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "classify",
    title: "Classification from one sketch per class",
    reference: "[Sch21] table 6.1; data of the UCI repository (iris, wine, breast cancer), as scikit-learn has them",
    work: run,
};

/// A table (its first column the class), and the published test errors in percent at m = 50 and m = 1000.
struct Set {
    name: &'static str,
    file: &'static str,
    published: [f64; 2],
}

const SETS: [Set; 3] = [
    Set { name: "iris", file: "iris.csv", published: [8.22, 6.18] },
    Set { name: "wine", file: "wine.csv", published: [13.75, 8.19] },
    Set { name: "breast cancer", file: "breast-cancer.csv", published: [9.22, 6.23] },
];

/// Points of error from the published ones that are still a reproduction: for the published rule and for
/// mixtures.
const TOLERANCE: [f64; 2] = [2.0, 0.5];
const SIZES: [usize; 2] = [50, 1000];

/// The errors of one split: the published rule with equal priors and with counts, and the nearest mean, at
/// each size; then, on the first splits, mixtures of the program's own recipe, and the rule that held-out
/// rows choose.
fn one(set: &Labelled, draw: u64) -> Result<Vec<f64>> {
    let split = Split::random(set, &mut Rng::derived(61, draw));
    let columns = set.columns();
    let mut errors = Vec::new();
    for size in SIZES {
        let mut spec = SketchSpec::new(columns.clone(), FrequencyLaw::Gaussian, 2.0, size);
        spec.seed = draw;
        let operator = spec.build()?;
        let sketches = split.sketches(&operator)?;
        for (method, uniform) in
            [(Method::Correlation, true), (Method::Correlation, false), (Method::Nearest, false)]
        {
            let params = ClassifyParams::default().method(method).uniform(uniform);
            errors.push(split.error(&operator, &sketches, &params)?);
        }
    }
    let train = split.rows(&split.train, None);
    let labels: Vec<String> = split.train.iter().map(|i| set.classes[*i].to_string()).collect();
    let params = Request::new(Task::Classify, 1).seed(draw);
    let operator = design(Look::Sample { rows: &train, columns: &columns }, &params)?.spec.build()?;
    let sketches = split.sketches(&operator)?;
    let params = ClassifyParams::default();
    let mixture = split.error(&operator, &sketches, &params)?;
    let method = choose(&operator, &train, &labels, &params)?.map_or(params.method, |c| c.method);
    let same = method == params.method;
    let chosen = params.method(method);
    errors.extend([mixture, if same { mixture } else { split.error(&operator, &sketches, &chosen)? }]);
    Ok(errors)
}

/// Mean over the splits, with the standard deviation between them.
fn cell(values: &[f64]) -> Cell {
    let (centre, deviation) = (mean(values), deviation(values));
    Cell::text(format!("{centre:.2} ± {deviation:.2}"))
        .with("error", centre)
        .with("deviation", deviation)
        .with("draws", values.len() as f64)
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    mean(&values.iter().map(|x| (x - centre).powi(2)).collect::<Vec<f64>>()).sqrt()
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report> {
    let draws = options.draws(100, 4);
    let columns =
        ["data", "m", "published", "correlation, equal priors", "correlation, counts", "nearest mean"];
    let mut rules = Table::new("Test error of the rules on class means, %", &columns);
    let columns = ["data", "published, m = 1000", "mixture", "chosen on held-out rows"];
    let mut mixtures = Table::new("Test error of a Gaussian for each class, %", &columns);
    for set in if options.quick { &SETS[..2] } else { &SETS[..] } {
        let mut data = Labelled::read(set.file, options)?;
        data.scale_columns();
        let all = draws::map(draws, options.threads, set.name, progress, |draw| one(&data, draw))?;
        let at = |i: usize| all.iter().map(|errors| errors[i]).collect::<Vec<f64>>();
        for (s, size) in SIZES.into_iter().enumerate() {
            let mut cells = vec![
                Cell::text(set.name),
                Cell::number("size", size as f64, 0),
                Cell::number("error", set.published[s], 2),
            ];
            cells.extend((0..3).map(|i| cell(&at(3 * s + i))));
            let ours = at(3 * s);
            rules.push(cells, Some(Verdict::published(mean(&ours), set.published[s], TOLERANCE[0])));
        }
        let mut cells = vec![Cell::text(set.name), Cell::number("error", set.published[1], 2)];
        cells.extend((6..8).map(|i| cell(&at(i))));
        let worse = mean(&at(6)).max(mean(&at(7)));
        mixtures.push(cells, Some(Verdict::published(worse, set.published[1], TOLERANCE[1])));
    }
    let text = format!(
        "Columns scaled to [-1, 1]; {draws} random splits, two thirds of the rows to learn from; mean and standard deviation over the splits. Rules on class means: Gaussian law, kernel width 2. \
         Mixtures: the program's own recipe on the rows learned from, one Gaussian for each class; up to 16 columns each class has its own covariance, drawn to the shared one, above that all have the shared one. \
         The published deviations (1.29 and 0.69 points for wine and breast cancer at m = 1000) are smaller than splits alone give, 4 points on iris, so that the published errors \
         may be those of one split with redrawn frequencies, and lie as far off the mean over splits. With priors by counts and so wide a kernel all correlations are alike and the largest class wins; equal priors, which [Sch21] allows too, come near the published errors. \
         Verdicts: equal priors against the published error, reproduced within {} points, and the worse of mixture and choice against it, within {}.",
        TOLERANCE[0], TOLERANCE[1],
    );
    let report = Report { text: vec![text], tables: vec![rules, mixtures], ..Report::default() };
    Ok(report.explain(
        "iris, m = 1000",
        "iris has 50 test rows a split, and the mean over our splits is compared with a number that is probably of one split (the deviation between splits, 4 points, is larger than the gap). More features do not help the \
         correlation rule in our splits, so that the rule, not the sketch, is the limit. The nearest mean and the mixture from the same class sketches are near the published error or below it.",
    ))
}
