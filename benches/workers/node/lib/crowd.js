'use strict';

const { sum } = require('./histogram');
const { Loop } = require('./loop');

/** Loops of one process that wait for their answers at the same time, each with a limiter of its own. */
class Crowd {
  #hits;

  #loops;

  /** @param {((key: string) => Promise<boolean>)[]} hits of each loop */
  constructor(keys, hits) {
    this.#hits = hits;
    // They begin at different places of the same round.
    this.#loops = hits.map((_, number) => new Loop(keys, Math.floor((keys.length * number) / hits.length)));
  }

  /** @param {object} command as for a loop */
  async run(command) {
    return merged(await Promise.all(this.#loops.map((loop, number) => loop.run(this.#hits[number], command))));
  }

  idleNs(every) {
    return this.#loops[0].idleNs(every);
  }
}

function merged(answers) {
  if (answers.length === 1) {
    return answers[0];
  }
  const each = (member) => answers.map((answer) => answer[member]);
  const total = (member) => each(member).reduce((one, other) => one + other, 0);
  return {
    hits: total('hits'),
    allowed: total('allowed'),
    errors: total('errors'),
    seconds: Math.max(...each('seconds')),
    error: each('error').find((error) => error !== null) ?? null,
    hits_each: each('hits'),
    seconds_each: each('seconds'),
    ...(answers[0].latency && sum(answers)),
  };
}

module.exports = { Crowd };
