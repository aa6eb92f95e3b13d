//! Cubes among sketches: wherever a sketch is read, `cube.parquet` stands for the sum of its sketches, and
//! `cube.parquet#month=2026-01,region=north..south` for the sum of a slice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use compressive::Sketch;
use compressive::privacy::AnySketch;
use compressive_io::{Condition, Cube, Names, write_cube};

use super::combine::Named;

/// Between a cube and the slice that is meant.
const MARK: char = '#';

/// A cube with the places that are meant.
pub struct Slice {
    cube: Cube,
    places: Vec<usize>,
}

impl Slice {
    /// The slice that a path names, if it names a cube.
    pub fn named(path: &Path) -> Result<Option<Slice>> {
        let text = path.to_string_lossy();
        let (file, conditions) = match text.rsplit_once(MARK) {
            // A file may well have the mark in its own name.
            Some((file, conditions)) if !path.exists() => (PathBuf::from(file), Some(conditions)),
            _ => (path.to_path_buf(), None),
        };
        if !Cube::is_cube(&file) {
            return Ok(None);
        }
        let parse = |text: &str| {
            Condition::parse(text).with_context(|| {
                format!("{text}: a slice is written KEY=VALUE or KEY=FROM..TO, several with commas between")
            })
        };
        let conditions: Vec<Condition> =
            conditions.into_iter().flat_map(|all| all.split(',')).map(parse).collect::<Result<_>>()?;
        let cube = Cube::open(&file)?;
        let places = cube.select(&conditions)?;
        Ok(Some(Slice { cube, places }))
    }

    /// The sum of its sketches.
    pub fn sum(&self) -> Result<Sketch> {
        Ok(self.cube.sum(&self.places)?)
    }

    /// One sketch for each value of the first key, in their order.
    pub fn series(&self) -> Result<Vec<Named>> {
        let (mut names, mut parts): (Vec<&str>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        // Groups are sorted by their names, so that equal ones follow each other.
        for &place in &self.places {
            let name = self.cube.groups()[place].0[0].as_str();
            if names.last() != Some(&name) {
                names.push(name);
            }
            parts.push((place, names.len() - 1));
        }
        let sums = self.cube.sums(&parts, names.len())?;
        Ok(names.into_iter().map(str::to_owned).zip(sums.into_iter().map(AnySketch::Plain)).collect())
    }
}

/// Writes the groups of a pass as a cube.
pub fn write(path: &Path, key: &str, sketches: &BTreeMap<String, Sketch>) -> Result<()> {
    let groups: BTreeMap<Names, Sketch> =
        sketches.iter().map(|(name, sketch)| (vec![name.clone()], sketch.clone())).collect();
    Ok(write_cube(path, &[key.to_owned()], &groups)?)
}
