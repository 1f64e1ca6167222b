//! What how-tos show: a table, an upsert, a SELECT, and SQLite as it comes (rollback journal,
//! synchronous=FULL).

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::{Connection, params};

use crate::job::Job;
use crate::peer::{Answered, Peer, Session};
use crate::versions;

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS rate_limits (
        client       TEXT,
        window_start TEXT, -- ISO 8601
        count        INTEGER,
        PRIMARY KEY (client, window_start)
    )
";

const COUNT: &str = "
    INSERT INTO rate_limits (client, window_start, count) VALUES (?1, ?2, 1)
    ON CONFLICT (client, window_start) DO UPDATE SET count = count + 1
";

const READ: &str = "SELECT count FROM rate_limits WHERE client = ?1 AND window_start = ?2";

const PRUNE: &str = "DELETE FROM rate_limits WHERE window_start < ?1";

const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);

pub struct HowTo {
    store: String,
    limit: i64,
    window_ms: i64,
}

pub struct RateLimits {
    connection: Connection,
    limit: i64,
    window_ms: i64,
}

impl Peer for HowTo {
    type Key = String;
    type Session = RateLimits;

    fn open(job: &Job) -> Answered<Self> {
        Ok(Self {
            store: job.store.clone(),
            limit: job.limit.cast_signed(),
            window_ms: job.window_ms.cast_signed(),
        })
    }

    fn key(text: &str) -> Answered<String> {
        Ok(text.to_owned())
    }

    fn version(&self) -> String {
        versions::of_sqlite()
    }

    /// A connection for each thread: SQLite lets only one at a time use it.
    fn session(&self) -> Answered<RateLimits> {
        let &Self { ref store, limit, window_ms } = self;
        let connection = open(store).map_err(|error| error.to_string())?;
        Ok(RateLimits { connection, limit, window_ms })
    }
}

fn open(store: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(store)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute(TABLE, [])?;
    Ok(connection)
}

impl Session<String> for RateLimits {
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        Ok(|key: &String| self.hit(key).map_err(|error| error.to_string()))
    }

    fn prune(&mut self) -> Answered<u64> {
        let removed = self.connection.execute(PRUNE, [window_start(self.window_ms)]);
        removed.map(|rows| rows as u64).map_err(|error| error.to_string())
    }
}

impl RateLimits {
    fn hit(&self, client: &str) -> rusqlite::Result<bool> {
        let window_start = window_start(self.window_ms);
        self.connection.execute(COUNT, params![client, window_start])?;
        let count: i64 =
            self.connection.query_row(READ, params![client, window_start], |row| row.get(0))?;
        Ok(count <= self.limit)
    }
}

fn window_start(window_ms: i64) -> String {
    let now_ms = Utc::now().timestamp_millis();
    let start = DateTime::from_timestamp_millis(now_ms - now_ms % window_ms).unwrap_or_default();
    start.to_rfc3339_opts(SecondsFormat::Millis, true)
}
