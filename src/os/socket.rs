//! What the standard library cannot do with sockets.

use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::stat::{self, FileId};

/// Whether an idle connection is as it should be: open, and nothing to read. Costs one system call and
/// waits for nothing.
pub(crate) fn is_quiet(socket: impl AsFd) -> bool {
    let mut byte = 0u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: an open descriptor, and room for one byte on this stack.
    let got = unsafe {
        libc::recv(socket.as_fd().as_raw_fd(), std::ptr::from_mut(&mut byte).cast(), 1, flags)
    };
    got == -1 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// What tells one open socket from all others of the system; `None` for a descriptor that is closed.
pub(crate) fn identity(socket: impl AsFd) -> Option<FileId> {
    stat::fstat(socket.as_fd().as_raw_fd()).ok().map(|facts| facts.id)
}

/// Connects to a socket in the file system. The standard library has no timeout for that, and a
/// server that does not accept lets connections wait for ever once its backlog is full.
pub(crate) fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    // SAFETY: zero bytes are an address of that type.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    // One byte is left for the NUL.
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (place, &byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = byte as libc::c_char;
    }
    // SAFETY: no pointer; the result is checked.
    let descriptor =
        unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just made and that nobody else knows.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    // For a connection in the file system, the time to send is the time to connect, too.
    socket.set_write_timeout(Some(timeout))?;
    let length = offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    debug_assert!(length <= size_of::<libc::sockaddr_un>());
    // SAFETY: an address on this stack, of which `length` bytes are within it.
    let done = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            std::ptr::from_ref(&address).cast(),
            length as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_connection_is_quiet_until_something_comes_or_it_ends() {
        let (mut one, other) = UnixStream::pair().unwrap();
        assert!(is_quiet(&other));
        one.write_all(b"x").unwrap();
        assert!(!is_quiet(&other));
        let (one, other) = UnixStream::pair().unwrap();
        drop(one);
        assert!(!is_quiet(&other));
    }

    #[test]
    fn a_server_that_accepts_nobody_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let begun = Instant::now();
        let mut waiting = Vec::new();
        let error = loop {
            match connect_unix(&path, Duration::from_millis(20)) {
                Ok(socket) => waiting.push(socket),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10_000);
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
