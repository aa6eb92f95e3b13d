//! Which rows a run sends: by what a later call knows them, so that it goes on where the run stopped and
//! counts no row twice.
//!
//! Files are known by name, length and time of change; rows in memory by a digest of their values; others by
//! a name that the user gives. How many rows a batch has does not matter: a run goes on with other batches
//! than it was begun with.

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::error::{Error, Result};
use crate::push::PushParams;
use crate::spool::Spool;
use crate::text::digest;

/// What tells the rows of a run from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Files, by their paths.
    Files(Vec<String>),
    /// Rows in memory, by a digest.
    Values(String),
    /// Whatever the user calls so.
    Named(String),
}

/// A run: rows, where they go and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What its folder is found by.
    key: String,
    /// All that it is.
    what: String,
    /// The same without lengths and times of files: two runs of one place send versions of the same files.
    place: String,
}

impl Run {
    /// The run of some rows to a collector.
    pub fn new(to: &str, params: &PushParams<'_>, rows: &Rows) -> Run {
        let (to, stream) = (to.trim_end_matches('/'), params.place.stream);
        let bucket = params.place.bucket.unwrap_or("now");
        let local = params.local.map_or(String::new(), |local| format!(" local {}", local.epsilon()));
        let way = format!("{to} {stream} {} {bucket}{local}", params.place.fingerprint);
        match rows {
            Rows::Files(paths) => {
                let what = format!("{way} {}", paths.iter().map(version).collect::<Vec<_>>().join("; "));
                Run { key: what.clone(), what, place: format!("{way} {}", paths.join("; ")) }
            }
            Rows::Values(digest) => {
                let what = format!("{way} rows {digest}");
                Run { key: what.clone(), place: what.clone(), what }
            }
            Rows::Named(name) => {
                let what = format!("{way} run {name}");
                Run { key: format!("{to} {stream} run {name}"), place: what.clone(), what }
            }
        }
    }

    /// Takes up the run in a folder of runs, or begins it; `again` forgets one that is finished.
    ///
    /// # Errors
    /// [`Error::Spool`] if a run of this name was begun for something else, or an unfinished one sent another
    /// version of the same files: its rows would be counted twice.
    pub fn spool(&self, folder: &Path, again: bool) -> Result<Spool> {
        let own = folder.join(&digest(&self.key)[..16]);
        if !own.exists() {
            self.check_versions(folder)?;
        }
        let spool = Spool::open(&own, &self.what, &self.place)?;
        if again && spool.is_finished()? {
            std::fs::remove_dir_all(&own).map_err(|e| failed(&own, e.to_string()))?;
            return Spool::open(&own, &self.what, &self.place);
        }
        Ok(spool)
    }

    /// Looks for an unfinished run of other versions of the same files.
    fn check_versions(&self, folder: &Path) -> Result<()> {
        // A folder that cannot be listed has no runs yet; whatever else is wrong with it shows when it is
        // written to.
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.join("run.json").exists())
        {
            let Some(rows) = Spool::unfinished(&path, &self.place)? else { continue };
            let problem = format!(
                "an earlier run sent {rows} rows of these files and did not end, and the files have changed since: sending them now would count rows twice. Put the files back and repeat the call, or delete this folder if that is what you want"
            );
            return Err(failed(&path, problem));
        }
        Ok(())
    }
}

/// A file by name, length and time of change.
fn version(path: &String) -> String {
    let data = std::fs::metadata(path).ok();
    let changed = data.as_ref().and_then(|m| m.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{path} {} {}", data.map_or(0, |m| m.len()), changed.map_or(0, |d| d.as_nanos()))
}

fn failed(path: &Path, problem: String) -> Error {
    Error::Spool { path: path.display().to_string(), problem }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Place;

    fn run(to: &str, bucket: Option<&str>, batch_rows: usize, rows: &Rows) -> Run {
        let place = Place { stream: "fleet", bucket, fingerprint: "f" };
        let params =
            PushParams { batch_rows, connections: 1, patience: Duration::from_secs(1), place, local: None };
        Run::new(to, &params, rows)
    }

    #[test]
    fn a_run_goes_on_whatever_its_batches_and_however_its_url_ends() {
        let rows = Rows::Values("d".into());
        assert_eq!(run("http://a/", None, 10, &rows), run("http://a", None, 20, &rows));
        assert_ne!(run("http://a", None, 10, &rows), run("http://a", Some("2026-11-16"), 10, &rows));
    }

    #[test]
    fn files_that_changed_are_another_run_which_waits_for_the_end_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, path) = (folder.path().join("runs"), folder.path().join("rows.csv"));
        let rows = Rows::Files(vec![path.display().to_string()]);
        std::fs::write(&path, "a\n1\n").unwrap();
        let mut spool = run("http://a", None, 10, &rows).spool(&runs, false).unwrap();
        let batch = spool.put(b"first", 1).unwrap();
        std::fs::write(&path, "a\n1\n2\n").unwrap();
        let refused = run("http://a", None, 10, &rows).spool(&runs, false).unwrap_err().to_string();
        assert!(refused.contains("sent 1 rows of these files") && refused.contains("changed"), "{refused}");
        // Another stream has nothing to do with it.
        let other = Rows::Named("other".into());
        run("http://a", None, 10, &other).spool(&runs, false).unwrap();
        spool.complete().unwrap();
        spool.done(batch).unwrap();
        let next = run("http://a", None, 10, &rows).spool(&runs, false).unwrap();
        assert!(!next.is_finished().unwrap() && next.rows() == 0);
    }

    #[test]
    fn a_name_stands_for_one_way_of_sending() {
        let folder = tempfile::tempdir().unwrap();
        let rows = Rows::Named("monday".into());
        run("http://a", None, 10, &rows).spool(folder.path(), false).unwrap();
        let refused = run("http://a", Some("2026-11-16"), 10, &rows).spool(folder.path(), false).unwrap_err();
        assert!(refused.to_string().contains("was begun with another recipe, bucket or local epsilon"));
    }
}
