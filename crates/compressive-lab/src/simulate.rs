//! Simulated applications, each with its baseline: what the examples and the experiments of the same names
//! share.
//!
//! - [`fleet`]: one-bit sensors and a server that only counts (\[SJ22\] figure 1, \[Sch21\] section 4.5.6);
//! - [`sounds`]: alpha features of audio events (\[Sch21\] section 4.5.7);
//! - [`speakers`]: speaker verification with a universal background model (\[KBGP18\] section 6).
//!
//! The papers have recordings; here everything is generated from a seed, so that the relations between
//! methods can be compared with theirs, not the numbers.

pub mod fleet;
pub mod sounds;
pub mod speakers;
