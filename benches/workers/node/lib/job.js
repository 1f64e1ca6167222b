'use strict';

const { readFileSync } = require('node:fs');

const PEERS = {
  'rlf-memory': () => require('./peers/memory'),
  'rlf-redis': () => require('./peers/redis').asking,
  'rlf-redis-block': () => require('./peers/redis').blocking,
  'rlf-sqlite': () => require('./peers/sqlite').asItComes,
  'rlf-sqlite-wal': () => require('./peers/sqlite').wal,
};

/** The job, with `peer` as a module, `keys` as an array, and what rate-limiter-flexible calls its options. */
function readJob(json) {
  const job = JSON.parse(json);
  if (!Object.hasOwn(PEERS, job.peer)) {
    throw new Error(`there is no peer "${job.peer}"`);
  }
  if ((job.processes ?? 1) !== 1 || (job.rules ?? 1) !== 1) {
    throw new Error('this worker has one process and one rule');
  }
  const threads = job.threads ?? 1;
  if (threads !== 1 && !job.peer.startsWith('rlf-redis')) {
    throw new Error('only peers on Redis can wait for several answers at once');
  }
  if (job.window_ms % 1000 !== 0) {
    throw new Error('rate-limiter-flexible takes windows of whole seconds only');
  }
  const keys = readFileSync(job.keys, 'utf8').split('\n');
  if (keys.at(-1) === '') {
    keys.pop();
  }
  if (keys.length === 0) {
    throw new Error(`no keys in "${job.keys}"`);
  }
  return {
    peer: PEERS[job.peer](),
    store: job.store,
    keys,
    threads,
    limits: { points: job.limit, duration: job.window_ms / 1000 },
  };
}

module.exports = { readJob };
