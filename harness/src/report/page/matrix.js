// Many subjects: for each party a table of requirements by area, with a column for each subject.

const main = document.getElementById('main');

for (const [place, subject] of data.subjects.entries()) {
  subject.place = place;
  subject.byId = new Map(subject.cells.map((cell) => [cell.id, cell]));
}

const named = (subject) => [subject.name, subject.version].filter(Boolean).join(' ');

/** The details of a cell, shown when it is opened. */
const dialog = el('dialog', { 'aria-labelledby': 'told' });
document.body.append(dialog);

function caseChart(subject, cell, id) {
  const data = chartData(`${subject.place} ${id}`);
  if (!data) return null;
  const findings = cell.findings.filter((finding) => finding.case === id).map((finding) => ({ id: cell.id, finding }));
  const details = el('details', {}, el('summary', {}, 'Sequence chart'));
  details.addEventListener('toggle', () => { if (details.children.length === 1) details.append(chart(data, findings)); });
  return details;
}

function openCell(subject, cell) {
  const charted = new Set();
  const box = (finding) => {
    const isFirst = !charted.has(finding.case);
    charted.add(finding.case);
    return el('div', {},
      el('article', { class: `finding ${finding.verdict}` },
        el('p', {}, verdictMark(finding.verdict), ` in ${finding.case}`), el('p', {}, prose(finding.text)), evidence(finding)),
      isFirst && caseChart(subject, cell, finding.case));
  };
  const worst = (finding) => (finding.verdict === 'fail' ? 0 : 1);
  const findings = [...cell.findings].sort((a, b) => worst(a) - worst(b));
  const close = el('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  dialog.replaceChildren(
    el('div', { class: 'bar' }, el('h2', { id: 'told' }, verdictMark(cell.verdict), ` ${cell.id}`), close),
    el('p', { class: 'facts' }, `${named(subject)} · ${LEVELS[data.catalogue[cell.id]?.level] || ''} · exercised by ${cell.cases} ${cell.cases === 1 ? 'case' : 'cases'} · ${subject.file}`),
    el('p', {}, data.catalogue[cell.id]?.text), lore(cell.id),
    ...cell.notes.map((note) => el('p', { class: 'facts' }, note)),
    ...some(findings, 8, box));
  dialog.showModal();
  dialog.scrollTop = 0;
}

function cellOf(subject, id) {
  const cell = subject.byId.get(id);
  if (!cell) return el('td', {}, el('span', { class: 'hidden' }, 'not known to its suite'));
  return el('td', {}, el('button', {
    type: 'button', class: `cell ${cell.verdict}`, title: words(cell.verdict), 'aria-label': `${id}, ${named(subject)}: ${words(cell.verdict)}`,
    onclick: () => openCell(subject, cell),
  }, SIGNS[cell.verdict]));
}

/** The requirements of an area, below a row with their counts. */
class Area {
  constructor(name, ids, subjects) {
    this.rows = ids.map((id) => {
      const verdicts = subjects.map((subject) => subject.byId.get(id)?.verdict);
      const level = data.catalogue[id]?.level;
      const row = el('tr', {},
        el('th', { scope: 'row', title: data.catalogue[id]?.text }, id, ' ', el('small', {}, LEVELS[level])),
        subjects.map((subject) => cellOf(subject, id)));
      return { id, row, level, verdicts, differs: new Set(verdicts).size > 1, words: `${id} ${data.catalogue[id]?.text || ''}`.toLowerCase() };
    });
    this.button = el('button', { type: 'button', class: 'open', 'aria-expanded': 'false', onclick: () => this.toggle(!this.isOpen) }, name);
    this.count = el('small', {});
    this.sums = subjects.map(() => el('td', { class: 'sum' }));
    this.body = el('tbody', {}, el('tr', { class: 'area' }, el('th', { scope: 'rowgroup' }, this.button, ' ', this.count), this.sums),
      this.rows.map(({ row }) => row));
  }

  get isOpen() {
    return this.button.getAttribute('aria-expanded') === 'true';
  }

  toggle(open) {
    this.button.setAttribute('aria-expanded', String(open));
    for (const one of this.rows) one.row.hidden = !open || !one.wanted;
  }

  filter(isWanted) {
    for (const one of this.rows) one.wanted = isWanted(one);
    const wanted = this.rows.filter((one) => one.wanted);
    this.body.hidden = wanted.length === 0;
    this.count.textContent = String(wanted.length);
    this.sums.forEach((sum, column) => {
      const counted = VERDICTS.map((verdict) => [verdict, wanted.filter((one) => one.verdicts[column] === verdict).length]);
      const shown = counted.filter(([verdict, count]) => count > 0 && ['pass', 'fail', 'inconclusive', 'harness-error'].includes(verdict));
      sum.replaceChildren(...shown.length === 0 ? [el('span', { class: 'none' }, '–')] : shown.map(([verdict, count]) => el('span', { class: verdict },
        el('span', { 'aria-hidden': 'true' }, SIGNS[verdict]), String(count), el('span', { class: 'hidden' }, ` ${words(verdict)} `))));
    });
    this.toggle(this.isOpen);
    return wanted.length;
  }
}

function table(party, subjects) {
  const ids = Object.keys(Object.fromEntries(subjects.flatMap((subject) => subject.cells.map((cell) => [cell.id, true]))));
  const areas = [...new Set(ids.map(area))].map((name) => new Area(name, ids.filter((id) => area(id) === name), subjects));
  const names = [];
  for (const subject of subjects) {
    if (names.at(-1)?.name === subject.name) names.at(-1).count += 1;
    else names.push({ name: subject.name, count: 1 });
  }
  const twins = (subject) => subjects.filter((other) => named(other) === named(subject)).length > 1;
  const head = el('thead', {},
    el('tr', {}, el('td', {}), names.map(({ name, count }) => el('th', { scope: 'colgroup', colspan: count }, name))),
    el('tr', {}, el('td', {}), subjects.map((subject) => el('th', { scope: 'col', title: `${subject.file}, ${subject.edition}` },
      subject.version || '–', twins(subject) && [' ', el('small', {}, subject.file.split('/').at(-1))], el('span', { class: `verdict ${{ conformant: 'pass', incomplete: 'inconclusive', 'not-conformant': 'fail' }[subject.verdict] || 'harness-error'}` }, words(subject.verdict)),
      subject.partial && el('small', { title: subject.partial }, 'partial')))));
  const element = el('section', { 'aria-label': `${party}s` }, el('h2', {}, `${party[0].toUpperCase()}${party.slice(1)}s`),
    el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `Table of ${party}s` },
      el('table', { class: 'matrix' }, head, areas.map(({ body }) => body))));
  return { element, areas };
}

const tables = ['agent', 'client'].map((party) => [party, data.subjects.filter((subject) => subject.party === party)])
  .filter(([, subjects]) => subjects.length > 0).map(([party, subjects]) => table(party, subjects));
const areas = tables.flatMap((one) => one.areas);

const search = el('input', { type: 'search', id: 'search', placeholder: 'Search', autocomplete: 'off', oninput: () => filter(true) });
const differ = el('input', { type: 'checkbox', id: 'differ', onchange: () => filter(differ.checked) });
const broken = el('input', { type: 'checkbox', id: 'broken', onchange: () => filter(broken.checked) });
const level = el('select', { 'aria-label': 'level', onchange: () => filter() }, el('option', { value: '' }, 'any level'),
  ['must', 'should'].map((value) => el('option', { value }, LEVELS[value])));
const count = el('output', {});
const all = (open) => el('button', { type: 'button', onclick: () => areas.forEach((one) => one.toggle(open)) }, open ? 'Open all' : 'Close all');

/** Applies the filters; with `open`, also opens the areas. */
function filter(open) {
  const searched = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (one) => (!differ.checked || one.differs) && (!broken.checked || one.verdicts.includes('fail'))
    && (!level.value || one.level === level.value) && searched.every((word) => one.words.includes(word));
  const shown = areas.reduce((sum, one) => sum + one.filter(isWanted), 0);
  count.textContent = `${shown} of ${areas.reduce((sum, one) => sum + one.rows.length, 0)}`;
  if (open) areas.forEach((one) => one.toggle(true));
}

const form = el('form', { role: 'search', onsubmit: (event) => event.preventDefault() },
  el('label', { for: 'search' }, el('span', { class: 'hidden' }, 'Search'), search), level,
  el('label', { for: 'differ' }, differ, ' only where they differ'), el('label', { for: 'broken' }, broken, ' only what is broken'),
  count, all(true), all(false));
const legend = el('p', { class: 'facts legend' }, VERDICTS.map((verdict) => verdictMark(verdict)));
main.append(form, legend, ...tables.map(({ element }) => element));
filter();
