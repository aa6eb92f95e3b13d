//! Files that are either there completely or not at all.
//!
//! A link is followed: what it leads to is replaced, and the link stays. Devices and pipes cannot be replaced
//! by a file without harm, so they are written to, when all of it is there. What a killed program leaves
//! beside its results is removed by [`sweep`].

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::error::{Error, Result, path_text};

/// How names of temporary files begin and end.
const MARK: [&str; 2] = [".compressive-", ".tmp"];

/// A temporary file younger than this may belong to a program that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(60);

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
    /// As the user wrote it.
    path: PathBuf,
    target: Target,
    file: BufWriter<NamedTempFile>,
}

/// Where the content goes.
enum Target {
    /// A regular file, or none yet, behind all links.
    File(PathBuf),
    /// A device or pipe.
    Device,
}

impl AtomicFile {
    /// Starts a temporary file beside `path`.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path if the directory is missing or not writable.
    pub fn create(path: impl AsRef<Path>) -> Result<AtomicFile> {
        let path = path.as_ref().to_path_buf();
        let target = target(&path).map_err(|source| failed(&path, source))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(MARK[0]).suffix(MARK[1]);
        // Temporary files are private by default; the result should be as readable as any new file.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let made = match &target {
            Target::File(target) => builder.tempfile_in(folder_of(target)),
            Target::Device => builder.tempfile(),
        };
        let file = made.map_err(|source| failed(&path, source))?;
        // A file system without locks has no sweeping either.
        let _ = file.as_file().try_lock();
        Ok(AtomicFile { path, target, file: BufWriter::with_capacity(1 << 16, file) })
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

    /// Flushes to the disk and gives the file its name, which is on the disk, too, when this returns.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk is full or the name is taken by a directory.
    pub fn commit(self) -> Result<()> {
        let path = self.path;
        let mut file = self.file.into_inner().map_err(|error| failed(&path, error.into_error()))?;
        let target = match self.target {
            Target::File(target) => target,
            Target::Device => {
                let mut copy = || {
                    let mut device = File::options().write(true).open(&path)?;
                    file.seek(SeekFrom::Start(0))?;
                    std::io::copy(&mut file, &mut device)
                };
                return copy().map(|_| ()).map_err(|source| failed(&path, source));
            }
        };
        file.as_file().sync_all().map_err(|source| failed(&path, source))?;
        file.persist(&target).map_err(|error| failed(&path, error.error))?;
        // Windows has no such step, and some file systems refuse it.
        #[cfg(unix)]
        if let Ok(folder) = File::open(folder_of(&target)) {
            let _ = folder.sync_all();
        }
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

/// What is behind a name.
fn target(path: &Path) -> std::io::Result<Target> {
    /// Links in a row, as on Linux.
    const LINKS: usize = 40;
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => return std::fs::canonicalize(path).map(Target::File),
        Ok(found) if !found.is_dir() => return Ok(Target::Device),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut target = path.to_path_buf();
    for _ in 0..LINKS {
        if !std::fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink()) {
            break;
        }
        target = folder_of(&target).join(std::fs::read_link(&target)?);
    }
    Ok(Target::File(target))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Removes temporary files that programs which were killed have left in a folder. Those that are being
/// written are locked by their writers and stay.
pub fn sweep(folder: &Path) {
    // A folder that cannot be listed, or a file that cannot be removed, is no reason to stop.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !(name.starts_with(MARK[0]) && name.ends_with(MARK[1])) {
            continue;
        }
        let age = std::fs::symlink_metadata(&path).and_then(|found| found.modified());
        let old = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > YOUNG));
        if old && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(&path);
        }
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

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_written_to() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        std::fs::write(at("data/real"), "old").unwrap();
        symlink("data/real", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        symlink("data/new", at("dangling")).unwrap();
        for (name, real) in [("link", "data/real"), ("second", "data/real"), ("dangling", "data/new")] {
            write_atomic(at(name), name.as_bytes()).unwrap();
            assert!(std::fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name} was replaced");
            assert_eq!(std::fs::read_to_string(at(real)).unwrap(), name);
        }
        symlink("loop", at("loop")).unwrap();
        assert!(write_atomic(at("loop"), b"never").is_err());
        write_atomic("/dev/null", b"gone").unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        // A pipe of this process stands for any other.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        if Path::new(&path).exists() {
            write_atomic(&path, b"through").unwrap();
            drop(writer);
            let mut text = String::new();
            std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
            assert_eq!(text, "through");
        }
    }

    #[test]
    fn what_a_killed_program_left_is_swept_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - 2 * YOUNG;
        let age = |path: &Path| File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        let (orphan, young) =
            (folder.path().join(".compressive-a.tmp"), folder.path().join(".compressive-b.tmp"));
        let foreign = folder.path().join("rows.tmp");
        for path in [&orphan, &young, &foreign] {
            std::fs::write(path, "half").unwrap();
        }
        let written = AtomicFile::create(folder.path().join("out")).unwrap();
        [&orphan, &foreign, written.file.get_ref().path()].into_iter().for_each(age);
        sweep(folder.path());
        assert!(!orphan.exists() && young.exists() && foreign.exists());
        written.commit().unwrap();
        assert!(folder.path().join("out").exists());
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
