//! One file a section of the page; a section that has nothing to say is empty.

pub mod components;
pub mod drift;
pub mod map;
pub mod objective;
pub mod overview;
pub mod privacy;
pub mod reproduce;
pub mod sketch;
