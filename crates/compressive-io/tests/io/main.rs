//! Behaviour of the readers, the pilot and the driver, seen from outside.

mod bad_input;
mod columns;
mod damaged;
mod driver;
mod formats;
mod groups;
mod pilot;
mod readings;
mod support;
mod text;
