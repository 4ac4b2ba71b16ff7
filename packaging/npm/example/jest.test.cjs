const { addTests, runSync } = require('acp-conformance');

addTests(test, runSync({ command: ['node', 'agent.mjs'], options: ['--quick', '--strict'] }));
