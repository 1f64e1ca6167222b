//! The Rust worker of the benchmarks: `benches/README.md` has the protocol.

mod answer;
mod clock;
mod hitting;
mod job;
mod latency;
mod peer;
mod peers;
mod serving;
mod tally;
mod versions;

use std::process::ExitCode;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), String> {
    let text = std::env::args().nth(1).ok_or("usage: worker JSON")?;
    let job =
        serde_json::from_str(&text).map_err(|error| format!("cannot read the job: {error}"))?;
    peers::serve(&job)
}
