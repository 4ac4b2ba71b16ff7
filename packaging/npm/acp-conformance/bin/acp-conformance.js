#!/usr/bin/env node
'use strict';

// Starts the program of this platform, and exits as it exits.
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binary } = require('../binary.js');

let program;
try {
  program = binary();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });

// The program ends a run in order: it stops its processes and writes its reports. A terminal sends Ctrl-C to both processes,
// so this one only waits. Other signals reach only this process.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));

child.on('error', (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on('close', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
