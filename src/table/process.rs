//! Which processes are alive: each owns a number by a lock on a byte of the table's file.
//!
//! The lock belongs to an open file description of its own, so the kernel ends it with the process,
//! however that ends. (Not to the one that is mapped: a mapping keeps its description, and all its
//! locks, alive in every child of fork.)

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Trouble;
use super::layout::PROCESSES;
use super::mapping::Mapping;
use crate::deadline::Deadline;
use crate::errno;
use crate::error::{Code, Error, quoted};
use crate::os::mutex::{Mutex, OwnedGuard};
use crate::os::stat::FileId;
use crate::os::store_file::StoreFile;

/// What stands in a lock word: a process's number, and which owner of that number it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    number: u32,
    incarnation: u32,
}

impl Owner {
    pub(super) fn word(self) -> u64 {
        u64::from(self.number + 1) << 32 | u64::from(self.incarnation)
    }

    /// Of a word that is not 0.
    fn from_word(word: u64) -> Option<Self> {
        let number = u32::try_from(word >> 32).ok()?.checked_sub(1)?;
        Some(Self { number, incarnation: word as u32 })
    }
}

/// This process's number, taken when it is first needed.
pub(super) struct Process {
    path: PathBuf,
    file: FileId,
    owned: Arc<Mutex<Option<Owned>>>,
}

pub(super) struct Owned {
    file: StoreFile,
    owner: Owner,
}

impl Process {
    pub(super) fn new(path: &Path, file: FileId) -> Self {
        Self { path: path.to_owned(), file, owned: Arc::new(Mutex::new(None)) }
    }

    /// Who this process is.
    pub(super) fn owner(&self, mapping: &Mapping, deadline: &Deadline) -> Result<Owner, Trouble> {
        let mut owned = self.owned.lock(deadline).ok_or_else(|| self.busy())?;
        if let Some(owned) = &*owned
            && self.is_ours(&owned.file)?
        {
            return Ok(owned.owner);
        }
        let taken = self.take_number(mapping)?;
        let owner = taken.owner;
        *owned = Some(taken);
        Ok(owner)
    }

    fn take_number(&self, mapping: &Mapping) -> Result<Owned, Trouble> {
        // Gone or replaced: others count elsewhere by now.
        let file = StoreFile::open(&self.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Trouble::Retired,
            _ => self.cannot_open(&error),
        })?;
        if !self.is_ours(&file)? {
            return Err(Trouble::Retired);
        }
        // Anywhere: numbers that are free for sure are not known.
        let begin = std::process::id() as usize % PROCESSES;
        for number in (begin..PROCESSES).chain(0..begin) {
            if file.try_own(byte_of(number)) {
                let incarnation = &mapping.incarnations()[number];
                let incarnation = incarnation.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
                return Ok(Owned { file, owner: Owner { number: number as u32, incarnation } });
            }
        }
        let message = format!(
            "the shared table {} has {PROCESSES} processes already, or its filesystem has no locks",
            quoted(&self.path)
        );
        Err(Error::new(Code::Busy, message).into())
    }

    /// Whether the descriptor is still the table's: a host may have closed it, and the lock with it.
    fn is_ours(&self, file: &StoreFile) -> Result<bool, Trouble> {
        match file.facts() {
            Ok(facts) => Ok(facts.id == self.file),
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(false),
            Err(error) => Err(self.cannot_open(&error)),
        }
    }

    /// Whether the owner of a lock word has ended. `me` holds a number.
    pub(super) fn is_dead(&self, mapping: &Mapping, word: u64, me: Owner) -> bool {
        let Some(owner) = Owner::from_word(word) else { return false };
        // Another thread of ours; the kernel does not show us our own locks.
        if owner == me {
            return false;
        }
        let Some(incarnation) = mapping.incarnations().get(owner.number as usize) else {
            return true;
        };
        if owner.number == me.number || incarnation.load(Ordering::Acquire) != owner.incarnation {
            return true;
        }
        let owned = self.owned.lock_unbounded();
        owned.as_ref().is_some_and(|owned| owned.file.is_free(byte_of(owner.number as usize), 1))
    }

    /// Keeps every other thread out while a fork is under way.
    pub(super) fn hold(&self) -> HeldProcess {
        HeldProcess(self.owned.lock_owned())
    }

    fn busy(&self) -> Trouble {
        Error::new(Code::Busy, "another thread is at the shared table, or a fork is under way")
            .into()
    }

    fn cannot_open(&self, error: &std::io::Error) -> Trouble {
        let (code, cure) = errno::meaning(error.raw_os_error().unwrap_or_default())
            .unwrap_or((Code::Io, "check the disk"));
        let path = quoted(&self.path);
        Error::new(code, format!("cannot open the shared table {path}: {error}; {cure}")).into()
    }
}

/// Whether any other process owns a number of the table in this file.
pub(super) fn is_in_use(path: &Path) -> std::io::Result<bool> {
    Ok(!StoreFile::open(path)?.is_free(byte_of(0), PROCESSES as i64))
}

/// A process's number while it forks, or while its descriptors are let go.
pub(crate) struct HeldProcess(OwnedGuard<Option<Owned>>);

impl HeldProcess {
    /// In the child, or where the host has closed our descriptors: the next claim takes a number of
    /// its own.
    pub(crate) fn forget(&mut self) {
        *self.0 = None;
    }
}

/// In the header's page, of which the kernel locks ranges whether or not anything stands there.
fn byte_of(number: usize) -> i64 {
    number as i64
}
