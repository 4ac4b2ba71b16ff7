// Checks one recording after the other, so that the page stays usable meanwhile.

import { run } from "./wasi.js";

const program = WebAssembly.compileStreaming(fetch("playground.wasm"));

self.onmessage = async ({ data: { number, file, party } }) => {
  try {
    const input = new Uint8Array(await file.arrayBuffer());
    const words = party ? [file.name, party] : [file.name];
    self.postMessage({ number, ...(await run(await program, words, input)) });
  } catch (error) {
    self.postMessage({ number, code: -1, errors: `the check broke down: ${error.message}` });
  }
};
