//! Compares two runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::capabilities::advertised;
use super::model::{
    CapabilityChange, DiffReport, FORMAT, Gain, MessageChange, OneSided, SideInfo, VerdictChange, VerdictTrend,
};
use crate::requirement::Level;
use crate::results::{RunReport, SuiteInfo};
use crate::snapshot::{self, Bound};
use crate::trace::{Trace, What};
use crate::verdict::Verdict;

/// One of the runs: its report and the facts from its traces.
#[derive(Debug, Clone)]
pub struct Side {
    path: String,
    report: RunReport,
    traces: BTreeMap<String, CaseTrace>,
}

/// The facts that are kept of the trace of a case.
#[derive(Debug, Clone)]
struct CaseTrace {
    text: String,
    /// The same with sorted members in each message, since their order means nothing.
    sorted: String,
    advertised: BTreeSet<String>,
}

impl Side {
    /// Creates a run with the name that reports show.
    pub const fn new(path: String, report: RunReport) -> Self {
        Self { path, report, traces: BTreeMap::new() }
    }

    /// Adds the trace of one of its cases.
    pub fn add(&mut self, case: String, trace: &Trace) {
        let trace = &without_earlier_sessions(trace);
        let (text, sorted) = (snapshot::text(trace), snapshot::text(&with_sorted_members(trace)));
        let traces = CaseTrace { text, sorted, advertised: advertised(trace) };
        self.traces.insert(case, traces);
    }

    /// Returns the report.
    pub const fn report(&self) -> &RunReport {
        &self.report
    }

    fn info(&self) -> SideInfo {
        SideInfo {
            path: self.path.clone(),
            suite: self.report.suite.clone(),
            subject: self.report.subject.clone(),
            verdict: self.report.verdict,
            traces: self.traces.len(),
            partial: self.report.partial,
        }
    }

    fn requirements(&self) -> Vec<(&str, Option<Level>, Verdict)> {
        self.report.requirements.iter().map(|one| (one.id.as_str(), Some(one.level), one.verdict)).collect()
    }

    fn cases(&self) -> Vec<(&str, Option<Level>, Verdict)> {
        self.report.cases.iter().map(|one| (one.id.as_str(), None, one.verdict)).collect()
    }
}

/// Returns the differences between two runs.
pub fn compare(old: &Side, new: &Side, bound: Bound) -> DiffReport {
    let (requirements, old_requirements, new_requirements) = verdicts(&old.requirements(), &new.requirements());
    let (cases, old_cases, new_cases) = verdicts(&old.cases(), &new.cases());
    DiffReport {
        format: FORMAT.to_owned(),
        old: old.info(),
        new: new.info(),
        same_suite: same_suite(&old.report.suite, &new.report.suite),
        regression: requirements.iter().chain(&cases).any(|change| change.regression),
        requirements,
        cases,
        capabilities: capabilities(old, new),
        messages: messages(old, new, bound),
        only_old: OneSided { requirements: old_requirements, cases: old_cases },
        only_new: OneSided { requirements: new_requirements, cases: new_cases },
    }
}

/// Whether two suites are the same, as far as both reports tell: only a certificate has a digest of the cases.
fn same_suite(old: &SuiteInfo, new: &SuiteInfo) -> bool {
    let is_known = old.content_sha256.is_some() && new.content_sha256.is_some();
    let comparable = |suite: &SuiteInfo| SuiteInfo {
        content_sha256: suite.content_sha256.clone().filter(|_| is_known),
        ..suite.clone()
    };
    comparable(old) == comparable(new)
}

/// Returns the trace without the updates of sessions that are not of the case. In a shared conversation, late ones of
/// the case before come in this case or not.
fn without_earlier_sessions(trace: &Trace) -> Trace {
    let (mut trace, mut named) = (trace.clone(), BTreeSet::new());
    let update_of = |message: &Value| {
        let session = (message["method"] == "session/update").then(|| message.pointer("/params/sessionId")).flatten();
        session.and_then(Value::as_str).map(str::to_owned)
    };
    let mut updates = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let What::Line { bytes, .. } = &event.what else { continue };
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else { continue };
        match update_of(&message) {
            Some(session) => {
                updates.push((at, session));
                add_sessions(&message["params"]["update"], &mut named);
            }
            None => add_sessions(&message, &mut named),
        }
    }
    for (at, _) in updates.into_iter().filter(|(_, session)| !named.contains(session)) {
        // The place stays, since steps name events by their places.
        trace.events[at].what = What::Stdout(Vec::new());
    }
    trace
}

fn add_sessions(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            named.extend(members.get("sessionId").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| add_sessions(member, named));
        }
        Value::Array(items) => items.iter().for_each(|item| add_sessions(item, named)),
        _ => {}
    }
}

/// Returns the trace with sorted members in each message.
fn with_sorted_members(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for event in &mut trace.events {
        if let What::Line { bytes, .. } = &mut event.what
            && let Ok(mut message) = serde_json::from_slice::<Value>(bytes)
        {
            message.sort_all_objects();
            *bytes = message.to_string().into_bytes();
        }
    }
    trace
}

type Judged<'s> = [(&'s str, Option<Level>, Verdict)];

/// Returns the changed verdicts, and the entries that only one side has.
fn verdicts(old: &Judged<'_>, new: &Judged<'_>) -> (Vec<VerdictChange>, Vec<String>, Vec<String>) {
    let before: BTreeMap<&str, Verdict> = old.iter().map(|(id, _, verdict)| (*id, *verdict)).collect();
    let after: BTreeSet<&str> = new.iter().map(|(id, ..)| *id).collect();
    let only_old = old.iter().filter(|(id, ..)| !after.contains(id)).map(|(id, ..)| (*id).to_owned()).collect();
    let only_new = new.iter().filter(|(id, ..)| !before.contains_key(id)).map(|(id, ..)| (*id).to_owned()).collect();
    let both = new.iter().filter_map(|(id, level, after)| Some((*id, *level, *before.get(id)?, *after)));
    let changed = both.filter(|(_, _, before, after)| before != after).map(|(id, level, old, new)| VerdictChange {
        id: id.to_owned(),
        level,
        old,
        new,
        change: direction(old, new),
        regression: old == Verdict::Pass && new == Verdict::Fail,
    });
    (changed.collect(), only_old, only_new)
}

fn direction(old: Verdict, new: Verdict) -> VerdictTrend {
    // A failure of the harness proves nothing about the subject, on either side.
    let rank = |verdict| match verdict {
        Verdict::Pass => Some(2),
        Verdict::Inconclusive | Verdict::NotApplicable | Verdict::NotExercised => Some(1),
        Verdict::Fail => Some(0),
        Verdict::HarnessError => None,
    };
    match (rank(old), rank(new)) {
        (Some(old), Some(new)) if new < old => VerdictTrend::Worse,
        (Some(old), Some(new)) if new > old => VerdictTrend::Better,
        _ => VerdictTrend::Otherwise,
    }
}

/// Returns the cases for which both sides have a trace.
fn common<'s>(old: &'s Side, new: &'s Side) -> impl Iterator<Item = (&'s String, &'s CaseTrace, &'s CaseTrace)> {
    old.traces.iter().filter_map(|(case, trace)| Some((case, trace, new.traces.get(case)?)))
}

/// Compares the capabilities that the common cases advertise; other cases may advertise more or less.
fn capabilities(old: &Side, new: &Side) -> Vec<CapabilityChange> {
    let before: BTreeSet<&String> = common(old, new).flat_map(|(_, old, _)| &old.advertised).collect();
    let after: BTreeSet<&String> = common(old, new).flat_map(|(_, _, new)| &new.advertised).collect();
    let by = new.report.subject.kind;
    let changes = before.symmetric_difference(&after);
    changes
        .map(|path| CapabilityChange {
            by,
            path: (*path).clone(),
            change: if after.contains(path) { Gain::Gained } else { Gain::Lost },
        })
        .collect()
}

/// Returns the text of the new trace, with the members of its messages in the order of equal ones in the old trace.
fn as_written_in(old: &CaseTrace, new: &CaseTrace) -> String {
    let known: BTreeMap<&str, &str> = old.sorted.lines().zip(old.text.lines()).collect();
    let lines = new.sorted.lines().zip(new.text.lines());
    lines.map(|(sorted, line)| known.get(sorted).unwrap_or(&line).to_string() + "\n").collect()
}

fn messages(old: &Side, new: &Side, bound: Bound) -> Vec<MessageChange> {
    let differing = common(old, new)
        .filter_map(|(case, old, new)| Some((case, snapshot::changes(&old.text, &as_written_in(old, new), bound)?)));
    differing
        .map(|(case, changes)| MessageChange {
            case: case.clone(),
            removed: changes.removed,
            added: changes.added,
            diff: changes.diff,
            cut: changes.cut,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Fail, HarnessError, Inconclusive, NotApplicable, NotExercised, Pass};
    use std::time::Duration;

    use super::VerdictTrend::{Better, Otherwise, Worse};
    use super::*;
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::results::Collector;

    #[test]
    fn only_pass_to_fail_is_a_regression() {
        for (old, new, wanted, is_regression) in [
            (Pass, Fail, Worse, true),
            (Pass, Inconclusive, Worse, false),
            (NotExercised, Fail, Worse, false),
            (Fail, Pass, Better, false),
            (Inconclusive, Pass, Better, false),
            (Inconclusive, NotExercised, Otherwise, false),
            (NotApplicable, NotExercised, Otherwise, false),
            (Pass, HarnessError, Otherwise, false),
            (HarnessError, Fail, Otherwise, false),
        ] {
            let (changes, ..) = verdicts(&[("a", None, old)], &[("a", None, new)]);
            assert_eq!((changes[0].change, changes[0].regression), (wanted, is_regression), "{old} → {new}");
        }
        let (changes, only_old, only_new) = verdicts(&[("a", None, Pass), ("b", None, Pass)], &[("b", None, Pass)]);
        assert_eq!((changes, only_old, only_new), (Vec::new(), vec!["a".to_owned()], Vec::new()));
    }

    /// Returns a run with one case, in which the agent sent these messages.
    fn side(messages: &[&str]) -> Side {
        let header = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let line = |(n, message): (usize, &&str)| {
            serde_json::json!({ "n": n, "us": n, "from": "agent", "line": message }).to_string() + "\n"
        };
        let lines: String = messages.iter().enumerate().map(line).collect();
        let trace = Trace::read(format!("{header}\n{lines}").as_bytes()).expect("a trace");
        let report = Collector::new(V1.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
        let mut side = Side::new(String::new(), report);
        side.add("a".to_owned(), &trace);
        side
    }

    #[test]
    fn order_of_members_is_no_difference() {
        let [first, other] = [r#"{"method":"_a","params":{"a":1,"b":2}}"#, r#"{"params":{"b":2,"a":1},"method":"_a"}"#];
        assert_eq!(messages(&side(&[first]), &side(&[other]), Bound::Full).len(), 0);
        assert_eq!(messages(&side(&[first]), &side(&[&other.replace('2', "3")]), Bound::Full).len(), 1);
    }

    #[test]
    fn late_update_of_an_earlier_case_is_no_difference() {
        let opened = r#"{"id":1,"result":{"sessionId":"s"}}"#;
        let update = |session: &str| format!(r#"{{"method":"session/update","params":{{"sessionId":"{session}"}}}}"#);
        let differs = |session: &str| {
            let late = update(session);
            !messages(&side(&[opened]), &side(&[opened, &late]), Bound::Full).is_empty()
        };
        assert!(differs("s") && !differs("earlier"));
    }
}
