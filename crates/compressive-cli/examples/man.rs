//! Writes the manual pages of the program, one for each command, into a folder:
//! `cargo run -p compressive-cli --example man -- target/man`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).unwrap_or_else(|| "target/man".into()).into();
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(compressive_cli::command(), &folder)
}
