//! Truncated and mutated files: an error or fewer rows, never a panic.

use compressive_io::ReadOptions;

use crate::support::*;

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let table = Table::new(60, 2);
    vec![
        ("a.parquet", parquet_bytes(&table.batch(true), 25)),
        ("a.arrow", arrow_file_bytes(&table.batch(false), 25)),
        ("a.arrows", arrow_stream_bytes(&table.batch(false), 25)),
        ("a.npy", table.npy("<f4", false)),
        ("a.csv.gz", gzip(table.csv(',', "\n").as_bytes())),
    ]
}

#[test]
fn truncated_files_are_errors() {
    let folder = Folder::new();
    for (name, bytes) in files() {
        for len in [1, 7, 9, 20, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1] {
            let path = folder.file(name, &bytes[..len]);
            let result = read_file(&path, &ReadOptions::default());
            // A stream may end without its end mark, which is all that the last bytes of it are.
            if name == "a.arrows" && len >= bytes.len() - 9 {
                continue;
            }
            assert_says(&failure(result), &[name]);
        }
    }
}

#[test]
fn a_truncated_parquet_says_so() {
    let folder = Folder::new();
    let (name, bytes) = &files()[0];
    let path = folder.file(name, &bytes[..bytes.len() - 100]);
    assert_says(
        &failure(open(&[&path], &ReadOptions::default())),
        &["not a valid Parquet file", "truncated?"],
    );
    let (_, npy) = &files()[3];
    let path = folder.file("a.npy", &npy[..npy.len() - 1]);
    let message = failure(open(&[&path], &ReadOptions::default()));
    assert_says(&message, &["a.npy is truncated", &npy.len().to_string(), &(npy.len() - 1).to_string()]);
}

#[test]
fn flipped_bytes_never_panic() {
    let folder = Folder::new();
    let mut state = 7u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for (name, bytes) in files() {
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(3) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            let path = folder.file(name, &damaged);
            // Either outcome is right: a flipped bit in a value is a value.
            let _ = read_file(&path, &ReadOptions::default());
        }
    }
}
