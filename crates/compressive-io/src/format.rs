//! Which format a file is in: by its extension, and by its first bytes for streams and unknown extensions.

use std::path::Path;

/// The extensions read, for messages.
pub(crate) const EXTENSIONS: &str =
    ".csv .tsv .txt (also with .gz), .parquet .pq, .npy, .arrow .feather .ipc .arrows";

/// Bytes needed to recognise a format.
pub(crate) const MAGIC_BYTES: usize = 16;

/// A format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Delimited text; `tab` if the extension says so.
    Csv {
        tab: bool,
        gz: bool,
    },
    Parquet,
    Npy,
    ArrowFile,
    ArrowStream,
}

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Magic {
    Format(Format),
    Gzip,
    /// Feather version 1, which Arrow readers no longer know.
    OldFeather,
    /// UTF-16 text.
    Utf16,
    /// A zip archive: numpy's `.npz`, a spreadsheet.
    Zip,
    None,
}

/// Format of a path by its extension.
pub(crate) fn by_extension(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let (stem, gz) = match name.strip_suffix(".gz") {
        Some(stem) => (stem, true),
        None => (name.as_str(), false),
    };
    let extension = stem.rsplit_once('.')?.1;
    match extension {
        "csv" | "txt" => Some(Format::Csv { tab: false, gz }),
        "tsv" => Some(Format::Csv { tab: true, gz }),
        _ if gz => None,
        "parquet" | "pq" => Some(Format::Parquet),
        "npy" => Some(Format::Npy),
        "arrow" | "feather" | "ipc" => Some(Format::ArrowFile),
        "arrows" => Some(Format::ArrowStream),
        _ => None,
    }
}

/// Format by the first bytes.
pub(crate) fn by_magic(head: &[u8]) -> Magic {
    if head.starts_with(b"PAR1") {
        Magic::Format(Format::Parquet)
    } else if head.starts_with(b"\x93NUMPY") {
        Magic::Format(Format::Npy)
    } else if head.starts_with(b"ARROW1") {
        Magic::Format(Format::ArrowFile)
    } else if head.starts_with(&[0xff, 0xff, 0xff, 0xff]) {
        Magic::Format(Format::ArrowStream)
    } else if head.starts_with(&[0x1f, 0x8b]) {
        Magic::Gzip
    } else if head.starts_with(b"FEA1") {
        Magic::OldFeather
    } else if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        Magic::Utf16
    } else if head.starts_with(b"PK\x03\x04") {
        Magic::Zip
    } else {
        Magic::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_recognised_whatever_their_case() {
        let format = |name: &str| by_extension(Path::new(name));
        assert_eq!(format("a/b.CSV"), Some(Format::Csv { tab: false, gz: false }));
        assert_eq!(format("b.tsv.gz"), Some(Format::Csv { tab: true, gz: true }));
        assert_eq!(format("b.parquet"), Some(Format::Parquet));
        assert_eq!(format("b.feather"), Some(Format::ArrowFile));
        assert_eq!(format("b.arrows"), Some(Format::ArrowStream));
        assert_eq!(format("b.npy"), Some(Format::Npy));
        assert_eq!(format("b.npy.gz"), None);
        assert_eq!(format("csv"), None);
        assert_eq!(format("b.json"), None);
    }

    #[test]
    fn first_bytes_are_recognised() {
        assert_eq!(by_magic(b"PAR1...."), Magic::Format(Format::Parquet));
        assert_eq!(by_magic(b"\x93NUMPY\x01\x00"), Magic::Format(Format::Npy));
        assert_eq!(by_magic(b"ARROW1\0\0"), Magic::Format(Format::ArrowFile));
        assert_eq!(by_magic(&[0xff; 8]), Magic::Format(Format::ArrowStream));
        assert_eq!(by_magic(&[0x1f, 0x8b, 8]), Magic::Gzip);
        assert_eq!(by_magic(&[0xff, 0xfe, b'a', 0]), Magic::Utf16);
        assert_eq!(by_magic(b"PK\x03\x04"), Magic::Zip);
        assert_eq!(by_magic(b"a,b\n1,2\n"), Magic::None);
        assert_eq!(by_magic(b""), Magic::None);
    }
}
