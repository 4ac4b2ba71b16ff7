// The board: for each party and edition a table of requirements, with a column for the newest run of each subject. A cell leads
// to the page of that run. The fragment of the address holds the filters, so that a view can be linked.

const main = document.getElementById('main');

for (const subject of data.subjects) subject.byId = new Map(subject.cells.map((cell) => [cell.id, cell]));

const named = (subject) => [subject.name, subject.version].filter(Boolean).join(' ');

/** The head of a column. */
function columnHead(subject) {
  const verdict = { conformant: 'pass', passed: 'pass', incomplete: 'inconclusive', 'not-conformant': 'fail' }[subject.verdict]
    || 'harness-error';
  return el('th', { scope: 'col' }, el('a', { href: subject.page }, subject.version), el('small', {}, subject.date),
    data.subjects.some((other) => other.transport !== subject.transport) && el('small', {}, subject.transport),
    el('span', { class: `verdict ${verdict}` }, words(subject.verdict)), subject.partial && el('small', { title: subject.partial }, 'partial'),
    subject.selection && el('small', { title: 'Not all cases were selected' }, 'selected cases'));
}

function cellLink(subject, id) {
  const cell = subject.byId.get(id);
  if (!cell) return el('span', { class: 'hidden' }, 'not known to its suite');
  const before = cell.before && `, before: ${words(cell.before)}`;
  return el('a', {
    class: `cell ${cell.verdict}`, href: `${subject.page}#requirement=${encodeURIComponent(id)}`, title: words(cell.verdict),
    'aria-label': `${id}, ${named(subject)}: ${words(cell.verdict)}${before || ''}`,
  }, SIGNS[cell.verdict], before && el('small', {}, ` was ${SIGNS[cell.before]}`));
}

/** The requirements of an area or with a condition, below a row with their counts. */
class Group {
  constructor(name, ids, subjects, catalogue) {
    this.rows = ids.map((id) => {
      const { text, level, page } = catalogue[id];
      const verdicts = subjects.map((subject) => subject.byId.get(id)?.verdict);
      const row = el('tr', {},
        el('th', { scope: 'row', title: text }, page ? el('a', { href: page }, id) : id, ' ', el('small', {}, LEVELS[level])),
        subjects.map((subject) => el('td', {}, cellLink(subject, id))));
      return { row, level, verdicts, differs: new Set(verdicts).size > 1, words: `${id} ${text}`.toLowerCase() };
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
      // What does not apply is not counted; what was not exercised is, since it may apply.
      const counted = ['pass', 'fail', 'inconclusive', 'harness-error', 'not-exercised']
        .map((verdict) => [verdict, wanted.filter((one) => one.verdicts[column] === verdict).length]).filter(([, count]) => count > 0);
      sum.replaceChildren(...counted.length === 0 ? [el('span', { class: 'none' }, '–')] : counted.map(([verdict, count]) => el('span', { class: verdict },
        el('span', { 'aria-hidden': 'true' }, SIGNS[verdict]), String(count), el('span', { class: 'hidden' }, ` ${words(verdict)} `))));
    });
    this.toggle(this.isOpen);
    return wanted.length;
  }
}

/** The table of subjects with the same party and edition. */
function table(title, subjects) {
  const catalogue = data.catalogue[subjects[0].edition];
  const groupOf = (id) => (fields.group.value ? catalogue[id].appliesWhen : area(id));
  const ids = Map.groupBy(new Set(subjects.flatMap((subject) => subject.cells.map((cell) => cell.id))), groupOf);
  const groups = [...ids].map(([name, group]) => new Group(name, group, subjects, catalogue));
  const names = [];
  for (const { name } of subjects) {
    if (names.at(-1)?.name === name) names.at(-1).count += 1;
    else names.push({ name, count: 1 });
  }
  const head = el('thead', {},
    el('tr', {}, el('td', {}), names.map(({ name, count }) => el('th', { scope: 'colgroup', colspan: count }, name))),
    el('tr', {}, el('td', {}), subjects.map(columnHead)));
  const element = el('section', { 'aria-label': title }, el('h2', {}, title),
    el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `Table of ${title}` },
      el('table', { class: 'matrix' }, head, groups.map(({ body }) => body))));
  return { element, groups };
}

/** A list of values, the first of which stands for no choice. */
const choice = (name, first, values, changed) => el('select', { 'aria-label': name, onchange: changed },
  el('option', { value: '' }, first), values.map(([value, text]) => el('option', { value }, text)));

/** A filter of subjects by one of their members; none if all subjects have the same value. */
function subjectFilter(name) {
  const values = [...new Set(data.subjects.map((subject) => subject[name]))].sort();
  return values.length > 1 && [name, choice(name, `any ${name}`, values.map((value) => [value, name === 'party' ? `${value}s` : value]), () => draw())];
}

const subjectFilters = Object.fromEntries(['party', 'edition', 'transport'].map(subjectFilter).filter(Boolean));

const box = (id) => el('input', { type: 'checkbox', id, onchange: () => apply(fields[id].checked) });

/** The fields of the form, by their names in the address. */
const fields = {
  q: el('input', { type: 'search', id: 'search', placeholder: 'Search', autocomplete: 'off', oninput: () => apply(true) }),
  ...subjectFilters,
  level: choice('level', 'any level', ['must', 'should'].map((value) => [value, LEVELS[value]]), () => apply()),
  group: choice('groups', 'by area', [['condition', 'by capability']], () => draw()),
  differ: box('differ'),
  broken: box('broken'),
};

const tables = el('div', {});
const count = el('output', {});
let groups = [];

/** Makes the tables of the chosen subjects, and hides the rows of the others in the list above. */
function draw() {
  const isChosen = (facts) => Object.entries(subjectFilters).every(([name, select]) => !select.value || facts[name] === select.value);
  for (const row of document.querySelectorAll('tr[data-party]')) row.hidden = !isChosen(row.dataset);
  const open = new Set(groups.filter((one) => one.isOpen).map((one) => one.button.textContent));
  const chosen = Map.groupBy(data.subjects.filter(isChosen), ({ party, edition }) => `${party === 'agent' ? 'Agents' : 'Clients'}, ${edition}`);
  const made = [...chosen].map(([title, subjects]) => table(title, subjects));
  groups = made.flatMap((one) => one.groups);
  for (const one of groups) if (open.has(one.button.textContent)) one.toggle(true);
  tables.replaceChildren(...made.length > 0 ? made.map(({ element }) => element) : [el('p', { class: 'note' }, 'No subject matches these filters.')]);
  apply();
}

const toggle = (open) => groups.forEach((one) => one.toggle(open));

/** Applies the filters of the rows, and writes all filters into the address; with `open`, also opens the groups. */
function apply(open) {
  const searched = fields.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (one) => (!fields.differ.checked || one.differs) && (!fields.broken.checked || one.verdicts.includes('fail'))
    && (!fields.level.value || one.level === fields.level.value) && searched.every((word) => one.words.includes(word));
  const shown = groups.reduce((sum, one) => sum + one.filter(isWanted), 0);
  count.textContent = `${shown} of ${groups.reduce((sum, one) => sum + one.rows.length, 0)}`;
  for (const section of tables.querySelectorAll('section')) section.hidden = [...section.querySelectorAll('tbody')].every((body) => body.hidden);
  if (open) toggle(true);
  const values = Object.entries(fields).map(([name, field]) => [name, field.type === 'checkbox' ? (field.checked ? '1' : '') : field.value]);
  history.replaceState(null, '', `#${new URLSearchParams(values.filter(([, value]) => value))}`);
}

/** Reads the filters from the address. */
function read() {
  const at = new URLSearchParams(location.hash.slice(1));
  for (const [name, field] of Object.entries(fields)) {
    if (field.type === 'checkbox') field.checked = at.has(name);
    else field.value = at.get(name) || '';
  }
  draw();
  if (fields.q.value || fields.differ.checked || fields.broken.checked) toggle(true);
}

main.append(
  el('form', { role: 'search', onsubmit: (event) => event.preventDefault() },
    el('label', { for: 'search' }, el('span', { class: 'hidden' }, 'Search'), fields.q), Object.values(subjectFilters), fields.level, fields.group,
    el('label', { for: 'differ' }, fields.differ, ' only where they differ'), el('label', { for: 'broken' }, fields.broken, ' only what is broken'), count,
    [true, false].map((open) => el('button', { type: 'button', onclick: () => toggle(open) }, open ? 'Open all' : 'Close all'))),
  el('p', { class: 'facts legend' }, VERDICTS.map((verdict) => verdictMark(verdict))), tables);
addEventListener('hashchange', read);
read();

/** Sorts the rows of the list of subjects by the column of a button, and the other way round the next time. */
function sortable(list) {
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  [...list.tHead.rows[0].cells].forEach((head, column) => {
    const sort = () => {
      const isDown = head.getAttribute('aria-sort') === 'ascending';
      for (const other of list.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
      const rows = [...list.tBodies[0].rows];
      rows.sort((a, b) => value(a, column).localeCompare(value(b, column), 'en', { numeric: true }) * (isDown ? -1 : 1));
      list.tBodies[0].append(...rows);
    };
    head.replaceChildren(el('button', { type: 'button', class: 'sort', onclick: sort }, head.textContent));
  });
}

sortable(document.querySelector('table.subjects'));
