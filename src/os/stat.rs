//! Files by identity, and where they stand.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What tells one file from another, whatever its names: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: libc::dev_t,
    inode: libc::ino_t,
}

/// What `stat` says of a file.
#[derive(Clone, Copy)]
pub(crate) struct FileFacts {
    pub(crate) id: FileId,
    pub(crate) links: libc::nlink_t,
    pub(crate) size: libc::off_t,
    kind: libc::mode_t,
}

impl FileId {
    pub(crate) fn new(device: libc::dev_t, inode: libc::ino_t) -> Self {
        Self { device, inode }
    }
}

impl FileFacts {
    fn of(stat: &libc::stat) -> Self {
        Self {
            id: FileId { device: stat.st_dev, inode: stat.st_ino },
            links: stat.st_nlink,
            size: stat.st_size,
            kind: stat.st_mode & libc::S_IFMT,
        }
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.kind == libc::S_IFREG
    }

    pub(crate) fn is_symbolic_link(&self) -> bool {
        self.kind == libc::S_IFLNK
    }

    /// What the file is, in words.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self.kind {
            libc::S_IFREG => "a regular file",
            libc::S_IFDIR => "a directory",
            libc::S_IFLNK => "a symbolic link",
            libc::S_IFIFO => "a FIFO",
            libc::S_IFSOCK => "a socket",
            _ => "a device",
        }
    }
}

/// The facts of what a path names, symbolic links followed.
pub(crate) fn stat(path: &Path) -> io::Result<FileFacts> {
    let path = c_path(path)?;
    facts_from(|stat| {
        // SAFETY: a NUL-terminated path and room for one `stat`.
        unsafe { libc::stat(path.as_ptr(), stat) }
    })
}

/// The facts of the name itself, a symbolic link included.
pub(crate) fn lstat(path: &Path) -> io::Result<FileFacts> {
    lstat_c(&c_path(path)?)
}

pub(super) fn lstat_c(path: &CStr) -> io::Result<FileFacts> {
    facts_from(|stat| {
        // SAFETY: a NUL-terminated path and room for one `stat`.
        unsafe { libc::lstat(path.as_ptr(), stat) }
    })
}

pub(super) fn fstat(fd: RawFd) -> io::Result<FileFacts> {
    facts_from(|stat| {
        // SAFETY: any number is allowed as descriptor; room for one `stat`.
        unsafe { libc::fstat(fd, stat) }
    })
}

fn facts_from(call: impl FnOnce(*mut libc::stat) -> libc::c_int) -> io::Result<FileFacts> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    if call(stat.as_mut_ptr()) != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned 0, so it filled the structure.
    Ok(FileFacts::of(&unsafe { stat.assume_init() }))
}

/// Whether something was mounted on this very file: its neighbours here are then not those that it has
/// elsewhere. False where the kernel cannot tell (before Linux 5.8).
pub(crate) fn is_mount_point(path: &Path) -> io::Result<bool> {
    let path = c_path(path)?;
    let mut found = MaybeUninit::<libc::statx>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_STATX_SYNC_AS_STAT;
    // SAFETY: a NUL-terminated path and room for one `statx`.
    let done = unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, 0, found.as_mut_ptr()) };
    if done != 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ENOSYS) { Ok(false) } else { Err(error) };
    }
    // SAFETY: the call returned 0, so it filled the structure.
    let found = unsafe { found.assume_init() };
    Ok(found.stx_attributes & libc::STATX_ATTR_MOUNT_ROOT as u64 != 0)
}

/// The name of the filesystem that holds `path`, when it is one whose locks or shared mappings do
/// not reach every process that can open the file.
pub(crate) fn remote_filesystem(path: &Path) -> io::Result<Option<&'static str>> {
    let magic = filesystem_magic(path)?;
    Ok(REMOTE_FILESYSTEMS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name))
}

/// Whether a page that was allocated on the filesystem of `path` can be written when the disk is full:
/// true of those of which it was tried. One that copies on write may need a new page.
pub(crate) fn keeps_what_it_allocates(path: &Path) -> io::Result<bool> {
    const EXT4: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    const TMPFS: u64 = 0x0102_1994;
    const OVERLAY: u64 = 0x794C_7630;
    Ok([EXT4, XFS, TMPFS, OVERLAY].contains(&filesystem_magic(path)?))
}

fn filesystem_magic(path: &Path) -> io::Result<u64> {
    let path = c_path(path)?;
    let mut facts = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a NUL-terminated path and room for one `statfs`.
    if unsafe { libc::statfs(path.as_ptr(), facts.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: statfs returned 0, so it filled the structure.
    Ok(unsafe { facts.assume_init() }.f_type as u64 & 0xFFFF_FFFF)
}

/// From statfs(2) and linux/magic.h. FUSE stands here since virtiofs and sshfs report themselves so,
/// and virtiofs loses writes without an error.
const REMOTE_FILESYSTEMS: [(u64, &str); 14] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x7375_7245, "Coda"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x786F_4256, "VirtualBox shared folders"),
];

/// The absolute path without symbolic links. Into a buffer of ours: what libc allocates must be freed
/// by the allocator that the host has put under libc, and a host may load this library so that it
/// sees another one (PHP does, with jemalloc preloaded).
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = c_path(path)?;
    let mut buffer = [0u8; libc::PATH_MAX as usize];
    // SAFETY: a NUL-terminated path, and room for the PATH_MAX bytes that realpath may write.
    if unsafe { libc::realpath(path.as_ptr(), buffer.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    Ok(PathBuf::from(OsStr::from_bytes(&buffer[..end])))
}

/// The path of a file that SQLite keeps beside its database: `-wal`, `-shm`.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(suffix);
    PathBuf::from(path)
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}
