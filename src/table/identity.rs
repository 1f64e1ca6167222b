//! Whose counter it is: a limit, a window and a key, in the form in which slots hold and compare it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::place::{KeyHash, LimitHash, Place};
use crate::key::StoredKey;
use crate::window::{Span, Time, Window};

/// A key's bytes as words; the last is padded with zeros. A stored key of 73 bytes loses its `#`: its
/// length tells.
const KEY_WORDS: usize = 9;

/// A rule's limit, as every process on a store calls it.
#[derive(Clone, Copy)]
pub(crate) struct LimitName {
    /// Window code 35 bits, number of the pair (rule, window) 21, 8 bits free for a key's length.
    word: u64,
    window: Window,
    hash: LimitHash,
}

impl LimitName {
    /// Numbers below this have a place in a slot.
    pub(crate) const NUMBERS: i64 = 1 << 21;

    /// Of a number that [`LimitName::NUMBERS`] allows.
    pub(crate) fn new(number: u32, window: Window, hash: LimitHash) -> Self {
        Self { word: (window.code() as u64) << 29 | u64::from(number) << 8, window, hash }
    }
}

/// A key, ready to be looked for.
#[derive(Clone, Copy)]
pub(crate) struct KeyWords<'a> {
    stored: &'a StoredKey,
    hash: KeyHash,
}

impl<'a> KeyWords<'a> {
    #[inline]
    pub(crate) fn new(stored: &'a StoredKey, hash: KeyHash) -> Self {
        Self { stored, hash }
    }

    #[inline]
    fn length(&self) -> u8 {
        self.stored.as_bytes().len() as u8
    }

    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> {
        (0..words_of(self.length())).map(|at| self.stored.word(at))
    }
}

/// A counter's, whole.
#[derive(Clone, Copy)]
pub(crate) struct Identity<'a> {
    limit: &'a LimitName,
    key: &'a KeyWords<'a>,
    place: Place,
    span: Span,
}

impl<'a> Identity<'a> {
    pub(crate) fn place(limit: &LimitName, key: &KeyWords<'_>) -> Place {
        Place::new(limit.hash, key.hash)
    }

    pub(crate) fn new(
        limit: &'a LimitName,
        key: &'a KeyWords<'a>,
        place: Place,
        span: &Span,
    ) -> Self {
        Self { limit, key, place, span: *span }
    }

    pub(crate) fn home(&self) -> Place {
        self.place
    }

    pub(crate) fn key(&self) -> &StoredKey {
        self.key.stored
    }

    pub(crate) fn number(&self) -> u32 {
        number_in(self.limit.word)
    }

    pub(crate) fn window(&self) -> Window {
        self.limit.window
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn start_ms(&self) -> i64 {
        self.span.start_ms()
    }
}

/// The words of a slot that say whose it is. They change only while the slot is free.
#[repr(C)]
pub(super) struct IdentityWords {
    /// Start in milliseconds 48 bits, fingerprint 16.
    start: AtomicU64,
    /// As [`LimitName`], with the key's length.
    limit: AtomicU64,
    _unused: AtomicU64,
    head: [AtomicU64; HEAD_WORDS],
}

/// The rest of the key, in the slot's second cache line.
#[repr(C)]
pub(super) struct TailWords([AtomicU64; KEY_WORDS - HEAD_WORDS]);

const HEAD_WORDS: usize = 3;

impl IdentityWords {
    /// Whether it may be this one's.
    #[inline]
    pub(super) fn resembles(&self, identity: &Identity<'_>) -> bool {
        self.start.load(Ordering::Relaxed) == start_word(identity)
    }

    /// Whether it is this one's, if nobody changes it meanwhile.
    #[inline]
    pub(super) fn are(&self, tail: &TailWords, identity: &Identity<'_>) -> bool {
        self.resembles(identity)
            && self.limit.load(Ordering::Relaxed) == limit_word(identity)
            && self.are_key(tail, identity.key)
    }

    /// As [`IdentityWords::are`], but for the window: any window of this client under this limit.
    pub(super) fn are_of_client(
        &self,
        tail: &TailWords,
        limit: &LimitName,
        key: &KeyWords<'_>,
    ) -> bool {
        self.limit.load(Ordering::Relaxed) == limit.word | u64::from(key.length())
            && self.are_key(tail, key)
    }

    #[inline]
    fn are_key(&self, tail: &TailWords, key: &KeyWords<'_>) -> bool {
        keys(self, tail)
            .zip(key.words())
            .all(|(word, wanted)| word.load(Ordering::Relaxed) == wanted)
    }

    /// Of a free slot, under its bucket's lock.
    pub(super) fn write(&self, tail: &TailWords, identity: &Identity<'_>) {
        self.start.store(start_word(identity), Ordering::Relaxed);
        self.limit.store(limit_word(identity), Ordering::Relaxed);
        // All of them: nothing of a longer key is to stay.
        let words = identity.key.words().chain(std::iter::repeat(0));
        for (word, wanted) in keys(self, tail).zip(words) {
            word.store(wanted, Ordering::Relaxed);
        }
    }

    /// Leaves no key behind in a free slot, under its bucket's lock.
    pub(super) fn erase(&self, tail: &TailWords) {
        self.start.store(0, Ordering::Relaxed);
        self.limit.store(0, Ordering::Relaxed);
        keys(self, tail).for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// What stands there, if nobody changes it meanwhile. `None` for what nobody can have written.
    pub(super) fn read(&self, tail: &TailWords) -> Option<Counted> {
        let limit = self.limit.load(Ordering::Relaxed);
        let window = Window::from_code((limit >> 29) as i64)?;
        let length = limit as u8;
        if length == 0 || usize::from(length) > StoredKey::LONGEST {
            return None;
        }
        let mut key = [0; KEY_WORDS * 8];
        for (bytes, word) in key.chunks_mut(8).zip(keys(self, tail)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        let start_ms = (self.start.load(Ordering::Relaxed) >> 16) as i64;
        let span = window.span_at(Time::from_millis(start_ms).ok()?);
        let key = StoredKey::without_mark(&key, length);
        Some(Counted { number: number_in(limit), window, span, key })
    }
}

/// What a slot counts, for a row.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) number: u32,
    pub(crate) window: Window,
    pub(crate) span: Span,
    pub(crate) key: StoredKey,
}

impl Counted {
    pub(crate) fn expires_ms(&self) -> i64 {
        self.window.expires_ms(&self.span)
    }
}

#[inline]
fn keys<'a>(head: &'a IdentityWords, tail: &'a TailWords) -> impl Iterator<Item = &'a AtomicU64> {
    head.head.iter().chain(&tail.0)
}

/// Of a limit's word.
fn number_in(word: u64) -> u32 {
    (word >> 8) as u32 & (LimitName::NUMBERS as u32 - 1)
}

#[inline]
fn words_of(key_length: u8) -> usize {
    usize::from(key_length).div_ceil(8).min(KEY_WORDS)
}

#[inline]
fn start_word(identity: &Identity<'_>) -> u64 {
    (identity.start_ms() as u64) << 16 | u64::from(identity.place.fingerprint())
}

#[inline]
fn limit_word(identity: &Identity<'_>) -> u64 {
    identity.limit.word | u64::from(identity.key.length())
}
