'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { binary } = require('./binary.js');
const { tests } = require('./tests.js');

/** Runs the cases and returns the report. */
async function run(options) {
  const plan = plan_of(options);
  try {
    const child = spawn(binary(), plan.args, plan.start);
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data));
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    return report_of(plan, code, Buffer.concat(output).toString());
  } finally {
    rmSync(plan.folder, { recursive: true, force: true });
  }
}

/** Does the same as `run`, for a test runner that defines its tests without waiting: jest. */
function runSync(options) {
  const plan = plan_of(options);
  try {
    const { error, status, stdout, stderr } = spawnSync(binary(), plan.args, { ...plan.start, maxBuffer: Infinity });
    if (error) throw error;
    return report_of(plan, status, `${stdout}${stderr}`);
  } finally {
    rmSync(plan.folder, { recursive: true, force: true });
  }
}

function plan_of({ subject, command = [], profile, options = [], cwd, env, inconclusive = 'skip' }) {
  const words = [];
  // Without a command and a profile, the program reads acp-conformance.toml, which names the subject.
  if (command.length > 0 || profile !== undefined || subject !== undefined) words.push(subject ?? 'agent');
  if (profile !== undefined) words.push('--profile', profile);
  words.push(...options);
  const end = command.length > 0 ? ['--', ...command] : [];
  const folder = mkdtempSync(join(tmpdir(), 'acp-conformance-'));
  const file = join(folder, 'report.json');
  const args = [...words, '--quiet', '--format', `json=${file}`, ...end];
  const start = { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] };
  return { words, end, folder, file, args, start, inconclusive };
}

// A run with verdicts exits with 0, 1, 3 or 4.
function report_of({ file, words, end, inconclusive }, code, output) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new Error(`acp-conformance exited with ${code} and wrote no report\n${output.trim()}`);
  }
  if (report.obstacle) throw new Error(report.obstacle);
  if (report.partial) throw new Error(`the run ended early, and its report is partial\n${output.trim()}`);
  const again = (id) => ['npx acp-conformance', ...[...unselected(words), '--case', id, ...end].map(quoted)].join(' ');
  return Object.defineProperty(report, PLAN, { value: { again, inconclusive } });
}

const PLAN = Symbol('plan');

/** Leaves out the options that select cases. */
function unselected(words) {
  const selects = (word) => ['--case', '--requirement', '--skip', '--shard'].includes(word);
  return words.filter((word, at) => !selects(word.split('=')[0]) && !(at > 0 && selects(words[at - 1])));
}

function quoted(word) {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns the results of the cases as tests. */
function testsOf(report) {
  return tests(report, report[PLAN] ?? {});
}

/** Defines one test per case. */
function addTests(test, report) {
  // node:test shows why a test was skipped; vitest and jest have no place for it.
  const node = require('node:test');
  const showsReasons = test === node || test === node.test;
  for (const { name, result, message } of testsOf(report)) {
    const body = () => {
      if (result === 'fail') throw failure(message);
    };
    if (result !== 'skip') test(name, body);
    else if (showsReasons) test(name, { skip: message }, body);
    else test.skip(name, body);
  }
}

/** Creates an error without a stack: the lines of this package say nothing about the subject. */
function failure(message) {
  const error = new Error(message);
  error.name = 'ConformanceError';
  error.stack = `${error.name}: ${message}`;
  return error;
}

module.exports = { run, runSync, testsOf, addTests };
