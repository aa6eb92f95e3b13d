//! Applications of sketches, one file each; they are one program, so that they are linked once.
//!
//! `cargo run --release -p compressive-lab --example applications fleet` (or `sounds`, `speakers`)

mod fleet;
mod sounds;
mod speakers;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("fleet") => fleet::main(),
        Some("sounds") => sounds::main(),
        Some("speakers") => speakers::main(),
        _ => Err("name an application: fleet, sounds or speakers".into()),
    }
}
