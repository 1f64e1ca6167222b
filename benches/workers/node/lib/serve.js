'use strict';

const { createInterface } = require('node:readline');
const installed = require('./installed');
const { Crowd } = require('./crowd');
const { clock, clockNs } = require('./loop');

const { RateLimiterRes } = installed('rate-limiter-flexible');

const say = (line) => process.stdout.write(`${line}\n`);

/** Whether the hit was allowed: a denial is a rejection that is no Error. */
async function hit(limiter, key) {
  try {
    await limiter.consume(key);
    return true;
  } catch (rejection) {
    if (rejection instanceof RateLimiterRes) {
      return false;
    }
    throw rejection;
  }
}

async function prune(opened) {
  const start = clock();
  let removed = 0;
  let error = null;
  try {
    removed = await opened.prune();
  } catch (failure) {
    error = failure.message;
  }
  return { removed, seconds: Number(clock() - start) / 1e9, error };
}

function about(peer) {
  const versions = peer.packages.map((name) => `${name} ${installed(`${name}/package.json`).version}`);
  return { version: `${versions.join(', ')}, Node.js ${process.versions.node}`, clock_ns: clockNs() };
}

/** Opens the limiter and answers commands until the input ends. */
async function serve(job) {
  const opened = [];
  while (opened.length < job.threads) {
    opened.push(await job.peer.open(job));
  }
  const hits = opened.map(({ limiter }) => (key) => hit(limiter, key));
  const crowd = new Crowd(job.keys, hits);
  const hitAnew = async (key) => {
    const request = await job.peer.open(job);
    try {
      return await hit(request.limiter, key);
    } finally {
      await request.close();
    }
  };
  const requests = new Crowd(job.keys, [hitAnew]);

  for (const hitOpened of hits) {
    await hitOpened(`worker ${process.pid}`);
  }
  say('ready');

  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer;
    switch (command.do) {
      case 'run':
      case 'hits':
        answer = await crowd.run(command);
        break;
      case 'open':
        answer = await requests.run(command);
        break;
      case 'prune':
        answer = await prune(opened[0]);
        break;
      case 'about':
        answer = { ...about(job.peer), loop_ns: await crowd.idleNs(command.every) };
        break;
      default:
        throw new Error(`there is no command "${command.do}"`);
    }
    say(JSON.stringify({ ...answer, rss_bytes: process.memoryUsage.rss() }));
  }
}

module.exports = { serve };
