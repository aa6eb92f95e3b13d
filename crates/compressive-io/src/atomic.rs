//! Files that are either there completely or not at all.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result, path_text};

/// Writes `bytes` to `path`: into a temporary file beside it, flushed to the disk, then renamed over it.
///
/// A reader of `path` sees the old content or the new one, never a part; a failed or interrupted call leaves
/// the old content.
///
/// # Errors
/// [`Error::Io`] naming the path if the directory is missing or not writable, or the disk is full.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.append(bytes)?;
    file.commit()
}

/// A file that is written piece by piece and appears under its name with [`AtomicFile::commit`], or never.
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Starts a temporary file beside `path`.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path if the directory is missing or not writable.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile> {
        let path = path.as_ref().to_path_buf();
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
        let file = builder.tempfile_in(folder).map_err(|source| failed(&path, source))?;
        Ok(AtomicFile { path, file: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| failed(&self.path, source))
    }

    /// Replaces the first bytes: a header that tells what came after it.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full.
    pub fn replace_start(&mut self, bytes: &[u8]) -> Result<()> {
        let mut replace = || {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(bytes)?;
            self.file.seek(SeekFrom::End(0))
        };
        replace().map(|_| ()).map_err(|source| failed(&self.path, source))
    }

    /// Flushes to the disk and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full or the name is taken by a directory.
    pub fn commit(self) -> Result<()> {
        let path = self.path;
        let file = self.file.into_inner().map_err(|error| failed(&path, error.into_error()))?;
        file.as_file().sync_all().map_err(|source| failed(&path, source))?;
        file.persist(&path).map_err(|error| failed(&path, error.error))?;
        Ok(())
    }
}

/// For encoders of other crates; their errors name no path.
impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path_text(path), action: "write", source }
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
    fn a_file_in_pieces_appears_at_the_end_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        let mut file = AtomicFile::create(&path).unwrap();
        file.append(b"head body").unwrap();
        file.replace_start(b"HEAD").unwrap();
        file.append(b" tail").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"HEAD body tail");
        drop(AtomicFile::create(folder.path().join("never")).unwrap());
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
