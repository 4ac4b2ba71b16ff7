// The part of the WebAssembly System Interface, preview 1, that a program needs which reads standard input and writes standard
// output and standard error: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 52;

class Exit extends Error {
  constructor(code) {
    super(`the program ended with exit code ${code}`);
    this.code = code;
  }
}

/** Runs a module to its end. Returns its exit code, and the bytes that it wrote. */
export async function run(module, words, input) {
  const written = { 1: [], 2: [] };
  let memory;
  let read = 0;
  const view = () => new DataView(memory.buffer);
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);

  /** The buffers of a call, as pairs of pointer and length. */
  function* buffers(list, count) {
    for (let index = 0; index < count; index += 1) {
      const at = list + 8 * index;
      yield bytes(view().getUint32(at, true), view().getUint32(at + 4, true));
    }
  }

  const texts = (list) => list.map((text) => new TextEncoder().encode(`${text}\0`));
  const args = texts(["playground", ...words]);

  function put(list, pointers, place) {
    for (const text of list) {
      view().setUint32(pointers, place, true);
      bytes(place, text.length).set(text);
      pointers += 4;
      place += text.length;
    }
    return SUCCESS;
  }

  function sizes(list, count, length) {
    view().setUint32(count, list.length, true);
    view().setUint32(length, list.reduce((sum, text) => sum + text.length, 0), true);
    return SUCCESS;
  }

  const known = {
    args_get: (pointers, place) => put(args, pointers, place),
    args_sizes_get: (count, length) => sizes(args, count, length),
    environ_get: () => SUCCESS,
    environ_sizes_get: (count, length) => sizes([], count, length),
    clock_time_get: (_clock, _precision, at) => {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return SUCCESS;
    },
    random_get: (at, length) => {
      // The browser gives at most this many bytes at once.
      for (let done = 0; done < length; done += 65536) {
        crypto.getRandomValues(bytes(at + done, Math.min(65536, length - done)));
      }
      return SUCCESS;
    },
    fd_read: (descriptor, list, count, at) => {
      if (descriptor !== 0) return BAD_DESCRIPTOR;
      let total = 0;
      for (const buffer of buffers(list, count)) {
        const part = input.subarray(read, read + buffer.length);
        buffer.set(part);
        read += part.length;
        total += part.length;
      }
      view().setUint32(at, total, true);
      return SUCCESS;
    },
    fd_write: (descriptor, list, count, at) => {
      if (!(descriptor in written)) return BAD_DESCRIPTOR;
      let total = 0;
      for (const buffer of buffers(list, count)) {
        written[descriptor].push(buffer.slice());
        total += buffer.length;
      }
      view().setUint32(at, total, true);
      return SUCCESS;
    },
    // There are no folders.
    fd_prestat_get: () => BAD_DESCRIPTOR,
    proc_exit: (code) => {
      throw new Exit(code);
    },
    sched_yield: () => SUCCESS,
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = known[name] ?? (() => NOT_SUPPORTED);
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  memory = exports.memory;
  let code = 0;
  try {
    exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    code = error.code;
  }
  return { code, output: new Blob(written[1]), errors: await new Blob(written[2]).text() };
}
