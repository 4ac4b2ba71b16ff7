//! The progress of a run, in a line for people.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::event::SuiteEvent;
use super::visible::in_one_line;
use super::words::count;
use crate::results::InterimResults;
use crate::verdict::Verdict;

/// The time after which a running case is named; hardly any case takes that long.
const SLOW: Duration = Duration::from_secs(5);

/// The progress of a run.
#[derive(Debug, Default)]
pub struct RunProgress {
    cases: usize,
    done: usize,
    /// The violated MUSTs: one for each failed case, since many cases show the same mistake.
    failed: BTreeSet<String>,
    /// The cases that are done but not checked yet.
    played: BTreeSet<String>,
    /// The running cases with their starts, the oldest first.
    running: Vec<(String, Instant)>,
}

impl RunProgress {
    /// Handles the next event, which came at that moment.
    pub fn event(&mut self, event: &SuiteEvent<'_>, now: Instant) {
        match event {
            SuiteEvent::Begin(begin) => *self = Self { cases: begin.cases, ..Self::default() },
            SuiteEvent::Start(case) => {
                // The case runs again alone.
                self.done -= usize::from(self.played.remove(*case));
                self.running.push((in_one_line(case), now));
            }
            SuiteEvent::Played(case) => {
                self.end(case);
                self.played.insert((*case).to_owned());
            }
            SuiteEvent::Case(case, _) => {
                if case.verdict == Verdict::Fail {
                    self.failed.insert(case.reason.clone().unwrap_or_default());
                }
                if !self.played.remove(&case.id) {
                    self.end(&case.id);
                }
            }
            SuiteEvent::First(_) | SuiteEvent::Chart(..) => {}
            SuiteEvent::Run(_) => self.running.clear(),
        }
    }

    fn end(&mut self, case: &str) {
        self.done += 1;
        self.running.retain(|(running, _)| *running != in_one_line(case));
    }

    /// Returns the number of violated MUSTs so far as a phrase that follows others; empty if none is.
    fn failures(&self) -> String {
        match self.failed.len() {
            0 => String::new(),
            1 => ", 1 MUST failed".to_owned(),
            several => format!(", {several} MUSTs failed"),
        }
    }

    /// Returns the running cases and the progress, in at most `width` characters; `None` when nothing runs.
    pub fn line(&self, now: Instant, width: usize) -> Option<String> {
        let (case, since) = self.running.first()?;
        let digits = self.cases.to_string().len();
        let took = now.duration_since(*since);
        let took = if took < SLOW { String::new() } else { format!("  {} s", took.as_secs()) };
        let (done, cases, running, failures) = (self.done, self.cases, self.running.len(), self.failures());
        let line = format!("[{done:>digits$}/{cases}] {running} running{failures}  {case}{took}");
        Some(line.chars().take(width).collect())
    }

    /// Returns the same as a separate line for a log, with the names of cases that have been running for long.
    pub fn sentence(&self, now: Instant) -> Option<String> {
        let slow = self.running.iter().map(|(case, since)| (case, now.duration_since(*since)));
        let slow = slow.filter(|(_, took)| *took >= SLOW);
        let slow: String = slow.map(|(case, took)| format!(", {case} for {} s", took.as_secs())).collect();
        let running = self.running.len();
        let (done, cases, failures) = (self.done, self.cases, self.failures());
        (running > 0).then(|| format!("{done} of {cases} cases are done{failures}, {running} running{slow}"))
    }
}

/// Returns the first results of a run as a line for people, with the time since the run began.
pub fn first_results(interim: &InterimResults, took: Duration) -> String {
    let InterimResults { cases, passed, failed } = interim;
    let passed = count(*passed, "requirement passes", "requirements pass");
    let failed = match failed.as_slice() {
        [] => "none fails".to_owned(),
        [one] => format!("1 MUST failure so far, to be confirmed in a fresh process: {one}"),
        several => {
            format!("{} MUST failures so far, to be confirmed in fresh processes: {}", several.len(), few(several))
        }
    };
    format!(
        "first results after {:.0} s and {}: {passed}, {failed}",
        took.as_secs_f64(),
        count(*cases, "case", "cases")
    )
}

/// Lists the first of some names, and the number of the others.
fn few(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let others = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).map(|name| in_one_line(name)).collect::<Vec<_>>().join(", ");
    if others == 0 { shown } else { format!("{shown} and {others} more") }
}

/// Decides when a log gets the progress: after ten seconds, then with each tenth of the run or each minute, and never
/// more often than every ten seconds.
#[derive(Debug)]
pub struct Pace {
    shown: Option<usize>,
    last: Instant,
}

impl Pace {
    const SHORTEST: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_secs(60);

    /// Starts with a run that begins at that moment.
    pub const fn new(begun: Instant) -> Self {
        Self { shown: None, last: begun }
    }

    /// Whether the progress is due now.
    pub fn is_due(&mut self, standing: &RunProgress, now: Instant) -> bool {
        let waited = now.duration_since(self.last);
        let is_news = self.shown.is_none_or(|shown| standing.done.saturating_sub(shown) * 10 >= standing.cases);
        let is_due = waited >= Self::SHORTEST && (is_news || waited >= Self::LONGEST);
        if is_due {
            *self = Self { shown: Some(standing.done), last: now };
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::CaseReport;

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
        assert_eq!(line(SuiteEvent::Case(&case("a", Verdict::Fail), None)), "[1/3] 1 running, 1 MUST failed  b");
        line(SuiteEvent::Played("b"));
        assert_eq!(line(SuiteEvent::Start("b")), "[1/3] 1 running, 1 MUST failed  b", "it runs again");
        line(SuiteEvent::Case(&case("b", Verdict::Pass), None));
        assert_eq!(line(SuiteEvent::Start("c")), "[2/3] 1 running, 1 MUST failed  c");
    }

    #[test]
    fn first_results_name_a_few_failures() {
        let failed = |n: usize| (0..n).map(|n| format!("a.{n}")).collect();
        let line =
            |n| first_results(&InterimResults { cases: 9, passed: 1, failed: failed(n) }, Duration::from_secs(60));
        assert_eq!(
            line(1),
            "first results after 60 s and 9 cases: 1 requirement passes, 1 MUST failure so far, to be confirmed in a fresh process: a.0"
        );
        let many = line(7);
        assert!(
            many.ends_with(
                "7 MUST failures so far, to be confirmed in fresh processes: a.0, a.1, a.2, a.3, a.4 and 2 more"
            ),
            "{many}"
        );
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
        let mut shown = Vec::new();
        for second in 0..200 {
            // The run is fast for half a minute, and then it is stuck.
            let standing = RunProgress { cases: 100, done: second.min(30), ..RunProgress::default() };
            if pace.is_due(&standing, begun + Duration::from_secs(second as u64)) {
                shown.push(second);
            }
        }
        assert_eq!(shown, [10, 20, 30, 90, 150]);
    }
}
