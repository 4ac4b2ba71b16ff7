'use strict';

/**
 * Turns a report into tests: one per case, and one for each known failure that is stale or expired.
 */
function tests(report, { again, inconclusive = 'skip' } = {}) {
  const failures = failures_by_case(report);
  const of_cases = report.cases.map((one) => {
    const { result, message } = result_of(one, failures.get(one.id) ?? [], { again, inconclusive });
    return { id: one.id, name: name_of(one), verdict: one.verdict, result, message };
  });
  const wrong = (report.expected?.entries ?? []).filter(({ standing }) => standing === 'stale' || standing === 'expired');
  const of_entries = wrong.map((entry) => {
    const id = `expected/${[entry.requirement, entry.case].filter(Boolean).join(' in ')}`;
    const message = `expected to fail (${entry.reason}), and ${entry.remedy}`;
    return { id, name: id, verdict: entry.verdict, result: 'fail', message };
  });
  return [...of_cases, ...of_entries];
}

/** The name of the test of a case. */
function name_of({ id, title }) {
  return title ? `${id}: ${title}` : id;
}

/** The failures that a case shows by itself: a more specific requirement and another case own the others. */
function failures_by_case(report) {
  const by_case = new Map();
  for (const requirement of report.requirements) {
    const counts = requirement.level === 'must' || (report.strict && requirement.level === 'should');
    for (const finding of requirement.findings) {
      if (!counts || finding.verdict !== 'fail' || finding.sameAs || finding.countedIn) continue;
      const entry = report.expected?.entries.find(({ failures }) =>
        failures.some((one) => one.requirement === requirement.id && one.case === finding.case),
      );
      if (!by_case.has(finding.case)) by_case.set(finding.case, []);
      by_case.get(finding.case).push({ requirement, finding, entry });
    }
  }
  return by_case;
}

function result_of(one, failures, { again, inconclusive }) {
  const surprises = failures.filter(({ entry }) => !entry);
  const reproduce = again ? [`reproduce: ${again(one.id)}`] : [];
  const reason = one.reason ?? '';
  if (one.verdict === 'harness-error') {
    return { result: 'fail', message: `acp-conformance itself failed, not the subject: ${reason}` };
  }
  if (surprises.length > 0) {
    return { result: 'fail', message: [...surprises.map(text_of), ...reproduce].join('\n\n') };
  }
  if (failures.length > 0) return { result: 'skip', message: `expected to fail: ${failures[0].entry.reason}` };
  if (one.verdict === 'fail') return { result: 'fail', message: [reason, ...reproduce].join('\n\n') };
  if (one.verdict === 'pass') return { result: 'pass', message: '' };
  if (one.cause?.kind === 'same-mistake') return { result: 'skip', message: `${one.cause.requirement}: ${reason}` };
  const undecided = one.verdict !== 'not-applicable' && inconclusive === 'fail';
  const message = `${one.verdict}: ${reason}`;
  return undecided ? { result: 'fail', message: [message, ...reproduce].join('\n\n') } : { result: 'skip', message };
}

function text_of({ requirement, finding }) {
  const lines = [`${requirement.id}  (${requirement.level.toUpperCase()})`, `  ${requirement.text}`];
  if (requirement.link) lines.push(`  ${requirement.link}`);
  lines.push(`  found: ${finding.text}`, ...finding.lines.map((line) => `    ${line}`));
  return lines.join('\n');
}

module.exports = { name_of, tests };
