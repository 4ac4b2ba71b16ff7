// The sequence chart of a trace: two lifelines, the messages between them in order, and other events.

const CLOSED = { lf: '', 'cr-lf': 'ended by CR LF', cut: 'cut off', eof: 'without a line end' };

const PROCESS = {
  spawned: ({ pid }) => `started, process ${pid}`,
  'not-spawned': (why) => `not started: ${why}`,
  'stdin-closed': () => 'the tester ended its stream to the subject',
  'stdout-ended': () => 'the stream of the subject ended',
  'stdin-broken': () => 'the subject closed its input',
  'agent-started': ({ pid, args }) => `the client started its agent, process ${pid} ${args.join(' ')}`,
  'agent-signalled': (signal) => `the client sent its agent ${signal}`,
  'agent-exited': (code) => `the tester ended the agent with exit code ${code}`,
  'agent-killed': () => 'the tester killed the agent',
  signalled: (signal) => `the tester sent the subject ${signal}, because it did not exit`,
  exited: ({ code, signal }) => `the subject exited ${signal ? `by ${signal}` : `with code ${code}`}`,
  flooded: () => 'the subject sent more than a trace can hold; the tester stopped it',
  unrecorded: (kind) => `the subject did more than a trace can hold (${kind}); the rest is missing`,
  parted: () => 'the case is over, and the process stays; a probe shows that no message is on its way',
  reused: ({ cases }) => `the process has served ${cases} earlier ${cases === 1 ? 'case' : 'cases'}; the events above are from the first one`,
};

/** The name of a message: its method, or the method that it answers. `asked` holds the requests of a connection. */
function label(message, from, connection, asked) {
  if (message === null || typeof message !== 'object' || Array.isArray(message)) return { what: 'not a message' };
  const key = (party) => JSON.stringify([connection, party, message.id]);
  if (typeof message.method === 'string') {
    if (message.id !== undefined) asked.set(key(from), message.method);
    return { what: message.method, id: message.id, gist: message.params, kind: message.id === undefined ? 'notification' : 'request' };
  }
  const method = asked.get(key(from === 'agent' ? 'client' : 'agent'));
  const failed = message.error !== undefined;
  return { what: method || 'answer', id: message.id, gist: failed ? message.error : message.result, kind: failed ? 'error' : 'result' };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const since = (us) => (us < 100000 ? `${(us / 1000).toFixed(1)} ms` : seconds(us / 1000));

const cutNote = (event) => event.cut && el('p', { class: 'facts' }, `${event.cut.toLocaleString('en')} more bytes are left out`);

/** The beginning of a message's content, without the session id, which is seldom of interest. */
function gistOf(said) {
  if (said === undefined || typeof said === 'string') return said || '';
  if (said === null || typeof said !== 'object' || Array.isArray(said)) return JSON.stringify(said);
  const { sessionId, update, ...rest } = said;
  const shown = update && Object.keys(rest).length === 0 ? update : { ...rest, update };
  return Object.keys(said).length === 1 ? JSON.stringify(said) : JSON.stringify(shown);
}

/** A finding can point into any of these members of a message. */
const PAYLOADS = ['', '/params', '/result', '/error'];

/** The path of the member that a finding points to; if the member is missing, the path of the one around it. */
function markedPath(lines, pointer) {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf('/'))) {
    const found = lines.find((line) => PAYLOADS.some((payload) => line.path === payload + path && line.path));
    if (found || !path) return found;
  }
}

/** A message as text, with the lines of the members that findings point to. */
function marked(text, pointers) {
  const lines = prettyLines(text);
  if (!lines) return [text];
  const wrong = new Set(pointers.map((pointer) => markedPath(lines, pointer)));
  return lines.map((line, at) => el('span', { class: wrong.has(line) && 'wrong' }, `${at > 0 ? '\n' : ''}${line.text}`));
}

/** A line of the protocol: an arrow with the name of the message, which opens to show the message. */
function messageRow(event, asked, wrong) {
  const text = event.line ?? event.base64 ?? '';
  const value = event.base64 === undefined ? parsed(text) : undefined;
  const from = event.from || 'unknown';
  const named = value === undefined
    ? { what: event.base64 !== undefined ? 'no UTF-8' : event.cut ? 'a long line' : 'no JSON', gist: text }
    : label(value, event.from, event.connection || 0, asked);
  const gist = gistOf(named.gist);
  const direction = { agent: 'agent to client', client: 'client to agent', unknown: 'from either party' }[from];
  const badges = [event.deliberate && 'wrong on purpose', event.end && (CLOSED[event.end] || event.end)].filter(Boolean);
  const body = el('pre', { tabindex: '0', 'aria-label': 'The message' });
  const details = el('details', { class: `message from-${from}` },
    el('summary', {},
      el('span', { class: 'label' },
        el('span', { class: 'hidden' }, `${direction}: `),
        el('b', {}, named.what), ' ',
        named.kind && el('span', { class: `kind ${named.kind}` }, named.kind), ' ',
        named.id !== undefined && el('span', { class: 'id' }, JSON.stringify(named.id)), ' ',
        badges.map((badge) => el('span', { class: 'badge' }, badge)),
        el('span', { class: 'gist' }, gist.slice(0, 200))),
      el('span', { class: 'arrow', 'aria-hidden': 'true' })),
    body, cutNote(event));
  const fill = () => { if (!body.hasChildNodes()) body.append(...marked(text, value === undefined ? [] : wrong)); };
  details.addEventListener('toggle', fill);
  if (wrong.length > 0) {
    details.open = true;
    fill();
  }
  return details;
}

function mcpText({ server, what }) {
  const [[kind, value]] = typeof what === 'string' ? [[what, '']] : Object.entries(what);
  const told = { 'from-agent': `agent → MCP server ${server}`, 'to-agent': `MCP server ${server} → agent` }[kind];
  return [told || `MCP server ${server}: ${kind}`, typeof value === 'string' ? value : JSON.stringify(value)];
}

/** An event outside the conversation: a title, and its text. */
function noteOf(event) {
  if (event.stderr !== undefined) return ['standard error', event.base64 || event.stderr];
  if (event.stdout !== undefined) return ['standard output', event.base64 || event.stdout];
  if (event.fence) return ['probe', `the answer to the next ${event.fence} proves that the subject has read all earlier messages`];
  if (event.case) return ['case', event.case === 'ends' ? 'the transcript is over' : 'the case begins'];
  if (event.model) return ['model', event.model.did];
  if (event.mcp) return mcpText(event.mcp);
  if (event.visit) return ['HTTP', `${event.visit.method} ${event.visit.url}`];
  const [[kind, value]] = typeof event.process === 'string' ? [[event.process]] : Object.entries(event.process);
  const tell = PROCESS[kind];
  return ['process', tell ? tell(value) : `${kind} ${JSON.stringify(value) ?? ''}`];
}

function noteRow(event) {
  const [title, text] = noteOf(event);
  const laidOut = pretty(text);
  const long = laidOut !== undefined && laidOut.includes('\n') || text.length > 160 || text.includes('\n');
  if (!long) return el('p', { class: 'note' }, el('b', {}, title), ' ', text);
  return el('details', { class: 'note' }, el('summary', {}, el('b', {}, title), ' ', text.slice(0, 120)),
    el('pre', { tabindex: '0' }, laidOut ?? text), cutNote(event));
}

const OUTCOMES = {
  done: 'done', contradicted: 'contradicted', 'timed-out': 'did not come in time', quiet: 'no message came, but one could still follow', ended: 'the stream ended first',
  missed: 'did not come', 'not-applicable': 'not applicable', 'login-needed': 'a login is needed', 'harness-error': 'harness error',
};

/** Compares what a step expected with the message received, if both are JSON. */
function difference(step, lines) {
  const [answer] = Object.values(step.expected?.message || {});
  const wanted = answer?.pattern && JSON.stringify(answer.pattern, null, 2);
  const answered = (step.events || []).map((n) => parsed(lines.get(n)?.line ?? '')).find((message) => message?.result ?? message?.error);
  const came = answered && JSON.stringify(answered.result ?? answered.error, null, 2);
  if (wanted === undefined || came === undefined) return null;
  const rows = diff(wanted, came).map(([sign, text]) => el('span', { class: { '-': 'gone', '+': 'came', ' ': '' }[sign] }, `${sign} ${text}\n`));
  return el('figure', {}, el('figcaption', {}, '− expected (other members may be there) · + came'), el('pre', { class: 'diff', tabindex: '0' }, rows));
}

/** A step of the case: every act of the user, and other steps only if they did not go as written. */
function stepRow({ step }, lines) {
  if (step.kind === 'act' && step.outcome === 'done') return el('p', { class: 'note' }, el('b', {}, 'user'), ' ', step.text);
  return el('div', { class: `step ${step.outcome}` },
    el('p', {}, el('b', {}, `step: ${OUTCOMES[step.outcome] || step.outcome}`), step.line > 0 && el('span', { class: 'facts' }, ` line ${step.line} of the case`)),
    step.text && el('code', {}, step.text),
    step.expectedText && el('p', {}, el('span', { class: 'facts' }, 'expected '), step.expectedText),
    step.observedText && el('p', {}, el('span', { class: 'facts' }, 'seen '), step.observedText),
    difference(step, lines));
}

const isShown = (event) => !event.step || event.step.kind === 'act' || event.step.outcome !== 'done';

function row(event, asked, lines, findings) {
  const isLine = event.from || event.line !== undefined || !event.step && event.base64 !== undefined
    && event.stderr === undefined && event.stdout === undefined;
  const here = findings.filter(({ finding }) => finding.events[0] === event.n);
  const wrong = here.filter(({ finding }) => finding.verdict === 'fail').map(({ finding }) => finding.fields?.pointer).filter(Boolean);
  const content = isLine ? messageRow(event, asked, wrong) : event.step ? stepRow(event, lines) : noteRow(event);
  const proves = findings.some(({ finding }) => finding.verdict === 'fail' && finding.events.includes(event.n));
  const failed = here.some(({ finding }) => finding.verdict === 'fail');
  const boxes = some(here, 4, ({ id, finding }) => el('p', { class: `finding ${finding.verdict}` }, verdictMark(finding.verdict), ' ', el('b', {}, id), ' ', prose(finding.text)));
  return el('li', { class: `row${failed ? ' broke' : proves ? ' proves' : ''}`, 'data-n': event.n, tabindex: '-1' },
    el('span', { class: 'time' }, el('span', { class: 'n' }, `#${event.n}`), ` ${since(event.us)}`),
    el('div', { class: 'lane' }, content, boxes));
}

/** The chart; `findings` are those of its case, each with the id of its requirement. */
function chart({ events, of, header }, findings) {
  const asked = new Map();
  const lines = new Map(events.map((event) => [event.n, event]));
  const list = el('ol', { class: 'chart', 'aria-label': 'What happened, in order' });
  const gap = (count) => count > 0 && list.append(el('li', { class: 'gap' }, count === 1 ? '1 event is left out' : `${count.toLocaleString('en')} events are left out`));
  let next = 0;
  let connection = 0;
  for (const event of events) {
    gap(event.n - next);
    next = event.n + 1;
    if ((event.connection || 0) !== connection) {
      connection = event.connection || 0;
      list.append(el('li', { class: 'gap' }, `connection ${connection + 1}`));
    }
    const item = row(event, asked, lines, findings);
    if (!isShown(event)) item.classList.add('done-step');
    list.append(item);
  }
  gap(of - next);
  const steps = list.querySelectorAll('.done-step').length;
  const toggle = steps > 0 && el('label', { class: 'facts steps' },
    el('input', { type: 'checkbox', onchange: ({ target }) => list.classList.toggle('with-steps', target.checked) }),
    ` Show the ${steps === 1 ? 'step' : `${steps} steps`} of the case that went as expected`);
  return el('div', { class: 'sequence' }, toggle,
    el('div', { class: 'heads', 'aria-hidden': 'true' }, el('b', {}, 'client'), el('b', {}, 'agent')), list);
}
