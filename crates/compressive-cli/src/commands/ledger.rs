//! `ledger`: create one, or show what was spent.

use anyhow::Result;
use compressive_io::{Budget, Ledger};

use super::check_output;
use crate::args::LedgerArgs;
use crate::output::{self, amount, count, number};

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
        return output::print(&format!("{}\n", ledger.summary()?));
    }
    output::print(&describe(&ledger))
}

fn describe(ledger: &Ledger) -> String {
    let mut text = String::new();
    if let Some(dataset) = &ledger.dataset {
        text.push_str(&format!("dataset  {dataset}\n"));
    }
    if let Some(first) = ledger.spent.iter().find(|entry| !entry.look) {
        let rows = count(u64::from(first.rows_per_person), "row");
        text.push_str(&format!("protects {} neighbours, {rows} a person\n", first.neighbours.name()));
    }
    for entry in &ledger.spent {
        text.push_str(&format!(
            "{}  epsilon {}, delta {}, {}  {}\n",
            entry.time,
            amount(entry.epsilon),
            amount(entry.delta),
            if entry.look { "look" } else { &entry.mechanism },
            entry.output.display(),
        ));
    }
    let line = |name: &str, budget: Budget| {
        format!("{name}  epsilon {}, delta {}\n", amount(budget.epsilon), amount(budget.delta))
    };
    text += &line("spent  ", ledger.total());
    if let Some(together) = ledger.together().filter(|together| together.epsilon < ledger.total().epsilon) {
        text += &format!(
            "by zCDP  epsilon {} together, delta {}: less than the sum, and what counts\n",
            number(together.epsilon),
            amount(together.delta)
        );
    }
    text += &line("cap    ", ledger.cap);
    text += &line("left   ", ledger.left());
    text + &format!("head     {}\n", ledger.head())
}
