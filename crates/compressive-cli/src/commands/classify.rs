//! Classifiers: `fit --task classify` from the sketches of the classes, and `classify` from a table in one
//! go.
//!
//! The label of a sketch is its file's name without `.sketch`, with %XX read as the byte it stands for: what
//! `sketch --by` writes. `LABEL=FILE` gives another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use compressive::design::Task;
use compressive::learn::LearnParams;
use compressive::learn::classify::{Choice, ClassData, ClassifyParams, Method, choose, classify};
use compressive::model::Model;
use compressive::privacy::AnySketch;
use compressive::{Parameter, SketchOperator, SketchSpec};
use compressive_io::{Pilot, write_atomic};
use serde_json::json;

use super::design::{request_for, tell_reasons};
use super::fit::{check_k, components};
use super::sketch::Order;
use super::{check_output, read_any_sketch, wrong_usage};
use crate::args::{ClassifyArgs, FitArgs, MethodArg, PriorsArg, RuleArgs, StartArg};
use crate::output::{self, seconds};
use compressive_report::text as report;

/// Learns a classifier from the sketches of its classes.
pub fn fit(args: &FitArgs) -> Result<()> {
    if args.covariance.is_some() || args.learn.start != StartArg::Range || !args.pilot.is_empty() {
        wrong_usage("--covariance, --start and --pilot do not go with --task classify");
    }
    if let Some(k) = args.k {
        check_k(k)?;
    }
    if let Some(path) = &args.output {
        check_output(path)?;
    }
    let files = class_files(&args.sketches)?;
    let (spec, data) = read_classes(&files)?;
    let operator = spec.build()?;
    let k = args.k.map_or(1.into(), |k| components(k, Task::Classify, operator.spec(), args.quiet));
    let mixture = LearnParams::new(Task::Gmm, k)
        .decoder(args.learn.decoder)
        .restarts(args.learn.restarts)
        .seed(args.seed.seed)
        .threads(args.threads.count());
    let params = rule(args.rule, &operator).mixture(mixture);
    learn(&operator, &data, &params, None, args.quiet)?.finish("", args.output.as_deref(), args.json)
}

/// Sketches a table by class and learns a classifier.
pub fn run(args: &ClassifyArgs) -> Result<()> {
    if args.recipe.private.is_some() {
        wrong_usage(
            "--private is for `design` and `sketch`: here the model would be learned from exact sums and would not be private; use design, sketch --by, privatize, fit",
        );
    }
    if let Some(path) = &args.output {
        check_output(path)?;
    }
    let order = Order {
        data: &args.data,
        recipe: &args.recipe,
        request: request_for(Task::Classify, None, &args.recipe, args.seed.seed)?,
        pass: &args.pass,
        spec: args.spec.as_deref(),
        output: None,
        by: Some(&args.labels),
        max_groups: args.max_groups,
    };
    let done = order.run().map_err(as_labels)?;
    done.tell_skipped(args.data.quiet);
    tell_reasons(args.data.quiet || args.json, &done.reasons);
    let class = |(label, sketch): (&String, &compressive::Sketch)| -> Result<ClassData> {
        Ok(ClassData::new(label, sketch.moments()?, sketch.weight()))
    };
    let data = done.outcome.sketches.iter().map(class).collect::<Result<Vec<_>>>()?;
    let mixture = LearnParams::new(Task::Gmm, 1).seed(args.seed.seed).threads(args.pass.threads.count());
    let params = rule(args.rule, &done.operator).mixture(mixture);
    let pilot = done.pilot.as_ref().filter(|_| named(args.rule).is_none());
    let found = learn(&done.operator, &data, &params, pilot, args.data.quiet)?;
    found.finish(&done.summary(), args.output.as_deref(), args.json)
}

/// The error with the flag's name in this command.
fn as_labels(error: anyhow::Error) -> anyhow::Error {
    use compressive_io::Error::UnknownColumn;
    match error.downcast_ref() {
        Some(UnknownColumn { path, column, option: Some(Parameter::By), hint }) => {
            let (path, column, hint) = (path.clone(), column.clone(), hint.clone());
            UnknownColumn { path, column, option: Some(Parameter::Labels), hint }.into()
        }
        _ => error,
    }
}

/// The rule asked for by name.
fn named(args: RuleArgs) -> Option<Method> {
    match args.method {
        None | Some(MethodArg::Auto) => None,
        Some(MethodArg::Named(method)) => Some(method),
    }
}

fn rule(args: RuleArgs, operator: &SketchOperator) -> ClassifyParams {
    let method = named(args).unwrap_or(Method::default_for(&operator.spec().map));
    ClassifyParams::default().method(method).uniform(args.priors == Some(PriorsArg::Uniform))
}

/// A classifier, why it is of its kind, and the time it took.
struct Found {
    model: Model,
    choice: Option<Choice>,
    elapsed: Duration,
}

fn learn(
    operator: &SketchOperator,
    data: &[ClassData],
    params: &ClassifyParams,
    pilot: Option<&Pilot>,
    quiet: bool,
) -> Result<Found> {
    let bar = output::spinner("learning", quiet);
    let start = Instant::now();
    let found = || {
        let choice = match pilot.map(|pilot| (pilot, &pilot.groups)) {
            Some((pilot, Some(labels))) => choose(operator, &pilot.rows, labels, params)?,
            _ => None,
        };
        let method = choice.as_ref().map_or(params.method, |choice| choice.method);
        let model = classify(operator, data, &params.clone().method(method))?;
        Ok(Found { model, choice, elapsed: start.elapsed() })
    };
    let found = found();
    bar.finish_and_clear();
    found
}

impl Found {
    /// Writes the model and prints what was learned, after `before`.
    fn finish(&self, before: &str, path: Option<&Path>, json: bool) -> Result<()> {
        if let Some(path) = path {
            write_atomic(path, format!("{}\n", self.model.to_json()).as_bytes())?;
        }
        if json {
            let mut value = serde_json::to_value(&self.model)?;
            value["seconds"] = self.elapsed.as_secs_f64().into();
            if let Some(choice) = &self.choice {
                let errors: BTreeMap<&str, f64> =
                    choice.errors.iter().map(|(method, error)| (method.name(), *error)).collect();
                value["choice"] = json!({ "held_out": choice.rows, "errors": errors });
            }
            return output::print_json(&value);
        }
        let mut text = format!(
            "{before}learned {} in {}\n{}",
            report::named(&self.model),
            seconds(self.elapsed),
            report::components(&self.model)
        );
        if let Some(choice) = &self.choice {
            let errors: Vec<String> = choice
                .errors
                .iter()
                .map(|(method, error)| format!("{} {:.1}%", method.name(), 100.0 * error))
                .collect();
            let (best, errors) = (choice.method.name(), errors.join(", "));
            text.push_str(&format!(
                "{best} was chosen by its errors on {} held-out rows of the sample: {errors}\n",
                output::thousands(choice.rows as u64)
            ));
        }
        let Some(path) = path else { return output::print(&text) };
        text.push_str(&format!("{}: the model\n", path.display()));
        output::say(&text)
    }
}

/// A class and the file of its sketch.
type ClassFile = (String, PathBuf);

/// The files of the classes: folders stand for all sketches in them.
fn class_files(named: &[PathBuf]) -> Result<Vec<ClassFile>> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            let list = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut inside = Vec::new();
            for entry in list {
                let file = entry.with_context(|| format!("cannot read {}", path.display()))?.path();
                if file.extension().is_some_and(|e| e == "sketch") {
                    inside.push((label_of(&file)?, file));
                }
            }
            if inside.is_empty() {
                bail!("the folder {} has no .sketch files", path.display());
            }
            inside.sort();
            files.extend(inside);
            continue;
        }
        let text = path.to_string_lossy();
        match text.split_once('=') {
            Some((label, file)) if !path.exists() => files.push((label.to_owned(), file.into())),
            _ => files.push((label_of(path)?, path.clone())),
        }
    }
    Ok(files)
}

/// The label in a file's name.
fn label_of(path: &Path) -> Result<String> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(".sketch").unwrap_or(&name);
    decoded(stem).with_context(|| {
        format!("{}: no label can be read from this name; give it as LABEL=FILE", path.display())
    })
}

/// %XX read as bytes; `%` alone is the empty label.
fn decoded(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::new(), name.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn read_classes(files: &[ClassFile]) -> Result<(SketchSpec, Vec<ClassData>)> {
    let mut spec: Option<(SketchSpec, &Path)> = None;
    let mut data = Vec::new();
    for (label, path) in files {
        let sketch = read_any_sketch(path)?;
        match &spec {
            None => spec = Some((sketch.spec().clone(), path)),
            Some((first, from)) if first.fingerprint() != sketch.spec().fingerprint() => bail!(
                "{} and {} were made with different specs (they differ in {}); make the sketches of all classes with one `sketch --by`, or with one --spec",
                from.display(),
                path.display(),
                first.differences(sketch.spec()).join(", ")
            ),
            Some(_) => {}
        }
        let weight = match &sketch {
            AnySketch::Plain(sketch) => sketch.weight(),
            AnySketch::Private(sketch) => sketch.moments().rows,
        };
        let moments = sketch.moments().with_context(|| path.display().to_string())?;
        data.push(ClassData::new(label, moments, weight));
    }
    let (spec, _) = spec.context("no sketch is named")?;
    Ok((spec, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back_from_the_names_that_groups_are_written_under() {
        for label in ["north-1.5", "../etc/passwd", "ä b", "", "100%", "%41", "a=b"] {
            let name = super::super::sketch::file_name(label);
            assert_eq!(decoded(&name).as_deref(), Some(label), "{name}");
        }
        assert_eq!(decoded("50%"), None);
        assert_eq!(decoded("%FF"), None);
    }
}
