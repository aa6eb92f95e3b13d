//! One file a command.

pub mod combine;
pub mod compare;
pub mod demo;
pub mod design;
pub mod inspect;
pub mod sketch;

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use compressive::{Sketch, SketchSpec};

/// The first bytes of a JSON object, which no sketch starts with.
fn looks_like_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a sketch file.
pub fn read_sketch(path: &Path) -> Result<Sketch> {
    let bytes = read(path)?;
    if looks_like_json(&bytes) {
        anyhow::bail!(
            "{} is a JSON file, not a sketch; make one with `compressive sketch DATA -o NAME.sketch`",
            path.display()
        );
    }
    Sketch::from_bytes(&bytes).with_context(|| path.display().to_string())
}

/// Reads a spec from its JSON, or from a sketch made with it.
pub fn read_spec(path: &Path) -> Result<SketchSpec> {
    let bytes = read(path)?;
    if !looks_like_json(&bytes) {
        let sketch = Sketch::from_bytes(&bytes);
        return Ok(sketch
            .with_context(|| format!("{} is neither a spec nor a sketch", path.display()))?
            .spec()
            .clone());
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8 text", path.display()))?;
    SketchSpec::from_json(&text).with_context(|| path.display().to_string())
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::args::Cli::command(), "compressive", &mut script);
    crate::output::print(&String::from_utf8_lossy(&script))
}
