'use strict';

// Shared by all pages: elements with text content only, the signs of the verdicts, and the data.

const VERDICTS = ['pass', 'fail', 'inconclusive', 'not-applicable', 'not-exercised', 'harness-error'];

const SIGNS = {
  pass: '✓', fail: '✕', inconclusive: '?', 'not-applicable': '–', 'not-exercised': '○', 'harness-error': '!',
};

const LEVELS = { must: 'MUST', should: 'SHOULD', 'may-probe': 'probe' };

/** Makes an element. Attributes named `on…` are event handlers; a string child becomes text, not HTML. */
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

/** A duration for people: milliseconds only below a second. */
const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const data = JSON.parse(document.getElementById('data').textContent);

/** Reads the chart with this name on demand; null for an unknown name. */
function chartData(name) {
  for (const script of document.querySelectorAll('script[data-chart]')) {
    if (script.dataset.chart === name) return JSON.parse(script.textContent);
  }
  return null;
}

/** Shows a verdict with its sign and its word. */
function verdictMark(verdict) {
  return el('span', { class: `mark ${verdict}` },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[verdict]), el('span', { class: 'word' }, words(verdict)));
}

/** Announces what happened to screen readers. */
function say(text) {
  document.getElementById('said').textContent = text;
}

/** A button that copies the text of an element, or selects it where the browser does not allow that. */
function copyButton(label, name, source) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = 'Copied';
      say(`The ${name} is copied`);
    } catch {
      getSelection().selectAllChildren(source);
      say(`The ${name} is selected`);
    }
  };
  const button = el('button', { type: 'button', class: 'copy', onclick: copy }, label);
  return button;
}

/** A command line with a button that copies it. */
function command(text) {
  const code = el('code', {}, text);
  return el('p', { class: 'command' }, code, copyButton('Copy', 'command', code));
}

/** A case file made from a chart, with a button that copies it. */
function caseFile(text) {
  const file = el('pre', { tabindex: '0', 'aria-label': 'The case file' }, text);
  return el('details', { class: 'case-file' }, el('summary', {}, 'These messages as a case'),
    el('p', { class: 'facts' }, 'Save it in a folder of your own and run it with --cases.'), copyButton('Copy as case', 'case', file), file);
}

/** The details of a requirement from the catalogue, without its text. */
function lore(id) {
  const entry = data.catalogue[id] || {};
  const always = !entry.appliesWhen || entry.appliesWhen === 'always';
  return el('div', { class: 'lore' },
    el('p', { class: 'facts' },
      entry.link && el('a', { href: entry.link, rel: 'noreferrer' }, 'Specification'),
      !always && `${entry.link ? ' · ' : ''}applies when ${entry.appliesWhen}`));
}

/** Shows a sentence, with text in backticks as code. */
const prose = (text) => text.split('`').map((part, place) => (place % 2 === 1 ? el('code', {}, part) : part));

/** Shows the first items, and a button for the rest. */
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
