//! Checks a trace event by event and case by case, and keeps only the parts that reports need.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::short_lines::short_line;
use super::step::ended_unexplained;
use super::unasked_exit::unasked_exit;
use super::{CaseVerdict, Finding, Judge, Judgement, Tally, judge_case};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party};
use crate::trace::{CaseInfo, CaseMark, Event, FENCE, Header, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};
use crate::verdict::Verdict;

/// Checks a trace event by event.
pub struct JudgingSession {
    judge: Judge,
    header: Header,
    /// The cases so far, the current one last; a trace without marks is one.
    cases: Vec<CaseOutline>,
    /// The methods of the fences that are requests of the protocol, by the events of these requests.
    marked: BTreeMap<usize, String>,
}

/// The judgement on a trace of one case, or on one of several cases in a trace; without the lines of the trace.
#[derive(Debug, Clone)]
pub struct JudgedTrace {
    /// The findings.
    pub judgement: Judgement,
    /// The other facts about the case.
    outline: CaseOutline,
}

/// The facts that are kept of a case while its trace is checked.
#[derive(Debug, Clone)]
struct CaseOutline {
    /// The header, with the events that are not lines, and with [`short_line`]s.
    trace: Trace,
    /// The number of these lines.
    lines: usize,
    /// The times of the first and of the last event, in microseconds since the start of the trace.
    first_us: u64,
    last_us: u64,
    unattributed: usize,
    fences: BTreeMap<String, usize>,
    /// The last lines on standard error of the current process, or of the first one that exited without being asked
    /// to.
    stderr: VecDeque<String>,
}

/// The most lines on standard error that are kept of a case.
const LAST_LINES: usize = 8;

/// The most characters of a line that are kept.
const LONGEST_LAST_LINE: usize = 300;

/// The name of a fence that only waited.
pub const TIME_LIMIT: &str = "time limit";

/// The most events other than lines that are kept; a case has far fewer.
const MOST_OUTLINED: usize = 10_000;

/// The most short lines that are kept of a case.
const MOST_LINES: usize = 1000;

impl CaseOutline {
    const fn new(header: Header, first_us: u64) -> Self {
        let trace = Trace { header, events: Vec::new() };
        Self {
            trace,
            lines: 0,
            first_us,
            last_us: first_us,
            unattributed: 0,
            fences: BTreeMap::new(),
            stderr: VecDeque::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        self.last_us = event.us;
        self.unattributed += usize::from(matches!(event.what, What::Unattributed(_)));
        match &event.what {
            What::Process(ProcessEvent::Spawned { .. }) if unasked_exit(&self.trace.events).is_none() => {
                self.stderr.clear();
            }
            What::Stderr(bytes) => self.note_stderr(bytes),
            _ => {}
        }
        if matches!(event.what, What::Step(_) | What::Process(_)) && self.trace.events.len() < MOST_OUTLINED {
            self.trace.events.push(event.clone());
        }
        let subject = self.trace.header.subject.filter(|_| self.trace.header.case.is_some() && self.lines < MOST_LINES);
        if let Some(line) = subject.and_then(|subject| short_line(event, subject)) {
            self.lines += 1;
            self.trace.events.push(line);
        }
    }

    fn note_stderr(&mut self, bytes: &[u8]) {
        let starts = self.trace.events.iter().rev().map(|event| &event.what);
        let mut processes = starts.filter(|what| matches!(what, What::Process(ProcessEvent::Spawned { .. })));
        // The lines of a later process explain nothing.
        if processes.nth(1).is_some() && unasked_exit(&self.trace.events).is_some() {
            return;
        }
        if self.stderr.len() == LAST_LINES {
            self.stderr.pop_front();
        }
        self.stderr.push_back(String::from_utf8_lossy(bytes).chars().take(LONGEST_LAST_LINE).collect());
    }
}

impl JudgingSession {
    /// Starts with the header of a trace.
    pub fn new(header: &Header, edition: &'static Edition) -> Self {
        let judge = Judge::new(header, edition);
        let cases = vec![CaseOutline::new(header.clone(), 0)];
        Self { judge, header: header.clone(), cases, marked: BTreeMap::new() }
    }

    /// Processes the next event.
    pub fn event(&mut self, event: &Event) {
        self.judge.event(event);
        if let What::Case(CaseMark::Begins(case)) = &event.what {
            self.begin(case, event.us);
        }
        self.note_fence(event);
        if let Some(case) = self.cases.last_mut() {
            case.event(event);
        }
    }

    fn begin(&mut self, case: &CaseInfo, us: u64) {
        if self.cases.iter().all(|case| case.trace.header.case.is_none()) {
            // The first case begins with the first event.
            self.cases.clear();
        }
        self.cases.push(CaseOutline::new(self.header.of_case(case), us));
    }

    fn note_fence(&mut self, event: &Event) {
        match &event.what {
            // The mark comes directly before its request.
            What::Fence(method) if self.marked.len() < MOST_OUTLINED => {
                self.marked.insert(event.n + 1, method.clone());
            }
            What::Step(step) if step.kind == StepKind::Fence => {
                let marked = step.events.first().and_then(|request| self.marked.remove(request));
                let means = match step.outcome {
                    Outcome::Done => marked.unwrap_or_else(|| FENCE.to_owned()),
                    Outcome::Quiet => TIME_LIMIT.to_owned(),
                    _ => return,
                };
                if let Some(case) = self.cases.last_mut() {
                    *case.fences.entry(means).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    /// Returns the number of failures so far, and the requirements that failed.
    pub fn failed(&self) -> (usize, impl Iterator<Item = (&str, &Tally)>) {
        self.judge.failed()
    }

    /// Returns the requirements that failed in the case before the current one, also at its end.
    pub fn failed_in_last_case(&self) -> impl Iterator<Item = &str> {
        self.judge.failed_in_last_case()
    }

    /// Returns the version that the current connection agreed on, if it exists and is not that of the edition.
    pub const fn other_version(&self) -> Option<u64> {
        self.judge.other_version()
    }

    /// Ends a recording, or the trace of a single case. If there are several cases, returns the last one; see
    /// [`Self::close_by_case`].
    pub fn close(self) -> JudgedTrace {
        let last = self.close_by_case().pop();
        last.unwrap_or_else(|| unreachable!("a trace has at least one case"))
    }

    /// Ends the trace, and returns the judgement on each of its cases, in their order; there is at least one.
    pub fn close_by_case(self) -> Vec<JudgedTrace> {
        let judgements = self.judge.finish_by_case();
        let cases = judgements.into_iter().zip(self.cases);
        cases.map(|(judgement, outline)| JudgedTrace { judgement, outline }).collect()
    }
}

impl JudgedTrace {
    /// Returns the positions of the events that prove a finding, for a second reading of the recording.
    pub fn evidence(&self) -> BTreeSet<usize> {
        let findings = self.judgement.tallies.values().flat_map(|tally| &tally.findings);
        findings.flat_map(|finding| finding.events.iter().copied()).collect()
    }

    /// Returns the steps of the case, in their order.
    pub fn steps(&self) -> impl Iterator<Item = &StepEvent> {
        self.outline.trace.events.iter().filter_map(step_of)
    }

    /// Returns the header of the trace.
    pub const fn header(&self) -> &Header {
        &self.outline.trace.header
    }

    /// Returns the line in the case file of the step at the time of the first of these events.
    ///
    /// Steps are recorded when they are over, and forbidden lines at the end. So it is the step that is itself the
    /// evidence or names the event, or else the next step.
    pub fn line_of(&self, evidence: &[usize]) -> Option<usize> {
        let deciding = *evidence.first()?;
        let steps = || {
            let written = |event: &&Event| step_of(event).is_some_and(|step| step.line > 0);
            self.outline.trace.events.iter().filter(written).filter_map(|event| Some((event.n, step_of(event)?)))
        };
        let evident = evidence.iter().find_map(|n| steps().find(|(at, _)| at == n));
        let naming = || steps().find(|(_, step)| step.events.first() == Some(&deciding));
        let next = || steps().find(|(at, step)| *at > deciding && step.kind != StepKind::Never);
        let (_, step) = evident.or_else(naming).or_else(next)?;
        step.include.is_none().then_some(step.line)
    }

    /// Returns the time that the case took.
    pub const fn took(&self) -> Duration {
        Duration::from_micros(self.outline.last_us.saturating_sub(self.outline.first_us))
    }

    /// The versions that connections negotiated and this edition does not cover.
    pub fn other_versions(&self) -> impl Iterator<Item = u64> {
        self.judgement.not_covered.iter().map(|other| other.version)
    }

    /// Returns the number of starts of the subject in this part of the trace.
    pub fn starts(&self) -> usize {
        let spawned = |event: &&Event| matches!(event.what, What::Process(ProcessEvent::Spawned { .. }));
        self.outline.trace.events.iter().filter(spawned).count()
    }

    /// Returns the last lines on standard error, if the subject exited in the case without being asked to. A client may
    /// have its reasons to exit, unless it was in the middle of something.
    pub fn last_stderr(&self, party: Party) -> Vec<String> {
        let exited = match party {
            Party::Agent => unasked_exit(&self.outline.trace.events).is_some(),
            Party::Client => self.steps().any(|step| ended_unexplained(step, party)),
        };
        if exited { self.outline.stderr.iter().cloned().collect() } else { Vec::new() }
    }

    /// Returns the number of lines without a known sender.
    pub const fn unattributed(&self) -> usize {
        self.outline.unattributed
    }

    /// Returns the proofs of absence, with their number.
    pub const fn fences(&self) -> &BTreeMap<String, usize> {
        &self.outline.fences
    }

    /// Returns the verdict on the trace as a case, for one party.
    pub fn verdict(&self, party: Party, catalogue: &Catalogue) -> CaseVerdict {
        let mut outline = self.outline.trace.clone();
        outline.header.subject = Some(party);
        judge_case(&outline, &self.judgement, catalogue)
    }

    /// Returns the same with other findings.
    pub fn with_findings(&self, change: impl Fn(&str, &Finding) -> Finding) -> Self {
        let mut changed = self.clone();
        for (id, tally) in &mut changed.judgement.tallies {
            tally.findings.iter_mut().for_each(|finding| *finding = change(id, finding));
        }
        changed
    }

    /// Adds a finding of another run of the case.
    pub fn add_finding(&mut self, requirement: &str, finding: Finding) {
        self.judgement.tallies.entry(requirement.to_owned()).or_default().add(finding);
    }

    /// Returns the same verdict without violations of requirements that the case does not name.
    pub fn own_verdict(&self, party: Party, catalogue: &Catalogue) -> CaseVerdict {
        let mut own = self.clone();
        let foreign = own.judgement.tallies.iter_mut().filter(|(id, _)| !self.header().requirements.contains(id));
        foreign.for_each(|(_, tally)| tally.findings.retain(|finding| finding.verdict != Verdict::Fail));
        own.verdict(party, catalogue)
    }
}

const fn step_of(event: &Event) -> Option<&StepEvent> {
    if let What::Step(step) = &event.what { Some(step) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Cause;
    use crate::testing::v1;
    use crate::wire::LineEnd;

    fn step(n: usize, kind: StepKind, line: usize, events: &[usize]) -> Event {
        let step = StepEvent {
            line,
            include: (line >= 100).then(|| "session".to_owned()),
            events: events.to_vec(),
            ..StepEvent::new(kind, Outcome::Done)
        };
        Event { n, us: 0, connection: 0, what: What::Step(step) }
    }

    #[test]
    fn a_finding_is_where_the_transcript_was() {
        let mut session = JudgingSession::new(&Header::of_recording("v1@2026-11-20", Vec::new()), v1());
        let steps = [
            step(3, StepKind::Must, 105, &[2]),
            step(6, StepKind::Must, 9, &[5]),
            step(9, StepKind::Fence, 0, &[]),
            step(10, StepKind::Never, 7, &[8]),
            step(11, StepKind::Never, 8, &[]),
        ];
        steps.iter().for_each(|event| session.event(event));
        let judged = session.close();
        assert_eq!(judged.line_of(&[5, 2]), Some(9), "the step that names the event");
        assert_eq!(judged.line_of(&[4]), Some(9), "the step that was awaited");
        assert_eq!(judged.line_of(&[4, 10]), Some(7), "the step that is evidence itself");
        assert_eq!(judged.line_of(&[8]), Some(7), "a step that forbids it is noted at the end");
        assert_eq!(judged.line_of(&[2]), None, "an include is another file");
        assert_eq!(judged.line_of(&[7]), None, "what forbids something else does not come next");
        assert_eq!(judged.line_of(&[]), None);
    }

    /// Two sessions with a turn each. The question about the second tool call of the first one comes in the other; only
    /// the end of the case shows that no update explains it.
    const QUESTION_ELSEWHERE: &str = r#"
        > {"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
        < {"id":0,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}
        > {"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
        < {"id":1,"result":{"sessionId":"s"}}
        > {"id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
        < {"id":2,"result":{"sessionId":"t"}}
        > {"id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"a"}]}}
        > {"id":4,"method":"session/prompt","params":{"sessionId":"t","prompt":[{"type":"text","text":"b"}]}}
        < {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run"}}}
        < {"id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}}
        > {"id":0,"result":{"outcome":{"outcome":"cancelled"}}}
        < {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"d","title":"Run"}}}
        < {"id":1,"method":"session/request_permission","params":{"sessionId":"t","toolCall":{"toolCallId":"d"},"options":[]}}
        > {"id":1,"result":{"outcome":{"outcome":"cancelled"}}}
        < {"id":3,"result":{"stopReason":"end_turn"}}
        < {"id":4,"result":{"stopReason":"end_turn"}}"#;

    #[test]
    fn failure_that_the_end_of_a_case_decides_is_known_when_the_next_one_begins() {
        let begins = |id: &str| {
            let (id, file) = (id.to_owned(), None);
            What::Case(CaseMark::Begins(CaseInfo { id, title: None, file, requirements: Vec::new() }))
        };
        let lines = QUESTION_ELSEWHERE.trim().lines().map(|line| {
            let (party, message) = line.trim().split_once(' ').expect("a party");
            let from = if party == ">" { Party::Client } else { Party::Agent };
            let bytes = message.replacen('{', r#"{"jsonrpc":"2.0","#, 1).into_bytes();
            What::Line { from, bytes, end: LineEnd::Lf, deliberate: false }
        });
        let header = Header { subject: Some(Party::Agent), ..Header::of_recording("v1@2026-11-20", Vec::new()) };
        let mut session = JudgingSession::new(&header, v1());
        let mut n = 0;
        let mut show = |session: &mut JudgingSession, what| {
            session.event(&Event { n, us: 0, connection: 0, what });
            n += 1;
        };
        std::iter::once(begins("first")).chain(lines).for_each(|what| show(&mut session, what));
        let is_new = |id: &&str| *id == "session.new.independent";
        assert_eq!(session.failed().1.map(|(id, _)| id).find(is_new), None, "the case goes on");
        show(&mut session, begins("second"));
        assert_eq!(session.failed_in_last_case().find(is_new), Some("session.new.independent"));
        show(&mut session, begins("third"));
        assert_eq!(session.failed_in_last_case().next(), None, "the second one has no failure");
    }

    #[test]
    fn session_refused_beside_one_of_an_earlier_case_is_no_failure() {
        let fails = |between: &str| {
            let lines = [
                r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","conversation":1,"subject":"agent"}"#,
                r#"{"n":0,"us":0,"case":{"begins":{"id":"v1/agent/x/first"}}}"#,
                r#"{"n":1,"us":1,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"}"#,
                r#"{"n":2,"us":2,"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}"}"#,
                r#"{"n":3,"us":3,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/w\",\"mcpServers\":[]}}"}"#,
                r#"{"n":4,"us":4,"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"sessionId\":\"s\"}}"}"#,
                between,
                r#"{"n":6,"us":6,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/w\",\"mcpServers\":[]}}"}"#,
                r#"{"n":7,"us":7,"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"Too many sessions\"}}"}"#,
                r#"{"n":8,"us":8,"step":{"kind":"must","line":9,"text":"","outcome":"contradicted","events":[7],"decides":["session.new.returns-id"]}}"#,
            ];
            let trace = Trace::read(lines.join("\n").as_bytes()).expect("a trace");
            let mut session = JudgingSession::new(&trace.header, v1());
            trace.events.iter().for_each(|event| session.event(event));
            session.failed().1.any(|(id, _)| id == "session.new.returns-id")
        };
        assert!(!fails(r#"{"n":5,"us":5,"case":{"begins":{"id":"v1/agent/x/second"}}}"#));
        assert!(fails(r#"{"n":5,"us":5,"stderr":"the same case"}"#));
    }

    #[test]
    fn a_refused_prompt_explains_a_case_whose_lines_are_gone() {
        let lines = [
            r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"v1/agent/x/y"}"#,
            r#"{"n":0,"us":0,"from":"client","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\",\"params\":{}}"}"#,
            r#"{"n":1,"us":1,"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"busy\"}}"}"#,
            r#"{"n":2,"us":2,"step":{"kind":"optional","line":8,"text":"","outcome":"missed","expected":{"message":{"notification":"session/update"}},"observed":"nothing","intent":"read-file"}}"#,
        ];
        let trace = Trace::read(lines.join("\n").as_bytes()).expect("a trace");
        let mut session = JudgingSession::new(&trace.header, v1());
        trace.events.iter().for_each(|event| session.event(event));
        let cause = session.close().verdict(Party::Agent, &v1().catalogue).cause;
        let (method, message) = ("session/prompt".to_owned(), Some("busy".to_owned()));
        assert_eq!(cause, Some(Cause::Refused { method, code: Some(-32603), message }));
    }
}
