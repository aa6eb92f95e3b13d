//! `inspect`: what a person wants to know about a sketch, a spec or a model.

use std::ops::Range;

use anyhow::{Result, bail};
use compressive::model::Model;
use compressive::privacy::{AnySketch, PrivateSketch};
use compressive::reading::places;
use compressive::{Column, Map, Named, Reading, Sketch, SketchSpec, WORKING_LIMIT, Wave, calendar};
use serde_json::json;

use super::{read, read_any_sketch, read_model, read_spec};
use crate::args::InspectArgs;
use crate::output::{self, bytes, count, number, plot};
use crate::words::Flags;
use compressive_report::columns::{duration, level_shares};
use compressive_report::{promise, text as words};

/// Shows a sketch, a spec or a model.
pub fn run(args: &InspectArgs) -> Result<()> {
    let bytes = read(&args.file)?;
    if is_model(&bytes) {
        return inspect_model(args, &read_model(&args.file)?);
    }
    if args.spec {
        return output::print(&format!("{}\n", read_spec(&args.file)?.to_json_pretty()));
    }
    let sketch = if super::looks_like_json(&bytes) { None } else { Some(read_any_sketch(&args.file)?) };
    let spec = match &sketch {
        Some(sketch) => sketch.spec().clone(),
        None => read_spec(&args.file)?,
    };
    if args.json {
        return output::print_json(&report(spec, sketch.as_ref(), bytes.len(), args.frequencies)?);
    }
    match &sketch {
        Some(AnySketch::Plain(sketch)) => output::print(&describe(sketch, bytes.len())?),
        Some(AnySketch::Private(sketch)) => output::print(&describe_private(sketch, bytes.len())?),
        None => output::print(&describe_spec(&spec)),
    }
}

/// Whether a file is meant as a model: a JSON object with a `task`.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    // Numbers such as NaN make a model no JSON, but it is still one to complain about.
    let text = String::from_utf8_lossy(bytes);
    super::looks_like_json(bytes)
        && text.contains("\"task\"")
        && (!text.contains("\"transform\"") || text.contains("\"classes\""))
}

fn inspect_model(args: &InspectArgs, model: &Model) -> Result<()> {
    if args.spec || args.frequencies {
        bail!("{} is a model, which has no spec; the sketch it was learned from has", args.file.display());
    }
    if args.json {
        let mut value = serde_json::to_value(model)?;
        value["kind"] = "model".into();
        return output::print_json(&value);
    }
    let mut text =
        format!("model        {} of {}\n", words::named(model), count(model.dim() as u64, "column"));
    if let Some(origin) = &model.origin {
        text.push_str(&format!(
            "learned      from {}, decoder {}, seed {}\nfingerprint  {}\n",
            count(origin.rows, "row"),
            origin.decoder,
            origin.seed,
            origin.fingerprint,
        ));
    }
    text.push('\n');
    text.push_str(&words::components(model));
    text.push_str(&words::quality(model, &Flags));
    output::print(&text)
}

fn report(
    spec: SketchSpec,
    sketch: Option<&AnySketch>,
    size: usize,
    frequencies: bool,
) -> Result<serde_json::Value> {
    let mut report = json!({
        "kind": if sketch.is_some() { "sketch" } else { "spec" }, "fingerprint": spec.fingerprint(),
        "sketch_len": spec.sketch_len(), "spec": spec,
    });
    if let Some(outline) = &spec.outline {
        report["outline"] = json!({
            "cells": outline.n_cells(), "groups": outline.n_groups(), "least_rows": outline.least_rows(),
            "pilot_rows": outline.pilot_rows(), "bytes": outline.n_bytes(),
        });
    }
    let operator = spec.build()?;
    if sketch.is_some() {
        report["bytes"] = json!(size);
        if operator.kernel().is_none() {
            report["radius"] = json!(operator.radii());
        }
    }
    match sketch {
        None => {}
        Some(AnySketch::Plain(sketch)) => {
            report["rows"] = json!(sketch.rows());
            report["weight"] = json!(sketch.weight());
            let mean = if sketch.weight_units() > 0 { sketch.moments()?.mean } else { Vec::new() };
            tell_entries(&mut report, sketch.spec(), &mean);
            if let Some(beyond) = sketch.rows_beyond() {
                report["moments"] = json!({ "kept": sketch.spec().moments, "beyond": beyond });
            }
        }
        Some(AnySketch::Private(sketch)) => {
            report["rows"] = json!(sketch.rows());
            report["rows_std"] = json!(sketch.rows_std());
            report["rows_public"] = json!(sketch.rows_are_public());
            report["noise_std"] = json!(sketch.moments().noise_std);
            report["privacy"] = json!(sketch.releases());
            tell_entries(&mut report, sketch.spec(), &sketch.moments().mean);
        }
    }
    if let (true, Some(kernel)) = (frequencies, operator.kernel()) {
        report["landmarks"] = json!(kernel.points().chunks_exact(operator.dim()).collect::<Vec<_>>());
    } else if frequencies {
        let rows =
            operator.frequencies().chunks_exact(operator.spec().projected_dim()).zip(operator.dither());
        let listed = rows.map(|(w, xi)| [w, &[f64::from(*xi) * std::f64::consts::TAU]].concat());
        report["frequencies"] = json!(listed.collect::<Vec<_>>());
    }
    Ok(report)
}

fn describe(sketch: &Sketch, size: usize) -> Result<String> {
    let spec = sketch.spec();
    let rows = sketch.rows();
    let raw = rows as f64 * spec.dim() as f64 * 8.0;
    let mut text = format!("rows         {}\n", output::thousands(rows));
    if sketch.weight() != rows as f64 {
        text.push_str(&format!("weight       {}\n", number(sketch.weight())));
    }
    text.push_str(&format!(
        "sketch       {} ({} sums); the rows as 8-byte numbers take {}, {} times as much\n",
        bytes(size as u64),
        output::thousands(spec.sketch_len() as u64),
        bytes(raw as u64),
        number(raw / size as f64),
    ));
    text.push_str(&describe_spec(spec));
    if let Some(beyond) = sketch.rows_beyond().filter(|beyond| *beyond > 0) {
        text.push_str(&format!(
            "\nThe moments are not exact: {} more than {} spreads from the centre.\n",
            if beyond == 1 { "1 row lies".into() } else { format!("{} rows lie", output::thousands(beyond)) },
            output::thousands(WORKING_LIMIT as u64),
        ));
    }
    if sketch.weight_units() == 0 {
        text.push_str("\nThe sketch is empty: no row has been added.\n");
        return Ok(text);
    }
    let Some(variance) = spec.map.variance() else {
        text.push_str(&projections(spec, &sketch.moments()?.mean));
        return Ok(text);
    };
    let noise = (variance * spec.map.blocks().len() as f64 / rows as f64).sqrt();
    text.push_str(&curve(spec, &sketch.modulus()?, noise, "sampling noise")?);
    Ok(text)
}

fn describe_private(sketch: &PrivateSketch, size: usize) -> Result<String> {
    let spec = sketch.spec();
    let mut text = format!(
        "private      sketch with noise: it may be published, merged and learned from\nrows         {}\n",
        promise::row_count(sketch)
    );
    text.push_str(&format!(
        "sketch       {} ({} sums)\n",
        bytes(size as u64),
        output::thousands(spec.sketch_len() as u64),
    ));
    let releases = sketch.releases();
    for (i, release) in releases.iter().enumerate() {
        if releases.len() > 1 {
            text.push_str(&format!("\nholder {} of {}\n", i + 1, releases.len()));
        }
        text.push_str(&promise::describe(release));
    }
    if releases.len() > 1 {
        text.push('\n');
    }
    text.push_str(&format!("mean         standard deviation {}\n", promise::mean_noise(sketch)));
    text.push_str(&describe_spec(spec));
    let moments = sketch.moments();
    let Some(variance) = spec.map.variance() else {
        text.push_str(&projections(spec, &moments.mean));
        return Ok(text);
    };
    let entry = variance / moments.rows + moments.noise_std.powi(2);
    let noise = (entry * spec.map.blocks().len() as f64).sqrt();
    text.push_str(&curve(spec, &spec.map.modulus(&moments.mean), noise, "noise, added and of sampling")?);
    Ok(text)
}

/// Root mean square of each projection, as a share of the largest one possible in the box; 0 where noise made
/// the square negative.
fn root_mean_squares(spec: &SketchSpec, mean: &[f64]) -> Vec<f64> {
    mean[..spec.size].iter().map(|square| square.max(0.0).sqrt()).collect()
}

/// How much of the box the rows fill, as the projections see it.
fn projections(spec: &SketchSpec, mean: &[f64]) -> String {
    let mut all = root_mean_squares(spec, mean);
    all.sort_by(f64::total_cmp);
    let at = |share: f64| number(all[((all.len() - 1) as f64 * share) as usize]);
    format!(
        "\nprojections  root mean square {} to {}, median {}, of the largest possible in the box\n",
        at(0.0),
        at(1.0),
        at(0.5)
    )
}

/// What the entries of the mean say, under the name that fits the feature.
fn tell_entries(report: &mut serde_json::Value, spec: &SketchSpec, mean: &[f64]) {
    let moments = matches!(spec.map, Map::Moments(_));
    let name = if moments { "root_mean_square" } else { "modulus" };
    report[name] = match (mean.is_empty(), moments) {
        (true, _) => json!([]),
        (false, true) => json!(root_mean_squares(spec, mean)),
        (false, false) => json!(spec.map.modulus(mean)),
    };
}

/// The moduli against the radii of their frequencies, and what they tell.
fn curve(spec: &SketchSpec, modulus: &[f64], noise: f64, noise_name: &str) -> Result<String> {
    let Some(wave) = spec.map.wave() else { return Ok(kernel_values(modulus)) };
    let gain = wave.gain();
    let radii = spec.clone().build()?.radii();
    let points: Vec<(f64, f64)> =
        radii.into_iter().zip(modulus).map(|(radius, z)| (radius, z / gain)).collect();
    let noise = noise / gain;
    let picture = plot(&points, noise, "frequency radius", "|z|");
    Ok(format!("\n{picture}{}", verdict(&points, noise, noise_name)))
}

/// The mean kernel values, from the landmark with the fewest rows around it to the one with the most.
fn kernel_values(mean: &[f64]) -> String {
    let mut sorted = mean.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| number(sorted[((sorted.len() - 1) as f64 * share) as usize]);
    let mut text = format!(
        "\nmean kernel value at the landmarks: least {}, median {}, largest {}\n",
        at(0.0),
        at(0.5),
        at(1.0)
    );
    if sorted[sorted.len() / 2] > 0.9 {
        text.push_str(
            "Most values are near 1: the kernel is too wide to tell rows apart; use a smaller --scale.\n",
        );
    } else if sorted[sorted.len() / 2] < 1e-3 {
        text.push_str(
            "Most values are near 0: the kernel is too narrow for these rows; use a larger --scale.\n",
        );
    }
    text
}

/// What the curve says about the scale.
fn verdict(points: &[(f64, f64)], noise: f64, noise_name: &str) -> String {
    let share =
        |test: &dyn Fn(f64) -> bool| points.iter().filter(|p| test(p.1)).count() as f64 / points.len() as f64;
    let (high, low) = (share(&|z| z > 0.9), share(&|z| z < 2.0 * noise));
    let mut text = format!("dotted line: {noise_name}, {}\n", number(noise));
    if high > 0.8 {
        text.push_str("Most entries are near 1: the frequencies are too low to tell rows apart; use a smaller --scale.\n");
    } else if low > 0.8 {
        text.push_str(
            "Most entries are noise: the frequencies are too high for these rows; use a larger --scale.\n",
        );
    }
    text
}

fn describe_spec(spec: &SketchSpec) -> String {
    let mut text = format!("fingerprint  {}\n", spec.fingerprint());
    text.push_str(&format!(
        "recipe       {}{}, seed {}\n",
        compressive_report::words::recipe(spec),
        if spec.map.dithered() { ", dithered" } else { "" },
        spec.seed,
    ));
    if let Some(wave @ Wave::Periodic { table }) = spec.map.wave() {
        let mean = match wave.offset() {
            0.0 => String::new(),
            mean => format!(", mean {} (subtracted)", number(mean)),
        };
        text.push_str(&format!(
            "table        {}, gain {}{mean}\n",
            count(table.len() as u64, "value"),
            number(wave.gain())
        ));
    }
    if spec.transform.whiten.is_some() {
        text.push_str("whitened     yes: correlations between columns are removed before sketching\n");
    }
    if let Some(set) = spec.moments {
        text.push_str(&format!("moments      {}, exact\n", Named::about(set)));
    }
    if let Some(outline) = &spec.outline {
        text.push_str(&format!("outline      {}\n", compressive_report::words::outline(outline)));
    }
    if let Some(source) = promise::source(spec) {
        text.push_str(&format!("source       {source}\n"));
    }
    text + &columns(spec)
}

/// The columns of the table: their centres and ranges, or the shares of their levels.
fn columns(spec: &SketchSpec) -> String {
    const SHOWN: usize = 20;
    let table = spec.table_columns();
    let named: Vec<(String, Range<usize>, &Column)> = places(&table)
        .flat_map(|(column, at)| match &column.reading {
            Reading::Category { .. } => vec![(column.column.clone(), at, column)],
            _ => column.coordinates().into_iter().zip(at).map(|(name, c)| (name, c..c + 1, column)).collect(),
        })
        .collect();
    let width = named.iter().take(SHOWN).map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(6);
    let mut text =
        format!("\n{:width$}  {:>12}  {:>12}  {:>12}  {:>12}\n", "column", "centre", "spread", "low", "high");
    for (name, at, column) in named.iter().take(SHOWN) {
        let c = at.start;
        let (show, spread): (&dyn Fn(f64) -> String, String) = match &column.reading {
            Reading::Category { .. } => {
                let shares = level_shares(column, &spec.transform.centre[at.clone()]);
                text.push_str(&format!("{name:width$}  {shares}\n"));
                continue;
            }
            Reading::Time { periods, .. } if periods.is_empty() => {
                (&|seconds| calendar::show(seconds, false), duration(spec.transform.spread[c]))
            }
            _ => (&number, number(spec.transform.spread[c])),
        };
        let (low, high) = match &spec.bounds {
            Some(b) => (show(b.low[c]), show(b.high[c])),
            None => ("-".into(), "-".into()),
        };
        let centre = show(spec.transform.centre[c]);
        text.push_str(&format!("{name:width$}  {centre:>12}  {spread:>12}  {low:>12}  {high:>12}\n"));
    }
    if named.len() > SHOWN {
        text.push_str(&format!("... and {} more (--json shows all)\n", named.len() - SHOWN));
    }
    text
}
