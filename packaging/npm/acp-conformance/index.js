'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { binary } = require('./binary.js');
const { is_selected, name_patterns, runs_all } = require('./selection.js');
const { name_of, tests } = require('./tests.js');

/** Runs the cases whose tests are selected and returns the report. */
async function run(options) {
  const plan = plan_of(options);
  try {
    if (plan.runs_nothing) return report_of_nothing(plan);
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
    if (plan.runs_nothing) return report_of_nothing(plan);
    const { error, status, stdout, stderr } = spawnSync(binary(), plan.args, { ...plan.start, maxBuffer: Infinity });
    if (error) throw error;
    return report_of(plan, status, `${stdout}${stderr}`);
  } finally {
    rmSync(plan.folder, { recursive: true, force: true });
  }
}

function plan_of({ subject, command = [], profile, options = [], cwd, env, inconclusive = 'skip', group }) {
  const words = [];
  // Without a command and a profile, the program reads acp-conformance.toml, which names the subject.
  if (command.length > 0 || profile !== undefined || subject !== undefined) words.push(subject ?? 'agent');
  if (profile !== undefined) words.push('--profile', profile);
  words.push(...options);
  const end = command.length > 0 ? ['--', ...command] : [];
  const { chosen, others } = select(words[0], profile, options, group);
  const selection = others.length > 0 ? chosen.flatMap(({ id }) => ['--case', id]) : [];
  const folder = mkdtempSync(join(tmpdir(), 'acp-conformance-'));
  const file = join(folder, 'report.json');
  const args = [...words, ...selection, '--quiet', '--format', `json=${file}`, ...end];
  const start = { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] };
  const runs_nothing = others.length > 0 && chosen.length === 0;
  return { words, end, folder, file, args, start, inconclusive, others, runs_nothing };
}

/** Divides the cases by the patterns of the test runner; without both, all cases run. */
function select(subject, profile, options, group) {
  const patterns = name_patterns();
  const everything = { chosen: [], others: [] };
  if (patterns.length === 0 || subject === undefined || !runs_all(options)) return everything;
  const words = ['list', '--party', subject, '--format', 'json'];
  const { error, status, stdout, stderr } = spawnSync(binary(), words, { encoding: 'utf8', maxBuffer: Infinity });
  if (error) throw error;
  if (status !== 0) throw new Error(`acp-conformance list failed\n${stderr.trim()}`);
  // Those of the area http need another transport: a profile, or an option that `runs_all` does not know.
  const cases = JSON.parse(stdout).cases.filter(({ id }) => profile !== undefined || id.split('/')[2] !== 'http');
  const selects = (one) => is_selected(patterns, name_of(one), group);
  return { chosen: cases.filter(selects), others: cases.filter((one) => !selects(one)) };
}

/** Returns the report of a run without cases, in a test run that selects only other tests. */
function report_of_nothing(plan) {
  const summary = { requirements: {}, cases: {}, durationMs: 0 };
  return with_plan({ verdict: 'incomplete', selection: true, requirements: [], cases: [], summary }, plan);
}

// A run with verdicts exits with 0, 1, 3 or 4.
function report_of(plan, code, output) {
  let report;
  try {
    report = JSON.parse(readFileSync(plan.file, 'utf8'));
  } catch {
    throw new Error(`acp-conformance exited with ${code} and wrote no report\n${output.trim()}`);
  }
  if (report.obstacle) throw new Error(report.obstacle);
  if (report.partial) throw new Error(`the run ended early, and its report is partial\n${output.trim()}`);
  return with_plan(report, plan);
}

/** Keeps with the report what its tests need to know of the run. */
function with_plan(report, { words, end, inconclusive, others }) {
  const again = (id) => ['npx acp-conformance', ...[...unselected(words), '--case', id, ...end].map(quoted)].join(' ');
  return Object.defineProperty(report, PLAN, { value: { again, inconclusive, others } });
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
  const node = require('node:test');
  const isNode = test === node || test === node.test;
  const isVitest = globalThis.__vitest_worker__ !== undefined;
  for (const { name, result, message } of testsOf(report)) {
    const body = () => {
      if (result === 'fail') throw failure(message);
    };
    // node:test and vitest show why a test was skipped; jest has no place for it.
    if (result !== 'skip') test(name, body);
    else if (isNode) test(name, { skip: message }, body);
    else if (isVitest) test(name, (context) => context.skip(message));
    else test.skip(name, body);
  }
  // The test runner leaves these out by their names; so its counts are those of all cases.
  for (const one of report[PLAN]?.others ?? []) {
    test(name_of(one), () => {
      throw failure(UNSELECTED);
    });
  }
}

const UNSELECTED = [
  'the case did not run, because its id and title do not match the pattern of the test runner',
  'help: if the tests are in a `describe` block, pass its name to `run` as `group`',
].join('\n');

/** Creates an error without a stack: the lines of this package say nothing about the subject. */
function failure(message) {
  const error = new Error(message);
  error.name = 'ConformanceError';
  error.stack = `${error.name}: ${message}`;
  return error;
}

module.exports = { run, runSync, testsOf, addTests };
