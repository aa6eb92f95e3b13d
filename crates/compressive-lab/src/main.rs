//! The program `compressive-lab`: the experiments of the papers, with their published numbers beside ours.
#![forbid(unsafe_code)]

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use compressive_data::parallel::thread_count;
use compressive_lab::Error;
use compressive_lab::experiment::{Experiment, Options, Provenance, Report, all, find, render, write};
use serde_json::json;

/// Run the experiments of the papers
#[derive(Parser)]
#[command(name = "compressive-lab", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the experiments
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run experiments and print their tables beside the published numbers
    Run(RunArgs),
    /// Make the pages of a folder again from their JSON files, without running anything
    Render {
        /// Folder with NAME.json files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Args)]
struct RunArgs {
    /// Names of experiments, or all
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Draws per cell [default: each experiment's own number]
    #[arg(long, value_name = "N")]
    draws: Option<NonZeroUsize>,
    /// Fewer and smaller problems: seconds instead of minutes
    #[arg(long)]
    quick: bool,
    /// Folder with the tables of the experiments on real data
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep finished draws of experiments that take hours in this folder, and take up from there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Threads; they change the time, never the result [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Write NAME.md, NAME.json and the figures into this folder [default: print the pages]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
    /// Print the reports as a JSON array
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let result = match &Cli::parse().command {
        Command::List { json } => list(*json),
        Command::Run(args) => run_all(args),
        Command::Render { folder } => render_all(folder),
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    // A reader that closed the pipe (`| head`) has seen what it wanted.
    if error.downcast_ref().is_some_and(|e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

fn render_all(folder: &Path) -> Result<()> {
    let pages = render(folder)?;
    print(&pages.iter().map(|page| format!("{}\n", page.display())).collect::<String>())
}

fn list(json: bool) -> Result<()> {
    if json {
        let entry = |e: &Experiment| json!({ "name": e.name, "title": e.title, "reference": e.reference });
        return print_json(&all().iter().map(entry).collect());
    }
    let width = all().iter().map(|e| e.name.len()).max().unwrap_or(0);
    let line = |e: &Experiment| format!("{:width$}  {} ({})\n", e.name, e.title, e.reference);
    print(&all().iter().map(line).collect::<String>())
}

fn run_all(args: &RunArgs) -> Result<()> {
    let everything = args.names == ["all"];
    let experiments = if everything {
        all().iter().collect()
    } else {
        args.names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?
    };
    let options = Options {
        draws: args.draws.map(NonZeroUsize::get),
        quick: args.quick,
        threads: thread_count(args.threads.map_or(0, usize::from)),
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
    if args.json { print_json(&reports.into()) } else { Ok(()) }
}

/// Writes a report, or prints it.
fn finish(args: &RunArgs, report: &Report) -> Result<()> {
    let Some(folder) = &args.output else {
        return if args.json { Ok(()) } else { print(&format!("{}\n", report.to_markdown())) };
    };
    let files = write(report, &Provenance::here(command(args, &report.name)), folder)?;
    if args.json {
        return Ok(());
    }
    let page = files.first().map(|page| page.display().to_string()).unwrap_or_default();
    print(&format!("{page}: {}\n", report.verdict_line()))
}

/// The command that makes this page alone.
fn command(args: &RunArgs, name: &str) -> String {
    let mut words = vec!["compressive-lab run".to_owned(), name.to_owned()];
    words.extend(args.draws.map(|draws| format!("--draws {draws}")));
    words.extend(args.quick.then(|| "--quick".to_owned()));
    words.extend(args.data.as_ref().map(|data| format!("--data {}", data.display())));
    words.extend(args.output.as_ref().map(|folder| format!("-o {}", folder.display())));
    words.join(" ")
}
