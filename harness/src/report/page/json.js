// JSON as it was sent: formatted again without a change to any value, and compared line by line.

/** Lines below this depth are not indented further. */
const DEEPEST = 40;

/** The JSON pointer to the value at the beginning of a line, inside these open brackets. */
const pointerIn = (open) => open.map(({ name }) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/**
 * JSON with a line for each member, each with the pointer to the member that begins there; undefined if the text is not JSON.
 * Numbers and repeated names do not change.
 */
function prettyLines(text) {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const lines = [{ text: '' }];
  const open = [];
  let before = '';
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    const closes = token === '}' || token === ']';
    if (closes) open.pop();
    if (before === ',' || (before === '{' || before === '[' ? !closes : closes)) {
      const around = closes ? undefined : open.at(-1);
      if (around) around.name = around.isList ? around.name + 1 : JSON.parse(token);
      lines.push({ text: '  '.repeat(Math.min(open.length, DEEPEST)), path: around && pointerIn(open) });
    }
    lines.at(-1).text += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') open.push({ isList: token === '[', name: -1 });
    before = token;
  }
  return lines;
}

/** JSON with a line for each member; undefined if the text is not JSON. */
const pretty = (text) => prettyLines(text)?.map((line) => line.text).join('\n');

/** The lines of both texts in order, each with `-` where only the first has it, `+` where only the second has. */
function diff(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const bare = (line) => line.replace(/,$/, '');
  const same = (i, j) => bare(a[i]) === bare(b[j]);
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = same(i, j) ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && same(i, j)) lines.push([' ', (i++, b[j++])]);
    else if (i < a.length && (j === b.length || length[i + 1][j] >= length[i][j + 1])) lines.push(['-', a[i++]]);
    else lines.push(['+', b[j++]]);
  }
  return lines;
}
