'use strict';

// The stored report becomes the same tests as in the pytest plugin.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const test = require('node:test');
const { tests } = require('../acp-conformance/tests.js');

const read = (name) => JSON.parse(readFileSync(join(__dirname, '../../testdata', name), 'utf8'));
const again = (id) => `acp-conformance agent --case ${id} -- my-agent`;

test('a report becomes one test per case and per wrong entry', () => {
  const found = tests(read('report.json'), { again }).map(({ name, ...one }) => one);
  assert.deepEqual(found, read('tests.json'));
});

test('a name has the id and the title', () => {
  const [first] = tests(read('report.json'));
  assert.equal(first.name, 'v1/agent/auth/login: After authenticate a session can be created; after logout it can not');
});

test('undecided cases fail on request', () => {
  const results = tests(read('report.json'), { inconclusive: 'fail' }).map(({ verdict, result }) => `${verdict} ${result}`);
  assert.ok(results.includes('inconclusive fail') && results.includes('not-applicable skip'), results);
});
