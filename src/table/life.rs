//! The table's file: made whole, opened if it belongs to its database, never shortened.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Table;
use super::layout::{Header, Layout, MAGIC};
use super::mapping::Mapping;
use super::process::{self, Process};
use super::word;
use crate::clock;
use crate::os::create::{NewFile, open_to_map, remove_if_there};
use crate::os::lock;
use crate::os::points;
use crate::os::stat::{self, FileId};
use crate::switches;

pub(crate) use super::layout::DEFAULT_SLOTS;

/// What the database says of its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) table_id: u64,
    pub(crate) store_id: u64,
    pub(crate) slots: u64,
    /// The number of the last transaction that wrote for the table.
    pub(crate) sequence: u64,
}

/// The table's file of a database.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    stat::beside(database, "-table")
}

/// How many slots a table has that is to have so many.
pub(crate) fn round_up(slots: u64) -> u64 {
    Layout::round_up(slots)
}

/// Why this process cannot count in a table on a file of this directory; `None`: it can. An error is no
/// reason: it may be gone the next moment, and a store is made once.
pub(crate) fn obstacle(directory: &Path) -> io::Result<Option<&'static str>> {
    Ok(if switches::NO_TABLE.is_on() {
        Some("this library was built without it")
    } else if !word::is_supported() {
        Some("this processor cannot change 128 bits in one step")
    } else if !lock::are_of_descriptions() {
        Some("this system has no locks of open file descriptions")
    } else if !stat::keeps_what_it_allocates(directory)? {
        Some("it is not known of this filesystem that it keeps the space it has promised")
    } else {
        match boot_id() {
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some("there is no /proc/sys/kernel/random/boot_id")
            }
            Err(error) => return Err(error),
        }
    })
}

/// Makes an empty table beside a database and puts it in the place of what stands there. The caller
/// holds the database's write lock. Rows of windows that begin after `first_start_ms` do not exist.
pub(crate) fn create(database: &Path, terms: &Terms, first_start_ms: i64) -> io::Result<()> {
    let layout = Layout::new(terms.slots).ok_or(io::ErrorKind::InvalidInput)?;
    let path = path_of(database);
    // Of another boot, or of a database that has gone: its space may be what the new one needs.
    remove_if_there(&path)?;
    let owner = std::fs::metadata(database)?;
    // With all its blocks: on a full disk, a page without one would end the process that touches it.
    let new = NewFile::allocate(&path, layout.bytes() as u64, owner.mode() & 0o666)?;
    new.give_to_owner_of(&owner)?;
    let mapping = Mapping::new(new.file(), layout)?;
    let header = mapping.header();
    header.slots.store(terms.slots, Ordering::Relaxed);
    header.table_id.store(terms.table_id, Ordering::Relaxed);
    header.store_id.store(terms.store_id, Ordering::Relaxed);
    for (word, value) in header.boot_id.iter().zip(boot_id()?) {
        word.store(value, Ordering::Relaxed);
    }
    header.first_start_ms.store(first_start_ms, Ordering::Relaxed);
    header.rounds.swept_ms.store(clock::wall_ms(), Ordering::Relaxed);
    header.rounds.sequence_begun.store(terms.sequence, Ordering::Relaxed);
    header.rounds.sequence_done.store(terms.sequence, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Release);
    drop(mapping);
    points::pass("attach-created");
    new.give_name_in_place_of(&path)?;
    points::pass("attach-renamed");
    Ok(())
}

/// Maps the table of a database; `None` when there is none, or it is not the one that the database
/// tells of: of another boot, of another database, or of another version. Of a database that was
/// restored from a backup the sequence tells: see [`Table::sequence_done`].
pub(crate) fn open(database: &Path, terms: &Terms) -> io::Result<Option<Table>> {
    let path = path_of(database);
    let file = match open_to_map(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(layout) = Layout::new(terms.slots) else { return Ok(None) };
    let mapping = match Mapping::new(&file, layout) {
        Ok(mapping) => mapping,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if !fits(mapping.header(), terms) {
        return Ok(None);
    }
    if !is_of_boot(mapping.header(), boot_id()?) {
        // Locks do not outlive a boot.
        if process::is_in_use(&path)? {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "processes use it for which /proc/sys/kernel/random/boot_id reads otherwise, as in some \
                 containers; let all of them see the host's",
            ));
        }
        return Ok(None);
    }
    let process = Process::new(&path, id_of(&file)?);
    let (id, store_id) = (terms.table_id, terms.store_id);
    Ok(Some(Table { mapping, process, id, store_id, is_left: AtomicBool::new(false) }))
}

fn fits(header: &Header, terms: &Terms) -> bool {
    header.magic.load(Ordering::Acquire) == MAGIC
        && header.slots.load(Ordering::Relaxed) == terms.slots
        && header.table_id.load(Ordering::Relaxed) == terms.table_id
        && header.store_id.load(Ordering::Relaxed) == terms.store_id
        && header.hot.retired.load(Ordering::Relaxed) == 0
}

fn is_of_boot(header: &Header, boot_id: [u64; 2]) -> bool {
    header.boot_id.iter().zip(boot_id).all(|(word, now)| word.load(Ordering::Relaxed) == now)
}

fn id_of(file: &File) -> io::Result<FileId> {
    let facts = file.metadata()?;
    Ok(FileId::new(facts.dev(), facts.ino()))
}

/// Of the running system. After a reboot the file may hold any mixture of old and new pages.
fn boot_id() -> io::Result<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |range: std::ops::Range<usize>| {
        let digits = digits.get(range).ok_or(io::ErrorKind::InvalidData)?;
        u64::from_str_radix(digits, 16).map_err(io::Error::other)
    };
    Ok([half(0..16)?, half(16..32)?])
}
