//! `ledger`: create one, or show what was spent.

use anyhow::Result;
use serde_json::json;

use super::check_output;
use crate::args::LedgerArgs;
use crate::ledger::{Budget, Ledger};
use crate::output::{self, amount, count};

/// Creates or shows a ledger.
pub fn run(args: &LedgerArgs) -> Result<()> {
    let ledger = match args.cap_epsilon {
        None => Ledger::read(&args.file)?,
        Some(epsilon) => {
            check_output(&args.file)?;
            let cap = Budget { epsilon, delta: args.cap_delta.unwrap_or(0.0) };
            Ledger::create(&args.file, cap, args.dataset.clone())?
        }
    };
    if args.json {
        let mut value = serde_json::to_value(&ledger)?;
        value["total"] = json!(ledger.total());
        value["left"] = json!(ledger.left());
        return output::print_json(&value);
    }
    output::print(&describe(&ledger))
}

fn describe(ledger: &Ledger) -> String {
    let mut text = String::new();
    if let Some(dataset) = &ledger.dataset {
        text.push_str(&format!("dataset  {dataset}\n"));
    }
    if let Some(first) = ledger.spent.first() {
        let rows = count(u64::from(first.rows_per_person), "row");
        text.push_str(&format!("protects {} neighbours, {rows} a person\n", first.neighbours.name()));
    }
    for entry in &ledger.spent {
        text.push_str(&format!(
            "{}  epsilon {}, delta {}, {}  {}\n",
            entry.time,
            amount(entry.epsilon),
            amount(entry.delta),
            entry.mechanism,
            entry.output.display(),
        ));
    }
    let line = |name: &str, budget: Budget| {
        format!("{name}  epsilon {}, delta {}\n", amount(budget.epsilon), amount(budget.delta))
    };
    text + &line("spent  ", ledger.total()) + &line("cap    ", ledger.cap) + &line("left   ", ledger.left())
}
