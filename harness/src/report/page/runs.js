// The page of two runs: the old and the new verdict of each case and requirement, and what both runs show about it.

const main = document.getElementById('main');

const NAMES = ['old', 'new'];

const charts = new Set([...document.querySelectorAll('script[data-chart]')].map((script) => script.dataset.chart));

const verdictOf = (run) => run?.verdict;

const hasChanged = ({ runs: [before, after] }) => before && after && before.verdict !== after.verdict;

const regressed = ({ runs: [before, after] }) => verdictOf(before) === 'pass' && verdictOf(after) === 'fail';

const fails = ({ runs }) => runs.some((run) => verdictOf(run) === 'fail');

const mark = (run) => (run ? verdictMark(run.verdict) : el('span', { class: 'none' }, 'not in this run'));

/** One run of a case or a requirement. */
function side(name, id, run, isCase) {
  const told = run ? [
    run.reason && el('p', {}, prose(run.reason)),
    some(run.findings, 4, ({ id: requirement, finding }) => el('article', { class: `finding ${finding.verdict}` },
      el('p', {}, el('b', {}, isCase ? requirement : finding.case)), el('p', {}, prose(finding.text)), evidence(finding))),
    charts.has(`${name} ${id}`) ? chart(chartData(`${name} ${id}`), run.findings)
      : isCase && el('p', { class: 'note' }, 'The page has no trace of this case. It has those of changed and failed cases, if the report is next to its traces.'),
  ] : [];
  return el('section', { 'aria-label': `${name} run` }, el('h3', {}, name, ' ', mark(run)), told.flat());
}

/** The row of a case or a requirement, which opens to show both runs. */
function pairRow(pair, isCase) {
  const text = isCase ? pair.title : data.catalogue[pair.id]?.text;
  let details;
  const toggle = () => {
    const isOpen = button.getAttribute('aria-expanded') === 'true';
    if (!details) {
      details = el('tr', { class: 'details' }, el('td', { colspan: '3' },
        el('div', { class: 'runs' }, NAMES.map((name, at) => side(name, pair.id, pair.runs[at], isCase)))));
      body.append(details);
    }
    details.hidden = isOpen;
    button.setAttribute('aria-expanded', String(!isOpen));
  };
  const button = el('button', { type: 'button', class: 'open', 'aria-expanded': 'false', onclick: toggle }, pair.id);
  const body = el('tbody', { class: hasChanged(pair) && 'changed' },
    el('tr', {},
      el('th', { scope: 'row' }, button, regressed(pair) && el('span', { class: 'badge' }, 'regression'), text && el('p', {}, prose(text))),
      pair.runs.map((run) => el('td', {}, mark(run)))));
  return { pair, body };
}

const LISTS = {
  changed: { label: 'with another verdict', isShown: (pair) => Boolean(hasChanged(pair)) },
  failed: { label: 'failed in one of the runs', isShown: fails },
  all: { label: 'all', isShown: () => true },
};

/** A table of cases or requirements; at first, it shows those that changed. */
function table(name, pairs) {
  const rows = pairs.sort((a, b) => regressed(b) - regressed(a)).map((pair) => pairRow(pair, name === 'cases'));
  const none = el('p', { class: 'note' }, `No ${name} to show.`);
  const show = (isShown) => {
    for (const { pair, body } of rows) body.hidden = !isShown(pair);
    none.hidden = pairs.some(isShown);
  };
  const select = el('select', { onchange: () => show(LISTS[select.value].isShown) },
    Object.entries(LISTS).map(([key, { label, isShown }]) => el('option', { value: key }, `${label} (${pairs.filter(isShown).length})`)));
  show(hasChanged);
  return el('section', { 'aria-label': name, id: name }, el('h2', {}, name[0].toUpperCase() + name.slice(1)),
    el('label', {}, el('span', { class: 'hidden' }, `${name} to show`), select), none,
    el('table', { class: 'pairs', 'aria-label': name },
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'id'), NAMES.map((run) => el('th', { scope: 'col' }, run)))),
      rows.map(({ body }) => body)));
}

main.append(table('cases', data.cases), table('requirements', data.requirements));
