//! A correct and a wrong exchange for each requirement, for `explain`, the documentation and the page of a run.
//!
//! They are made of the traces in `harness/tests/traces/`, which list the verdicts that they were written for. An
//! exchange is such a trace without every event that its verdict does not need.

pub mod conversation;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use self::conversation::Reader;
use crate::edition::Bundle;
use crate::judge::{Finding, Judgement, judge};
use crate::packed::{Folder, packed_folder};
use crate::requirement::Status;
use crate::trace::{HttpEvent, Trace, What};
use crate::verdict::Verdict;

/// The kept traces, by their paths.
const TRACES: Folder = packed_folder!("traces.json");

/// The kept traces with each verdict, such as `cancel.stop-reason: fail`: the lines above a trace, and its
/// conversation. The pages of all requirements would otherwise search all traces a thousand times.
static BY_VERDICT: LazyLock<HashMap<&str, Vec<(&str, &str)>>> = LazyLock::new(|| {
    let mut by_verdict: HashMap<_, Vec<_>> = HashMap::new();
    for (above, conversation) in TRACES().values().filter_map(|text| text.split_once("\n---\n")) {
        above.lines().for_each(|line| by_verdict.entry(line).or_default().push((above, conversation)));
    }
    by_verdict
});

/// The number of traces that are shortened for one exchange; the shortest ones come first.
const TRIED: usize = 4;
/// The largest exchange, in messages.
const LONGEST: usize = 8;
/// The longest message, in bytes.
const WIDEST: usize = 1000;

/// Returns the shortest exchange with this verdict on a requirement, one message per line. That of a failure ends with
/// the finding. Empty if no trace was written for it, or if its exchange has no messages or too many.
pub fn exchange(bundle: &'static Bundle, requirement: &str, verdict: Verdict) -> Vec<String> {
    if bundle.catalogue().find(requirement).is_none_or(|known| known.status != Status::Checked) {
        return Vec::new();
    }
    let examples = written_for(bundle, requirement, verdict).into_iter().filter_map(|mut trace| {
        let proof = Proof::of(bundle, requirement, verdict, &trace)?;
        proof.shorten(&mut trace);
        let lines = proof.lines(&trace)?;
        Some(((proof.is_secondary, lines.len(), lines.iter().map(String::len).sum::<usize>()), lines))
    });
    examples.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, lines)| lines).unwrap_or_default()
}

/// Returns the traces that list this verdict: those that list the fewest failures first, then the shortest.
fn written_for(bundle: &Bundle, requirement: &str, verdict: Verdict) -> Vec<Trace> {
    let parts = BY_VERDICT.get(&*format!("{requirement}: {verdict}")).into_iter().flatten();
    let mut traces: Vec<_> = parts
        .filter_map(|(above, conversation)| {
            let mut reader = Reader::new(above);
            conversation.lines().try_for_each(|line| reader.line(line)).ok()?;
            let failures = above.lines().filter(|line| line.ends_with(": fail")).count();
            (reader.trace.header.edition == bundle.name()).then_some((failures, reader.trace))
        })
        .collect();
    traces.sort_by_key(|(failures, trace)| (*failures, trace.events.len()));
    traces.into_iter().take(TRIED).map(|(_, trace)| trace).collect()
}

/// The verdict on a trace that its exchange must keep.
struct Proof<'r> {
    bundle: &'static Bundle,
    requirement: &'r str,
    verdict: Verdict,
    /// The kind of the finding, if it fails.
    kind: Option<&'static str>,
    /// Whether a more specific requirement owns the mistake.
    is_secondary: bool,
    /// The requirements that the whole trace violates.
    failed: BTreeSet<String>,
}

impl<'r> Proof<'r> {
    /// Judges a trace; `None` if it has another verdict.
    fn of(bundle: &'static Bundle, requirement: &'r str, verdict: Verdict, trace: &Trace) -> Option<Self> {
        let judgement = judge(trace, bundle.edition());
        let finding = failure(&judgement, requirement, None);
        let (kind, is_secondary) = (finding.map(|it| it.fact.kind), finding.is_some_and(|it| it.same_as.is_some()));
        let proof = Self { bundle, requirement, verdict, kind, is_secondary, failed: failed(&judgement) };
        proof.holds(trace).then_some(proof)
    }

    /// Whether a trace has the verdict for the same reason, violates only this, and has all events that its steps
    /// and its finding name.
    fn holds(&self, trace: &Trace) -> bool {
        let judgement = judge(trace, self.bundle.edition());
        let finding = failure(&judgement, self.requirement, self.kind);
        if judgement.verdict(self.requirement) != self.verdict || finding.is_some() != self.kind.is_some() {
            return false;
        }
        let known: BTreeSet<usize> = trace.events.iter().map(|event| event.n).collect();
        let steps = trace.events.iter().filter_map(|event| match &event.what {
            What::Step(step) => Some(&step.events),
            _ => None,
        });
        let proving = finding.into_iter().map(|finding| &finding.events);
        steps.chain(proving).flatten().all(|n| known.contains(n)) && failed(&judgement).is_subset(&self.failed)
    }

    /// Removes every event without which the verdict holds, the last one first.
    fn shorten(&self, trace: &mut Trace) {
        for at in (0..trace.events.len()).rev() {
            let event = trace.events.remove(at);
            if !self.holds(trace) {
                trace.events.insert(at, event);
            }
        }
    }

    /// Returns the messages, and the finding of a failure.
    fn lines(&self, trace: &Trace) -> Option<Vec<String>> {
        let lines = trace.events.iter().filter_map(|event| match &event.what {
            What::Line { from, bytes, .. } => Some(format!("{from} → {}  {}", from.other(), printable(bytes))),
            What::Http(HttpEvent::Carries { .. }) => None,
            What::Http(http) => Some(http.to_string()),
            _ => None,
        });
        let mut lines: Vec<String> = lines.collect();
        let is_short = !lines.is_empty() && lines.len() <= LONGEST && lines.iter().all(|line| line.len() <= WIDEST);
        let judgement = judge(trace, self.bundle.edition());
        lines.extend(
            failure(&judgement, self.requirement, self.kind).map(|finding| format!("found: {}", finding.text())),
        );
        (is_short && is_neutral(&lines)).then_some(lines)
    }
}

/// Returns the first failure of a requirement, of this kind if there is one.
fn failure<'j>(judgement: &'j Judgement, requirement: &str, kind: Option<&str>) -> Option<&'j Finding> {
    let mut findings = judgement.tallies.get(requirement)?.findings.iter();
    findings.find(|finding| finding.verdict == Verdict::Fail && kind.is_none_or(|kind| finding.fact.kind == kind))
}

fn failed(judgement: &Judgement) -> BTreeSet<String> {
    let failed = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
    failed.map(|(id, _)| id.clone()).collect()
}

/// Whether no line has a path that looks like one of a real machine.
fn is_neutral(lines: &[String]) -> bool {
    !lines.iter().any(|line| ["home", "tmp"].iter().any(|folder| line.contains(&format!("/{folder}/"))))
}

/// Returns bytes as text. Control characters and bytes that are not UTF-8 are escaped.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        chunk.invalid().iter().for_each(|byte| text.extend(byte.escape_ascii().map(char::from)));
    }
    text
}
