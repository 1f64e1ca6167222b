//! The limiters that are measured.

mod format_key;
mod governor;
mod how_to;
mod ratelite;
mod ratelite_abi;
mod redis_script;
mod sqlite_busy_timeout;

use format_key::FormatKey;

use crate::job::Job;
use crate::peer::Answered;
use crate::serving::serve as work;

pub fn serve(job: &Job) -> Answered<()> {
    if job.rules != 1 && !job.peer.starts_with("ratelite") {
        return Err(format!("\"{}\" has one rule only", job.peer));
    }
    match job.peer.as_str() {
        "ratelite" => work::<ratelite::Interval>(job),
        "ratelite-hit" => work::<ratelite::Hit>(job),
        "ratelite-redis" | "ratelite-redis-socket" => work::<ratelite::Redis>(job),
        "ratelite-redis-denied" => work::<ratelite::RedisDenied>(job),
        "ratelite-format-key" => work::<FormatKey<ratelite::Interval>>(job),
        "governor" => work::<governor::Keyed>(job),
        "governor-std-clock" => work::<governor::StdClock>(job),
        "governor-foldhash" => work::<governor::Foldhash>(job),
        "governor-format-key" => work::<FormatKey<governor::Keyed>>(job),
        "sqlite-busy-timeout" => work::<sqlite_busy_timeout::SqliteBusyTimeout>(job),
        "redis-script" | "redis-script-socket" => work::<redis_script::RedisScript>(job),
        "how-to" => work::<how_to::HowTo>(job),
        peer => Err(format!("there is no peer \"{peer}\"")),
    }
}
