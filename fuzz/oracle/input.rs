//! Arguments made of a fuzzer's bytes.

use std::ffi::CString;

/// Bytes that are taken from the front. When they run out, everything is 0 and empty.
pub struct Input<'a>(&'a [u8]);

/// Numbers at which something changes, more likely to be given than any other.
const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    -2,
    2,
    1_000,
    60_000,
    1 << 32,
    1_767_225_645_000,
    253_370_764_799_999,
    253_370_764_800_000,
    (1 << 53) - 1,
    1 << 53,
    i64::MAX,
    i64::MIN,
    -(1 << 53),
];

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// Up to so many bytes.
    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes whose length stands before them.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = self.byte();
        self.take(length.into())
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub fn number(&mut self) -> i64 {
        let kind = self.byte();
        match kind {
            0..=127 => EDGES[usize::from(kind) % EDGES.len()],
            128..=191 => i64::from(kind - 128),
            _ => {
                let mut bytes = [0; 8];
                let taken = self.take(8);
                bytes[..taken.len()].copy_from_slice(taken);
                i64::from_le_bytes(bytes)
            }
        }
    }

    /// A text for C: what stands before the first NUL; `None`, for NULL, one time in sixteen.
    pub fn text(&mut self) -> Option<CString> {
        if self.byte() % 16 == 15 { None } else { Some(c_text(self.bytes())) }
    }
}

pub fn c_text(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).expect("no NUL is left")
}

/// The pointer that C gets.
pub fn pointer(text: &Option<CString>) -> *const std::ffi::c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}
