//! `score` of a classifier: how many rows get their own class.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use compressive::model::{Classifier, Model};
use compressive_io::{ReadOptions, Ready, RowChunk, pass_in_order};
use serde_json::json;

use super::design::{note, open};
use super::sketch::with_progress;
use crate::args::ScoreArgs;
use crate::output::{self, count};

/// Distinct classes that `--labels` accepts: more are an identifier, not a class.
const CLASSES_MAX: usize = 10_000;
/// Confusions shown at most.
const SHOWN: usize = 10;

/// Rows of each true class, by predicted class.
type Confusion = BTreeMap<String, Vec<u64>>;

/// Compares predicted with true classes.
pub fn run(args: &ScoreArgs, model: &Model, classifier: &Classifier) -> Result<()> {
    let column = args.labels.as_ref().context(
        "a classifier is measured against the true classes: name their column with --labels COLUMN",
    )?;
    let options = ReadOptions { by: Some(column.clone()), ..ReadOptions::default() };
    let mut dataset = open(&args.data.data_args(), Some(model.table_columns()), options)?;
    let predictor = classifier.predictor(&model.columns)?;
    let (mut confusion, mut bad) = (Confusion::new(), 0);
    let k = model.k;
    with_progress(&mut dataset, args.data.threads.count(), args.data.quiet, |dataset, options| {
        let new_worker = || {
            |chunk: &RowChunk| {
                let labels = predictor.classify(chunk.rows())?;
                let mut part = Confusion::new();
                for (i, label) in labels.iter().enumerate() {
                    let class = chunk.group_keys().map_or("", |keys| keys.get(i));
                    if !part.contains_key(class) {
                        part.insert(class.to_owned(), vec![0; k]);
                    }
                    if let Some(counts) = part.get_mut(class) {
                        counts[*label as usize] += 1;
                    }
                }
                Ok(Ready { bytes: part.len() * (64 + 8 * k), value: (part, chunk.n_skipped() as u64) })
            }
        };
        pass_in_order(&mut dataset.source()?, options, &new_worker, &mut |(part, skipped)| {
            bad += skipped;
            // Beyond the limit the table is of no use, and must not grow.
            if confusion.len() <= CLASSES_MAX {
                for (class, counts) in part {
                    let total = confusion.entry(class).or_insert_with(|| vec![0; k]);
                    total.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
                }
            }
            Ok(())
        })
    })?;
    if confusion.len() > CLASSES_MAX {
        bail!("--labels {column}: more than {CLASSES_MAX} distinct values; name a column of classes");
    }
    if bad > 0 {
        note(args.data.quiet, &format!("left out {} with bad values", count(bad, "row")));
    }
    report(args, classifier, &confusion, bad)
}

fn report(args: &ScoreArgs, classifier: &Classifier, confusion: &Confusion, bad: u64) -> Result<()> {
    let rows: u64 = confusion.values().flatten().sum();
    if rows == 0 {
        bail!("no row to score: {} with bad values", count(bad, "row"));
    }
    let right: u64 = confusion
        .iter()
        .filter_map(|(class, counts)| Some(counts[classifier.classes.iter().position(|c| c == class)?]))
        .sum();
    let unknown: Vec<&String> = confusion.keys().filter(|c| !classifier.classes.contains(c)).collect();
    let accuracy = right as f64 / rows as f64;
    if args.json {
        return output::print_json(&json!({
            "rows": rows, "rows_skipped": bad, "accuracy": accuracy, "error": 1.0 - accuracy,
            "classes": classifier.classes, "confusion": confusion, "unknown_classes": unknown,
        }));
    }
    let mut text = format!(
        "rows       {}\naccuracy   {:.2}%\nerror      {:.2}%\n",
        output::thousands(rows),
        100.0 * accuracy,
        100.0 * (1.0 - accuracy)
    );
    let mut wrong: Vec<(u64, &str, &str)> = Vec::new();
    for (class, counts) in confusion {
        for (n, given) in
            counts.iter().zip(&classifier.classes).filter(|(n, given)| **n > 0 && *given != class)
        {
            wrong.push((*n, class, given));
        }
    }
    wrong.sort_by_key(|(n, _, _)| std::cmp::Reverse(*n));
    for (n, class, given) in wrong.iter().take(SHOWN) {
        text.push_str(&format!("  {} of class {class} taken for {given}\n", count(*n, "row")));
    }
    if !unknown.is_empty() {
        text.push_str(&format!("{} not among the model's\n", count(unknown.len() as u64, "class")));
    }
    output::print(&text)
}
