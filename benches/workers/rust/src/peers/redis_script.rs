//! What people write for Redis by themselves: a script of two commands, by the `redis` crate.

use redis::{Client, Connection, RedisError, Script};

use crate::job::Job;
use crate::peer::{Answered, Peer, Session};
use crate::versions;

/// A window begins with a key's first hit, and its end removes the key.
const HIT: &str = "
    local n = redis.call('INCRBY', KEYS[1], ARGV[1])
    if n == tonumber(ARGV[1]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return n
";

pub struct RedisScript {
    client: Client,
    limit: i64,
    window_ms: u64,
}

pub struct Counters {
    connection: Connection,
    script: Script,
    limit: i64,
    window_ms: u64,
}

impl Peer for RedisScript {
    type Key = String;
    type Session = Counters;

    fn open(job: &Job) -> Answered<Self> {
        let client = Client::open(job.store.as_str()).map_err(said)?;
        Ok(Self { client, limit: job.limit.cast_signed(), window_ms: job.window_ms })
    }

    fn key(text: &str) -> Answered<String> {
        Ok(text.to_owned())
    }

    fn version(&self) -> String {
        versions::of_crate("redis")
    }

    /// A connection for each thread: only one at a time can wait for its answer.
    fn session(&self) -> Answered<Counters> {
        let connection = self.client.get_connection().map_err(said)?;
        let &Self { limit, window_ms, .. } = self;
        Ok(Counters { connection, script: Script::new(HIT), limit, window_ms })
    }
}

impl Session<String> for Counters {
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        let Self { connection, script, limit, window_ms } = self;
        let (limit, window_ms) = (*limit, *window_ms);
        Ok(move |key: &String| {
            // EVALSHA; the text goes to the server only once.
            let hit = script.key(key).arg(1).arg(window_ms).invoke::<i64>(connection);
            Ok(hit.map_err(said)? <= limit)
        })
    }

    /// Redis removes what has expired by itself.
    fn prune(&mut self) -> Answered<u64> {
        Ok(0)
    }
}

fn said(error: RedisError) -> String {
    error.to_string()
}
