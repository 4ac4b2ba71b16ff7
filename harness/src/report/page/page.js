// The page of one run: views of its requirements, cases and probes, each made when it is first shown. The fragment of the
// address holds the view, so that it can be linked.

const main = document.getElementById('main');

const reports = data.reports.map(({ report, reproduce }) => ({ ...report, reproduce }));

/** The findings in each case, by party and id. */
const findingsOf = new Map();
for (const report of reports) {
  for (const requirement of report.requirements) {
    for (const finding of requirement.findings) {
      const known = findingsOf.get(finding.case) || [];
      findingsOf.set(finding.case, known);
      known.push({ id: requirement.id, party: requirement.party, finding });
    }
  }
}

/** The reason of the entry that expects a failure, by the requirement and the case; no id contains the separator. */
const expectedOf = new Map();
for (const report of reports) {
  for (const entry of report.expected?.entries || []) {
    for (const failure of entry.failures) expectedOf.set(`${failure.requirement}\n${failure.case}`, entry.reason);
  }
}

/** The note on an expected failure. */
function expectation(id, finding) {
  const reason = finding.verdict === 'fail' && expectedOf.get(`${id}\n${finding.case}`);
  return reason && el('p', { class: 'facts' }, `expected to fail: ${reason}`);
}

const hasChart = new Set([...document.querySelectorAll('script[data-chart]')].map((script) => script.dataset.chart));

/** The state of the page: the filters, and the open item. */
const state = () => new URLSearchParams(location.hash.slice(1));

function address(changes) {
  const next = state();
  for (const [key, value] of Object.entries(changes)) {
    if (value) next.set(key, value);
    else next.delete(key);
  }
  return `#${next}`;
}

const titleOf = new Map(reports.flatMap((report) => report.cases.map((one) => [one.id, one.title])));

/** A link to a case, with its title. */
const caseLink = (id, event) => [
  el('a', { href: `#view=cases&case=${encodeURIComponent(id)}${event === undefined ? '' : `&event=${event}`}` }, id),
  titleOf.get(id) && el('small', {}, ` ${titleOf.get(id)}`),
];

const requirementLink = (id) => el('a', { href: `#requirement=${encodeURIComponent(id)}` }, id);

function reproduction(party, id) {
  const report = reports.find((one) => one.subject.kind === party);
  return report && report.reproduce ? command(report.reproduce.replace('{case}', () => id)) : null;
}

function findingBox(id, finding) {
  return el('article', { class: `finding ${finding.verdict}` },
    el('p', {}, verdictMark(finding.verdict), ' in ', caseLink(finding.case, finding.events[0])),
    el('p', {}, prose(finding.text)),
    finding.sameAs && el('p', { class: 'note' }, 'The same mistake violates ', requirementLink(finding.sameAs), ', where it counts.'),
    finding.countedIn && el('p', { class: 'note' }, 'Counted once, in ', caseLink(finding.countedIn), '.'),
    expectation(id, finding), evidence(finding),
    finding.verdict === 'fail' && reproduction(finding.party, finding.case));
}

/** Findings of one kind: the one that counts, and the other cases that show the same. */
function findingGroup(id, [first, ...others]) {
  const also = (finding) => el('li', {}, verdictMark(finding.verdict), ' in ', caseLink(finding.case, finding.events[0]),
    finding.text !== first.text && el('p', { class: 'facts' }, prose(finding.text)));
  const cases = new Set(others.map((finding) => finding.case)).size;
  return [findingBox(id, first), others.length > 0 && el('details', {},
    el('summary', {}, cases === 1 ? '1 more case' : `${cases} more cases`), el('ul', { class: 'more' }, some(others, 20, also)))].filter(Boolean);
}

function requirementDetails(requirement) {
  const worst = (finding) => (finding.verdict === 'fail' ? 0 : 2) + (finding.countedIn || finding.sameAs ? 1 : 0);
  const findings = [...requirement.findings].sort((a, b) => worst(a) - worst(b));
  const groups = [...Map.groupBy(findings, (finding) => `${finding.verdict} ${finding.kind} ${finding.sameAs || ''}`).values()];
  return el('div', {},
    lore(requirement.id),
    requirement.hints && el('div', { class: 'hints' }, el('p', {}, 'With the official SDKs:'),
      el('ul', {}, Object.entries(requirement.hints).map(([sdk, hint]) => el('li', {}, el('b', {}, sdk), ': ', prose(hint))))),
    data.catalogue[requirement.id]?.exchange && el('details', { class: 'exchange' }, el('summary', {}, 'A correct exchange'),
      el('pre', { tabindex: '0' }, data.catalogue[requirement.id].exchange.join('\n'))),
    requirement.notes?.length > 0 && el('ul', { class: 'facts' }, requirement.notes.map((note) => el('li', {}, note))),
    some(groups, 8, (group) => el('div', {}, findingGroup(requirement.id, group))),
    requirement.cases.length > 0 && el('details', {}, el('summary', {}, `Cases that exercised it (${requirement.cases.length})`),
      el('ul', { class: 'cases' }, requirement.cases.map((id) => el('li', {}, caseLink(id))))));
}

/** Explains why a case with violations did not fail. */
function whyNotFailed(one, report, broken) {
  const levelOf = new Map(report.requirements.map((requirement) => [requirement.id, requirement.level]));
  const musts = broken.filter(({ id }) => levelOf.get(id) === 'must');
  if (musts.length === 0) return `The case is “${words(one.verdict)}”, since a violated SHOULD does not fail a case.`;
  return `The case is “${words(one.verdict)}”: the violations below are counted once, in other cases.`;
}

/** How often each verdict of a case came, if the runs differ. */
function runs(report, id) {
  const verdicts = Object.entries(report.repeated?.cases[id] || {});
  return verdicts.length > 1 && el('p', { class: 'note' }, `runs: ${verdicts.map(([verdict, times]) => `${times} ${words(verdict)}`).join(' · ')}`);
}

function caseDetails(report, one) {
  const findings = findingsOf.get(one.id) || [];
  const broken = findings.filter(({ finding }) => finding.verdict === 'fail');
  const data = hasChart.has(one.id) ? chartData(one.id) : undefined;
  const told = data ? chart(data, findings)
    : el('p', { class: 'note' }, data === null ? 'This case has several traces, so no trace is shown.' : 'This case has no trace.');
  const jump = ({ id, finding }) => el('li', {}, verdictMark(finding.verdict), ' ', requirementLink(id), ': ', prose(finding.text),
    finding.events.length > 0 && [' ', el('a', { href: `#view=cases&case=${encodeURIComponent(one.id)}&event=${finding.events[0]}` }, `at #${finding.events[0]}`)],
    expectation(id, finding));
  return el('div', {},
    one.notes?.map((note) => el('p', { class: 'facts' }, note)),
    runs(report, one.id),
    one.verdict !== 'fail' && broken.length > 0 && el('p', { class: 'note' }, whyNotFailed(one, report, broken)),
    broken.length > 0 && el('ul', { class: 'broken' }, some(broken, 8, jump)),
    reproduction(report.subject.kind, one.id),
    data?.header?.requirements?.length > 0 && el('details', {}, el('summary', {}, `Requirements of the case (${data.header.requirements.length})`),
      el('ul', { class: 'cases' }, data.header.requirements.map((id) => el('li', {}, requirementLink(id))))),
    data?.case && caseFile(data.case),
    one.trace && el('p', { class: 'facts' }, 'trace ', el('code', {}, one.trace)),
    one.stderr?.length > 0 && el('figure', { class: 'stderr' }, el('figcaption', {}, `The ${report.subject.kind} exited; its standard error ends with`),
      el('pre', { tabindex: '0' }, one.stderr.join('\n'))),
    told);
}

function probeDetails(probe) {
  return el('div', {}, lore(probe.id), el('ul', {}, probe.notes.map((note) => el('li', {}, note))),
    el('ul', { class: 'cases' }, some(probe.cases, 20, (id) => el('li', {}, caseLink(id)))));
}

const RANKS = ['fail', 'harness-error', 'inconclusive', 'not-exercised', 'pass', 'not-applicable'];

/** Sorts failures first, then undecided results, and a MUST before a SHOULD; keeps the order otherwise. */
function byRank(a, b) {
  return RANKS.indexOf(a.verdict) - RANKS.indexOf(b.verdict) || (a.level ?? '').localeCompare(b.level ?? '');
}

/** The views: the items of each, and how to show one. */
const VIEWS = {
  requirements: {
    key: 'requirement',
    list: () => reports.flatMap((report) => report.requirements).sort(byRank),
    id: (one) => one.id,
    facts: (one) => ({ party: one.party, level: one.level, area: area(one.id), verdict: one.verdict }),
    text: (one) => data.catalogue[one.id]?.text,
    side: (one) => LEVELS[one.level],
    more: (one) => one.findings.map((finding) => finding.text).join(' '),
    details: requirementDetails,
  },
  cases: {
    key: 'case',
    list: () => reports.flatMap((report) => report.cases.map((one) => ({ ...one, report }))).sort(byRank),
    id: (one) => one.id,
    facts: (one) => ({ party: one.report.subject.kind, area: one.id.split('/')[2] || 'recording', verdict: one.verdict }),
    text: (one) => [one.title, one.reason].filter(Boolean).join(' – '),
    side: (one) => `${reports.length > 1 ? `${one.report.subject.kind} · ` : ''}${seconds(one.durationMs)}`,
    more: () => '',
    details: (one) => caseDetails(one.report, one),
  },
  probes: {
    key: 'probe',
    list: () => reports.flatMap((report) => (report.probes || []).map((one) => ({ ...one, party: report.subject.kind }))),
    id: (one) => one.id,
    facts: (one) => ({ party: one.party, area: area(one.id) }),
    text: (one) => one.text,
    side: (one) => `${one.cases.length} cases`,
    more: (one) => one.notes.join(' '),
    details: probeDetails,
  },
};

/** The verdicts whose rows are folded at first, each with its verb. */
const FOLDED = [['not-exercised', 'were not exercised'], ['pass', 'passed'], ['not-applicable', 'do not apply']];

const FILTERS = ['party', 'level', 'area', 'verdict'];

/** One item in a list: a row that opens. */
class Row {
  constructor(view, one) {
    this.view = view;
    this.one = one;
    this.id = view.id(one);
    this.facts = view.facts(one);
    this.words = `${this.id} ${view.text(one) || ''} ${view.more(one)}`.toLowerCase();
    this.button = el('button', { type: 'button', class: 'open', 'aria-expanded': 'false', onclick: () => this.toggle(!this.isOpen) }, this.id);
    this.row = el('tr', {},
      el('td', { class: 'verdicts' }, one.verdict && verdictMark(one.verdict)),
      el('th', { scope: 'row' }, this.button, view.text(one) && el('p', {}, prose(view.text(one)))),
      el('td', { class: 'side' }, view.side(one)));
    this.body = el('tbody', {}, this.row);
  }

  get isOpen() {
    return this.button.getAttribute('aria-expanded') === 'true';
  }

  toggle(open) {
    if (open) this.body.classList.remove('folded');
    if (open && !this.details) {
      this.details = el('tr', { class: 'details' }, el('td', { colspan: '3' }, this.view.details(this.one)));
      this.body.append(this.details);
    }
    if (this.details) this.details.hidden = !open;
    this.button.setAttribute('aria-expanded', String(open));
  }

  isWanted(wanted, searched) {
    return FILTERS.every((key) => !wanted[key] || this.facts[key] === undefined || this.facts[key] === wanted[key])
      && searched.every((word) => this.words.includes(word));
  }
}

/** A list with its filters. */
class View {
  constructor(name) {
    this.name = name;
    this.rows = VIEWS[name].list().map((one) => new Row(VIEWS[name], one));
    this.search = el('input', { type: 'search', id: `${name}-search`, placeholder: 'Search', autocomplete: 'off', oninput: () => this.filter() });
    this.selects = FILTERS.map((key) => this.select(key)).filter(Boolean);
    this.count = el('output', {});
    this.none = el('p', { class: 'note', hidden: true }, 'No item matches these filters.');
    const clear = () => { location.hash = `view=${name}`; };
    const form = el('form', { role: 'search', 'aria-label': `Filter the ${name}`, onsubmit: (event) => event.preventDefault() },
      el('label', { for: `${name}-search` }, el('span', { class: 'hidden' }, 'Search'), this.search),
      this.selects.map(({ label }) => label), this.count,
      el('button', { type: 'button', onclick: clear }, 'Clear'));
    const table = el('table', { class: 'list', 'aria-label': name }, this.rows.map(({ body }) => body));
    this.unfolded = new Set();
    this.folds = el('p', { class: 'folds' });
    this.element = el('section', { 'aria-label': name }, form, this.none, table, this.folds);
  }

  select(key) {
    const found = new Set(this.rows.map((row) => row.facts[key]).filter(Boolean));
    if (found.size === 0 || key === 'party' && found.size === 1) return null;
    const known = { verdict: VERDICTS, level: Object.keys(LEVELS) }[key];
    const values = known ? known.filter((value) => found.has(value)) : [...found].sort();
    const select = el('select', { onchange: () => this.filter() }, el('option', { value: '' }, `any ${key}`),
      values.map((value) => el('option', { value }, key === 'level' ? LEVELS[value] : words(value))));
    return { key, select, label: el('label', {}, el('span', { class: 'hidden' }, key), select) };
  }

  /** Writes the filters into the address. */
  filter() {
    const chosen = Object.fromEntries(this.selects.map(({ key, select }) => [key, select.value]));
    history.replaceState(null, '', address({ view: this.name, q: this.search.value, ...chosen, requirement: '', case: '', probe: '', event: '' }));
    this.show(state());
  }

  show(at) {
    if (this.search.value !== (at.get('q') || '')) this.search.value = at.get('q') || '';
    for (const { key, select } of this.selects) select.value = at.get(key) || '';
    const wanted = Object.fromEntries(this.selects.map(({ key, select }) => [key, select.value]));
    const searched = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of this.rows) {
      row.body.hidden = !row.isWanted(wanted, searched);
      if (!row.body.hidden) shown += 1;
    }
    this.count.textContent = `${shown} of ${this.rows.length}`;
    this.none.hidden = shown > 0;
    this.fold(searched.length > 0 || Boolean(wanted.verdict), shown);
    this.open(at);
  }

  /** Folds what needs no attention, unless a filter asks for it or the list has only that. */
  fold(isFiltered, shown) {
    const buttons = FOLDED.map(([verdict, name]) => {
      const rows = this.rows.filter((row) => row.one.verdict === verdict && !row.body.hidden);
      const folds = !isFiltered && !this.unfolded.has(verdict) && rows.length > 10 && rows.length < shown;
      for (const row of rows) row.body.classList.toggle('folded', folds && !row.isOpen);
      const unfold = () => { this.unfolded.add(verdict); this.fold(isFiltered, shown); };
      return folds && el('button', { type: 'button', onclick: unfold }, `Show the ${rows.length} that ${name}`);
    });
    this.folds.replaceChildren(...buttons.filter(Boolean));
  }

  /** Opens the item in the address. */
  open(at) {
    const id = at.get(VIEWS[this.name].key);
    const row = id && (this.rows.find((one) => one.id === id && !one.body.hidden) || this.rows.find((one) => one.id === id));
    if (!row) return;
    row.body.hidden = false;
    row.toggle(true);
    const event = at.get('event');
    const message = event && row.details.querySelector(`[data-n="${CSS.escape(event)}"]`);
    if (message) {
      message.scrollIntoView({ block: 'center' });
      message.focus({ preventScroll: true });
    } else {
      row.row.scrollIntoView({ block: 'start' });
      row.button.focus({ preventScroll: true });
    }
  }
}

const built = new Map();

const links = Object.keys(VIEWS).map((name) => ({ name, count: VIEWS[name].list().length })).filter(({ count }) => count > 0)
  .map(({ name, count }) => ({ name, link: el('a', { href: `#view=${name}` }, `${name[0].toUpperCase()}${name.slice(1)} `, el('small', {}, String(count))) }));

/** The view in the address, or the one with the open item. */
function viewName(at) {
  const named = at.get('view') || Object.keys(VIEWS).find((name) => at.get(VIEWS[name].key));
  return links.some(({ name }) => name === named) ? named : 'requirements';
}

function show() {
  const at = state();
  const name = viewName(at);
  if (!built.has(name)) {
    built.set(name, new View(name));
    main.append(built.get(name).element);
  }
  for (const [known, view] of built) view.element.hidden = known !== name;
  for (const { name: known, link } of links) {
    if (known === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  built.get(name).show(at);
}

main.append(el('nav', { 'aria-label': 'Views' }, links.map(({ link }) => link)));
addEventListener('hashchange', show);
show();
