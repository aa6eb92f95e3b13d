use compressive::privacy::PrivacyParams;
use compressive::{FrequencyLaw, Source};

use super::*;

fn spec(source: Source) -> SketchSpec {
    let mut spec = SketchSpec::new(["a"], FrequencyLaw::AdaptedRadius, 1.0, 20);
    spec.source = Some(source);
    spec
}

struct Fixture {
    folder: tempfile::TempDir,
    path: PathBuf,
    spec: SketchSpec,
}

impl Fixture {
    fn new(epsilon: f64, delta: f64) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.json");
        Ledger::create(&path, Budget { epsilon, delta }, None).unwrap();
        Fixture { folder, path, spec: spec(Source::Bounds) }
    }

    fn release(&self, params: PrivacyParams) -> Result<Ledger> {
        let release = Release::plan(&self.spec, &params).unwrap();
        let charge = Charge::Release { release: &release, spec: &self.spec };
        Ledger::spend(&self.path, charge, &self.folder.path().join("out.sketch"))
    }

    fn spend(&self, epsilon: f64) -> Result<Ledger> {
        self.release(PrivacyParams::new(epsilon))
    }

    fn refusal(&self) -> String {
        self.spend(0.1).unwrap_err().to_string()
    }
}

#[test]
fn an_entry_that_was_changed_or_removed_breaks_the_chain() {
    let made = Fixture::new(5.0, 0.0);
    for epsilon in [1.0, 2.0, 0.5] {
        made.spend(epsilon).unwrap();
    }
    let good = std::fs::read_to_string(&made.path).unwrap();
    let mut cheaper: serde_json::Value = serde_json::from_str(&good).unwrap();
    cheaper["spent"][0]["epsilon"] = 0.01.into();
    let mut shorter: serde_json::Value = serde_json::from_str(&good).unwrap();
    shorter["spent"].as_array_mut().unwrap().remove(1);
    let mut richer: serde_json::Value = serde_json::from_str(&good).unwrap();
    richer["cap"]["epsilon"] = 100.0.into();
    for (wrong, at) in [(cheaper, "entry 1"), (shorter, "entry 2"), (richer, "entry 1")] {
        std::fs::write(&made.path, wrong.to_string()).unwrap();
        let refused = made.refusal();
        assert!(refused.contains(at) && refused.contains("was changed"), "{refused}");
    }
    std::fs::write(&made.path, good).unwrap();
    assert_eq!(made.spend(0.25).unwrap().total().epsilon, 3.75);
}

#[test]
fn an_older_copy_and_a_new_ledger_of_the_same_name_are_refused() {
    let made = Fixture::new(5.0, 0.0);
    made.spend(1.0).unwrap();
    let older = std::fs::read(&made.path).unwrap();
    made.spend(2.0).unwrap();
    std::fs::write(&made.path, older).unwrap();
    let refused = made.refusal();
    assert!(refused.contains("put back") && refused.contains("remembers 2 entries"), "{refused}");
    assert!(Ledger::read(&made.path).is_err());
    std::fs::remove_file(&made.path).unwrap();
    let refused = Ledger::create(&made.path, Budget { epsilon: 9.0, delta: 0.0 }, None).unwrap_err();
    assert!(refused.to_string().contains("there was a ledger of this name, with 2 entries"), "{refused}");
    // A program that was killed before it told the lock has left a longer ledger, which is fine.
    let made = Fixture::new(5.0, 0.0);
    made.spend(1.0).unwrap();
    let lock = std::fs::read(Anchor::path(&made.path)).unwrap();
    made.spend(2.0).unwrap();
    std::fs::write(Anchor::path(&made.path), lock).unwrap();
    assert_eq!(made.spend(0.5).unwrap().spent.len(), 3);
}

#[cfg(unix)]
#[test]
fn a_ledger_is_one_file_whatever_it_is_called() {
    let made = Fixture::new(1.0, 0.0);
    let link = made.folder.path().join("link.json");
    std::os::unix::fs::symlink("l.json", &link).unwrap();
    let release = Release::plan(&made.spec, &PrivacyParams::new(0.75)).unwrap();
    let charge = Charge::Release { release: &release, spec: &made.spec };
    let output = made.folder.path().join("out.sketch");
    Ledger::spend(&link, charge, &output).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        Ledger::spend(&made.path, charge, &output).unwrap_err().to_string().contains("0.75 of 1 is spent")
    );
    // Neither is the result written over it or over its lock, by whatever name.
    let lock = Anchor::path(&made.path);
    let second = made.folder.path().join("second");
    std::fs::hard_link(&lock, &second).unwrap();
    for (own, words) in [(&link, "the ledger itself"), (&lock, "the lock"), (&second, "the lock")] {
        let refused = Ledger::spend(&made.path, charge, own).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    std::fs::hard_link(&made.path, made.folder.path().join("copy.json")).unwrap();
    let refused = made.refusal();
    assert!(refused.contains("2 names (hard links)"), "{refused}");
}

#[test]
fn a_look_is_charged_when_it_is_made_and_releases_cost_the_rest() {
    let mut made = Fixture::new(2.0, 0.0);
    made.spec = spec(Source::Private { epsilon: 0.5 });
    // A look that was not charged is part of every release.
    assert_eq!(made.spend(0.75).unwrap().total().epsilon, 0.75);
    let mut made = Fixture::new(2.0, 0.0);
    made.spec = spec(Source::Private { epsilon: 0.5 });
    let output = made.folder.path().join("spec.json");
    let look = Charge::Look { epsilon: 0.5, spec: Some(&made.spec) };
    let ledger = Ledger::spend(&made.path, look, &output).unwrap();
    assert!(ledger.total().epsilon == 0.5 && ledger.spent[0].look);
    assert!((made.spend(1.0).unwrap().total().epsilon - 1.0).abs() < 1e-12);
    assert!((made.spend(1.0).unwrap().total().epsilon - 1.5).abs() < 1e-12);
    let refused = made.spend(1.25).unwrap_err().to_string();
    assert!(refused.contains("epsilon 0.75 would exceed the cap: 1.5 of 2 is spent"), "{refused}");
    let look = Charge::Look { epsilon: 0.6, spec: None };
    assert!(Ledger::check(&made.path, look, &output).is_err());
    // To replace a row of a person with three is to remove and add three.
    let made = Fixture { spec: spec(Source::Private { epsilon: 0.5 }), ..Fixture::new(9.0, 0.0) };
    let look = Charge::Look { epsilon: 0.5, spec: Some(&made.spec) };
    Ledger::spend(&made.path, look, &output).unwrap();
    let params = PrivacyParams::new(4.0).neighbours(Neighbours::Replace).rows_per_person(3);
    assert!((made.release(params).unwrap().total().epsilon - 4.0).abs() < 1e-12);
}

#[test]
fn gaussian_releases_compose_by_zcdp_where_that_is_less() {
    let made = Fixture::new(3.0, 1e-5);
    let mut releases = 0;
    let last = loop {
        match made.release(PrivacyParams::new(0.5).delta(1e-6)) {
            Ok(_) => releases += 1,
            Err(error) => break error.to_string(),
        }
    };
    // The sum stops at 6 of them.
    assert!((20..60).contains(&releases), "{releases}");
    assert!(last.contains("would exceed the cap") && last.contains("by zCDP it would be 3."), "{last}");
    let ledger = Ledger::read(&made.path).unwrap();
    let together = ledger.together().unwrap();
    assert!(together.epsilon <= 3.0 && together.delta == 1e-5 && ledger.total().epsilon > 9.0);
    // Without a delta there is nothing but the sum.
    let pure = Fixture::new(1.0, 0.0);
    pure.spend(0.6).unwrap();
    assert!(pure.spend(0.6).is_err() && Ledger::read(&pure.path).unwrap().together().is_none());
}

#[test]
fn ledgers_of_the_first_format_are_read_and_become_chains_at_the_next_entry() {
    let made = Fixture::new(5.0, 1e-6);
    let entry = r#"{"time":"","output":"o","fingerprint":"","epsilon":1.5,"delta":0.0,"neighbours":"add-remove","rows_per_person":1,"mechanism":"discrete-laplace"}"#;
    let old =
        format!(r#"{{"format":1,"dataset":null,"cap":{{"epsilon":5.0,"delta":0.0}},"spent":[{entry}]}}"#);
    std::fs::write(&made.path, old).unwrap();
    std::fs::remove_file(Anchor::path(&made.path)).unwrap();
    assert_eq!(Ledger::read(&made.path).unwrap().total().epsilon, 1.5);
    let ledger = made.spend(1.0).unwrap();
    assert!(ledger.total().epsilon == 2.5 && ledger.spent.iter().all(|entry| entry.hash.is_some()));
    assert_eq!(Ledger::read(&made.path).unwrap().head(), ledger.head());
}
