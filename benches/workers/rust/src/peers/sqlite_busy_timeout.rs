//! What a careful programmer writes with SQLite alone: WAL, one prepared statement, a busy timeout.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

use crate::job::Job;
use crate::peer::{Answered, Peer, Session};
use crate::versions;

/// The journal's mode is read and not set where it is WAL already.
const SETUP: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS counters (
        key    TEXT    NOT NULL,
        window INTEGER NOT NULL, -- start, milliseconds since the epoch
        n      INTEGER NOT NULL,
        PRIMARY KEY (key, window)
    ) WITHOUT ROWID;
";

const HIT: &str = "
    INSERT INTO counters (key, window, n) VALUES (?1, ?2, 1)
    ON CONFLICT (key, window) DO UPDATE SET n = n + 1
    RETURNING n
";

const PRUNE: &str = "DELETE FROM counters WHERE window < ?1";

const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);

pub struct SqliteBusyTimeout {
    store: String,
    limit: i64,
    window_ms: i64,
}

pub struct Counters {
    connection: Connection,
    limit: i64,
    window_ms: i64,
}

impl Peer for SqliteBusyTimeout {
    type Key = String;
    type Session = Counters;

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
    fn session(&self) -> Answered<Counters> {
        let &Self { ref store, limit, window_ms } = self;
        let connection = open(store).map_err(|error| error.to_string())?;
        Ok(Counters { connection, limit, window_ms })
    }
}

fn open(store: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(store)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(SETUP)?;
    Ok(connection)
}

impl Session<String> for Counters {
    fn hitter(&mut self) -> Answered<impl FnMut(&String) -> Answered<bool>> {
        let &mut Self { ref connection, limit, window_ms } = self;
        let mut statement = connection.prepare(HIT).map_err(|error| error.to_string())?;
        let mut count = move |key: &str| {
            let mut rows = statement.query(params![key, window(window_ms)])?;
            let mut n = 0;
            // To the end: a statement that is reset at its first row never checkpoints.
            while let Some(row) = rows.next()? {
                n = row.get(0)?;
            }
            Ok(n)
        };
        Ok(move |key: &String| {
            let n: i64 = count(key).map_err(|error: rusqlite::Error| error.to_string())?;
            Ok(n <= limit)
        })
    }

    fn prune(&mut self) -> Answered<u64> {
        let removed = self.connection.execute(PRUNE, [window(self.window_ms)]);
        removed.map(|rows| rows as u64).map_err(|error| error.to_string())
    }
}

/// The start of the current window.
fn window(window_ms: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = now.as_millis() as i64;
    now_ms - now_ms % window_ms
}
