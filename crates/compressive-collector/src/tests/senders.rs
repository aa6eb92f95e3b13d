//! Senders that number their batches, callers that are taken out again, and buckets that may not be.

use super::*;

/// Batch `i` as the holder of a token sends it, numbered by a sender of its own.
fn sent(operator: &SketchOperator, i: usize, caller: &str, settled: Option<u64>) -> Batch {
    Batch { key: format!("{caller}-run-{i}"), caller: caller.into(), settled, ..batch(operator, i) }
}

fn keys(store: &Store) -> Vec<String> {
    use redb::{ReadableDatabase, ReadableTable};
    let transaction = store.database.begin_read().unwrap();
    let table = transaction.open_table(store::KEYS).unwrap();
    table.iter().unwrap().map(|entry| entry.unwrap().0.value().1.to_owned()).collect()
}

#[test]
fn what_is_settled_leaves_no_key_and_is_counted_no_more() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let commit = |batch: Batch| store.commit(&[batch], Timestamp::now()).unwrap().remove(0);
    for i in 0..20 {
        assert!(!commit(sent(&operator, i, "a", Some(i.saturating_sub(3) as u64))).unwrap().1);
    }
    assert_eq!(keys(&store), ["a-run-16", "a-run-17", "a-run-18", "a-run-19"]);
    // A late copy, whether or not it says what is settled, and one that was overtaken.
    for settled in [None, Some(0), Some(16)] {
        let late = commit(sent(&operator, 5, "a", settled));
        assert!(matches!(late, Err(Error::Settled(_))), "{late:?}");
    }
    assert!(commit(sent(&operator, 17, "a", Some(2))).unwrap().1);
    let far = commit(sent(&operator, 9000, "a", Some(16)));
    assert!(matches!(far, Err(Error::FarAhead { settled: 16, .. })), "{far:?}");
    let unnumbered = commit(Batch { key: "plain".into(), ..sent(&operator, 21, "a", Some(16)) });
    assert!(matches!(unnumbered, Err(Error::Unnumbered(_))), "{unnumbered:?}");
    // Another sender's numbers are its own.
    assert!(commit(sent(&operator, 0, "b", Some(0))).is_ok());
    let all = (0..20).chain([0]);
    assert_eq!(store.sum(&whole()).unwrap().to_bytes(), offline(&operator, all).to_bytes());
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert!(matches!(
        store.commit(&[sent(&operator, 5, "a", None)], Timestamp::now()).unwrap()[0],
        Err(Error::Settled(_))
    ));
}

#[test]
fn a_caller_is_taken_out_as_if_it_had_never_come() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    // Bucket 0 has three callers, bucket 1 two, bucket 2 one.
    let caller = |i: usize| match (i % 3, i / 3 % 3) {
        (0, 0) | (1, 1) => "north",
        (0, 1) | (1, _) => "south",
        _ => "east",
    };
    for group in (0..27).map(|i| sent(&operator, i, caller(i), None)).collect::<Vec<_>>().chunks(5) {
        assert!(store.commit(group, Timestamp::now()).unwrap().iter().all(Result::is_ok));
    }
    let of = |who: &'static str| (0..27).filter(move |i| caller(*i) == who);
    let found = store.senders("fleet").unwrap();
    let rows: Vec<_> = found.iter().map(|s| (s.sender.as_str(), s.added.buckets, s.added.rows)).collect();
    let total = |who| offline(&operator, of(who)).rows() as i64;
    assert_eq!(
        rows,
        [("east", 2, total("east")), ("north", 2, total("north")), ("south", 2, total("south"))]
    );
    let taken = store.take_out(&whole(), "south").unwrap();
    assert_eq!((taken.buckets, taken.rows, taken.private_rows), (2, total("south"), 0));
    let left = (0..27).filter(|i| caller(*i) != "south");
    assert_eq!(store.sum(&whole()).unwrap().to_bytes(), offline(&operator, left).to_bytes());
    // What it sends again is known, and a new batch counts.
    assert!(
        store.commit(&[sent(&operator, 3, "south", None)], Timestamp::now()).unwrap()[0].as_ref().unwrap().1
    );
    store.commit(&[sent(&operator, 30, "south", None)], Timestamp::now()).unwrap();
    assert_eq!(store.take_out(&whole(), "nobody-we-know").unwrap(), TakenOut::default());
    for who in ["north", "east", "south"] {
        store.take_out(&whole(), who).unwrap();
    }
    assert_eq!(store.sum(&whole()).unwrap().rows(), 0);
    assert!(store.counts("fleet").unwrap().is_empty() && store.senders("fleet").unwrap().is_empty());
    // An empty bucket is no bucket, and the store is whole.
    drop(store);
    Store::open(folder.path()).unwrap();
}

#[test]
fn private_sketches_and_reports_are_taken_out_with_their_caller() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let local = LocalResponse::new(operator.spec(), 2.0).unwrap();
    let content = |i: usize| {
        let mut bits = Vec::new();
        packed(&operator, 2, RowsRef::F64(&rows(i)), &mut bits, &mut Scratch::default()).unwrap();
        match (i % 2, batch(&operator, i).content) {
            (0, Content::Plain(plain)) => {
                let params = PrivacyParams::new(1.0).public_spec(true);
                Content::Private(privatize(&plain, &params, &mut SeededEntropy::new(i as u64)).unwrap())
            }
            _ => {
                let reports = local.reports(&bits, &mut SeededEntropy::new(i as u64)).unwrap();
                Content::Reports(LocalResponse::add_up(operator.spec(), &reports).unwrap())
            }
        }
    };
    let bucket = batch(&operator, 0).bucket;
    let of = |i: usize, caller: &str| Batch {
        content: content(i),
        bucket: bucket.clone(),
        ..sent(&operator, i, caller, None)
    };
    let kept = |folder: &Path, also: bool| {
        let store = opened(folder, &operator);
        for i in 0..4 {
            store.commit(&[of(i, "north")], Timestamp::now()).unwrap()[0].as_ref().unwrap();
            if also {
                store.commit(&[of(i + 4, "south")], Timestamp::now()).unwrap()[0].as_ref().unwrap();
            }
        }
        store
    };
    let alone = kept(&folder.path().join("alone"), false);
    let both = kept(&folder.path().join("both"), true);
    let counts = |store: &Store| store.counts("fleet").unwrap().remove(0);
    assert_eq!((counts(&alone).private, counts(&both).private), (3, 5));
    let taken = both.take_out(&whole(), "south").unwrap();
    assert_eq!(taken.buckets, 1);
    assert_eq!(both.private(&whole()).unwrap(), alone.private(&whole()).unwrap());
    assert_eq!(counts(&both), counts(&alone));
    drop(store);
}

#[test]
fn buckets_that_have_not_come_or_are_too_many_are_refused() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator).limited(3);
    let now: Timestamp = "2026-11-16T05:30:00Z".parse().unwrap();
    let at =
        |i: usize, bucket: &str| Batch { bucket: Every::Hour.parse(bucket).unwrap(), ..batch(&operator, i) };
    let commit = |batch: Batch| store.commit(&[batch], now).unwrap().remove(0);
    // Clocks differ by hours; none is a day ahead.
    assert!(commit(at(0, "2026-11-17T05")).is_ok());
    for bucket in ["2026-11-17T06", "2027-01-01T00", "9999-12-31T23"] {
        assert!(matches!(commit(at(1, bucket)), Err(Error::Ahead { .. })), "{bucket}");
    }
    // In one transaction or in several.
    let group = ["2020-01-01T00", "2020-01-01T01", "2020-01-01T02", "2020-01-01T00"];
    let group: Vec<_> = group.iter().enumerate().map(|(i, bucket)| at(2 + i, bucket)).collect();
    let answers = store.commit(&group, now).unwrap();
    assert!(answers[0].is_ok() && answers[1].is_ok() && answers[3].is_ok());
    assert!(matches!(answers[2], Err(Error::TooManyBuckets { buckets: 3, .. })));
    assert!(matches!(commit(at(9, "2020-01-01T03")), Err(Error::TooManyBuckets { .. })));
    let old = Every::Hour.parse("2020-01-01T00").unwrap();
    store.delete_buckets(&Slice { to: Some(old), ..whole() }).unwrap();
    assert!(commit(at(9, "2020-01-01T03")).is_ok());
    assert_eq!(store.sum(&whole()).unwrap(), offline(&operator, [0, 3, 9].into_iter()));
}
