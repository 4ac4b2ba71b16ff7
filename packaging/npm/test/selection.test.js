'use strict';

// The patterns of a test runner select the cases that run.
const assert = require('node:assert/strict');
const test = require('node:test');
const { is_selected, node_patterns, runs_all } = require('../acp-conformance/selection.js');

const name = 'v1/agent/cancel/idle: A cancel without a turn has no effect';

test('patterns select by id, title and group', () => {
  for (const pattern of [/cancel/, /^v1\/agent\/cancel\//, /without a TURN/i, /cancel/g]) {
    assert.ok(is_selected([pattern], name) && is_selected([/other/, pattern], name), pattern);
  }
  assert.ok(is_selected([], name));
  assert.ok(!is_selected([/^my agent/], name));
  assert.ok(is_selected([/^my agent v1/], name, 'my agent'));
});

test('the options of node:test become patterns', () => {
  const found = node_patterns(['--test', '--test-name-pattern=cancel', '--test-name-pattern', '/CANCEL/i', '--import', 'x']);
  assert.deepEqual(found, [/cancel/, /CANCEL/i]);
});

test('patterns apply only if the options leave all cases selected', () => {
  assert.ok(runs_all(['--strict', '--env', 'A=B', '--expected=known.toml']));
  for (const words of [['--quick'], ['--case', 'cancel'], ['cancel'], ['--strict', '--requirement=cancel']]) {
    assert.ok(!runs_all(words), words);
  }
});
