'use strict';

const { accessSync, constants, existsSync, realpathSync, statSync } = require('node:fs');
const { delimiter, join } = require('node:path');

/** The platforms with a package of their own, as `os-cpu`. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Returns the path of the program: that in the variable ACP_CONFORMANCE_BINARY, else that of the package, else that in
 * PATH.
 */
function binary() {
  const own = process.env.ACP_CONFORMANCE_BINARY;
  if (own) {
    if (!existsSync(own)) throw new Error(`cannot find the program in ACP_CONFORMANCE_BINARY: ${own}`);
    return own;
  }
  const platform = `${process.platform}-${process.arch}`;
  const found = packaged(platform) ?? in_path();
  if (found) return found;
  const where = PLATFORMS.includes(platform)
    ? `it is not in the package @acp-conformance/${platform}`
    : `there is no package for ${platform}, only for ${PLATFORMS.join(', ')}`;
  const help = PLATFORMS.includes(platform)
    ? 'install acp-conformance again without `--no-optional` or `--omit=optional`; on Linux it needs glibc'
    : 'on Windows, use WSL; elsewhere, build it from source and set ACP_CONFORMANCE_BINARY';
  throw new Error(
    `cannot find the program acp-conformance: ACP_CONFORMANCE_BINARY is not set, ${where}, and not in PATH\nhelp: ${help}`,
  );
}

function packaged(platform) {
  try {
    return require.resolve(`@acp-conformance/${platform}/bin/acp-conformance`);
  } catch {
    return undefined;
  }
}

/** Searches PATH for a program, leaving out the script of this package, which would start itself. */
function in_path() {
  const own = realpathSync(join(__dirname, 'bin/acp-conformance.js'));
  const paths = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return paths.map((folder) => join(folder, 'acp-conformance')).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile() && realpathSync(path) !== own;
    } catch {
      return false;
    }
  });
}

module.exports = { binary };
