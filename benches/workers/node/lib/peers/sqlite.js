'use strict';

const installed = require('../installed');
const Database = installed('better-sqlite3');
const { RateLimiterSQLite } = installed('rate-limiter-flexible');

const packages = ['rate-limiter-flexible', 'better-sqlite3'];

const totalChanges = (db) => db.prepare('SELECT total_changes()').pluck().get();

/**
 * @param {(db: object) => void} prepare what a user does with the database before handing it in
 */
function openWith(prepare) {
  return async function open({ store, limits }) {
    // With better-sqlite3's own wait of 5 s for others.
    const db = new Database(store);
    prepare(db);
    const limiter = await new Promise((resolve, reject) => {
      const made = new RateLimiterSQLite(
        { ...limits, storeClient: db, storeType: 'better-sqlite3', tableName: 'rate_limits' },
        // It is called back after the constructor has returned.
        (failure) => (failure ? reject(failure) : resolve(made)),
      );
    });
    return {
      limiter,
      prune: async () => {
        const before = totalChanges(db);
        await limiter.clearExpired(Date.now());
        return totalChanges(db) - before;
      },
      close: async () => db.close(),
    };
  };
}

/** The library leaves the journal mode alone: rollback journal, synchronous=FULL. */
const asItComes = { packages, open: openWith(() => {}) };

/**
 * `synchronous` is left at its default, which better-sqlite3 is built to make NORMAL for a file in WAL
 * mode, and FULL for any other.
 */
const wal = { packages, open: openWith((db) => db.pragma('journal_mode = WAL')) };

module.exports = { asItComes, wal };
