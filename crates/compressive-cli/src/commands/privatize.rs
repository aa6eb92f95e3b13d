//! `privatize`: a sketch that may be published.

use std::path::Path;

use anyhow::{Context, Result, bail};
use compressive::privacy::{
    AnySketch, Neighbours, PrivacyParams, PrivateSketch, Release, privatize as release,
};
use compressive::{Sketch, Source};
use compressive_io::{Budget, Charge, Ledger, OsEntropy, write_atomic};
use serde_json::json;

use super::design::note;
use super::{check_output, read_any_sketch, wrong_usage};
use crate::args::{BudgetArgs, PrivatizeArgs, SplitArg};
use crate::output::{self, amount};
use compressive_report::promise;

/// Above this epsilon a release is questioned: odds of e^20, some 500 million, hide nothing that anybody
/// would call hidden.
const USELESS_EPSILON: f64 = 20.0;

/// Adds noise to a sketch and writes it.
pub fn run(args: &PrivatizeArgs) -> Result<()> {
    let params = params(args);
    check_output(&args.output)?;
    let sketch = match read_any_sketch(&args.sketch)? {
        AnySketch::Plain(sketch) => sketch,
        AnySketch::Private(_) => bail!(
            "{}: it has noise already; adding more would waste budget and accuracy, so use it as it is",
            args.sketch.display()
        ),
    };
    if let Some(ledger) = &args.ledger {
        let planned =
            Release::plan(sketch.spec(), &params).with_context(|| args.sketch.display().to_string())?;
        let charge = Charge::Release { release: &planned, spec: sketch.spec() };
        Ledger::check(ledger, charge, &args.output)?;
    }
    // A sketch of no rows is released like any other: an empty table is a neighbour of a table of one row, so
    // a refusal would tell the two apart.
    let private =
        release(&sketch, &params, &mut OsEntropy).with_context(|| args.sketch.display().to_string())?;
    let promised = &private.releases()[0];
    // Spent first: a crash in between loses budget, the other order would lose the record of a release.
    let left = match &args.ledger {
        None => None,
        Some(path) => {
            let charge = Charge::Release { release: promised, spec: private.spec() };
            Some(Ledger::spend(path, charge, &args.output)?.left())
        }
    };
    let written = write_atomic(&args.output, &private.to_bytes());
    match &args.ledger {
        None => written?,
        Some(path) => written.with_context(|| {
            format!("nothing was released, but the budget is spent: {} has recorded it", path.display())
        })?,
    }
    warn(args, &sketch, &private);
    if args.json {
        return output::print_json(&report(&args.output, &private, left));
    }
    output::say(&describe(&args.output, &private, left))
}

/// What is asked, from the flags.
pub fn budget(args: BudgetArgs) -> PrivacyParams {
    PrivacyParams::new(args.epsilon).delta(args.delta).neighbours(args.neighbours)
}

fn params(args: &PrivatizeArgs) -> PrivacyParams {
    let asked = budget(args.budget);
    let split = match args.split {
        SplitArg::Auto => None,
        SplitArg::Share(_) if asked.neighbours == Neighbours::Replace => wrong_usage(
            "--split goes with --neighbours add-remove: under replace the number of rows is public",
        ),
        SplitArg::Share(share) => Some(share),
    };
    asked.split(split).rows_per_person(args.rows_per_person).public_spec(args.public_spec)
}

/// What the owner of the rows should think about once more.
fn warn(args: &PrivatizeArgs, sketch: &Sketch, private: &PrivateSketch) {
    if sketch.spec().moments.is_some() {
        note(args.quiet, "the release holds no exact moments: its recipe is that of the sketch without them");
    }
    let Release { epsilon, delta, .. } = private.releases()[0];
    if epsilon > USELESS_EPSILON {
        output::warn(&format!(
            "epsilon {} hides next to nothing: what a release shows may be e^{} times as likely with a row as without it; 0.1 to 3 is usual",
            amount(epsilon),
            amount(epsilon),
        ));
    }
    // The noisy number of rows: the exact one would be revealed by whether this is printed.
    let rows = private.moments().rows;
    if delta * rows >= 1.0 {
        output::warn(&format!(
            "delta {delta} is not below 1/rows (about {}): a mechanism that publishes a row as it stands would keep such a promise; use a delta far below that",
            output::number(1.0 / rows),
        ));
    }
    if let (true, Some(Source::Private { epsilon })) = (args.public_spec, private.spec().source) {
        note(
            args.quiet,
            &format!(
                "the spec cost epsilon {epsilon} on some table; --public-spec leaves that out, which is right only if it was another table than this one"
            ),
        );
    }
}

fn report(path: &Path, private: &PrivateSketch, left: Option<Budget>) -> serde_json::Value {
    let promised = &private.releases()[0];
    let mut report = json!({
        "output": path, "fingerprint": private.fingerprint(), "rows": private.rows(), "rows_std": private.rows_std(),
        "noise_std_sum": promised.mechanism.variance().sqrt(), "noise_std": private.moments().noise_std, "privacy": private.releases(),
    });
    if let Some(left) = left {
        report["left"] = json!(left);
    }
    report
}

fn describe(path: &Path, private: &PrivateSketch, left: Option<Budget>) -> String {
    let mut text = format!(
        "{}\nrows         {}\n{}mean         standard deviation {}\n",
        path.display(),
        promise::row_count(private),
        promise::describe(&private.releases()[0]),
        promise::mean_noise(private),
    );
    if let Some(left) = left {
        text.push_str(&format!(
            "ledger       epsilon {}, delta {} left\n",
            amount(left.epsilon),
            amount(left.delta)
        ));
    }
    text
}
