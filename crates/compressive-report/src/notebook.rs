//! Sketches, recipes and models as a notebook shows them: a title, facts, and the components as a table of
//! text. No script and no style beyond what the notebook has.

use compressive::model::Model;
use compressive::{Map, SketchSpec};

use crate::html::escape;
use crate::text::{components, named};
use crate::words::{bytes, count, number, outline, recipe, thousands};

/// A sketch of so many rows, whose file has so many bytes.
pub fn sketch(spec: &SketchSpec, rows: &str, size: usize) -> String {
    let mut all = vec![("rows", rows.to_owned()), ("size", bytes(size as u64))];
    all.extend(recipe_facts(spec));
    shown("Sketch", &all, "")
}

/// A recipe.
pub fn spec(spec: &SketchSpec) -> String {
    shown("SketchSpec", &recipe_facts(spec), "")
}

/// A model, with as many components and columns as fit.
pub fn model(model: &Model) -> String {
    let mut all = vec![("model", named(model)), ("columns", columns(&model.columns))];
    if let Some(origin) = &model.origin {
        all.push(("learned from", count(origin.rows, "row")));
        all.push(("misfit", number(origin.misfit.value())));
        all.push(("explained", origin.misfit.explained().name().to_owned()));
    }
    shown("Model", &all, &format!("<pre>{}</pre>", escape(&components(model))))
}

fn recipe_facts(spec: &SketchSpec) -> Vec<(&'static str, String)> {
    let mut all = vec![("columns", columns(&spec.columns)), ("recipe", recipe(spec))];
    if let Some(found) = &spec.outline {
        all.push(("outline", outline(found)));
    }
    let moments = match (&spec.moments, &spec.map) {
        (_, Map::Moments(_)) => return all,
        (None, _) => "none".into(),
        (Some(set), _) => format!("exact, {}", set.name()),
    };
    all.push(("moments", moments));
    all.push(("fingerprint", spec.fingerprint()));
    all
}

/// The first names, and how many there are.
fn columns(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let first = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}: {first}{more}", thousands(names.len() as u64))
}

fn shown(title: &str, facts: &[(&str, String)], rest: &str) -> String {
    let rows: String = facts
        .iter()
        .map(|(name, value)| {
            let (name, value) = (escape(name), escape(value));
            format!(
                "<tr><th style=\"text-align:left\">{name}</th><td style=\"text-align:left\">{value}</td></tr>"
            )
        })
        .collect();
    format!("<div><strong>{title}</strong><table>{rows}</table>{rest}</div>")
}
