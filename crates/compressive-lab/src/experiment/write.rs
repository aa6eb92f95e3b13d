//! Writing a report: `NAME.md`, `NAME.json` and the figures beside them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::experiment::report::Report;

/// Where numbers come from; printed on every page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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

/// Writes a report into a folder, which is made if needed, and returns the files: the page first.
pub fn write(report: &Report, provenance: &Provenance, folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |path: &Path, problem: String| Error::File { path: path.display().to_string(), problem };
    std::fs::create_dir_all(folder).map_err(|e| failed(folder, e.to_string()))?;
    let page = format!("{}\n{}", report.to_markdown(), provenance.to_markdown(&report.name));
    let json = serde_json::json!({ "origin": provenance, "report": report });
    // Numbers, strings and string keys only: writing them cannot fail.
    let json = serde_json::to_string_pretty(&json).unwrap_or_default() + "\n";
    let mut files = vec![
        (folder.join(format!("{}.md", report.name)), page.as_bytes()),
        (folder.join(format!("{}.json", report.name)), json.as_bytes()),
    ];
    files.extend(report.figures.iter().map(|figure| (folder.join(&figure.file), &figure.png[..])));
    for (path, bytes) in &files {
        compressive_io::write_atomic(path, bytes).map_err(|e| failed(path, e.to_string()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}
