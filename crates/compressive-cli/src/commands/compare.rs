//! `compare`: are two sketches from the same distribution?

use anyhow::{Context, Result};
use compressive::ask::compare::compare;
use serde_json::json;

use super::read_plain_sketch;
use crate::args::CompareArgs;
use crate::output::{self, count, number};

/// Compares two sketches.
pub fn run(args: &CompareArgs) -> Result<()> {
    const WHY: &str = "its noise would pass for a difference, and the test is made for exact sums; compare the plain sketches before they are privatized";
    let (a, b) = (read_plain_sketch(&args.a, WHY)?, read_plain_sketch(&args.b, WHY)?);
    let operator = a.spec().clone().build()?;
    let with = || format!("cannot compare {} with {}", args.a.display(), args.b.display());
    let c = compare(&operator, &a, &b).with_context(with)?;
    if args.json {
        return output::print_json(&json!({
            "distance": c.distance, "distance_expected": c.distance_expected, "mmd_squared": c.mmd_squared,
            "standard_error": c.standard_error, "p_value": c.p_value, "rows": c.rows,
        }));
    }
    output::print(&describe(&c))
}

/// The comparison in words.
pub fn describe(c: &compressive::ask::compare::Comparison) -> String {
    let verdict = if c.p_value < 1e-3 {
        "different distributions"
    } else if c.p_value < 0.05 {
        "probably different"
    } else {
        "no difference seen"
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
