//! A descriptor of a store file that is never closed by accident.

use std::io;
use std::os::fd::RawFd;
use std::path::Path;

use super::stat::{self, FileFacts, c_path};
use super::{lock, parked};

/// An open descriptor of a store file, or of a file that turned out not to be one. Dropping it
/// parks the descriptor: closing it would drop every POSIX lock that the host holds on the file.
pub(crate) struct StoreFile {
    fd: RawFd,
}

impl StoreFile {
    /// Opens a file for reading and writing; a parked descriptor of it is used again.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let fd = parked::open(&c_path(path)?, flags, 0)?;
        parked::note_locking(fd);
        Ok(Self { fd })
    }

    /// Takes over a descriptor that [`super::create`] has just made.
    pub(super) fn adopt(fd: RawFd) -> Self {
        parked::adopt(fd);
        Self { fd }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.fd
    }

    /// Takes an exclusive lock on a byte, for as long as this lives, without waiting.
    pub(crate) fn try_own(&self, byte: i64) -> bool {
        lock::try_own(self.fd, byte, 1)
    }

    /// Whether nobody else holds an exclusive lock on any of so many bytes.
    pub(crate) fn is_free(&self, byte: i64, count: i64) -> bool {
        lock::is_free(self.fd, byte, count)
    }

    pub(crate) fn facts(&self) -> io::Result<FileFacts> {
        stat::fstat(self.fd)
    }

    /// Fills `buffer` from the start of the file; fewer bytes when the file is shorter.
    pub(crate) fn read_start(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            // SAFETY: `rest` is writable for its length; the descriptor is ours until drop.
            let got = unsafe {
                libc::pread(self.fd, rest.as_mut_ptr().cast(), rest.len(), filled as libc::off_t)
            };
            match got {
                0 => break,
                n if n > 0 => filled += n as usize,
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(filled)
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        parked::give_back(self.fd);
    }
}
