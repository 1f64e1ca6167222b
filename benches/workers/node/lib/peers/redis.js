'use strict';

const installed = require('../installed');
const Redis = installed('ioredis');
const { RateLimiterRedis } = installed('rate-limiter-flexible');

const packages = ['rate-limiter-flexible', 'ioredis'];

/** @param {(limits: object) => object} options what a user gives besides the limit */
function openWith(options) {
  return async function open({ store, limits }) {
    const client = new Redis(store);
    // Each hit that the lost connection costs is an error of its own; unheard, this event would be printed.
    client.on('error', () => {});
    return {
      limiter: new RateLimiterRedis({ ...limits, ...options(limits), storeClient: client }),
      // Redis expires keys by itself.
      prune: async () => 0,
      close: async () => client.disconnect(),
    };
  };
}

const asking = { packages, open: openWith(() => ({})) };

/** Whoever has used up its points is refused in this process, without asking, until the window ends. */
const blocking = { packages, open: openWith(({ points }) => ({ inMemoryBlockOnConsumed: points })) };

module.exports = { asking, blocking };
