'use strict';

/** Options with and without a value that leave all cases selected. */
const VALUES = [
  '--act', '--cwd', '--env', '--expected', '--format', '--header', '--html', '--jobs', '-j', '--login', '--repeat',
  '--setting', '--snapshots', '--timeout-answer', '--timeout-exit', '--timeout-start', '--timeout-turn', '--trace-dir',
];
const FLAGS = ['--allow-incomplete', '--isolate', '--keep-home', '--redact', '--strict'];

/** Tells whether a run with these options runs all cases. */
function runs_all(options) {
  for (let at = 0; at < options.length; at += 1) {
    const [name, ...value] = options[at].split('=');
    if (VALUES.includes(name)) at += value.length > 0 ? 0 : 1;
    else if (!FLAGS.includes(name)) return false;
  }
  return true;
}

/**
 * Returns the patterns for the names of tests (`-t` or `--test-name-pattern`). A test has to match one of them; an empty
 * array selects all tests. vitest and jest have no public way to read theirs: if it changes, all cases run.
 */
function name_patterns() {
  const vitest = globalThis.__vitest_worker__?.config?.testNamePattern;
  const state = Object.getOwnPropertySymbols(globalThis).find(({ description }) => description === 'JEST_STATE_SYMBOL');
  const jest = globalThis[state]?.testNamePattern;
  return [vitest, jest, ...node_patterns(process.execArgv)].filter(Boolean);
}

function node_patterns(words) {
  const option = '--test-name-pattern';
  const texts = words.flatMap((word, at) => {
    if (word.startsWith(`${option}=`)) return [word.slice(option.length + 1)];
    return words[at - 1] === option ? [word] : [];
  });
  return texts.map((text) => {
    const [, source, flags] = /^\/(.*)\/([a-z]*)$/.exec(text) ?? [];
    return source === undefined ? new RegExp(text) : new RegExp(source, flags);
  });
}

/** Tells whether the test runner runs a test with this name, in the `describe` block `group` if there is one. */
function is_selected(patterns, name, group) {
  const names = group === undefined ? [name] : [name, `${group} ${name}`];
  // Without `search`, a pattern with the flag `g` would begin where its last match ended.
  return patterns.length === 0 || patterns.some((pattern) => names.some((one) => one.search(pattern) >= 0));
}

module.exports = { is_selected, name_patterns, node_patterns, runs_all };
