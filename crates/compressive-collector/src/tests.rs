use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};

use compressive::features::{add_packed, packed};
use compressive::privacy::{LocalResponse, PrivacyParams, SeededEntropy, privatize};
use compressive::{FrequencyLaw, RowsRef, Scratch, Sketch, SketchOperator, SketchSpec, Wave, Waves};
use jiff::Timestamp;
use redb::{Database, StorageBackend};
use sha2::{Digest, Sha256};

use super::*;

mod senders;
mod world;

fn operator() -> SketchOperator {
    let waves = Waves::usual(Wave::OneBit, FrequencyLaw::AdaptedRadius);
    SketchSpec::new(["x", "y"], waves, 1.0, 30).build().unwrap()
}

fn stream(operator: &SketchOperator) -> Stream {
    Stream {
        spec: operator.spec().clone(),
        every: Every::Hour,
        keep: None,
        epsilons: None,
        created: "now".into(),
    }
}

/// Rows of batch `i`, all different.
fn rows(i: usize) -> Vec<f64> {
    (0..2 * (1 + i % 5)).map(|j| ((i * 37 + j * 11) as f64 * 0.7).sin() * 4.0).collect()
}

fn offline(operator: &SketchOperator, batches: impl Iterator<Item = usize>) -> Sketch {
    let mut sketch = Sketch::empty(operator);
    for i in batches {
        operator.accumulate(RowsRef::F64(&rows(i)), None, &mut sketch, &mut Scratch::default()).unwrap();
    }
    sketch
}

/// Batch `i` as its sensor sends it: bits.
fn batch(operator: &SketchOperator, i: usize) -> Batch {
    let mut bits = Vec::new();
    packed(operator, 2, RowsRef::F64(&rows(i)), &mut bits, &mut Scratch::default()).unwrap();
    let mut sketch = Sketch::empty(operator);
    add_packed(operator, &bits, &mut sketch).unwrap();
    Batch {
        stream: "fleet".into(),
        bucket: Every::Hour.parse(&format!("2026-11-16T{:02}", i % 3)).unwrap(),
        named: true,
        key: format!("key-{i}"),
        caller: "north".into(),
        settled: None,
        digest: Sha256::digest(&bits).into(),
        content: Content::Plain(sketch),
    }
}

fn whole() -> Slice {
    Slice { streams: vec!["fleet".into()], ..Slice::default() }
}

fn opened(folder: &Path, operator: &SketchOperator) -> Store {
    let store = Store::open(folder).unwrap();
    store.make_stream("fleet", &stream(operator)).unwrap();
    store
}

#[test]
fn a_private_release_counts_once_under_whatever_keys_it_comes() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let Content::Plain(plain) = batch(&operator, 1).content else { panic!("bits are plain") };
    let params = PrivacyParams::new(1.0).public_spec(true);
    let release = |seed| privatize(&plain, &params, &mut SeededEntropy::new(seed)).unwrap();
    let (a, b) = (release(1), release(2));
    let mut both = a.clone();
    both.merge(&b).unwrap();
    let sent = [(1, &a), (2, &a), (3, &both), (4, &both), (5, &b)];
    let batches =
        sent.map(|(i, sketch)| Batch { content: Content::Private(sketch.clone()), ..batch(&operator, i) });
    for answer in store.commit(&batches, Timestamp::now()).unwrap() {
        answer.unwrap();
    }
    assert_eq!(store.private(&whole()).unwrap().len(), 5);
    assert_eq!(store.private_sum(&whole()).unwrap(), both);
}

#[test]
fn a_batch_is_counted_once_and_the_sum_is_the_offline_sketch_to_the_byte() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let now = Timestamp::now();
    let all: Vec<Batch> = (0..20).map(|i| batch(&operator, i)).collect();
    // A key twice in one group, then all of them again.
    let first = store.commit(&[&all[..10], &all[3..5]].concat(), now).unwrap();
    assert_eq!(first.iter().filter(|a| a.as_ref().unwrap().1).count(), 2);
    let again = store.commit(&all, now).unwrap();
    assert!(
        again[..10]
            .iter()
            .zip(&first)
            .all(|(a, b)| a.as_ref().unwrap() == &(b.as_ref().unwrap().0.clone(), true))
    );
    assert_eq!(store.sum(&whole()).unwrap().to_bytes(), offline(&operator, 0..20).to_bytes());
    let one = Every::Hour.parse("2026-11-16T01").unwrap();
    let slice = Slice { from: Some(one.clone()), to: Some(one), ..whole() };
    let expected = offline(&operator, (0..20).filter(|i| i % 3 == 1));
    assert_eq!(store.sum(&slice).unwrap().to_bytes(), expected.to_bytes());
    drop(store);
    assert_eq!(Store::open(folder.path()).unwrap().sum(&whole()).unwrap(), offline(&operator, 0..20));
}

#[test]
fn a_key_used_for_other_bytes_is_refused_and_adds_nothing() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let mut other = batch(&operator, 1);
    other.key = "key-0".into();
    let answers = store.commit(&[batch(&operator, 0), other], Timestamp::now()).unwrap();
    assert!(matches!(answers[1], Err(Error::KeyReused(_))), "{answers:?}");
    assert_eq!(store.sum(&whole()).unwrap(), offline(&operator, 0..1));
}

#[test]
fn reports_add_up_apart_from_exact_sums_and_a_bucket_holds_sixteen_promises() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator());
    let store = opened(folder.path(), &operator);
    let (mut bits, mut buffer) = (Vec::new(), Scratch::default());
    packed(&operator, 2, RowsRef::F64(&rows(0)), &mut bits, &mut buffer).unwrap();
    let report = |i: usize, epsilon: f64| {
        let local = LocalResponse::new(operator.spec(), epsilon).unwrap();
        let body = local.reports(&bits, &mut SeededEntropy::new(i as u64)).unwrap();
        let sum = LocalResponse::add_up(operator.spec(), &body).unwrap();
        Batch { content: Content::Reports(sum), bucket: batch(&operator, 0).bucket, ..batch(&operator, i) }
    };
    // The second of each promise joins the first, in one transaction or in two.
    let batches: Vec<Batch> = (0..32).map(|i| report(i, 1.0 + (i % 16) as f64 / 8.0)).collect();
    for part in [&batches[..20], &batches[20..]] {
        assert!(store.commit(part, Timestamp::now()).unwrap().iter().all(Result::is_ok));
    }
    let one_more = store.commit(&[report(40, 7.0), report(41, 1.0)], Timestamp::now()).unwrap();
    assert!(one_more[0].as_ref().unwrap_err().to_string().contains("16 different promises"));
    assert!(one_more[1].is_ok());
    let sum = store.private_sum(&whole()).unwrap();
    let readings = (rows(0).len() / operator.dim()) as i64;
    assert_eq!((sum.releases().len(), sum.rows()), (16, 33 * readings));
    assert_eq!(store.sum(&whole()).unwrap().rows(), 0);
}

#[test]
fn streams_keep_to_one_spec_and_refuse_what_is_made_with_another() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    assert!(!store.make_stream("fleet", &stream(&operator)).unwrap());
    let mut spec = operator.spec().clone();
    spec.seed = 7;
    let other = spec.build().unwrap();
    let error = store.make_stream("fleet", &stream(&other)).unwrap_err().to_string();
    assert!(error.contains("seed"), "{error}");
    let answers = store.commit(&[batch(&other, 0)], Timestamp::now()).unwrap();
    assert!(matches!(answers[0], Err(Error::Fingerprint { .. })));
    for name in ["", "../x", "a/b", "a b", ".hidden", "a..b", &"x".repeat(101), "ü"] {
        assert!(matches!(store.make_stream(name, &stream(&operator)), Err(Error::Name(_))), "{name}");
    }
}

#[test]
fn old_buckets_go_and_their_batches_are_not_counted_again() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = Store::open(folder.path()).unwrap();
    store.make_stream("fleet", &Stream { keep: Some(2), ..stream(&operator) }).unwrap();
    let all: Vec<Batch> = (0..9).map(|i| batch(&operator, i)).collect();
    let (then, now): (Timestamp, Timestamp) =
        ("2026-11-16T01:30:00Z".parse().unwrap(), "2026-11-16T02:30:00Z".parse().unwrap());
    assert!(store.commit(&all, then).unwrap().iter().all(Result::is_ok));
    assert_eq!(store.expire(now).unwrap(), 1);
    let left = offline(&operator, (0..9).filter(|i| i % 3 != 0));
    assert_eq!(store.sum(&whole()).unwrap(), left);
    assert!(store.commit(&all, now).unwrap().iter().all(|answer| answer.as_ref().unwrap().1));
    // One that comes too late is told so, instead of being counted and deleted.
    let late = store.commit(&[batch(&operator, 9)], now).unwrap();
    assert!(matches!(late[0], Err(Error::Expired { keep: 2, .. })), "{late:?}");
    assert_eq!(store.sum(&whole()).unwrap(), left);
    assert_eq!(store.counts("fleet").unwrap().len(), 2);
    store.delete_stream("fleet").unwrap();
    assert!(matches!(store.sum(&whole()), Err(Error::NoStream(_))));
}

#[test]
fn a_backup_made_amid_the_work_is_a_store_of_its_own() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(&folder.path().join("a"), &operator);
    store.commit(&[batch(&operator, 0), batch(&operator, 1)], Timestamp::now()).unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    store.backup(&Store::path(&folder.path().join("b"))).unwrap();
    store.commit(&[batch(&operator, 2)], Timestamp::now()).unwrap();
    let restored = Store::open(&folder.path().join("b")).unwrap();
    assert_eq!(restored.sum(&whole()).unwrap(), offline(&operator, 0..2));
    restored.commit(&[batch(&operator, 1), batch(&operator, 2)], Timestamp::now()).unwrap();
    assert_eq!(restored.sum(&whole()).unwrap(), offline(&operator, 0..3));
}

#[test]
fn the_writer_answers_every_batch_after_it_is_counted() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = Arc::new(opened(folder.path(), &operator));
    let (writer, thread) = Writer::start(Arc::clone(&store)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let mut sent = 0;
    for i in 0..500 {
        let (sender, copy) = (sender.clone(), batch(&operator, i));
        // Beyond the queue a sender comes again; here it does not, and the batch is not counted.
        if writer.submit(copy, Box::new(move |answer| drop(sender.send((i, answer))))).is_ok() {
            sent += 1;
        }
    }
    drop((writer, sender));
    let counted: Vec<usize> = receiver.iter().map(|(i, answer)| answer.map(|_| i).unwrap()).collect();
    thread.join().unwrap();
    assert_eq!(counted.len(), sent);
    assert_eq!(store.sum(&whole()).unwrap(), offline(&operator, counted.into_iter()));
}

/// A file whose writes fail once a number of them is used up, as on a full or dying disk.
#[derive(Debug)]
struct Failing {
    inner: redb::backends::FileBackend,
    left: Arc<AtomicI64>,
}

impl Failing {
    fn spend(&self) -> std::io::Result<()> {
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            n if n > 0 => Ok(()),
            _ => Err(std::io::Error::new(std::io::ErrorKind::StorageFull, "no space left")),
        }
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> std::io::Result<u64> {
        self.inner.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.inner.read(offset, out)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.spend().and_then(|()| self.inner.set_len(len))
    }
    fn sync_data(&self) -> std::io::Result<()> {
        self.spend().and_then(|()| self.inner.sync_data())
    }
    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.spend().and_then(|()| self.inner.write(offset, data))
    }
    fn close(&self) -> std::io::Result<()> {
        self.inner.close()
    }
}

/// However far the disk gets, an acknowledged batch is counted, and sending the others again ends with the
/// exact sum.
#[test]
fn a_disk_that_fails_at_any_write_loses_and_doubles_nothing() {
    let operator = operator();
    for allowed in (0..60).chain([80, 120, 200]) {
        let folder = tempfile::tempdir().unwrap();
        opened(folder.path(), &operator);
        let path = Store::path(folder.path());
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let left = Arc::new(AtomicI64::new(allowed));
        let backend = Failing { inner: redb::backends::FileBackend::new(file).unwrap(), left };
        let mut acknowledged = Vec::new();
        if let Ok(database) = Database::builder().create_with_backend(backend) {
            let store = Store::checked(database, path, false);
            for i in 0..12 {
                let Ok(store) = &store else { break };
                if store.commit(&[batch(&operator, i)], Timestamp::now()).is_ok() {
                    acknowledged.push(i);
                }
            }
        }
        let store = Store::open(folder.path()).unwrap();
        for i in &acknowledged {
            let Batch { digest, bucket, .. } = batch(&operator, *i);
            let known = store.answered("fleet", &format!("key-{i}"), &digest, Some(&bucket)).unwrap();
            assert!(known.is_some(), "{allowed}: batch {i} was acknowledged and is gone");
        }
        let all: Vec<Batch> = (0..12).map(|i| batch(&operator, i)).collect();
        store.commit(&all, Timestamp::now()).unwrap();
        assert_eq!(store.sum(&whole()).unwrap(), offline(&operator, 0..12), "{allowed}");
    }
}

#[test]
fn a_flipped_bit_or_a_cut_file_gives_the_right_sum_or_a_refusal() {
    let (operator, folder) = (operator(), tempfile::tempdir().unwrap());
    let store = opened(folder.path(), &operator);
    let all: Vec<Batch> = (0..12).map(|i| batch(&operator, i)).collect();
    store.commit(&all, Timestamp::now()).unwrap();
    let right = store.sum(&whole()).unwrap();
    drop(store);
    let bytes = std::fs::read(Store::path(folder.path())).unwrap();
    let mut refused = 0;
    let mut try_with = |bytes: &[u8], what: String| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(Store::path(folder.path()), bytes).unwrap();
        let outcome = Store::open(folder.path()).and_then(|store| {
            // Keys count as well: all batches sent again must add nothing.
            store.commit(&all, Timestamp::now())?;
            store.sum(&whole())
        });
        match outcome {
            Ok(sum) => assert_eq!(sum, right, "{what}"),
            Err(_) => refused += 1,
        }
    };
    let used: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] != 0).collect();
    for step in 0..150 {
        let at = used[(step * 7919) % used.len()];
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (step % 8);
        try_with(&damaged, format!("bit {} of byte {at}", step % 8));
    }
    for share in [0.0, 0.1, 0.5, 0.9] {
        let end = (bytes.len() as f64 * share) as usize;
        if end > 0 {
            try_with(&bytes[..end], format!("cut to {end} bytes"));
        }
    }
    assert!(refused > 20, "only {refused} of the damaged files were refused");
}
