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
    About,
}

#[derive(Clone, Copy, Deserialize)]
pub struct Manner {
    #[serde(default)]
    pub think_us: u64,
    #[serde(default)]
    pub each: bool,
}

fn one() -> usize {
    1
}
