use std::time::Duration;

use compressive::privacy::LocalResponse;
use compressive::{FrequencyLaw, SketchSpec, Wave, Waves};

use super::*;
use crate::client::Place;

fn run(to: &str, bucket: Option<&str>, batch_rows: usize, rows: &Rows) -> Run {
    let place = Place { stream: "fleet", bucket, fingerprint: "f" };
    let params =
        PushParams { batch_rows, connections: 1, patience: Duration::from_secs(1), place, local: None };
    Run::new(to, &params, rows)
}

fn refused(run: &Run, runs: &Path, again: bool) -> String {
    run.spool(runs, again).unwrap_err().to_string()
}

#[test]
fn a_run_goes_on_whatever_its_batches_and_however_its_url_ends() {
    let rows = Rows::Values("d".into());
    assert_eq!(run("http://a/", None, 10, &rows), run("http://a", None, 20, &rows));
    assert_ne!(run("http://a", None, 10, &rows), run("http://a", Some("2026-11-16"), 10, &rows));
}

#[test]
fn a_run_is_taken_up_where_it_was_and_its_keys_stay() {
    let folder = tempfile::tempdir().unwrap();
    let own = run("http://a", None, 10, &Rows::Named("monday".into()));
    let mut spool = own.spool(folder.path(), false).unwrap();
    assert_eq!(spool.put(b"first", 10, "ten").unwrap(), 0);
    assert_eq!(spool.put(b"second", 5, "fifteen").unwrap(), 1);
    let key = spool.key(1);
    spool.done(0).unwrap();
    // A batch that was written when the client was killed, before it was counted.
    let torn = own.folder(folder.path()).join("000000000002.batch");
    std::fs::write(torn, b"half").unwrap();
    drop(spool);
    let mut spool = own.spool(folder.path(), false).unwrap();
    assert_eq!((spool.rows(), spool.digest(), spool.key(1)), (15, "fifteen", key));
    assert_eq!(spool.waiting(), [1]);
    assert_eq!(spool.read(1).unwrap(), b"second");
    assert_eq!(spool.put(b"third", 5, "twenty").unwrap(), 2);
    assert_eq!(spool.read(2).unwrap(), b"third");
    spool.complete().unwrap();
    drop(spool);
    assert!(own.spool(folder.path(), false).unwrap().is_complete());
}

#[test]
fn a_run_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let own = run("http://a", None, 10, &Rows::Named("monday".into()));
    let held = own.spool(folder.path(), false).unwrap();
    assert!(refused(&own, folder.path(), false).contains("another process is sending these rows"));
    // Others are not in its way.
    run("http://a", None, 10, &Rows::Named("tuesday".into())).spool(folder.path(), false).unwrap();
    let key = held.key(0);
    drop(held);
    // The identity was kept before any batch.
    assert_eq!(own.spool(folder.path(), false).unwrap().key(0), key);
}

#[test]
fn files_are_known_by_their_paths_and_a_list_of_them_may_grow() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, path) = (folder.path().join("runs"), |name: &str| folder.path().join(name));
    for name in ["a.csv", "b.csv", "c.csv"] {
        std::fs::write(path(name), "x\n1\n").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(path("a.csv"), path("link.csv")).unwrap();
    let files = |names: &[&str]| {
        let paths = names.iter().map(|name| path(name).display().to_string()).collect();
        run("http://a", None, 10, &Rows::Files(paths))
    };
    let mut spool = files(&["a.csv"]).spool(&runs, false).unwrap();
    let batch = spool.put(b"first", 1, "one").unwrap();
    spool.done(batch).unwrap();
    spool.complete().unwrap();
    let key = spool.key(0);
    drop(spool);
    for names in [
        &["a.csv"][..],
        #[cfg(unix)]
        &["link.csv"],
        &["a.csv", "b.csv"],
    ] {
        let spool = files(names).spool(&runs, false).unwrap();
        assert_eq!((spool.rows(), spool.key(0)), (1, key.clone()), "{names:?}");
    }
    // Now the run is one of both files.
    for names in [&["b.csv"][..], &["c.csv", "a.csv"], &["a.csv"]] {
        assert!(refused(&files(names), &runs, false).contains("among other files"), "{names:?}");
    }
    files(&["c.csv"]).spool(&runs, false).unwrap();
    // Another stream, collector or bucket has nothing to do with it.
    let paths = Rows::Files(vec![path("b.csv").display().to_string()]);
    run("http://b", None, 10, &paths).spool(&runs, false).unwrap();
    run("http://a", Some("2026-11-16"), 10, &paths).spool(&runs, false).unwrap();
    // Once more is a new run.
    let again = files(&["a.csv", "b.csv"]);
    again.spool(&runs, false).unwrap().complete().unwrap();
    let spool = again.spool(&runs, true).unwrap();
    assert!(spool.rows() == 0 && spool.key(0) != key);
}

#[test]
fn a_name_stands_for_one_way_of_sending() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Rows::Named("monday".into());
    run("http://a", None, 10, &rows).spool(folder.path(), false).unwrap();
    let other = run("http://a", Some("2026-11-16"), 10, &rows);
    let refused = refused(&other, folder.path(), false);
    assert!(refused.contains("was begun with another recipe, bucket or local epsilon"), "{refused}");
}

#[test]
fn a_reading_reports_once_wherever_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let waves = Waves::new(Wave::OneBit, FrequencyLaw::AdaptedRadius);
    let spec = SketchSpec::new(["a"], waves, 1.0, 10);
    let answers = |epsilon| LocalResponse::new(&spec, epsilon).unwrap();
    let reports = |local: Option<&LocalResponse>, stream, bucket, rows: &Rows| {
        let place = Place { stream, bucket, fingerprint: "f" };
        let patience = Duration::from_secs(1);
        let params = PushParams { batch_rows: 10, connections: 1, patience, place, local };
        Run::new("http://a", &params, rows)
    };
    let (two, three) = (answers(2.0), answers(3.0));
    let rows = Rows::Values("d".into());
    let own = reports(Some(&two), "fleet", None, &rows);
    let mut spool = own.spool(folder.path(), false).unwrap();
    // Nothing is spent before something is sent.
    reports(Some(&two), "other", None, &rows).spool(folder.path(), false).unwrap();
    spool.put(b"first", 7, "seven").unwrap();
    drop(spool);
    for (local, stream, bucket) in
        [(&two, "other", None), (&two, "fleet", Some("2026-11-16")), (&three, "fleet", None)]
    {
        let refused = refused(&reports(Some(local), stream, bucket, &rows), folder.path(), false);
        assert!(refused.contains("7 of these readings") && refused.contains("epsilon 2"), "{refused}");
    }
    let mut spool = own.spool(folder.path(), false).unwrap();
    assert_eq!(spool.rows(), 7);
    spool.complete().unwrap();
    spool.done(0).unwrap();
    drop(spool);
    assert!(refused(&own, folder.path(), true).contains("a second report"));
    reports(Some(&two), "fleet", None, &Rows::Values("e".into())).spool(folder.path(), false).unwrap();
}

#[test]
fn a_number_is_settled_once_the_disk_has_it_and_no_batch_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let own = run("http://a", None, 10, &Rows::Named("monday".into()));
    let mut spool = own.spool(folder.path(), false).unwrap();
    for i in 0..70 {
        spool.put(b"batch", 1, "digest").unwrap();
        assert_eq!(spool.settled(), 0, "{i}");
    }
    for batch in (0..63).rev() {
        spool.done(batch).unwrap();
        assert_eq!(spool.settled(), 0);
    }
    spool.done(64).unwrap();
    assert_eq!(spool.settled(), 0);
    // All below 65 are acknowledged, which is enough to write the state anew.
    spool.done(63).unwrap();
    assert_eq!(spool.settled(), 65);
    // A file that a crash of the machine brought back.
    let old = own.folder(folder.path()).join("000000000007.batch");
    std::fs::write(&old, b"batch").unwrap();
    drop(spool);
    let mut spool = own.spool(folder.path(), false).unwrap();
    assert_eq!((spool.waiting(), spool.settled()), ((65..70).collect(), 65));
    assert!(!old.exists());
    for batch in 65..70 {
        spool.done(batch).unwrap();
    }
    spool.complete().unwrap();
    assert_eq!(spool.settled(), 70);
}
