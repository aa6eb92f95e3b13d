//! A recipe for private releases: from declared bounds, with a look at the rows that is paid for, or none.

use anyhow::{Context, Result, bail};
use compressive::design::private;
use compressive::design::scale::ScaleRule;
use compressive::design::{DesignParams, LawChoice};
use compressive::privacy::{PrivacyParams, PrivateSketch, privatize};
use compressive::{Sketch, SketchSpec};
use compressive_io::{Dataset, DriveOptions, OsEntropy, sketch_dataset};

use super::sketch::with_progress;
use super::wrong_usage;
use crate::args::RecipeArgs;
use crate::output::amount;

/// How the rows may be looked at.
#[derive(Clone, Copy)]
pub struct Look {
    pub threads: usize,
    pub quiet: bool,
    /// Most distinct values of a `--by` column.
    pub max_groups: usize,
    /// Whether the rows are needed once more after the look.
    pub again: bool,
}

/// The recipe for `--private EPSILON`.
pub fn design(
    dataset: &mut Dataset,
    recipe: &RecipeArgs,
    params: &DesignParams,
    epsilon: f64,
    look: Look,
) -> Result<SketchSpec> {
    check_usage(recipe, epsilon);
    let columns = dataset.columns().to_vec();
    if epsilon == 0.0 {
        return Ok(private::design(&columns, params, None)?);
    }
    let spec = private::pilot_spec(&columns, params)?;
    if look.again && dataset.n_bytes().is_none() {
        bail!(
            "--private {epsilon} reads all rows twice, and a stream can be read once: save it to a file, or take --private 0, which does not look at the rows"
        );
    }
    let seen = look_at(dataset, spec, epsilon, look)?;
    Ok(private::design(&columns, params, Some(&seen))?)
}

/// What was paid, and what comes next.
pub fn reason(spec: &SketchSpec, epsilon: f64) -> String {
    let scale = crate::output::number(spec.scale);
    let paid = if epsilon == 0.0 {
        format!("recipe from the bounds alone, scale {scale}: no row was looked at, nothing was paid")
    } else {
        format!(
            "recipe from the bounds and a private look at all rows, scale {scale}: paid epsilon {} for add-remove neighbours, which `privatize` takes from its budget",
            amount(epsilon)
        )
    };
    format!("{paid}; a sketch made with it still has exact sums until `compressive privatize`")
}

fn check_usage(recipe: &RecipeArgs, epsilon: f64) {
    if recipe.law == Some(LawChoice::PilotMixture) {
        wrong_usage("--law pilot-mixture is estimated from a sample of the rows, which --private excludes");
    }
    if let Some(LawChoice::Landmarks(rule)) = recipe.law {
        wrong_usage(&format!(
            "--law {} takes landmarks among the rows, which --private excludes; leave --law out for landmarks drawn in the box",
            rule.name()
        ));
    }
    match recipe.scale {
        Some(ScaleRule::Fixed(_)) if epsilon > 0.0 => {
            wrong_usage("--scale NUMBER leaves nothing for --private to pay for; use --private 0 with it")
        }
        None | Some(ScaleRule::Fixed(_)) => {}
        Some(_) => wrong_usage(
            "the --scale rules look at a sample of the rows, which --private excludes; give a number, or leave --scale out",
        ),
    }
}

/// A small private sketch of all rows.
fn look_at(dataset: &mut Dataset, spec: SketchSpec, epsilon: f64, look: Look) -> Result<PrivateSketch> {
    let operator = spec.build()?;
    let outcome = with_progress(dataset, look.threads, look.quiet, |dataset, options| {
        sketch_dataset(dataset, &operator, &DriveOptions { max_groups: look.max_groups, ..*options })
    })?;
    let mut all = Sketch::empty(&operator);
    for group in outcome.sketches.values() {
        all.merge(group)?;
    }
    // The spec comes from the bounds alone, which costs nothing, so all of epsilon is for the sums and their number.
    let params = PrivacyParams { epsilon, ..PrivacyParams::default() };
    privatize(&all, &params, &mut OsEntropy).context("--private")
}
