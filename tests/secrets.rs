//! Keys and secrets stay where they belong: not in messages, not readable on disk, not left behind.

#![allow(unsafe_code)]

mod support;

#[path = "secrets/deleted.rs"]
mod deleted;
#[path = "secrets/files.rs"]
mod files;
#[path = "secrets/hashed.rs"]
mod hashed;
#[path = "secrets/messages.rs"]
mod messages;

use std::path::Path;

/// Whether any file of the store holds these bytes.
fn files_with(directory: &Path, needle: &[u8]) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let holding = entries.filter(|entry| {
        let bytes = std::fs::read(entry.path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    });
    holding.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
