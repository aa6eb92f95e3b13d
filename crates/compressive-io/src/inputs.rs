//! From what the user typed to a list of files.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, path_text};
use crate::format;

/// One input in reading order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    File(PathBuf),
    Stdin,
}

/// Expands files, globs, directories and `-`, in the order given; directories and globs are sorted by path.
pub(crate) fn expand(inputs: &[String]) -> Result<Vec<Input>> {
    let mut found = Vec::new();
    for input in inputs {
        if input == "-" {
            found.push(Input::Stdin);
            continue;
        }
        let path = Path::new(input);
        if input.contains("://") && !path.exists() {
            return Err(remote(input));
        }
        if path.is_dir() {
            found.extend(directory(path)?.into_iter().map(Input::File));
        } else if path.exists() || !input.contains(['*', '?', '[']) {
            found.push(Input::File(path.to_owned()));
        } else {
            found.extend(matches(input)?.into_iter().map(Input::File));
        }
    }
    if found.is_empty() {
        return Err(Error::NoInput);
    }
    if found.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(Error::StreamConsumed { path: STDIN.to_owned() });
    }
    Ok(found)
}

/// The error for an address of another machine.
fn remote(input: &str) -> Error {
    Error::Unsupported {
        path: input.to_owned(),
        what: "files are read from this machine alone".to_owned(),
        remedy: "download it, or let a program that reads such addresses (DuckDB, a pyarrow dataset) \
                 write its rows as an Arrow stream, and pipe that into standard input (-)",
    }
}

/// Name of standard input in messages.
pub(crate) const STDIN: &str = "<stdin>";

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern).map_err(|error| Error::BadGlob {
        pattern: pattern.to_owned(),
        position: error.pos,
        reason: error.msg,
    })?;
    let mut found = Vec::new();
    for path in paths {
        let path = path.map_err(|error| {
            let path = path_text(error.path());
            Error::io(&path, "read", error.into())
        })?;
        if path.is_dir() {
            found.extend(directory(&path)?);
        } else {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(Error::NoMatch { pattern: pattern.to_owned() });
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// All files of a known extension below a directory. Names that start with `.` or `_` are what other programs
/// leave beside their tables (`_SUCCESS`, `.crc`).
fn directory(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let text = path_text(&path);
        let entries = std::fs::read_dir(&path).map_err(|source| Error::io(&text, "list", source))?;
        for entry in entries {
            let entry = entry.map_err(|source| Error::io(&text, "list", source))?;
            let hidden = entry.file_name().to_string_lossy().starts_with(['.', '_']);
            if hidden {
                continue;
            }
            let kind = entry.file_type().map_err(|source| Error::io(&text, "list", source))?;
            let path = entry.path();
            // A link is followed to a file, not to a directory: so there is no loop.
            if kind.is_dir() {
                pending.push(path);
            } else if path.is_file() && format::by_extension(&path).is_some() {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(Error::NoReadableFiles { path: path_text(root) });
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inputs: &[Input]) -> Vec<String> {
        inputs
            .iter()
            .map(|input| match input {
                Input::File(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
                Input::Stdin => "-".to_owned(),
            })
            .collect()
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("day=2")).unwrap();
        for name in ["b.csv", "a.csv", "day=2/c.parquet", "notes.md", "_SUCCESS.csv", ".hidden.csv"] {
            std::fs::write(folder.path().join(name), b"x").unwrap();
        }
        folder
    }

    #[test]
    fn a_directory_gives_its_tables_sorted_and_nothing_else() {
        let folder = folder();
        let found = expand(&[path_text(folder.path())]).unwrap();
        assert_eq!(names(&found), ["a.csv", "b.csv", "c.parquet"]);
    }

    #[test]
    fn a_glob_is_sorted_and_explicit_files_keep_their_order() {
        let folder = folder();
        let at = |name: &str| path_text(&folder.path().join(name));
        assert_eq!(names(&expand(&[at("?.csv")]).unwrap()), ["a.csv", "b.csv"]);
        assert_eq!(names(&expand(&[at("b.csv"), "-".into(), at("a.csv")]).unwrap()), ["b.csv", "-", "a.csv"]);
    }

    #[test]
    fn what_names_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| path_text(&folder.path().join(name));
        assert!(matches!(expand(&[path_text(folder.path())]), Err(Error::NoReadableFiles { .. })));
        assert!(matches!(expand(&[at("*.csv")]), Err(Error::NoMatch { .. })));
        assert!(matches!(expand(&[at("[")]), Err(Error::BadGlob { .. })));
        assert!(matches!(expand(&[]), Err(Error::NoInput)));
        assert!(matches!(expand(&["-".into(), "-".into()]), Err(Error::StreamConsumed { .. })));
    }
}
