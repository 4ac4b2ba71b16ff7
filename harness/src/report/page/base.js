'use strict';

// What every page needs: elements whose content is text only, the signs of the verdicts, and the data.

const VERDICTS = ['pass', 'fail', 'inconclusive', 'not-applicable', 'not-exercised', 'harness-error'];

const SIGNS = {
  pass: '✓', fail: '✕', inconclusive: '?', 'not-applicable': '–', 'not-exercised': '○', 'harness-error': '!',
};

const LEVELS = { must: 'MUST', should: 'SHOULD', 'may-probe': 'probe' };

/** An element; its attributes, `on…` for what it does; and its children, of which texts stay texts. */
function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const words = (name) => name.replaceAll('-', ' ');

const area = (id) => id.split('.')[0];

const data = JSON.parse(document.getElementById('data').textContent);

/** The chart with this name, read when it is wanted; null where there is none. */
function chartData(name) {
  for (const script of document.querySelectorAll('script[data-chart]')) {
    if (script.dataset.chart === name) return JSON.parse(script.textContent);
  }
  return null;
}

/** A verdict by its sign and its word. */
function verdictMark(verdict) {
  return el('span', { class: `mark ${verdict}` },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[verdict]), el('span', { class: 'word' }, words(verdict)));
}

/** Tells readers who do not see the page what happened. */
function say(text) {
  document.getElementById('said').textContent = text;
}

/** A command line with a button that copies it. */
function command(text) {
  const code = el('code', {}, text);
  const select = () => getSelection().selectAllChildren(code);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
      say('The command is copied');
    } catch {
      select();
      say('The command is selected');
    }
  };
  const button = el('button', { type: 'button', class: 'copy', onclick: copy }, 'Copy');
  return el('p', { class: 'command' }, code, button);
}

/** What the catalogue says of a requirement beside its text. */
function lore(id) {
  const entry = data.catalogue[id] || {};
  const always = !entry.appliesWhen || entry.appliesWhen === 'always';
  return el('div', { class: 'lore' },
    el('p', { class: 'facts' },
      entry.link && el('a', { href: entry.link, rel: 'noreferrer' }, 'Specification'),
      !always && `${entry.link ? ' · ' : ''}applies when ${entry.appliesWhen}`));
}

/** A sentence in which what stands in backticks is code. */
const prose = (text) => text.split('`').map((part, place) => (place % 2 === 1 ? el('code', {}, part) : part));

/** The first of many things, and a button that shows the rest. */
function some(list, most, make) {
  if (list.length <= most) return list.map(make);
  const more = el('button', { type: 'button', onclick: () => more.replaceWith(...list.slice(most).map(make)) },
    `Show ${list.length - most} more`);
  return [...list.slice(0, most).map(make), more];
}

/** The lines that prove a finding. */
function evidence(finding) {
  if (finding.lines.length === 0) return null;
  return el('ol', { class: 'lines' }, finding.lines.map((line) => el('li', {}, line)));
}
