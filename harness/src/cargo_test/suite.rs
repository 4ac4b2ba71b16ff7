//! The cases of one agent as trials: runs each at most once, and turns its verdict into the outcome of a test.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anstream::StripStream;
use libtest_mimic::{Completion, Failed, Trial};

use super::{Agent, Expectation};
use crate::case::model::Case;
use crate::case::{self, Vocabulary};
use crate::diagnostic::{Diagnostic, Look, nearest, render_all};
use crate::report::model::{CaseReport, RequirementReport};
use crate::report::{Collector, TextReport, diagnose};
use crate::requirement::{Catalogue, Level, Party};
use crate::run::run_case;
use crate::verdict::Verdict;

/// All that the trials share.
pub(super) struct Suite {
    agent: Agent,
    cases: Vec<Case>,
    problems: Vec<Diagnostic>,
    /// What came of each case, once it has been run: an expectation may want to know it too.
    results: Vec<OnceLock<CaseResult>>,
}

/// What came of one case.
struct CaseResult {
    report: CaseReport,
    /// The broken requirements, whether they decide or not.
    broken: Vec<RequirementReport>,
    /// Why there was no conversation, if there was none.
    obstacle: Option<String>,
}

type Outcome = Result<Completion, Failed>;

impl Suite {
    pub(super) fn load(agent: Agent) -> Self {
        let (mut cases, mut problems) = case::embedded_and(agent.case_dir.as_deref(), &Vocabulary::v1());
        cases.retain(|case| case.subject == Party::Agent);
        problems.retain(Diagnostic::is_error);
        let results = cases.iter().map(|_| OnceLock::new()).collect();
        Self { agent, cases, problems, results }
    }

    pub(super) fn trials(self) -> Vec<Trial> {
        let suite = Arc::new(self);
        let mut trials = Vec::new();
        for (index, case) in suite.cases.iter().enumerate() {
            let suite = Arc::clone(&suite);
            trials.push(Trial::ignorable_test(&case.id, move || suite.case(index)).with_kind("case"));
        }
        for expectation in suite.agent.expected.iter().filter(|expectation| !suite.has_case(&expectation.id)) {
            let (expectation, suite) = (expectation.clone(), Arc::clone(&suite));
            let name = format!("expected/{}", expectation.id);
            trials.push(Trial::test(name, move || suite.expectation(&expectation)).with_kind("expectation"));
        }
        if !suite.problems.is_empty() {
            let mistakes = render_all(&suite.problems, Look::Plain);
            trials.push(Trial::test("cases/lint", move || Err(mistakes.into())).with_kind("lint"));
        }
        trials
    }

    fn has_case(&self, id: &str) -> bool {
        self.cases.iter().any(|case| case.id == id)
    }

    fn expected(&self, id: &str) -> Option<&str> {
        self.agent
            .expected
            .iter()
            .find(|expectation| expectation.id == id)
            .map(|expectation| expectation.reason.as_str())
    }

    /// Whether the case went as it should.
    fn case(&self, index: usize) -> Outcome {
        if let Some(fault) = &self.agent.fault {
            return Err(fault.into());
        }
        let result = self.result(index);
        let CaseReport { id, verdict, .. } = &result.report;
        let reason = result.report.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or_default();
        let expected = self.expected(id);
        if let Some(obstacle) = &result.obstacle {
            return Err(obstacle.into());
        }
        if *verdict == Verdict::HarnessError {
            return Err(format!("the harness itself failed, and nothing is said about the agent: {reason}").into());
        }
        let broken: Vec<&RequirementReport> =
            result.broken.iter().filter(|broken| self.decides(broken.level)).collect();
        if !broken.is_empty() {
            return self.broken(index, &broken, expected);
        }
        match (verdict, expected) {
            (Verdict::Pass | Verdict::NotApplicable, Some(why)) => {
                Err(stale(id, why, &format!("it ends with {verdict}")))
            }
            (Verdict::Pass | Verdict::Fail | Verdict::HarnessError, _) => Ok(Completion::Completed),
            (Verdict::NotApplicable, None) => Ok(Completion::ignored_with(format!("not applicable: {reason}"))),
            (Verdict::Inconclusive | Verdict::NotExercised, _) if self.agent.deny_inconclusive => {
                Err(format!("{verdict}: {reason}\n  reproduce: acp-conformance agent --case {id} {}", self.reproduce())
                    .into())
            }
            (Verdict::Inconclusive | Verdict::NotExercised, _) => {
                Ok(Completion::ignored_with(format!("{verdict}: {reason}")))
            }
        }
    }

    /// A case with broken requirements: fine as long as all of them are expected.
    fn broken(&self, index: usize, broken: &[&RequirementReport], case_reason: Option<&str>) -> Outcome {
        let surprise = |broken: &&&RequirementReport| case_reason.is_none() && self.expected(&broken.id).is_none();
        let surprises: Vec<RequirementReport> = broken.iter().filter(surprise).copied().cloned().collect();
        if surprises.is_empty() {
            let reasons = broken.iter().filter_map(|broken| {
                let reason = self.expected(&broken.id).or(case_reason)?;
                Some(format!("{} is expected to fail: {reason}", broken.id))
            });
            return Ok(Completion::ignored_with(reasons.collect::<Vec<_>>().join("; ")));
        }
        let mut text = StripStream::new(Vec::new());
        let written = TextReport::new(&mut text, self.reproduce(), false).failures(&surprises);
        written.map_err(|error| Failed::from(format!("the failure could not be shown: {error}")))?;
        let text = String::from_utf8_lossy(&text.into_inner()).into_owned();
        Err(format!("{}\n{text}", self.cases[index].title).into())
    }

    /// Whether an expectation about a requirement is still true.
    fn expectation(&self, expectation: &Expectation) -> Result<(), Failed> {
        let Expectation { id, reason } = expectation;
        let known = Catalogue::v1().find(id).filter(|requirement| requirement.party == Party::Agent);
        if known.is_none() {
            let requirements = Catalogue::v1().iter().filter(|r| r.party == Party::Agent).map(|r| r.id.as_str());
            let near = nearest(id, requirements.chain(self.cases.iter().map(|case| case.id.as_str())));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("there is neither a case nor a requirement of agents `{id}`{hint}").into());
        }
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        // Those that were written for it are the likely ones; the sort keeps the order of the rest.
        order.sort_by_key(|&index| !self.cases[index].requirements.contains(id));
        if self.agent.fault.is_some() || order.into_iter().any(|index| self.result(index).breaks(id)) {
            return Ok(());
        }
        Err(stale(id, reason, "no case breaks it"))
    }

    fn result(&self, index: usize) -> &CaseResult {
        self.results[index].get_or_init(|| self.run(&self.cases[index]))
    }

    fn run(&self, case: &Case) -> CaseResult {
        let started = Instant::now();
        let trace = run_case(case, &self.agent.subject);
        let mut collector = Collector::new(Party::Agent, self.agent.subject.command.clone());
        let report = collector.add(&trace, started.elapsed(), None);
        let mut broken = collector.finish(started.elapsed(), self.agent.strict).requirements;
        broken.retain(|requirement| requirement.verdict == Verdict::Fail);
        let obstacle = diagnose(&trace).filter(|_| report.verdict == Verdict::Inconclusive);
        CaseResult { report, broken, obstacle }
    }

    /// Whether a broken requirement of this level fails a case.
    fn decides(&self, level: Level) -> bool {
        level == Level::Must || (self.agent.strict && level == Level::Should)
    }

    /// The arguments with which the program of the harness does the same. Values may be secret, so only names are shown.
    fn reproduce(&self) -> String {
        let subject = &self.agent.subject;
        let mut words: Vec<String> = subject.env.keys().map(|name| format!("--env {name}=\"${name}\"")).collect();
        words.extend(
            self.agent.case_dir.as_ref().map(|dir| format!("--cases {}", shell_words::quote(&dir.to_string_lossy()))),
        );
        words.extend(subject.keep_home.then(|| "--keep-home".to_owned()));
        words.push(format!("-- {}", shell_words::join(&subject.command)));
        words.join(" ")
    }
}

impl CaseResult {
    fn breaks(&self, requirement: &str) -> bool {
        self.broken.iter().any(|broken| broken.id == requirement)
    }
}

fn stale(id: &str, reason: &str, seen: &str) -> Failed {
    format!("{id} is expected to fail ({reason}), and {seen}; take the expectation out").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDSHAKE: &str = "v1/agent/init/handshake";

    /// Answers the initialize and the fence of the handshake; the version is what is put in.
    fn agent(version: &str) -> Agent {
        let hello = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":{version}}}}}"#);
        let fence = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
        Agent::command(["sh", "-c", &format!("read a; echo '{hello}'; read b; echo '{fence}'; read c")])
    }

    /// What the test of the handshake says.
    fn tested(agent: Agent) -> Result<String, String> {
        let suite = Suite::load(agent);
        let index = suite.cases.iter().position(|case| case.id == HANDSHAKE).expect("the case is embedded");
        match suite.case(index) {
            Ok(Completion::Completed) => Ok(String::new()),
            Ok(Completion::Ignored { reason }) => Ok(reason.unwrap_or_default()),
            Err(failed) => Err(failed.message().unwrap_or_default().to_owned()),
        }
    }

    fn expectation(agent: Agent) -> Result<(), String> {
        let suite = Suite::load(agent);
        let expectation = suite.agent.expected[0].clone();
        suite.expectation(&expectation).map_err(|failed| failed.message().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_verdict_becomes_the_outcome_of_a_test() {
        assert_eq!(tested(agent("1")), Ok(String::new()));
        let failure = tested(agent("\"1\"").env("KEY", "secret")).expect_err("the version is a text");
        for part in
            ["init.version-integer.agent", "MUST", "#", "--case v1/agent/init/handshake --env KEY=\"$KEY\" -- sh -c"]
        {
            assert!(failure.contains(part), "{part}: {failure}");
        }
        assert!(!failure.contains("secret") && !failure.contains('\u{1b}'), "{failure}");
    }

    #[test]
    fn an_agent_that_is_none_fails() {
        for words in [&["sh", "-c", "exit 3"][..], &["no-such-program-anywhere"], &[]] {
            assert!(tested(Agent::command(words.iter().copied())).is_err(), "{words:?}");
        }
    }

    #[test]
    fn an_expected_failure_is_ignored_and_only_that_one() {
        let version = |id| agent("\"1\"").expect_failure(id, "known");
        assert!(tested(version(HANDSHAKE)).is_ok_and(|reason| reason.contains("expected to fail: known")));
        assert!(tested(version("cancel.stop-reason")).is_err());
        let stale = tested(agent("1").expect_failure(HANDSHAKE, "known")).expect_err("it passes");
        assert!(stale.contains("take the expectation out"), "{stale}");
    }

    #[test]
    fn an_expectation_about_a_requirement_has_to_be_true_somewhere() {
        assert_eq!(expectation(agent("\"1\"").expect_failure("init.version-integer.agent", "known")), Ok(()));
        let misspelt =
            expectation(agent("1").expect_failure("cancel.stop-raeson", "known")).expect_err("it is misspelt");
        assert!(misspelt.contains("did you mean `cancel.stop-reason`?"), "{misspelt}");
    }
}
