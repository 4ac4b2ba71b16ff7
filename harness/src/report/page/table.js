// A table of requirements by area with a column for each subject, and its filters. The script of a page says how to show a cell
// and the head of a column.

const main = document.getElementById('main');

for (const subject of data.subjects) subject.byId = new Map(subject.cells.map((cell) => [cell.id, cell]));

const named = (subject) => [subject.name, subject.version].filter(Boolean).join(' ');

/** A number and its noun. */
const many = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The verdict on a subject. */
const subjectVerdict = (subject) => [
  el('span', { class: `verdict ${{ conformant: 'pass', incomplete: 'inconclusive', 'not-conformant': 'fail' }[subject.verdict] || 'harness-error'}` }, words(subject.verdict)),
  subject.partial && el('small', { title: subject.partial }, 'partial'),
];

/** The requirements of an area, below a row with their counts. */
class Area {
  constructor(name, ids, subjects, show) {
    this.rows = ids.map((id) => {
      const verdicts = subjects.map((subject) => subject.byId.get(id)?.verdict);
      const level = data.catalogue[id]?.level;
      const cells = subjects.map((subject) => {
        const cell = subject.byId.get(id);
        return el('td', {}, cell ? show.cell(subject, cell) : el('span', { class: 'hidden' }, 'not known to its suite'));
      });
      const row = el('tr', {}, el('th', { scope: 'row', title: data.catalogue[id]?.text }, show.id(id), ' ', el('small', {}, LEVELS[level])), cells);
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

/** The table of some subjects. `show` makes the `head` of a column, a `cell`, and the text of an `id`. */
function table(title, subjects, show) {
  const ids = Object.keys(Object.fromEntries(subjects.flatMap((subject) => subject.cells.map((cell) => [cell.id, true]))));
  const areas = [...new Set(ids.map(area))].map((name) => new Area(name, ids.filter((id) => area(id) === name), subjects, show));
  const names = [];
  for (const subject of subjects) {
    if (names.at(-1)?.name === subject.name) names.at(-1).count += 1;
    else names.push({ name: subject.name, count: 1 });
  }
  const head = el('thead', {},
    el('tr', {}, el('td', {}), names.map(({ name, count }) => el('th', { scope: 'colgroup', colspan: count }, name))),
    el('tr', {}, el('td', {}), subjects.map((subject) => show.head(subject, subjects))));
  const element = el('section', { 'aria-label': title }, el('h2', {}, title),
    el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `Table of ${title}` },
      el('table', { class: 'matrix' }, head, areas.map(({ body }) => body))));
  return { element, areas };
}

const legend = () => el('p', { class: 'facts legend' }, VERDICTS.map((verdict) => verdictMark(verdict)));

/** The filters of the rows of all tables. */
class RowFilter {
  /** `more` are fields for the form; `changed` is called after each change. */
  constructor(more, changed) {
    this.areas = [];
    this.changed = changed;
    this.search = el('input', { type: 'search', id: 'search', placeholder: 'Search', autocomplete: 'off', oninput: () => this.apply(true) });
    this.differ = el('input', { type: 'checkbox', id: 'differ', onchange: () => this.apply(this.differ.checked) });
    this.broken = el('input', { type: 'checkbox', id: 'broken', onchange: () => this.apply(this.broken.checked) });
    this.level = el('select', { 'aria-label': 'level', onchange: () => this.apply() }, el('option', { value: '' }, 'any level'),
      ['must', 'should'].map((value) => el('option', { value }, LEVELS[value])));
    this.count = el('output', {});
    const all = (open) => el('button', { type: 'button', onclick: () => this.toggle(open) }, open ? 'Open all' : 'Close all');
    this.form = el('form', { role: 'search', onsubmit: (event) => event.preventDefault() },
      el('label', { for: 'search' }, el('span', { class: 'hidden' }, 'Search'), this.search), more, this.level,
      el('label', { for: 'differ' }, this.differ, ' only where they differ'), el('label', { for: 'broken' }, this.broken, ' only what is broken'),
      this.count, all(true), all(false));
  }

  toggle(open) {
    this.areas.forEach((one) => one.toggle(open));
  }

  /** Applies the filters; with `open`, also opens the areas. */
  apply(open) {
    const searched = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isWanted = (one) => (!this.differ.checked || one.differs) && (!this.broken.checked || one.verdicts.includes('fail'))
      && (!this.level.value || one.level === this.level.value) && searched.every((word) => one.words.includes(word));
    const shown = this.areas.reduce((sum, one) => sum + one.filter(isWanted), 0);
    this.count.textContent = `${shown} of ${this.areas.reduce((sum, one) => sum + one.rows.length, 0)}`;
    for (const section of new Set(this.areas.map((one) => one.body.closest('section')))) {
      section.hidden = [...section.querySelectorAll('tbody')].every((body) => body.hidden);
    }
    if (open) this.toggle(true);
    this.changed();
  }
}
