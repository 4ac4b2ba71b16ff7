// Many subjects: for each party a table of requirements by area, with a column for each subject. A cell opens its findings.

for (const [place, subject] of data.subjects.entries()) subject.place = place;

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
    el('p', { class: 'facts' }, `${named(subject)} · ${LEVELS[data.catalogue[cell.id]?.level] || ''} · exercised by ${many(cell.cases, 'case')} · ${subject.file}`),
    el('p', {}, data.catalogue[cell.id]?.text), lore(cell.id),
    ...cell.notes.map((note) => el('p', { class: 'facts' }, note)),
    ...some(findings, 8, box));
  dialog.showModal();
  dialog.scrollTop = 0;
}

const show = {
  id: (id) => id,
  cell: (subject, cell) => el('button', {
    type: 'button', class: `cell ${cell.verdict}`, title: words(cell.verdict), 'aria-label': `${cell.id}, ${named(subject)}: ${words(cell.verdict)}`,
    onclick: () => openCell(subject, cell),
  }, SIGNS[cell.verdict]),
  head: (subject, subjects) => {
    const hasTwin = subjects.filter((other) => named(other) === named(subject)).length > 1;
    return el('th', { scope: 'col', title: `${subject.file}, ${subject.edition}` }, subject.version || '–',
      hasTwin && [' ', el('small', {}, subject.file.split('/').at(-1))], subjectVerdict(subject));
  },
};

const tables = [['agent', 'Agents'], ['client', 'Clients']].map(([party, title]) => [title, data.subjects.filter((subject) => subject.party === party)])
  .filter(([, subjects]) => subjects.length > 0).map(([title, subjects]) => table(title, subjects, show));
const filter = new RowFilter([], () => {});
filter.areas = tables.flatMap((one) => one.areas);
main.append(filter.form, legend(), ...tables.map(({ element }) => element));
filter.apply();
