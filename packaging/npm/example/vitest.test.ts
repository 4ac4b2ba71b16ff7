import { test } from 'vitest';
import { addTests, run } from 'acp-conformance';

addTests(test, await run({ command: ['node', 'agent.mjs'] }));
