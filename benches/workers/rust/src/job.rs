//! What the harness says: the job at the start, then commands.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Job {
    pub peer: String,
    #[serde(default)]
    pub store: String,
    pub keys: String,
    pub limit: u64,
    pub window_ms: u64,
    #[serde(default = "one")]
    pub rules: usize,
    #[serde(default = "one")]
    pub threads: usize,
    /// Of ratelite's table, 0 for its default.
    #[serde(default)]
    pub table_slots: i64,
    /// Whether hits of ratelite remove expired rows.
    #[serde(default = "yes")]
    pub auto_prune: bool,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Command {
    Run {
        seconds: f64,
        #[serde(flatten)]
        manner: Manner,
    },
    Hits {
        count: u64,
        #[serde(flatten)]
        manner: Manner,
    },
    Open {
        seconds: f64,
        #[serde(flatten)]
        manner: Manner,
    },
    Prune,
    About {
        #[serde(flatten)]
        manner: Manner,
    },
}

#[derive(Clone, Copy, Deserialize)]
pub struct Manner {
    #[serde(default)]
    pub think_us: u64,
    /// One hit of so many is timed by itself; 0: none.
    #[serde(default)]
    pub every: u64,
    /// When to begin, by the clock of every time measured; 0: now.
    #[serde(default)]
    pub at_ns: u64,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}
