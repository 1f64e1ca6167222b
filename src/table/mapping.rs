//! The table's file in this process's memory.
//!
//! The only place of the table that turns addresses into references. Everything in the mapping is
//! an atomic of which any bits are a value, so whatever another process stores there is sound.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use super::layout::{Header, Layout, Region, Stripe};
use super::slot::Slot;

pub(super) struct Mapping {
    start: NonNull<u8>,
    layout: Layout,
    slots: Part<Slot>,
    bits: Part<AtomicU64>,
    spills: Part<AtomicI64>,
    stripes: Part<Stripe>,
    incarnations: Part<AtomicU32>,
}

// SAFETY: the mapping lives until drop, at one address, and holds nothing but atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Where a region of the layout lies in memory.
struct Part<T> {
    start: NonNull<T>,
    length: usize,
}

impl Mapping {
    /// Maps a file of the size that the layout says. The file may be closed afterwards.
    pub(super) fn new(file: &File, layout: Layout) -> io::Result<Self> {
        let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        if size != layout.bytes() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // SAFETY: a new mapping, of a file that is as long; nobody shortens it (see the header's
        // manual). It touches no existing memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start: NonNull<u8> = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            layout,
            slots: Part::of(start, &layout.slot_region()),
            bits: Part::of(start, &layout.bits()),
            spills: Part::of(start, &layout.spills()),
            stripes: Part::of(start, &layout.stripes()),
            incarnations: Part::of(start, &layout.incarnations()),
        })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping begins on a page, is longer than the header, and lives as long as
        // the borrow of `self`.
        unsafe { self.start.cast().as_ref() }
    }

    #[inline]
    pub(super) fn slots(&self) -> &[Slot] {
        self.part(&self.slots)
    }

    #[inline]
    pub(super) fn bits(&self) -> &[AtomicU64] {
        self.part(&self.bits)
    }

    pub(super) fn spills(&self) -> &[AtomicI64] {
        self.part(&self.spills)
    }

    pub(super) fn stripes(&self) -> &[Stripe] {
        self.part(&self.stripes)
    }

    pub(super) fn incarnations(&self) -> &[AtomicU32] {
        self.part(&self.incarnations)
    }

    #[inline]
    fn part<'a, T: Atomic>(&'a self, part: &Part<T>) -> &'a [T] {
        // SAFETY: a part lies within the mapping, which lives as long as the borrow of `self`; the
        // bits there are values of `T`, which `Atomic` says.
        unsafe { std::slice::from_raw_parts(part.start.as_ptr(), part.length) }
    }
}

impl<T: Atomic> Part<T> {
    /// Of a mapping that begins at `start`, of the layout that has this region.
    fn of(start: NonNull<u8>, region: &Region<T>) -> Self {
        // SAFETY: regions begin on a page and end within `layout.bytes()`, the length of the mapping
        // (see the layout's tests).
        let start = unsafe { start.add(region.offset) };
        Self { start: start.cast(), length: region.length }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no borrow of it can outlive `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.layout.bytes()) };
    }
}

/// Atomics alone, of which any bits are a value.
///
/// # Safety
///
/// That is what an implementation promises.
unsafe trait Atomic {}

// SAFETY: an atomic integer.
unsafe impl Atomic for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Atomic for AtomicU64 {}
// SAFETY: an atomic integer.
unsafe impl Atomic for AtomicI64 {}
// SAFETY: atomic integers.
unsafe impl Atomic for Stripe {}
// SAFETY: words of atomic integers.
unsafe impl Atomic for Slot {}
