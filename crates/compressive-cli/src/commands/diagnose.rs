//! `diagnose`: the sketch, its scale, or the search?

use anyhow::{Context, Result};
use compressive::Named;
use compressive::ask::diagnose::{Diagnosis, diagnose};

use super::{read_any_sketch, read_model};
use crate::args::DiagnoseArgs;
use crate::output::{self, number};
use crate::words::Flags;

/// Tells why a model is not good enough.
pub fn run(args: &DiagnoseArgs) -> Result<()> {
    let sketch = read_any_sketch(&args.sketch)?;
    let model = read_model(&args.model)?;
    let truth = args.truth.as_deref().map(read_model).transpose()?;
    let operator = sketch.spec().clone().build()?;
    let with = || format!("cannot diagnose {} with {}", args.model.display(), args.sketch.display());
    let bar = output::spinner("searching", false);
    let found = sketch
        .moments()
        .and_then(|moments| diagnose(&operator, &moments, &model, truth.as_ref(), args.threads.count()));
    bar.finish_and_clear();
    let found = found.with_context(with)?;
    if args.json {
        let mut json = serde_json::to_value(&found)?;
        json["advice"] = found.advice(&Flags).into();
        return output::print_json(&json);
    }
    output::print(&describe(&found))
}

fn describe(found: &Diagnosis) -> String {
    let verdict = found.verdict.about();
    let reference = if found.reference_given { "the truth" } else { "a fresh search" };
    format!(
        "misfit     {} at the model, {} at {reference} (near 1: a fit that explains the sketch)\n\
         distance   {} cluster widths from {reference}\n\
         sketch     mean |z| {}, sampling noise {}\n\
         verdict    {verdict}\n\
         advice     {}\n",
        number(found.misfit.value()),
        number(found.reference_misfit),
        number(found.distance),
        number(found.mean_modulus),
        number(found.noise_modulus),
        found.advice(&Flags),
    )
}
