//! What a thread has written to a write-ahead log, as the overrides of SQLite's system calls see it.

use std::cell::Cell;
use std::os::fd::RawFd;

thread_local! {
    static WRITTEN: Cell<Option<WrittenLog>> = const { Cell::new(None) };
}

/// The frames that one call has written, as bytes of the log.
#[derive(Clone, Copy)]
pub(crate) struct WrittenLog {
    fd: RawFd,
    begin: i64,
    /// How long the log is.
    pub(crate) end: i64,
}

/// Notes a frame of the log.
pub(super) fn note(fd: RawFd, begin: i64, end: i64) {
    let written = WRITTEN.get().filter(|written| written.fd == fd && written.end <= begin);
    WRITTEN.set(Some(WrittenLog { fd, begin: written.map_or(begin, |known| known.begin), end }));
}

/// What this thread has written since it last asked.
pub(crate) fn take() -> Option<WrittenLog> {
    WRITTEN.take()
}

impl WrittenLog {
    /// Whether the log has just grown past a multiple of so many bytes. Of all who write to it, one
    /// sees each.
    pub(crate) fn passes(&self, every: i64) -> bool {
        self.begin / every != self.end / every
    }

    /// Lets the kernel begin to write the log to the disk, so that a sync finds less to wait for.
    /// Waits for nothing; a kernel that cannot is as before. To be called before the connection is
    /// given back.
    pub(crate) fn begin_to_sync(&self) {
        // SAFETY: takes numbers only, and the descriptor is the log's while the connection that wrote
        // to it is held; of any other file it would write sooner what is written anyhow.
        unsafe { libc::sync_file_range(self.fd, 0, self.end, libc::SYNC_FILE_RANGE_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_multiple_is_passed_once() {
        let mut end = 32;
        let mut passed = 0;
        while end < 100_000 {
            let written = WrittenLog { fd: -1, begin: end, end: end + 1_048 };
            passed += i64::from(written.passes(8_192));
            end = written.end;
        }
        assert_eq!(passed, end / 8_192);
    }

    #[test]
    fn frames_of_one_call_are_one_piece() {
        assert!(take().is_none());
        for (begin, end) in [(32, 1_080), (1_080, 2_128), (2_128, 3_176)] {
            note(7, begin, end);
        }
        let written = take().unwrap();
        assert_eq!((written.begin, written.end), (32, 3_176));
        // A log that began anew.
        note(7, 9_000, 10_048);
        note(7, 32, 1_080);
        let written = take().unwrap();
        assert_eq!((written.begin, written.end), (32, 1_080));
    }
}
