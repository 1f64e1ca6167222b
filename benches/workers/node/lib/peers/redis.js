'use strict';

const installed = require('../installed');
const Redis = installed('ioredis');
const { RateLimiterRedis } = installed('rate-limiter-flexible');

async function open({ store, limits }) {
  const client = new Redis(store);
  // Each hit that the lost connection costs is an error of its own; unheard, this event would be printed.
  client.on('error', () => {});
  return {
    limiter: new RateLimiterRedis({ ...limits, storeClient: client }),
    // Redis expires keys by itself.
    prune: async () => 0,
    close: async () => client.disconnect(),
  };
}

module.exports = { open, packages: ['rate-limiter-flexible', 'ioredis'] };
