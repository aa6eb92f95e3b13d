//! From an input to an opened table: which reader a file or stream needs.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result, path_text};
use crate::fileio::{self, PeekReader};
use crate::format::{self, Format, MAGIC_BYTES, Magic};
use crate::inputs::{Input, STDIN};
use crate::options::ReadOptions;
use crate::table::Opened;
use crate::{arrow_ipc, arrow_stream, csv, npy, parquet};

/// Opens one input.
pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Opened> {
    match input {
        Input::File(path) => open_file(path, options),
        Input::Stdin => open_stream(STDIN, Box::new(std::io::stdin()), options),
    }
}

fn open_file(path: &Path, options: &ReadOptions) -> Result<Opened> {
    let text: Arc<str> = Arc::from(path_text(path));
    let mut head = Vec::new();
    fileio::fill(&mut fileio::open(&text)?, &mut head, MAGIC_BYTES)
        .map_err(|source| Error::io(&text, "read", source))?;
    if head.is_empty() {
        return Err(Error::EmptyFile { path: text.to_string() });
    }
    let magic = format::by_magic(&head);
    let format = match (format::by_extension(path), magic) {
        (_, Magic::OldFeather | Magic::Utf16 | Magic::Zip) => return Err(unreadable(&text, magic)),
        // Servers hand out compressed text under its plain name.
        (Some(Format::Csv { tab, .. }), _) => Format::Csv { tab, gz: magic == Magic::Gzip },
        // `.arrow` is used for both Arrow formats.
        (Some(Format::ArrowFile | Format::ArrowStream), Magic::Format(found)) => found,
        (Some(format), _) => format,
        (None, Magic::Format(format)) => format,
        (None, _) => return Err(Error::UnknownFormat { path: text.to_string() }),
    };
    match format {
        Format::Csv { tab, gz } => csv::open_file(&text, tab, gz, options),
        Format::Parquet => parquet::open_file(&text),
        Format::Npy => npy::open_file(&text),
        Format::ArrowFile => arrow_ipc::open_file(&text),
        Format::ArrowStream => {
            arrow_stream::open(&text, PeekReader::new(Box::new(fileio::open(&text)?)), true)
        }
    }
}

/// Opens a stream of text (plain or gzip), npy or Arrow.
pub(crate) fn open_stream(name: &str, stream: Box<dyn Read + Send>, options: &ReadOptions) -> Result<Opened> {
    let path: Arc<str> = Arc::from(name);
    let mut stream = PeekReader::new(stream);
    let mut magic = peek_magic(&path, &mut stream)?;
    let compressed = magic == Magic::Gzip;
    if compressed {
        stream = PeekReader::new(Box::new(MultiGzDecoder::new(stream)));
        magic = peek_magic(&path, &mut stream)?;
    }
    let unsupported =
        |what: &str, remedy| Error::Unsupported { path: path.to_string(), what: what.to_owned(), remedy };
    match magic {
        Magic::Format(Format::Npy) => npy::open_stream(&path, stream),
        Magic::Format(Format::ArrowStream) => arrow_stream::open(&path, stream, false),
        Magic::Format(Format::Parquet) => Err(unsupported(
            "Parquet has its index at the end, so it cannot be read from a stream",
            "give the file by name",
        )),
        Magic::Format(Format::ArrowFile) => Err(unsupported(
            "the Arrow file format has its index at the end, so it cannot be read from a stream",
            "give the file by name, or pipe the Arrow stream format",
        )),
        Magic::None | Magic::Format(Format::Csv { .. }) => csv::open_stream(&path, stream, options),
        Magic::Gzip => {
            Err(unsupported("it is compressed twice", "decompress it first: gunzip -c FILE | ..."))
        }
        Magic::OldFeather | Magic::Utf16 | Magic::Zip => Err(unreadable(&path, magic)),
    }
}

fn peek_magic(path: &str, stream: &mut PeekReader) -> Result<Magic> {
    let head = stream.peek(MAGIC_BYTES).map_err(|source| Error::io(path, "read", source))?;
    if head.is_empty() {
        return Err(Error::EmptyFile { path: path.to_owned() });
    }
    Ok(format::by_magic(head))
}

/// The error for a format that is recognised but not read.
fn unreadable(path: &str, magic: Magic) -> Error {
    let (what, remedy) = match magic {
        Magic::OldFeather => {
            ("it is in version 1 of Feather", "write it again with a current version of pyarrow")
        }
        Magic::Utf16 => ("its text is in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"),
        _ => (
            "it is a zip archive (an .npz file, a spreadsheet?)",
            "unpack it, or save its table as .csv or .npy",
        ),
    };
    Error::Unsupported { path: path.to_owned(), what: what.to_owned(), remedy }
}
