//! The limiters that are measured.

mod governor;
mod governor_format_key;
mod how_to;
mod ratelite;
mod ratelite_abi;
mod sqlite_busy_timeout;

use crate::job::Job;
use crate::peer::Answered;
use crate::serving::serve as work;

pub fn serve(job: &Job) -> Answered<()> {
    if job.rules != 1 && job.peer != "ratelite" {
        return Err(format!("\"{}\" has one rule only", job.peer));
    }
    match job.peer.as_str() {
        "ratelite" => work::<ratelite::Ratelite>(job),
        "governor" => work::<governor::Keyed>(job),
        "governor-std-clock" => work::<governor::StdClock>(job),
        "governor-foldhash" => work::<governor::Foldhash>(job),
        "governor-format-key" => work::<governor_format_key::FormatKey>(job),
        "sqlite-busy-timeout" => work::<sqlite_busy_timeout::SqliteBusyTimeout>(job),
        "how-to" => work::<how_to::HowTo>(job),
        peer => Err(format!("there is no peer \"{peer}\"")),
    }
}
