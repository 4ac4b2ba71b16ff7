'use strict';

const { existsSync } = require('node:fs');

/** The platforms with a package of their own, as `os-cpu`. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Returns the path of the program. The variable ACP_CONFORMANCE_BINARY replaces the program of the package.
 */
function binary() {
  const own = process.env.ACP_CONFORMANCE_BINARY;
  if (own) {
    if (!existsSync(own)) throw new Error(`cannot find the program in ACP_CONFORMANCE_BINARY: ${own}`);
    return own;
  }
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new Error(
      `acp-conformance has no program for ${platform}, only for ${PLATFORMS.join(', ')}\n` +
        'help: on Windows, use WSL; elsewhere, build it from source and set ACP_CONFORMANCE_BINARY',
    );
  }
  try {
    return require.resolve(`@acp-conformance/${platform}/bin/acp-conformance`);
  } catch {
    throw new Error(
      `cannot find the package @acp-conformance/${platform}\n` +
        'help: install acp-conformance again without `--no-optional` or `--omit=optional`; on Linux it needs glibc',
    );
  }
}

module.exports = { binary };
