//! The scripts that the server runs: each call is one, so that it is one atomic step.

use redis::{Cmd, Script as Hashed};

/// A script, by its text and by the hash that the server knows it by once it has run.
pub(super) struct Script {
    text: &'static str,
    hash: String,
}

/// Made when a store is opened: whatever begins lazily can be caught half-begun by a fork.
pub(super) struct Scripts {
    pub(super) hit: Script,
    pub(super) status: Script,
    pub(super) refund: Script,
    pub(super) reset: Script,
    pub(super) secret: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            hit: Script::new(concat!(include_str!("windows.lua"), include_str!("hit.lua"))),
            status: Script::new(concat!(include_str!("windows.lua"), include_str!("status.lua"))),
            refund: Script::new(concat!(include_str!("windows.lua"), include_str!("refund.lua"))),
            reset: Script::new(include_str!("reset.lua")),
            secret: Script::new(include_str!("secret.lua")),
        }
    }
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, hash: Hashed::new(text).get_hash().to_owned() }
    }

    /// The call of a script that the server knows.
    pub(super) fn by_hash(&self, key: &[u8], arguments: &[i64]) -> Vec<u8> {
        call("EVALSHA", &self.hash, key, arguments)
    }

    /// The call for a server that has answered NOSCRIPT; from then on it knows the script.
    pub(super) fn by_text(&self, key: &[u8], arguments: &[i64]) -> Vec<u8> {
        call("EVAL", self.text, key, arguments)
    }
}

fn call(command: &str, script: &str, key: &[u8], arguments: &[i64]) -> Vec<u8> {
    let mut call = Cmd::new();
    call.arg(command).arg(script).arg(1).arg(key).arg(arguments);
    call.get_packed_command()
}
