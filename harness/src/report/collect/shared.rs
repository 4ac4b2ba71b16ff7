//! Conversations that hold several cases. A failure there does not count by itself: the case runs again alone.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use super::{Collector, SeenIn};
use crate::case::Case;
use crate::judge::{CaseVerdict, Cause, JudgedTrace, JudgingSession, Trouble};
use crate::report::event::Standing;
use crate::report::model::{CaseReport, OnlyShared};
use crate::report::reasons::is_about_tools;
use crate::requirement::Level;
use crate::trace::{Outcome, Trace};
use crate::verdict::Verdict;

/// The cases of shared conversations that do not pass, and the data that decides whether they must run again alone.
#[derive(Default)]
pub(super) struct Shared {
    pending: BTreeMap<String, Pending>,
    /// The troubles that a case showed alone, or in two conversations if that is enough.
    proved: BTreeSet<Trouble>,
    /// The unmet expectations of the first case of a conversation.
    of_first: BTreeSet<Trouble>,
    /// The optional expectations that at least one case met.
    met: BTreeSet<String>,
    /// The cases that ran in a second conversation.
    retried: BTreeSet<String>,
    /// The troubles for which a case runs again alone now.
    rerunning: BTreeSet<Trouble>,
    /// The new violations that a case did not show alone.
    suspects: Vec<Suspect>,
}

/// The cases of shared conversations that must run again, by id.
#[derive(Debug, Default)]
pub struct Again {
    /// Each in a conversation of its own.
    pub alone: Vec<String>,
    /// Together once more, in another conversation: nothing failed, but the case decided nothing, or the subject did something else.
    pub together: Vec<String>,
}

impl Again {
    /// Whether this case has to run again now.
    #[must_use]
    pub fn contains(&self, case: &str) -> bool {
        self.alone.iter().chain(&self.together).any(|id| id == case)
    }
}

/// A violation that a case showed only after other cases of its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// The id of the case.
    pub case: String,
    /// The requirement.
    pub requirement: String,
    /// The kind of the finding.
    pub kind: String,
    /// The ids of the cases before it in its conversation, in the order of running.
    pub before: Vec<String>,
}

struct Pending {
    /// The cases before it in its conversation.
    before: Vec<String>,
    judged: JudgedTrace,
    troubles: BTreeSet<Trouble>,
    /// The part of the trace that belongs to the case.
    trace: Trace,
    file: Option<String>,
}

impl Collector {
    /// Judges a conversation that holds several cases. Returns the cases that pass or do not apply, each with its
    /// part of the trace; the others wait for [`Self::review`].
    pub fn add_conversation(&mut self, trace: &Trace, file: Option<&str>) -> Vec<(CaseReport, Trace)> {
        let mut session = JudgingSession::new(&trace.header, self.edition);
        trace.events.iter().for_each(|event| session.event(event));
        self.count(trace);
        let mut settled = Vec::new();
        let mut before = Vec::new();
        for (judged, part) in session.close_by_case().into_iter().zip(trace.by_case()) {
            let id = part.header.case.clone().unwrap_or_default();
            let troubles = judged.troubles(self.kind, &self.edition.catalogue);
            self.shared.met.extend(judged.met());
            for trouble in troubles.iter().filter(|trouble| matches!(trouble, Trouble::Unmet { .. })) {
                // The first case of a conversation is alone with its process. A machine under load may have made that slow, though.
                let is_first = before.is_empty();
                let is_second_time = is_first && !self.shared.of_first.insert(trouble.clone());
                let is_retried = is_first || self.shared.retried.contains(&id);
                if is_second_time || is_retried && shows_in_any_conversation(trouble) {
                    self.shared.proved.insert(trouble.clone());
                }
            }
            let file = file.map(str::to_owned);
            let pending = Pending { before: before.clone(), judged, troubles, trace: part, file };
            before.push(id.clone());
            if pending.troubles.is_empty() {
                settled.push(self.settle(pending));
            } else {
                self.shared.pending.insert(id, pending);
            }
        }
        settled
    }

    /// Judges a recorded conversation, of which no case can run again. A case that was added before counts by that trace.
    pub fn add_recorded_conversation(&mut self, trace: &Trace, file: Option<&str>) {
        self.add_conversation(trace, file);
        for (id, pending) in take(&mut self.shared.pending) {
            if self.cases.iter().all(|case| case.id != id) {
                self.settle(pending);
            }
        }
    }

    /// Decides about the cases of shared conversations that do not pass. Returns those whose troubles are known without another
    /// run, and the cases that must run again now. Call it again after those runs; at the end, none are left.
    ///
    /// Of several cases with the same trouble, one runs again first: if it shows the trouble alone too, the others need not run
    /// again.
    pub fn review(&mut self) -> (Vec<(CaseReport, Trace)>, Again) {
        let (mut settled, mut again) = (Vec::new(), Again::default());
        let calls_tools = self.calls_tools();
        let mut chosen = BTreeSet::new();
        for (id, pending) in take(&mut self.shared.pending) {
            let open: BTreeSet<Trouble> =
                pending.troubles.iter().filter(|trouble| !self.is_known(&id, trouble)).cloned().collect();
            if open.is_empty() {
                settled.push(self.settle(pending));
                continue;
            }
            if chosen.is_disjoint(&open) {
                let is_undecided = open.iter().all(|trouble| matches!(trouble, Trouble::Undecided(_)));
                // Only a model that calls tools may do another time what it did not do now.
                if is_undecided && !(calls_tools && pending.trace.client_called("session/prompt")) {
                    settled.push(self.settle(pending));
                    continue;
                }
                if open.iter().all(shows_in_any_conversation) {
                    self.shared.retried.insert(id.clone());
                    again.together.push(id.clone());
                } else {
                    again.alone.push(id.clone());
                }
                chosen.extend(open);
            }
            self.shared.pending.insert(id, pending);
        }
        self.shared.rerunning = chosen;
        (settled, again)
    }

    /// Whether the report has a verdict on this case.
    #[must_use]
    pub fn is_settled(&self, case: &str) -> bool {
        self.cases.iter().any(|report| report.id == case)
    }

    /// Whether a case of a shared conversation waits for a decision of [`Self::review`].
    #[must_use]
    pub fn is_pending(&self, case: &str) -> bool {
        self.shared.pending.contains_key(case)
    }

    /// Reports a case as not exercised, without a run, if the subject did nothing that concerns its requirements in the shapes of its
    /// file that have run. A context needs only that the first use decided nothing, and does not apply where that does not.
    pub fn skip_repeated(&mut self, case: &Case) -> Option<CaseReport> {
        if let Some(first) = case.first_use() {
            let first = self.cases.iter().find(|report| report.id == first)?;
            let CaseVerdict { verdict, reason, cause } = first.own_verdict();
            return match verdict {
                Verdict::NotApplicable => {
                    let (id, title) = (case.id.clone(), Some(case.title.clone()));
                    let own = CaseReport { verdict, reason, cause, otherwise: None, ..first.clone() };
                    let report = CaseReport { id, title, duration_ms: 0, trace: None, ..own };
                    self.cases.push(report.clone());
                    Some(report)
                }
                _ if decided_nothing(first) => {
                    let reason = format!("skipped: its first use, {}, decided nothing", first.id);
                    Some(self.skip(case, first.id.clone(), reason))
                }
                _ => None,
            };
        }
        let shapes = self.cases.iter().filter(|report| Case::file_of(&report.id) == Case::file_of(&case.id));
        let run: Vec<&CaseReport> = shapes.filter(|report| report.verdict != Verdict::NotExercised).collect();
        let first = run.first().filter(|_| run.iter().all(|report| exercised_nothing(report)))?;
        let reason = format!("skipped: nothing happened in {} to which its requirements apply", first.id);
        let after = first.id.clone();
        Some(self.skip(case, after, reason))
    }

    /// Reports a case as not exercised, without a run, because of what happened in the case `after`.
    pub fn skip(&mut self, case: &Case, after: String, reason: String) -> CaseReport {
        self.shared.pending.remove(&case.id);
        let report = CaseReport {
            id: case.id.clone(),
            title: Some(case.title.clone()),
            verdict: Verdict::NotExercised,
            duration_ms: 0,
            file: case.own_file().map(str::to_owned),
            trace: None,
            otherwise: None,
            reason: Some(reason),
            cause: Some(Cause::Skipped { after }),
            requirements: case.requirements.clone(),
            also: Vec::new(),
            notes: Vec::new(),
        };
        self.cases.push(report.clone());
        report
    }

    /// Whether a case showed a violation only after others.
    #[must_use]
    pub const fn has_only_shared(&self) -> bool {
        !self.only_shared.is_empty()
    }

    /// Returns the violations since the last call that a case showed only after others.
    pub fn take_suspects(&mut self) -> Vec<Suspect> {
        take(&mut self.shared.suspects)
    }

    /// Removes a violation from those that fail no requirement, since a sequence of cases shows it each time.
    pub fn confirm(&mut self, suspect: &Suspect) {
        let is_same = |only: &OnlyShared| (&only.requirement, &only.kind) == (&suspect.requirement, &suspect.kind);
        self.only_shared.retain(|only| !is_same(only));
    }

    /// Returns what the cases show so far.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let level = |id: &str| self.edition.catalogue.find(id).map(|known| known.level);
        let unconfirmed = self.shared.pending.values().flat_map(|pending| &pending.troubles);
        let unconfirmed = unconfirmed.filter_map(|trouble| match trouble {
            Trouble::Failed { requirement, .. } => Some(requirement.clone()),
            _ => None,
        });
        let failed: BTreeSet<String> = self.failed().into_iter().chain(unconfirmed).collect();
        let passes = |seen: &[SeenIn]| seen.iter().any(|seen| seen.tally.verdict() == Verdict::Pass);
        let passed = self.by_requirement.iter().filter(|(id, seen)| passes(seen) && !failed.contains(*id)).count();
        Standing {
            cases: self.cases.len() + self.shared.pending.len(),
            passed,
            failed: failed.into_iter().filter(|id| level(id) == Some(Level::Must)).collect(),
        }
    }

    /// Whether a requirement failed in a case of a shared conversation that has not run alone yet.
    #[must_use]
    pub fn has_unconfirmed_failures(&self) -> bool {
        let pending = self.shared.pending.iter();
        let mut troubles = pending.flat_map(|(id, pending)| pending.troubles.iter().map(move |trouble| (id, trouble)));
        troubles.any(|(id, trouble)| matches!(trouble, Trouble::Failed { .. }) && !self.is_known(id, trouble))
    }

    /// Returns a case for each failure that no case has shown alone, and for which none runs again by now. Whether another kind of
    /// trouble needs a further run depends on all conversations, so [`Self::review`] decides about it.
    pub fn rerun_failures(&mut self) -> Vec<String> {
        let (mut rerunning, mut cases) = (take(&mut self.shared.rerunning), Vec::new());
        for (id, pending) in &self.shared.pending {
            let is_new = |trouble: &&Trouble| {
                let is_failure = matches!(trouble, Trouble::Failed { .. });
                is_failure && !self.is_known(id, trouble) && !rerunning.contains(*trouble)
            };
            let failures: Vec<Trouble> = pending.troubles.iter().filter(is_new).cloned().collect();
            if !failures.is_empty() {
                rerunning.extend(failures);
                cases.push(id.clone());
            }
        }
        self.shared.rerunning = rerunning;
        cases
    }

    /// Whether a trouble of a case needs no further proof.
    fn is_known(&self, id: &str, trouble: &Trouble) -> bool {
        match trouble {
            // A subject that never does what a case requires does not do it alone either.
            Trouble::Unmet { is_optional: true, expected, .. } if !self.shared.met.contains(expected) => true,
            // Another case decides the requirement, or nothing happened in a second conversation either.
            Trouble::Undecided(requirement) if self.is_decided(requirement) || self.shared.retried.contains(id) => true,
            trouble => self.shared.proved.contains(trouble),
        }
    }

    fn is_decided(&self, requirement: &str) -> bool {
        self.by_requirement.get(requirement).is_some_and(|seen| seen.iter().any(SeenIn::is_decided))
    }

    /// Whether the agent called a tool in a case that has its verdict.
    fn calls_tools(&self) -> bool {
        let about_tools = self.by_requirement.iter().filter(|(id, _)| is_about_tools(id));
        about_tools.flat_map(|(_, seen)| seen).any(SeenIn::is_decided)
    }

    /// Compares a case that ran alone with its run in a shared conversation, if it had one.
    pub(super) fn compare_alone(&mut self, id: &str, alone: &JudgedTrace, file: Option<&str>) {
        let troubles = alone.troubles(self.kind, &self.edition.catalogue);
        if let Some(pending) = self.shared.pending.remove(id) {
            self.again += 1;
            let gone = pending.troubles.into_iter().filter(|trouble| !troubles.contains(trouble));
            for trouble in gone {
                let Trouble::Failed { requirement, kind, .. } = trouble else { continue };
                let tally = pending.judged.judgement.tallies.get(&requirement);
                let finding = tally.and_then(|tally| tally.findings.iter().find(|finding| finding.fact.kind == kind));
                self.shared.suspects.push(Suspect {
                    case: id.to_owned(),
                    requirement: requirement.clone(),
                    kind: kind.clone(),
                    before: pending.before.clone(),
                });
                self.only_shared.push(OnlyShared {
                    case: id.to_owned(),
                    requirement,
                    text: finding.map(|finding| finding.text()).unwrap_or_default(),
                    kind,
                    shared: pending.file.clone(),
                    alone: file.map(str::to_owned),
                });
            }
        }
        self.shared.met.extend(alone.met());
        self.shared.proved.extend(troubles);
    }

    fn settle(&mut self, pending: Pending) -> (CaseReport, Trace) {
        let Pending { judged, trace, file, .. } = pending;
        let id = trace.header.case.clone().unwrap_or_default();
        let took = judged.took();
        self.keep(&id, &judged, &|n| trace.event(n));
        (self.report(id, &judged, took, file), trace)
    }
}

/// Whether a trouble fails nothing, and neither a time limit nor the end of the process led to it. Then a second shared conversation
/// is proof enough.
fn shows_in_any_conversation(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Undecided(_) => true,
        Trouble::Unmet { outcome, .. } => matches!(outcome, Outcome::Contradicted | Outcome::Missed),
        Trouble::Failed { .. } | Trouble::Other(_) => false,
    }
}

/// Returns whether a case decided no requirement that it names.
fn decided_nothing(case: &CaseReport) -> bool {
    let is_partial = |cause: &Cause| {
        matches!(cause, Cause::NotExercised { requirements } | Cause::Undecided { requirements }
            if requirements.len() < case.requirements.len())
    };
    let own = case.own_verdict();
    !matches!(own.verdict, Verdict::Pass | Verdict::Fail) && !own.cause.as_ref().is_some_and(is_partial)
}

/// Whether a case ran to its end and its subject did nothing to which its requirements apply. A case that a refusal, a login or an exit
/// ended says nothing about other shapes.
fn exercised_nothing(case: &CaseReport) -> bool {
    matches!(case.own_verdict().cause, Some(Cause::NotExercised { requirements }) if requirements.len() == case.requirements.len())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::case::embedded_case;
    use crate::edition::V1;
    use crate::requirement::Party;

    #[test]
    fn a_context_is_skipped_although_its_undecided_first_use_shows_another_mistake() {
        let mut collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        let first = r#"{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","subject":"agent","case":"v1/agent/fs/read","requirements":["fs.read.params"]}
{"n":0,"us":0,"from":"agent","line":"a banner"}"#;
        collector.add(&Trace::read(first.as_bytes()).expect("a trace"), Duration::ZERO, None);
        assert_eq!(collector.cases[0].verdict, Verdict::Fail);
        let again = embedded_case("v1/agent/fs/read@again", &V1).expect("a case");
        let skipped = collector.skip_repeated(&again).expect("its first use decided nothing");
        assert!(matches!(skipped.cause, Some(Cause::Skipped { after }) if after == "v1/agent/fs/read"));
    }

    /// Judges conversations in which the steps of the cases have these outcomes.
    fn collect(conversations: &[&[&str]]) -> Collector {
        let mut collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        for (number, outcomes) in conversations.iter().enumerate() {
            collector.add_conversation(&conversation(number, outcomes), None);
        }
        collector
    }

    fn conversation(number: usize, outcomes: &[&str]) -> Trace {
        let step = |outcome| json!({ "kind": "must", "line": 9, "text": "agent: { id: list }", "outcome": outcome });
        let events = outcomes.iter().enumerate().flat_map(|(place, outcome)| {
            let id = format!("v1/agent/list/number-{number}-{place}");
            let begins = json!({ "id": id, "requirements": ["list.next-cursor-string"] });
            [json!({ "case": { "begins": begins } }), json!({ "step": step(outcome) }), json!({ "case": "ends" })]
        });
        let header = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11","conversation":1,"subject":"agent"}"#;
        let lines = events.enumerate().map(|(n, mut event)| {
            event["n"] = n.into();
            event["us"] = n.into();
            format!("\n{event}")
        });
        let text: String = std::iter::once(header.to_owned()).chain(lines).collect();
        Trace::read(text.as_bytes()).expect("a trace")
    }

    #[test]
    fn an_unmet_step_is_confirmed_alone_only_if_the_agent_did_not_answer() {
        for (outcome, is_together) in
            [("contradicted", true), ("missed", true), ("timed-out", false), ("ended", false), ("login-needed", false)]
        {
            let (_, again) = collect(&[&["done", outcome]]).review();
            let runs = (again.together.len(), again.alone.len());
            assert_eq!(runs, if is_together { (1, 0) } else { (0, 1) }, "{outcome}");
        }
    }

    #[test]
    fn a_skipped_case_waits_for_nothing() {
        let mut collector = collect(&[&["done", "missed"]]);
        let (_, again) = collector.review();
        let case = Case { id: again.together[0].clone(), ..embedded_case("v1/agent/list/pages", &V1).expect("a case") };
        collector.skip(&case, "v1/agent/list/all".to_owned(), "skipped".to_owned());
        let (settled, again) = collector.review();
        assert!(settled.is_empty() && !again.contains(&case.id), "{again:?}");
    }

    #[test]
    fn an_unmet_step_of_the_first_case_of_a_conversation_needs_no_run_alone() {
        for outcome in ["contradicted", "missed"] {
            let (settled, again) = collect(&[&[outcome, outcome]]).review();
            assert_eq!((settled.len(), again.together.len(), again.alone.len()), (2, 0, 0), "{outcome}");
        }
        for outcome in ["timed-out", "ended", "login-needed"] {
            let (_, again) = collect(&[&[outcome]]).review();
            assert_eq!((again.together.len(), again.alone.len()), (0, 1), "{outcome}: one process may be slow");
            let (settled, again) = collect(&[&[outcome], &[outcome]]).review();
            assert_eq!((settled.len(), again.together.len(), again.alone.len()), (2, 0, 0), "{outcome}");
        }
    }
}
