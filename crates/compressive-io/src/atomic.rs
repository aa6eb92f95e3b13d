//! Files that are either there completely or not at all.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result, path_text};

/// Writes `bytes` to `path`: into a temporary file beside it, flushed to the disk, then renamed over it.
///
/// A reader of `path` sees the old content or the new one, never a part; a failed or interrupted call leaves the old
/// content.
///
/// # Errors
/// [`Error::Io`] naming the path if the directory is missing or not writable, or the disk is full.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let error = |source: std::io::Error| Error::Io { path: path_text(path), action: "write", source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".compressive-").suffix(".tmp");
    // Temporary files are private by default; the result should be as readable as any new file.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(error)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(error)?;
    file.persist(path).map_err(|failed| error(failed.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_replaced_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.sketch");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent").join("out.sketch");
        let error = write_atomic(&path, b"one").unwrap_err().to_string();
        assert!(error.contains("out.sketch") && error.contains("write"), "{error}");
    }

    #[test]
    fn a_target_that_cannot_be_replaced_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.sketch");
        std::fs::create_dir(&path).unwrap();
        assert!(write_atomic(&path, b"one").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
