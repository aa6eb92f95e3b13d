//! Writing a report: `NAME.md`, `NAME.json` and the figures beside them; and pages made again from their
//! JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::report::Report;

/// Where numbers come from; printed on every page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The command that made the page.
    pub command: String,
    /// Processor and cores.
    pub machine: String,
    /// The source's commit, empty if it is not known.
    pub commit: String,
}

impl Provenance {
    /// This machine, and the commit of the source in the working directory, if there is one.
    pub fn here(command: impl Into<String>) -> Provenance {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split(':').nth(1)).map_or(std::env::consts::ARCH, str::trim);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let git = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
        let commit = git.ok().filter(|output| output.status.success());
        Provenance {
            command: command.into(),
            machine: format!("{model}, {cores} cores"),
            commit: commit.map_or_else(String::new, |o| String::from_utf8_lossy(&o.stdout).trim().into()),
        }
    }

    fn to_markdown(&self, name: &str) -> String {
        let commit = if self.commit.is_empty() { String::new() } else { format!(", commit {}", self.commit) };
        format!(
            "Made by `{}` on {}{commit}; all numbers, unrounded: [{name}.json]({name}.json).\n",
            self.command, self.machine
        )
    }
}

/// What `NAME.json` holds.
#[derive(Serialize, Deserialize)]
struct Stored {
    origin: Provenance,
    report: Report,
}

impl Stored {
    /// The whole page.
    fn to_markdown(&self) -> String {
        format!("{}\n{}", self.report.to_markdown(), self.origin.to_markdown(&self.report.name))
    }
}

fn failed(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), problem: problem.to_string() }
}

/// Writes a report into a folder, which is made if needed, and returns the files: the page first.
pub fn write(report: &Report, provenance: &Provenance, folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    let stored = Stored { origin: provenance.clone(), report: report.clone() };
    let page = stored.to_markdown();
    // Through a value, whose keys are sorted. Numbers, strings and string keys only: this cannot fail.
    let json = serde_json::to_value(&stored).and_then(|value| serde_json::to_string_pretty(&value));
    let json = json.unwrap_or_default() + "\n";
    let mut files = vec![
        (folder.join(format!("{}.md", report.name)), page.as_bytes()),
        (folder.join(format!("{}.json", report.name)), json.as_bytes()),
    ];
    files.extend(report.figures.iter().map(|figure| (folder.join(&figure.file), &figure.png[..])));
    for (path, bytes) in &files {
        compressive_io::write_atomic(path, bytes).map_err(|e| failed(path, e))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The pages of a folder as their JSON files say, in the order of their names; nothing is run or written.
pub fn pages(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let entries = std::fs::read_dir(folder).map_err(|e| failed(folder, e))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let page = |path: PathBuf| {
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        let stored: Stored = serde_json::from_slice(&bytes)
            .map_err(|e| failed(&path, format!("not the report of an experiment: {e}")))?;
        Ok((path.with_extension("md"), stored.to_markdown()))
    };
    paths.into_iter().map(page).collect()
}

/// Makes the pages of a folder again from their JSON files, without running an experiment, and returns them.
pub fn render(folder: &Path) -> Result<Vec<PathBuf>> {
    let pages = pages(folder)?;
    for (path, page) in &pages {
        compressive_io::write_atomic(path, page.as_bytes()).map_err(|e| failed(path, e))?;
    }
    Ok(pages.into_iter().map(|(path, _)| path).collect())
}
