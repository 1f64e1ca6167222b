'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');
const { Histogram } = require('./histogram');

// CLOCK_MONOTONIC
const clock = process.hrtime.bigint;

const HITS_BETWEEN_READINGS = 64;
const SLOW_HIT_NS = 10_000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread: timers are of whole milliseconds. */
const sleepUs = (us) => Atomics.wait(sleeper, 0, 0, us / 1000);

/** The loop of the protocol. */
class Loop {
  #keys;

  #next = 0;

  constructor(keys) {
    this.#keys = keys;
  }

  /**
   * @param {(key: string) => Promise<boolean>} hit whether it was allowed; rejects with a failure
   */
  async run(hit, { count = Infinity, seconds = Infinity, thinkUs = 0, each }) {
    const histogram = each ? new Histogram() : null;
    let hits = 0;
    let allowed = 0;
    let errors = 0;
    let error = null;
    let batch = 1;
    let untilReading = 1;
    const longest = seconds * 1e9;
    const start = clock();
    let now = start;
    let read = start;

    while (hits < count) {
      const key = this.#keys[this.#next];
      this.#next = (this.#next + 1) % this.#keys.length;
      const before = each ? clock() : 0n;
      try {
        if (await hit(key)) {
          allowed += 1;
        }
      } catch (failure) {
        errors += 1;
        error ??= failure.message;
      }
      hits += 1;

      if (each) {
        now = clock();
        histogram.add(Number(now - before));
      } else if (--untilReading === 0) {
        now = clock();
        batch = Number(now - read) > batch * SLOW_HIT_NS ? 1 : HITS_BETWEEN_READINGS;
        untilReading = batch;
        read = now;
      }
      if (Number(now - start) >= longest) {
        break;
      }
      if (thinkUs > 0) {
        sleepUs(thinkUs);
      }
      // Timers, which expire keys, get their turn as in a server; promises alone never end one.
      if (hits % HITS_BETWEEN_READINGS === 0) {
        await nextTurn();
      }
    }

    return { hits, allowed, errors, seconds: Number(clock() - start) / 1e9, error, ...histogram?.report() };
  }
}

/** What one reading of the clock costs. */
function clockNs() {
  const readings = 1_000_000;
  const start = clock();
  for (let reading = 0; reading < readings; reading += 1) {
    clock();
  }
  return Number(clock() - start) / readings;
}

module.exports = { Loop, clock, clockNs };
