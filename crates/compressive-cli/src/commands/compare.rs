//! `compare`: are two sketches from the same distribution, does it matter, and what moved?

use anyhow::{Context, Result};
use compressive::ask::compare::Comparison;
use compressive::ask::drift::{Cause, Change, Drift, Place, Reason, Share, Statistic, Verdict, drift};
use serde_json::{Map, Value, json};

use super::read_plain_sketch;
use crate::args::CompareArgs;
use crate::output::{self, count, number};

/// Exit code of `--exit-code` for a difference that is not tolerated.
const DRIFT_EXIT_CODE: i32 = 3;
/// Lines about columns that are shown; `--json` has all.
const CHANGES_SHOWN: usize = 10;
/// Columns that a place is told by, at most, each with at least so many nats.
const COLUMNS_SHOWN: (usize, f64) = (3, 0.3);
/// Scores beyond which another digit says nothing.
const SURE: f64 = 100.0;

/// Compares two sketches.
pub fn run(args: &CompareArgs) -> Result<()> {
    const WHY: &str = "its noise would pass for a difference, and the test is made for exact sums; compare the plain sketches before they are privatized";
    let (a, b) = (read_plain_sketch(&args.a, WHY)?, read_plain_sketch(&args.b, WHY)?);
    let operator = a.spec().clone().build()?;
    let with = || format!("cannot compare {} with {}", args.a.display(), args.b.display());
    let found = drift(&operator, &a, &b).with_context(with)?;
    let (verdict, columns) = (found.verdict(args.tolerate), &a.spec().columns);
    if args.json {
        output::print_json(&to_json(&found, args, columns))?;
    } else {
        let mut text = describe(&found.comparison, verdict);
        text += &format!("share      {}\n", share(&found.share, verdict));
        if args.explain {
            text += &explanation(&found, columns);
        }
        output::print(&text)?;
    }
    if args.exit_code && verdict == Verdict::Different {
        std::process::exit(DRIFT_EXIT_CODE);
    }
    Ok(())
}

/// The comparison in words.
pub fn describe(c: &Comparison, verdict: Verdict) -> String {
    let verdict = match verdict {
        Verdict::Same => "no difference seen",
        Verdict::Perhaps => "probably different",
        Verdict::Tolerated => "different, but within what you tolerate",
        Verdict::Different => "different distributions",
    };
    let p = if c.p_value < 1e-12 { "below 1e-12".into() } else { number(c.p_value) };
    format!(
        "rows       {} and {}\n\
         distance   {}  (sampling alone gives about {})\n\
         MMD^2      {}  +- {}\n\
         p-value    {p}  -> {verdict}\n",
        count(c.rows[0], "row"),
        count(c.rows[1], "row"),
        number(c.distance),
        number(c.distance_expected),
        number(c.mmd_squared),
        number(c.standard_error),
    )
}

/// A part of the rows.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        p if p < 0.01 => "0%".into(),
        p if p < 1.0 => format!("{p:.2}%"),
        p => format!("{p:.1}%"),
    }
}

/// The effect size in words.
fn share(share: &Share, verdict: Verdict) -> String {
    if share.bound {
        return format!(
            "at least {} of the rows would have to change (the recipe has no outline to tell more)",
            percent(share.value)
        );
    }
    let chance = if verdict == Verdict::Same { "; chance gives as much" } else { "" };
    format!(
        "about {} of the rows would have to change ({} to {}{chance})",
        percent(share.value),
        percent(share.low),
        percent(share.high)
    )
}

/// What moved, in words.
fn explanation(found: &Drift, columns: &[String]) -> String {
    let mut text = String::new();
    if !found.reasons.is_empty() {
        text += "\nwhat explains the difference, and how much of it\n";
    }
    for reason in &found.reasons {
        text += &format!("  {}\n", of_reason(reason, columns));
    }
    text += "\nwhat moved\n";
    if found.changes.is_empty() {
        text += "  no mean, deviation or correlation by more than chance\n";
    }
    for change in found.changes.iter().take(CHANGES_SHOWN) {
        text += &format!("  {}\n", of_change(change, columns));
    }
    if found.changes.len() > CHANGES_SHOWN {
        text += &format!("  and {} more, which --json shows\n", found.changes.len() - CHANGES_SHOWN);
    }
    if !found.share.bound {
        text += "where\n";
        if found.gained.is_empty() && found.lost.is_empty() {
            text += "  no place gained or lost rows by more than chance\n";
        }
        for (sign, places) in [("more", &found.gained), ("fewer", &found.lost)] {
            for place in places {
                text += &format!("  {}\n", of_place(sign, place, columns));
            }
        }
    }
    text
}

/// A reason in words, with the part of the difference that it explains.
pub fn of_reason(reason: &Reason, columns: &[String]) -> String {
    let what = match &reason.cause {
        Cause::Came(place) => of_place("more", place, columns),
        Cause::Went(place) => of_place("fewer", place, columns),
        Cause::Column(change) => of_change(change, columns),
        _ => String::new(),
    };
    format!("{:3.0}%  {what}", 100.0 * reason.explains)
}

/// A place in words.
fn of_place(sign: &str, place: &Place, columns: &[String]) -> String {
    format!("{} {sign} of the rows near {}", percent(place.share), near(place, columns))
}

/// One change in words.
pub fn of_change(change: &Change, columns: &[String]) -> String {
    let score = change.score.abs();
    let sure = if score > SURE { format!("over {SURE}") } else { format!("{score:.1}") };
    format!(
        "{}: {} -> {}  ({sure} standard errors)",
        of_statistic(change.statistic, columns),
        number(change.before),
        number(change.after),
    )
}

fn of_statistic(statistic: Statistic, columns: &[String]) -> String {
    let names: Vec<&str> = statistic.columns().iter().map(|c| columns[*c].as_str()).collect();
    let what = match statistic {
        Statistic::Deviation { .. } => "spread",
        _ => statistic.name(),
    };
    format!("{what} of {}", names.join(" and "))
}

/// Where a place is, by the columns that tell it from all rows.
fn near(place: &Place, columns: &[String]) -> String {
    let told = place.columns().into_iter().take(COLUMNS_SHOWN.0);
    let told = told.enumerate().filter(|(rank, c)| *rank == 0 || place.telling[*c] > COLUMNS_SHOWN.1);
    let words: Vec<String> =
        told.map(|(_, c)| format!("{}={}", columns[c], output::number(rounded(place.location[c])))).collect();
    words.join(", ")
}

/// Three digits: a place is no more certain.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

fn to_json(found: &Drift, args: &CompareArgs, columns: &[String]) -> Value {
    let c = &found.comparison;
    let mut out = json!({
        "distance": c.distance, "distance_expected": c.distance_expected, "mmd_squared": c.mmd_squared,
        "standard_error": c.standard_error, "p_value": c.p_value, "rows": c.rows,
        "share": found.share, "tolerate": args.tolerate, "verdict": found.verdict(args.tolerate),
    });
    if args.explain {
        let changes: Vec<Value> = found.changes.iter().map(|change| change_json(change, columns)).collect();
        out["changes"] = changes.into();
        out["reasons"] = found.reasons.iter().map(|reason| reason_json(reason, columns)).collect();
        for (name, places) in [("gained", &found.gained), ("lost", &found.lost)] {
            let places: Vec<Value> = places.iter().map(|place| place_json(place, columns)).collect();
            out[name] = places.into();
        }
    }
    out
}

/// A change with the names of its columns.
pub fn change_json(change: &Change, columns: &[String]) -> Value {
    let names: Vec<&str> = change.statistic.columns().iter().map(|c| columns[*c].as_str()).collect();
    json!({
        "statistic": change.statistic.name(), "columns": names, "before": change.before, "after": change.after,
        "standard_error": change.standard_error, "score": change.score,
    })
}

/// A reason: its kind, what it explains, and what a change or a place has.
pub fn reason_json(reason: &Reason, columns: &[String]) -> Value {
    let (kind, mut out) = match &reason.cause {
        Cause::Column(change) => (change.statistic.name(), change_json(change, columns)),
        Cause::Came(place) => ("came", place_json(place, columns)),
        Cause::Went(place) => ("went", place_json(place, columns)),
        _ => ("other", json!({})),
    };
    out["kind"] = kind.into();
    out["explains"] = reason.explains.into();
    out
}

fn place_json(place: &Place, columns: &[String]) -> Value {
    let location: Map<String, Value> =
        columns.iter().cloned().zip(place.location.iter().map(|x| json!(x))).collect();
    let told: Vec<&str> = place.columns().iter().map(|c| columns[*c].as_str()).collect();
    json!({ "share": place.share, "location": location, "columns": told })
}
