//! `plan`: what a privacy budget will buy, without data.

use anyhow::Result;
use compressive::FeatureName;
use compressive::design::{LOOK_SHARE, Task};
use compressive::privacy::PrivacyParams;
use compressive::privacy::plan::{Plan, Question, Verdict};
use serde_json::json;

use super::design::read_table;
use super::privatize::budget;
use crate::args::PlanArgs;
use crate::output::{self, amount, count, number, thousands};

/// Prints the forecasts, what they mean and what to do next.
pub fn run(args: &PlanArgs) -> Result<()> {
    let question = Question {
        rows: args.rows,
        parameters: args.task.parameters(args.k, args.dim),
        feature: match args.task {
            // Its forecast says what to do instead.
            Task::Pca => Task::Pca.map().with(None, None, false)?,
            _ => args.feature.with(read_table(args.table.as_deref())?, None, false)?,
        },
        params: budget(args.budget),
        size: args.size,
    };
    let answer = question.plan()?;
    if args.json {
        return output::print_json(&report(args, &question, &answer));
    }
    output::print(&describe(args, &question, &answer))
}

/// Two significant digits, rounded up.
fn about(x: f64) -> String {
    let unit = 10f64.powi(x.log10().floor() as i32 - 1);
    let rounded = (x / unit).ceil() * unit;
    if rounded >= 1000.0 { thousands(rounded as u64) } else { amount(rounded) }
}

/// The verdict in plain words.
fn verdict(answer: &Plan) -> String {
    let needs = match (answer.epsilon_needed, answer.rows_needed) {
        (Some(epsilon), Some(rows)) => {
            format!("needs about epsilon {} or {} rows", about(epsilon), about(rows))
        }
        (None, Some(rows)) => {
            format!("needs about {} rows: no epsilon makes up for too few rows", about(rows))
        }
        (Some(epsilon), None) => format!("needs about epsilon {}", about(epsilon)),
        (None, None) => "neither more rows nor a larger epsilon would help: use a larger --size".into(),
    };
    match answer.forecasts[answer.chosen].verdict {
        Verdict::Good => "will work as without noise, or nearly".into(),
        Verdict::Rough => {
            format!(
                "rough: the main clusters will be found, details will not; to work as without noise it {needs}"
            )
        }
        noisy => format!("{noisy}: {needs}"),
    }
}

/// The commands that carry the plan out.
fn commands(args: &PlanArgs, question: &Question, answer: &Plan) -> Vec<String> {
    let forecast = &answer.forecasts[answer.chosen];
    let task = args.task.name();
    let feature = match (args.feature, &args.table) {
        (FeatureName::Fourier, _) => String::new(),
        (_, None) => format!(" --feature {}", question.feature.name()),
        (_, Some(table)) => format!(" --feature {} --table {}", question.feature.name(), table.display()),
    };
    let PrivacyParams { epsilon, delta, neighbours, .. } = &question.params;
    let delta = if *delta > 0.0 { format!(" --delta {}", amount(*delta)) } else { String::new() };
    let replace = neighbours == &compressive::privacy::Neighbours::Replace;
    // Under replace, what the look costs counts twice.
    let look = epsilon * LOOK_SHARE / if replace { 2.0 } else { 1.0 };
    let relation = if replace { " --neighbours replace" } else { "" };
    vec![
        format!(
            "compressive design DATA --bounds LOW:HIGH --private {} --task {task} -k {} --size {}{feature} -o spec.json",
            amount(look),
            args.k,
            forecast.size
        ),
        "compressive sketch DATA --spec spec.json -o plain.sketch".into(),
        format!(
            "compressive privatize plain.sketch --epsilon {}{delta}{relation} -o private.sketch",
            amount(*epsilon)
        ),
        format!("compressive fit private.sketch --task {task} -k {} -o model.json", args.k),
    ]
}

fn describe(args: &PlanArgs, question: &Question, answer: &Plan) -> String {
    let PrivacyParams { epsilon, delta, neighbours, .. } = &question.params;
    let mut text = format!(
        "{} of {}, k = {}: {}; epsilon {}, delta {}, {}\n\n{:>9}  {:>9}  {:>9}  {:>11}  verdict\n",
        count(args.rows as u64, "row"),
        count(args.dim as u64, "column"),
        args.k,
        count(question.parameters as u64, "parameter"),
        amount(*epsilon),
        amount(*delta),
        neighbours.name(),
        "size",
        "NSR",
        "limit",
        "noise",
    );
    for (i, f) in answer.forecasts.iter().enumerate() {
        let mark = match (i == answer.chosen, question.size, f.verdict) {
            (false, ..) => "",
            (true, Some(_), _) => "  <- asked for",
            (true, None, Verdict::Hopeless) => "  <- closest",
            (true, None, _) => "  <- recommended",
        };
        text.push_str(&format!(
            "{:>9}  {:>9}  {:>9}  {:>11}  {}{mark}\n",
            thousands(f.size as u64),
            number(f.nsr),
            number(f.limit),
            number(f.noise_std),
            f.verdict.name(),
        ));
    }
    text.push_str(
        "size: frequencies; NSR: noise-to-signal ratio, sampling included; limit: the NSR up to which learning works; noise: standard deviation on an entry of the mean\n\n",
    );
    text.push_str(&format!("{}\n", verdict(answer)));
    if answer.forecasts[answer.chosen].verdict != Verdict::Hopeless {
        text.push_str(&format!("\nnext:\n  {}\n", commands(args, question, answer).join("\n  ")));
        text.push_str(&format!(
            "A tenth of epsilon finds the scale of the frequencies; if you know the width of the clusters, --private 0 --scale S is free.\n{}",
            if question.size.is_some() { "" } else { "A --size above the recommended one adds noise, one below it loses detail.\n" },
        ));
    }
    text
}

fn report(args: &PlanArgs, question: &Question, answer: &Plan) -> serde_json::Value {
    let PrivacyParams { epsilon, delta, neighbours, .. } = &question.params;
    let chosen = &answer.forecasts[answer.chosen];
    let forecasts: Vec<_> = answer
        .forecasts
        .iter()
        .map(|f| {
            json!({
                "size": f.size, "nsr": f.nsr, "limit": f.limit, "noise_std": f.noise_std, "verdict": f.verdict.name(),
                "epsilon_sums": f.release.epsilon_sums, "epsilon_rows": f.release.epsilon_rows, "mechanism": f.release.mechanism,
            })
        })
        .collect();
    json!({
        "rows": args.rows, "dim": args.dim, "k": args.k, "task": args.task.name(), "parameters": question.parameters,
        "feature": question.feature.name(), "epsilon": epsilon, "delta": delta, "neighbours": neighbours.name(),
        "forecasts": forecasts, "size": chosen.size, "verdict": chosen.verdict.name(), "words": verdict(answer),
        "epsilon_needed": answer.epsilon_needed, "rows_needed": answer.rows_needed, "commands": commands(args, question, answer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_told_in_two_digits_rounded_up() {
        assert_eq!(about(0.123), "0.13");
        assert_eq!(about(123_456.0), "130,000");
        assert_eq!(about(37.2), "38");
    }
}
