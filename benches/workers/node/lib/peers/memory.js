'use strict';

const { RateLimiterMemory } = require('../installed')('rate-limiter-flexible');

async function open({ limits }) {
  return {
    limiter: new RateLimiterMemory(limits),
    // A timer for each key removes it.
    prune: async () => 0,
    close: async () => {},
  };
}

module.exports = { open, packages: ['rate-limiter-flexible'] };
