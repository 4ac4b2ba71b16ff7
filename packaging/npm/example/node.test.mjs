import test from 'node:test';
import { addTests, run } from 'acp-conformance';

addTests(test, await run({ command: ['node', 'agent.mjs'], options: ['--quick', '--strict'] }));
