//! The header of a `.npy` file (NumPy enhancement proposal 1, versions 1 to 3).
//!
//! Magic `\x93NUMPY`, two version bytes, the header's length (u16 in version 1, u32 later), then a Python
//! dictionary such as `{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 10), }`.

use crate::error::{Error, Result};

/// Type of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    F32,
    F64,
    Bool,
    Signed(usize),
    Unsigned(usize),
}

impl Element {
    /// Bytes per element.
    pub(super) fn size(self) -> usize {
        match self {
            Element::F32 => 4,
            Element::F64 => 8,
            Element::Bool => 1,
            Element::Signed(size) | Element::Unsigned(size) => size,
        }
    }
}

/// Shape and type of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub element: Element,
    pub fortran: bool,
    pub n_rows: u64,
    pub n_columns: usize,
    /// Bytes before the first element.
    pub data_start: u64,
}

impl Header {
    pub(super) fn row_bytes(&self) -> usize {
        self.n_columns * self.element.size()
    }

    /// Bytes of the whole file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.data_start + self.n_rows * self.row_bytes() as u64
    }
}

/// Longest header accepted; NumPy's own are about 100 bytes.
pub(super) const HEADER_BYTES_MAX: usize = 1 << 16;

/// Reads the header from the first bytes of a file.
pub(super) fn parse(path: &str, head: &[u8]) -> Result<Header> {
    let bad = |detail: &str| Error::malformed(path, "npy", detail);
    if !head.starts_with(b"\x93NUMPY") {
        return Err(bad("it does not start with the npy magic bytes"));
    }
    let short = || bad("the header is cut off");
    let (len, start) = match head.get(6).ok_or_else(short)? {
        1 => {
            let bytes = head.get(8..10).ok_or_else(short)?;
            (usize::from(u16::from_le_bytes([bytes[0], bytes[1]])), 10)
        }
        2 | 3 => {
            let bytes = head.get(8..12).ok_or_else(short)?;
            (u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize, 12)
        }
        version => return Err(bad(&format!("version {version} is unknown"))),
    };
    if len > HEADER_BYTES_MAX {
        return Err(bad(&format!("a header of {len} bytes is too long")));
    }
    let text = head.get(start..start + len).ok_or_else(short)?;
    let text = std::str::from_utf8(text).map_err(|_| bad("the header is not text"))?;
    let descr = value_of(text, "descr").ok_or_else(|| bad("the header has no 'descr'"))?;
    let element = element(path, descr)?;
    let fortran = match value_of(text, "fortran_order") {
        Some(value) if value.starts_with("True") => true,
        Some(value) if value.starts_with("False") => false,
        _ => return Err(bad("'fortran_order' is neither True nor False")),
    };
    let shape = value_of(text, "shape").ok_or_else(|| bad("the header has no 'shape'"))?;
    let (n_rows, n_columns) = shape_of(path, shape)?;
    let header = Header { element, fortran, n_rows, n_columns, data_start: (start + len) as u64 };
    let row_bytes = n_columns.checked_mul(element.size()).filter(|&bytes| bytes <= 1 << 31);
    let total = row_bytes.and_then(|row| n_rows.checked_mul(row as u64)).filter(|&bytes| bytes < 1 << 62);
    total.ok_or_else(|| bad("the shape is too large"))?;
    Ok(header)
}

/// The text after `'key':` in the dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    ['\'', '"'].iter().find_map(|quote| {
        let quoted = format!("{quote}{key}{quote}");
        let rest = &text[text.find(&quoted)? + quoted.len()..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    })
}

fn element(path: &str, descr: &str) -> Result<Element> {
    let unsupported = |what: String| Error::Unsupported {
        path: path.to_owned(),
        what,
        remedy: "save it as little-endian numbers, for instance np.save(file, a.astype('<f4'))",
    };
    if descr.starts_with('[') {
        return Err(unsupported("it holds records with named fields".to_owned()));
    }
    let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"')).unwrap_or('\'');
    let code = descr.trim_start_matches(quote).split(quote).next().unwrap_or_default();
    let (order, kind) = match code.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order, kind),
        _ => ("=", code),
    };
    let found = match kind {
        "f4" => Element::F32,
        "f8" => Element::F64,
        "b1" => Element::Bool,
        "i1" | "i2" | "i4" | "i8" => Element::Signed(usize::from(kind.as_bytes()[1] - b'0')),
        "u1" | "u2" | "u4" | "u8" => Element::Unsigned(usize::from(kind.as_bytes()[1] - b'0')),
        _ => return Err(unsupported(format!("its elements have the type {code:?}"))),
    };
    if order == ">" && found.size() > 1 {
        return Err(unsupported(format!("its elements are big-endian ({code:?})")));
    }
    Ok(found)
}

/// Rows and columns of a shape such as `(1000, 10)` or `(1000,)`.
fn shape_of(path: &str, text: &str) -> Result<(u64, usize)> {
    let bad = || Error::malformed(path, "npy", "the shape is not a tuple of integers");
    let inside = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(bad)?.0;
    let sizes = inside
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(|size| size.trim_end_matches('L').parse::<u64>().map_err(|_| bad()))
        .collect::<Result<Vec<u64>>>()?;
    match sizes[..] {
        [n_rows] => Ok((n_rows, 1)),
        [n_rows, n_columns] => Ok((n_rows, usize::try_from(n_columns).map_err(|_| bad())?)),
        _ => Err(Error::Unsupported {
            path: path.to_owned(),
            what: format!("the array has {} dimensions", sizes.len()),
            remedy: "save a table of two dimensions, for instance a.reshape(len(a), -1)",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, dictionary: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        if version == 1 {
            bytes.extend((dictionary.len() as u16).to_le_bytes());
        } else {
            bytes.extend((dictionary.len() as u32).to_le_bytes());
        }
        bytes.extend(dictionary.as_bytes());
        bytes
    }

    fn header(dictionary: &str) -> Result<Header> {
        parse("a.npy", &file(1, dictionary))
    }

    #[test]
    fn headers_of_all_versions_are_read() {
        for version in 1..=3 {
            let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 10), }      \n";
            let header = parse("a.npy", &file(version, text)).unwrap();
            assert_eq!((header.element, header.fortran), (Element::F32, false));
            assert_eq!((header.n_rows, header.n_columns, header.row_bytes()), (1000, 10, 40));
        }
        let one = header("{'descr': '|b1', 'fortran_order': True, 'shape': (7,), }").unwrap();
        assert_eq!((one.element, one.n_rows, one.n_columns, one.fortran), (Element::Bool, 7, 1, true));
        let ints = header("{\"shape\": (2, 3), \"descr\": \"<u8\", \"fortran_order\": False}").unwrap();
        assert_eq!(ints.element, Element::Unsigned(8));
    }

    #[test]
    fn other_types_and_shapes_are_refused_with_a_remedy() {
        let of = |descr: &str, shape: &str| {
            header(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"))
        };
        for (descr, shape) in [
            ("'>f4'", "(2, 2)"),
            ("'<c8'", "(2, 2)"),
            ("'|O'", "(2, 2)"),
            ("'<U5'", "(2, 2)"),
            ("[('a', '<f4')]", "(2,)"),
            ("'<f4'", "(2, 2, 2)"),
            ("'<f4'", "()"),
        ] {
            assert!(matches!(of(descr, shape), Err(Error::Unsupported { .. })), "{descr} {shape}");
        }
    }

    #[test]
    fn damaged_headers_are_refused() {
        assert!(parse("a.npy", b"\x93NUM").is_err());
        assert!(parse("a.npy", b"\x93NUMPY\x09\x00\x00\x00").is_err());
        assert!(parse("a.npy", b"\x93NUMPY\x01\x00\xff\xff{").is_err());
        assert!(parse("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{").is_err());
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 4294967295), }";
        assert!(header(huge).is_err());
        assert!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }").is_err());
        assert!(header("{'fortran_order': False, 'shape': (1, 2), }").is_err());
    }
}
