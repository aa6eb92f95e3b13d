//! Truncated and mutated files: an error or fewer rows, never a panic.

use compressive_io::{Dataset, ReadOptions};

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

fn parquet_of_pyarrow(name: &str) -> String {
    format!("{}/../../testdata/parquet/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn flipped_bytes_in_pages_with_checksums_never_change_a_row() {
    let folder = Folder::new();
    let whole = parquet_of_pyarrow("checksums.parquet");
    let bytes = std::fs::read(&whole).unwrap();
    let rows = read_file(&whole, &ReadOptions::default()).unwrap();
    // The footer, which has no checksum, lies behind the pages; its length precedes the last four bytes.
    let footer: [u8; 4] = bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap();
    let pages = bytes.len() - 8 - u32::from_le_bytes(footer) as usize;
    let mut state = 11u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut refused = 0;
    for _ in 0..500 {
        let mut damaged = bytes.clone();
        damaged[4 + random(pages - 4)] ^= 1 << random(8);
        match read_file(&folder.file("a.parquet", &damaged), &ReadOptions::default()) {
            Ok(found) => assert!(found == rows),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 400, "{refused}");
}

#[test]
fn compressions_that_are_not_read_and_addresses_are_named() {
    let path = parquet_of_pyarrow("brotli.parquet");
    assert_says(
        &failure(open(&[&path], &ReadOptions::default())),
        &["brotli.parquet", "with brotli", "zstd"],
    );
    for address in ["s3://bucket/a.parquet", "https://example.org/*.csv"] {
        let message = failure(open(&[address], &ReadOptions::default()));
        assert_says(&message, &[address, "DuckDB", "pyarrow dataset", "Arrow stream"]);
    }
}

#[test]
fn bytes_behind_an_array_are_refused() {
    let folder = Folder::new();
    let mut bytes = Table::new(60, 2).npy("<f4", false);
    bytes.extend([0; 3]);
    let path = folder.file("a.npy", &bytes);
    assert_says(&failure(read_file(&path, &ReadOptions::default())), &["a.npy", "3 bytes follow the array"]);
    let reader = Box::new(std::io::Cursor::new(bytes));
    let mut stream = Dataset::from_reader("<stdin>", reader, &ReadOptions::default()).unwrap();
    assert_says(&failure(read(&mut stream)), &["<stdin>", "bytes follow the array"]);
}
