'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');
const { Histogram } = require('./histogram');

// CLOCK_MONOTONIC
const clock = process.hrtime.bigint;

const HITS_BETWEEN_READINGS = 64;
const SLOW_HIT_NS = 10_000;
const IDLE_SECONDS = 0.1;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread: timers are of whole milliseconds. */
const sleepUs = (us) => Atomics.wait(sleeper, 0, 0, us / 1000);

/** The loop of the protocol. */
class Loop {
  #keys;

  #next = 0;

  constructor(keys, next) {
    this.#keys = keys;
    this.#next = next;
  }

  /**
   * @param {(key: string) => Promise<boolean>} hit whether it was allowed; rejects with a failure
   * @param {object} command with its members seconds, count, think_us, every and at_ns
   */
  async run(hit, { count = Infinity, seconds = Infinity, think_us: thinkUs = 0, every = 0, at_ns: atNs = 0 }) {
    const histogram = every > 0 ? new Histogram() : null;
    let hits = 0;
    let allowed = 0;
    let errors = 0;
    let error = null;
    let batch = Math.max(1, every);
    let untilReading = batch;
    const longest = seconds * 1e9;
    const start = begin(BigInt(atNs));
    let now = start;
    let before = start;

    while (hits < count) {
      const key = this.#keys[this.#next];
      this.#next = (this.#next + 1) % this.#keys.length;
      untilReading -= 1;
      const last = untilReading === 0 || hits + 1 === count;
      if (last && histogram !== null) {
        before = clock();
      }
      try {
        if (await hit(key)) {
          allowed += 1;
        }
      } catch (failure) {
        errors += 1;
        error ??= failure.message;
      }
      hits += 1;

      if (last) {
        now = clock();
        if (histogram !== null) {
          histogram.add(Number(now - before));
        } else {
          batch = Number(now - before) > batch * SLOW_HIT_NS ? 1 : HITS_BETWEEN_READINGS;
          before = now;
        }
        untilReading = batch;
        if (Number(now - start) >= longest) {
          break;
        }
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

  /** What the loop itself costs a hit. */
  async idleNs(every) {
    const { hits, seconds } = await this.run(async () => true, { seconds: IDLE_SECONDS, every });
    return (seconds * 1e9) / hits;
  }
}

/** Waits for that moment; 0: none. Whoever gets a processor late has begun all the same. */
function begin(at) {
  for (let left = at - clock(); left > 0n; left = at - clock()) {
    sleepUs(Number(left) / 1000);
  }
  return at > 0n ? at : clock();
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
