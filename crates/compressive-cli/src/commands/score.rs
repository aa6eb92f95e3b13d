//! `score`: how well a model describes rows.

use std::collections::HashMap;

use anyhow::{Result, bail};
use compressive::model::{Content, Predictor, Scores, Wanted};
use compressive_data::metric::ari_of_counts;
use compressive_io::{Error, ReadOptions, Ready, RowChunk, pass_in_order};
use serde_json::json;

use super::design::{note, open};
use super::score_components;
use super::sketch::with_progress;
use super::{generator, read_model, reading};
use crate::args::ScoreArgs;
use crate::output::{self, count, number};

/// Distinct classes that `--labels` accepts: more are an identifier, not a class.
const CLASSES_MAX: usize = 100_000;

/// Measures a model on rows.
pub fn run(args: &ScoreArgs) -> Result<()> {
    if args.anomaly {
        return super::score_anomaly::run(args);
    }
    let model = read_model(&args.model)?;
    match &model.content {
        Content::Pca { .. } => return score_components::run(args, &model),
        Content::Generator(network) => return generator::score(args, network, model.table_columns()),
        _ => {}
    }
    if let Content::Classify(classifier) = &model.content {
        return super::score_classes::run(args, &model, classifier);
    }
    let options = ReadOptions { by: args.labels.clone(), ..reading(&model) };
    let data = args.data.data_args();
    let mut dataset = open(&data, Some(model.table_columns()), options)?;
    let predictor = model.predictor()?;
    let mixture = matches!(model.content, Content::Gmm { .. });
    let wanted = Wanted { distances: true, log_densities: mixture, responsibilities: false };
    let mut total = Total { table: Table { k: model.k, ..Table::default() }, ..Total::default() };
    let threads = args.data.threads.count();
    with_progress(&mut dataset, threads, args.data.quiet, |dataset, options| {
        let new_worker = || worker(&predictor, wanted);
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |part| total.add(part))
    })?;
    if total.rows == 0 {
        bail!("no row to score: {} with bad values", count(total.bad, "row"));
    }
    if total.table.classes.len() > CLASSES_MAX {
        let column = args.labels.as_deref().unwrap_or_default();
        bail!("--labels {column}: more than {CLASSES_MAX} distinct values; name a column of classes");
    }
    if total.bad > 0 {
        note(args.data.quiet, &format!("left out {} with bad values", count(total.bad, "row")));
    }
    let ari = args.labels.as_ref().map(|_| ari_of_counts(&total.table.counts, total.table.k)).transpose()?;
    let medians = matches!(model.content, Content::Kmedians { .. });
    report(args, &total, (mixture, medians), ari)
}

fn report(args: &ScoreArgs, total: &Total, (mixture, medians): (bool, bool), ari: Option<f64>) -> Result<()> {
    let rows = total.rows as f64;
    if args.json {
        let mut value = json!({ "rows": total.rows, "rows_skipped": total.bad, "sse": total.sse, "inertia": total.sse / rows });
        if medians {
            value["sum_of_distances"] = total.distances.into();
            value["mean_distance"] = (total.distances / rows).into();
        }
        if mixture {
            value["log_likelihood"] = total.log_likelihood.into();
            value["log_likelihood_per_row"] = (total.log_likelihood / rows).into();
        }
        if let Some(ari) = ari {
            value["ari"] = ari.into();
        }
        return output::print_json(&value);
    }
    let mut text = format!(
        "rows            {}\nSSE             {}\nper row         {}\n",
        output::thousands(total.rows),
        number(total.sse),
        number(total.sse / rows),
    );
    if medians {
        let (sum, mean) = (number(total.distances), number(total.distances / rows));
        text.push_str(&format!("distances       {sum}\nper row         {mean}\n"));
    }
    if mixture {
        let (sum, mean) = (number(total.log_likelihood), number(total.log_likelihood / rows));
        text.push_str(&format!("log-likelihood  {sum}\nper row         {mean}\n"));
    }
    if let (Some(ari), Some(column)) = (ari, &args.labels) {
        text.push_str(&format!("adjusted Rand   {} against {column}\n", number(ari)));
    }
    output::print(&text)
}

/// What a worker made of a chunk.
struct Part {
    rows: u64,
    bad: u64,
    sse: f64,
    distances: f64,
    log_likelihood: f64,
    /// Class and component of each row, if there are classes; classes by their place in `names`.
    pairs: Vec<(u32, u32)>,
    names: Vec<String>,
}

fn worker(
    predictor: &Predictor,
    wanted: Wanted,
) -> impl FnMut(&RowChunk) -> compressive_io::Result<Ready<Part>> {
    let mut scores = Scores::default();
    move |chunk| {
        scores.labels.clear();
        scores.distances.clear();
        scores.log_densities.clear();
        predictor.measure(chunk.rows(), wanted, &mut scores)?;
        let (pairs, names) = classes(chunk, &scores.labels);
        let part = Part {
            rows: chunk.n_rows() as u64,
            bad: chunk.n_skipped() as u64,
            sse: scores.distances.iter().sum(),
            distances: scores.distances.iter().map(|s| s.sqrt()).sum(),
            log_likelihood: scores.log_densities.iter().sum(),
            pairs,
            names,
        };
        Ok(Ready { bytes: 64 + 8 * part.pairs.len() + 64 * part.names.len(), value: part })
    }
}

/// The class and the component of each row of a chunk, and the classes' names.
fn classes(chunk: &RowChunk, labels: &[u32]) -> (Vec<(u32, u32)>, Vec<String>) {
    let Some(keys) = chunk.group_keys() else { return (Vec::new(), Vec::new()) };
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut pairs = Vec::with_capacity(labels.len());
    for (i, label) in labels.iter().enumerate() {
        let class = *known.entry(keys.get(i)).or_insert_with(|| {
            names.push(keys.get(i).to_owned());
            names.len() as u32 - 1
        });
        pairs.push((class, *label));
    }
    (pairs, names)
}

/// Sums over the rows, in their order.
#[derive(Default)]
struct Total {
    rows: u64,
    bad: u64,
    sse: f64,
    /// Sum of distances, not squared.
    distances: f64,
    log_likelihood: f64,
    table: Table,
}

impl Total {
    fn add(&mut self, part: Part) -> Result<(), Error> {
        self.rows += part.rows;
        self.bad += part.bad;
        self.sse += part.sse;
        self.distances += part.distances;
        self.log_likelihood += part.log_likelihood;
        self.table.add(&part);
        Ok(())
    }
}

/// Rows by class and component.
#[derive(Default)]
struct Table {
    k: usize,
    /// Place of each class in `counts`.
    classes: HashMap<String, usize>,
    /// k numbers of rows for each class.
    counts: Vec<u64>,
}

impl Table {
    fn add(&mut self, part: &Part) {
        // Beyond the limit the table is of no use, and must not grow.
        if self.classes.len() > CLASSES_MAX {
            return;
        }
        let mut places = Vec::with_capacity(part.names.len());
        for name in &part.names {
            let next = self.classes.len();
            let place = *self.classes.entry(name.clone()).or_insert(next);
            places.push(place);
        }
        self.counts.resize(self.classes.len() * self.k, 0);
        for (class, label) in &part.pairs {
            self.counts[places[*class as usize] * self.k + *label as usize] += 1;
        }
    }
}
