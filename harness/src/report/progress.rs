//! How far a run is, in a line for people.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::event::SuiteEvent;
use super::visible::in_one_line;
use crate::verdict::Verdict;

/// From when on it is said how long a case has been running; hardly any takes as long.
const SLOW: Duration = Duration::from_secs(5);

/// How far a run is.
#[derive(Debug, Default)]
pub struct RunProgress {
    cases: usize,
    done: usize,
    failed: usize,
    /// Those that are done and not judged yet.
    played: BTreeSet<String>,
    /// What runs and since when, the oldest first.
    running: Vec<(String, Instant)>,
}

impl RunProgress {
    /// Takes in the next event, which came at that moment.
    pub fn event(&mut self, event: &SuiteEvent<'_>, now: Instant) {
        match event {
            SuiteEvent::Begin(begin) => *self = Self { cases: begin.cases, ..Self::default() },
            SuiteEvent::Start(case) => {
                // It runs again alone.
                self.done -= usize::from(self.played.remove(*case));
                self.running.push((in_one_line(case), now));
            }
            SuiteEvent::Played(case) => {
                self.end(case);
                self.played.insert((*case).to_owned());
            }
            SuiteEvent::Case(case, _) => {
                self.failed += usize::from(case.verdict == Verdict::Fail);
                if !self.played.remove(&case.id) {
                    self.end(&case.id);
                }
            }
            SuiteEvent::Chart(..) => {}
            SuiteEvent::Run(_) => self.running.clear(),
        }
    }

    fn end(&mut self, case: &str) {
        self.done += 1;
        self.running.retain(|(running, _)| *running != in_one_line(case));
    }

    /// How many cases failed so far, in words that follow others; nothing if none did.
    fn failures(&self) -> String {
        if self.failed == 0 { String::new() } else { format!(", {} failed", self.failed) }
    }

    /// What runs now and how far it is, in at most so many characters; nothing when nothing runs.
    #[must_use]
    pub fn line(&self, now: Instant, width: usize) -> Option<String> {
        let (case, since) = self.running.first()?;
        let digits = self.cases.to_string().len();
        let took = now.duration_since(*since);
        let took = if took < SLOW { String::new() } else { format!("  {} s", took.as_secs()) };
        let (done, cases, running, failures) = (self.done, self.cases, self.running.len(), self.failures());
        let line = format!("[{done:>digits$}/{cases}] {running} running{failures}  {case}{took}");
        Some(line.chars().take(width).collect())
    }

    /// The same for a log, where it stands alone; cases are named that have been running for long.
    #[must_use]
    pub fn sentence(&self, now: Instant) -> Option<String> {
        let slow = self.running.iter().map(|(case, since)| (case, now.duration_since(*since)));
        let slow = slow.filter(|(_, took)| *took >= SLOW);
        let slow: String = slow.map(|(case, took)| format!(", {case} for {} s", took.as_secs())).collect();
        let running = self.running.len();
        let (done, cases, failures) = (self.done, self.cases, self.failures());
        (running > 0).then(|| format!("{done} of {cases} cases are done{failures}, {running} running{slow}"))
    }
}

/// When a log is told how far a run is: after ten seconds, then with each tenth of the run or each minute, and never more
/// often than every ten seconds.
#[derive(Debug)]
pub struct Pace {
    told: Option<usize>,
    last: Instant,
}

impl Pace {
    const SHORTEST: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_secs(60);

    /// A run that begins at that moment.
    #[must_use]
    pub const fn new(begun: Instant) -> Self {
        Self { told: None, last: begun }
    }

    /// Whether something is to be said now.
    pub fn is_due(&mut self, standing: &RunProgress, now: Instant) -> bool {
        let waited = now.duration_since(self.last);
        let is_news = self.told.is_none_or(|told| (standing.done - told) * 10 >= standing.cases);
        let is_due = waited >= Self::SHORTEST && (is_news || waited >= Self::LONGEST);
        if is_due {
            *self = Self { told: Some(standing.done), last: now };
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::CaseReport;

    fn case(id: &str, verdict: Verdict) -> CaseReport {
        let case = serde_json::json!({ "id": id, "verdict": verdict, "durationMs": 1 });
        serde_json::from_value(case).expect("a case")
    }

    fn running(begun: Instant) -> RunProgress {
        let mut standing = RunProgress { cases: 120, done: 9, ..RunProgress::default() };
        standing.event(&SuiteEvent::Start("v1/agent/fs/read"), begun);
        standing.event(&SuiteEvent::Start("v1/agent/fs/write"), begun + Duration::from_secs(3));
        standing
    }

    #[test]
    fn the_oldest_case_is_named_and_timed_once_it_is_slow() {
        let begun = Instant::now();
        let standing = running(begun);
        let at = |seconds| standing.line(begun + Duration::from_secs(seconds), 80);
        assert_eq!(at(4).as_deref(), Some("[  9/120] 2 running  v1/agent/fs/read"));
        assert_eq!(at(12).as_deref(), Some("[  9/120] 2 running  v1/agent/fs/read  12 s"));
        assert_eq!(standing.line(begun, 12).as_deref(), Some("[  9/120] 2 "));
        assert_eq!(RunProgress::default().line(begun, 80), None);
    }

    #[test]
    fn cases_of_a_conversation_are_done_before_they_are_judged() {
        let now = Instant::now();
        let mut standing = RunProgress { cases: 3, ..RunProgress::default() };
        let mut line = |event: SuiteEvent<'_>| {
            standing.event(&event, now);
            standing.line(now, 80).unwrap_or_default()
        };
        line(SuiteEvent::Start("a"));
        line(SuiteEvent::Played("a"));
        assert_eq!(line(SuiteEvent::Start("b")), "[1/3] 1 running  b");
        assert_eq!(line(SuiteEvent::Case(&case("a", Verdict::Fail), None)), "[1/3] 1 running, 1 failed  b");
        line(SuiteEvent::Played("b"));
        assert_eq!(line(SuiteEvent::Start("b")), "[1/3] 1 running, 1 failed  b", "it runs again");
        line(SuiteEvent::Case(&case("b", Verdict::Pass), None));
        assert_eq!(line(SuiteEvent::Start("c")), "[2/3] 1 running, 1 failed  c");
    }

    #[test]
    fn a_log_names_every_slow_case() {
        let begun = Instant::now();
        let standing = running(begun);
        let at = |seconds| standing.sentence(begun + Duration::from_secs(seconds)).unwrap_or_default();
        assert_eq!(at(4), "9 of 120 cases are done, 2 running");
        assert_eq!(at(8), "9 of 120 cases are done, 2 running, v1/agent/fs/read for 8 s, v1/agent/fs/write for 5 s");
    }

    #[test]
    fn a_log_is_told_now_and_then() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        let mut told = Vec::new();
        for second in 0..200 {
            // Fast for half a minute, then stuck.
            let standing = RunProgress { cases: 100, done: second.min(30), ..RunProgress::default() };
            if pace.is_due(&standing, begun + Duration::from_secs(second as u64)) {
                told.push(second);
            }
        }
        assert_eq!(told, [10, 20, 30, 90, 150]);
    }
}
