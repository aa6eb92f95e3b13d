//! `lab`: the experiments of the papers, with their published numbers beside ours.

use std::path::Path;

use anyhow::{Context, Result};
use compressive_lab::Error;
use compressive_lab::experiment::{Experiment, Options, Provenance, Report, all, find, render, write};
use serde_json::json;

use crate::args::{LabArgs, LabCommand, LabRunArgs};
use crate::output;

/// Lists or runs experiments, or makes their pages again.
pub fn run(args: &LabArgs) -> Result<()> {
    match &args.command {
        LabCommand::List { json } => list(*json),
        LabCommand::Run(args) => run_all(args),
        LabCommand::Render { folder } => render_all(folder),
    }
}

fn render_all(folder: &Path) -> Result<()> {
    let pages = render(folder)?;
    output::print(&pages.iter().map(|page| format!("{}\n", page.display())).collect::<String>())
}

fn list(json: bool) -> Result<()> {
    if json {
        let entry = |e: &Experiment| json!({ "name": e.name, "title": e.title, "reference": e.reference });
        return output::print_json(&all().iter().map(entry).collect());
    }
    let width = all().iter().map(|e| e.name.len()).max().unwrap_or(0);
    let line = |e: &Experiment| format!("{:width$}  {} ({})\n", e.name, e.title, e.reference);
    output::print(&all().iter().map(line).collect::<String>())
}

fn run_all(args: &LabRunArgs) -> Result<()> {
    let everything = args.names == ["all"];
    let experiments = if everything {
        all().iter().collect()
    } else {
        args.names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?
    };
    let options = Options {
        draws: args.draws,
        quick: args.quick,
        threads: args.threads.count(),
        data: args.data.clone(),
        keep: args.keep.clone(),
    };
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut reports = Vec::new();
    for experiment in experiments {
        let run = experiment.run(&options, &mut |line| {
            if !args.quiet {
                eprintln!("{}: {line}", experiment.name);
            }
        });
        let report = match run {
            // One data file that is not there is no reason to lose the other experiments.
            Err(problem @ Error::NoData { .. }) if everything => {
                eprintln!("{}: left out: {problem}", experiment.name);
                continue;
            }
            run => run?,
        };
        finish(args, &report)?;
        if args.json {
            reports.push(serde_json::to_value(&report)?);
        }
    }
    if args.json { output::print_json(&reports.into()) } else { Ok(()) }
}

/// Writes a report, or prints it.
fn finish(args: &LabRunArgs, report: &Report) -> Result<()> {
    let Some(folder) = &args.output else {
        return if args.json { Ok(()) } else { output::print(&format!("{}\n", report.to_markdown())) };
    };
    let files = write(report, &Provenance::here(command(args, &report.name)), folder)?;
    if args.json {
        return Ok(());
    }
    let page = files.first().map(|page| page.display().to_string()).unwrap_or_default();
    output::print(&format!("{page}: {}\n", report.verdict_line()))
}

/// The command that makes this page alone.
fn command(args: &LabRunArgs, name: &str) -> String {
    let mut words = vec!["compressive lab run".to_owned(), name.to_owned()];
    words.extend(args.draws.map(|draws| format!("--draws {draws}")));
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.extend(args.data.as_ref().map(|data| format!("--data {}", data.display())));
    words.extend(args.output.as_ref().map(|folder| format!("-o {}", folder.display())));
    words.join(" ")
}
