#![no_main]

#[path = "../oracle/mod.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracle::texts(bytes));
