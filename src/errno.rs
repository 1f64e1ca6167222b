//! What the system's errors on a store's files mean for a caller.

use crate::error::Code;

/// A code and a cure; `None` where it depends on what was tried.
pub(super) fn meaning(errno: i32) -> Option<(Code, &'static str)> {
    Some(match errno {
        libc::EACCES | libc::EPERM | libc::EROFS => {
            (Code::Permission, "it and its directory must be readable and writable for this user")
        }
        libc::EMFILE | libc::ENFILE => {
            (Code::DescriptorsExhausted, "raise the limit of open files (ulimit -n)")
        }
        libc::ENOSPC | libc::EDQUOT => (Code::Full, "free space on its disk, or in the quota"),
        libc::ENOMEM => (Code::NoMemory, "free memory"),
        _ => return None,
    })
}
