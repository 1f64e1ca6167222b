'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');

const target = process.env.CARGO_TARGET_DIR || path.join(__dirname, '../../../../target');

/** Requires one of the packages that setup installs. */
module.exports = createRequire(path.resolve(target, 'bench/node/package.json'));
