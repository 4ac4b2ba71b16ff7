// The board: for each party and edition a table of requirements, with a column for the newest run of each subject. A cell leads
// to the page of that run. The fragment of the address holds the filters, so that a view can be linked.

/** The filters of subjects: the member of a subject, and its words for a value. */
const FIELDS = [['party', (value) => `${value}s`], ['edition', (value) => value], ['transport', (value) => value]];

const state = () => new URLSearchParams(location.hash.slice(1));

const show = {
  id: (id) => {
    const pages = data.catalogue[id]?.page;
    return pages ? el('a', { href: pages }, id) : id;
  },
  cell: (subject, cell) => {
    const before = cell.before && cell.before !== cell.verdict ? cell.before : null;
    return el('a', {
      class: `cell ${cell.verdict}`, href: `${subject.page}#requirement=${encodeURIComponent(cell.id)}`, title: words(cell.verdict),
      'aria-label': `${cell.id}, ${named(subject)}: ${words(cell.verdict)}${before ? `, before: ${words(before)}` : ''}`,
    }, SIGNS[cell.verdict], before && el('small', {}, ` was ${SIGNS[before]}`));
  },
  head: (subject) => el('th', { scope: 'col' },
    el('a', { href: subject.page }, subject.version || '–'), el('small', {}, subject.date),
    data.subjects.some((other) => other.transport !== subject.transport) && el('small', {}, subject.transport), subjectVerdict(subject)),
};

const selects = FIELDS.map(([field, word]) => {
  const values = [...new Set(data.subjects.map((subject) => subject[field]))].sort();
  if (values.length < 2) return null;
  const select = el('select', { 'aria-label': field, onchange: () => { draw(); note(); } },
    el('option', { value: '' }, `any ${field}`), values.map((value) => el('option', { value }, word(value))));
  return { field, select };
}).filter(Boolean);

const filter = new RowFilter(selects.map(({ select }) => select), () => note());
const tables = el('div', {});

/** Makes the tables of the chosen subjects, and hides the rows of the others in the list above. */
function draw() {
  const isChosen = (facts) => selects.every(({ field, select }) => !select.value || facts[field] === select.value);
  for (const row of document.querySelectorAll('tr[data-party]')) row.hidden = !isChosen(row.dataset);
  const groups = new Map();
  for (const subject of data.subjects.filter(isChosen)) {
    const title = `${subject.party === 'agent' ? 'Agents' : 'Clients'}, ${subject.edition}`;
    groups.set(title, [...groups.get(title) || [], subject]);
  }
  const open = new Set(filter.areas.filter((one) => one.isOpen).map((one) => one.button.textContent));
  const made = [...groups].map(([title, subjects]) => table(title, subjects, show));
  filter.areas = made.flatMap((one) => one.areas);
  for (const one of filter.areas) if (open.has(one.button.textContent)) one.toggle(true);
  tables.replaceChildren(...made.length > 0 ? made.map(({ element }) => element) : [el('p', { class: 'note' }, 'No subject matches these filters.')]);
  filter.apply();
}

/** Writes the filters into the address. */
function note() {
  const fields = { q: filter.search.value, level: filter.level.value, differ: filter.differ.checked ? '1' : '', broken: filter.broken.checked ? '1' : '' };
  for (const { field, select } of selects) fields[field] = select.value;
  history.replaceState(null, '', `#${new URLSearchParams(Object.entries(fields).filter(([, value]) => value))}`);
}

/** Reads the filters from the address. */
function read() {
  const at = state();
  filter.search.value = at.get('q') || '';
  filter.level.value = at.get('level') || '';
  filter.differ.checked = at.has('differ');
  filter.broken.checked = at.has('broken');
  for (const { field, select } of selects) select.value = at.get(field) || '';
  draw();
  if (filter.search.value || filter.differ.checked || filter.broken.checked) filter.toggle(true);
}

main.append(filter.form, legend(), tables);
addEventListener('hashchange', read);
read();
