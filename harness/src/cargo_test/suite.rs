//! The cases of one subject as trials: runs each at most once, and turns its verdict into the outcome of a test.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anstream::StripStream;
use libtest_mimic::{Completion, Failed, Trial};

use super::plan::TestPlan;
use crate::case::model::Case;
use crate::case::{self, is_handshake};
use crate::diagnostic::{Diagnostic, RenderStyle, render_all};
use crate::expected::{Expectation, Mistake};
use crate::report::{Detail, TextReport, diagnose, reproduce};
use crate::requirement::{Level, Party, Transport};
use crate::results::{CaseReport, Collector, RequirementReport};
use crate::run::{Subject, run_case};
use crate::verdict::Verdict;

/// The data that all trials share.
pub(super) struct Suite {
    plan: TestPlan,
    /// The subject, or the reason why nothing can run.
    subject: Result<Subject, String>,
    cases: Vec<Case>,
    problems: Vec<Diagnostic>,
    /// The result of each case, once it has run; an expectation may need it too.
    results: Vec<OnceLock<CaseResult>>,
}

/// The result of one case.
struct CaseResult {
    report: CaseReport,
    /// The violated requirements, whether they decide or not.
    broken: Vec<RequirementReport>,
    /// The verdict on each requirement that it exercised.
    verdicts: BTreeMap<String, Verdict>,
    /// The reason for the absence of a conversation; `None` if there was one.
    silence: Option<String>,
}

type TestResult = Result<Completion, Failed>;

impl Suite {
    pub(super) fn load(plan: TestPlan) -> Self {
        let (mut cases, mut problems) =
            case::embedded_and(plan.options.case_dir.as_deref(), Some(plan.party), plan.bundle);
        let catalogue = plan.bundle.catalogue();
        cases.retain(|case| case.subject == plan.party && case.fits(Transport::Stdio, catalogue));
        problems.retain(Diagnostic::is_error);
        let results = cases.iter().map(|_| OnceLock::new()).collect();
        Self { subject: plan.subject(), plan, cases, problems, results }
    }

    pub(super) fn trials(self) -> Vec<Trial> {
        let suite = Arc::new(self);
        let mut trials = Vec::new();
        for (index, case) in suite.cases.iter().enumerate() {
            let suite = Arc::clone(&suite);
            trials.push(Trial::ignorable_test(&case.id, move || suite.case(index)).with_kind("case"));
        }
        for expectation in suite.plan.expected.iter().filter(|expectation| !suite.is_of_a_case(expectation)) {
            let (expectation, suite) = (expectation.clone(), Arc::clone(&suite));
            let name = format!("expected/{expectation}");
            let trial = Trial::ignorable_test(name, move || suite.expectation(&expectation));
            trials.push(trial.with_kind("expectation"));
        }
        if !suite.problems.is_empty() {
            let mistakes = render_all(&suite.problems, RenderStyle::Plain);
            trials.push(Trial::test("cases/lint", move || Err(mistakes.into())).with_kind("lint"));
        }
        trials
    }

    fn party(&self) -> Party {
        self.plan.party
    }

    /// Whether the test of a case itself decides about the expectation.
    fn is_of_a_case(&self, expectation: &Expectation) -> bool {
        expectation.requirement.is_none() && expectation.mistaken_case(&self.case_ids()).is_none()
    }

    fn case_ids(&self) -> Vec<&str> {
        self.cases.iter().map(|case| case.id.as_str()).collect()
    }

    /// Returns the entry that expects this requirement to fail in this case.
    fn expected(&self, requirement: &str, case: &str) -> Option<&Expectation> {
        let mut entries = self.plan.expected.iter();
        entries.find(|entry| entry.covers(requirement, case) && !entry.is_expired(self.plan.today))
    }

    fn case(&self, index: usize) -> TestResult {
        let subject = self.subject.as_ref()?;
        let party = self.party();
        let result = self.result(index, subject);
        let CaseReport { id, verdict, .. } = &result.report;
        let reason = result.report.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or_default();
        if let Some(obstacle) = self.obstacle(index, subject) {
            return Err(obstacle.into());
        }
        if *verdict == Verdict::HarnessError {
            return Err(format!("the harness itself failed, and nothing is said about the {party}: {reason}").into());
        }
        let broken: Vec<&RequirementReport> =
            result.broken.iter().filter(|broken| self.decides(broken.level)).collect();
        if !broken.is_empty() {
            return self.broken(index, &broken);
        }
        let of_the_case = |entry: &&Expectation| entry.requirement.is_none() && entry.case.as_ref() == Some(id);
        if let Some(entry) = self.plan.expected.iter().find(of_the_case) {
            self.held(entry, *verdict)?;
        }
        match verdict {
            Verdict::Pass | Verdict::Fail | Verdict::HarnessError => Ok(Completion::Completed),
            Verdict::NotApplicable => Ok(Completion::ignored_with(format!("not applicable: {reason}"))),
            Verdict::Inconclusive | Verdict::NotExercised if self.plan.deny_inconclusive => {
                let again = reproduce(id, &[], &self.plan.reproduce()).unwrap_or_default();
                Err(format!("{verdict}: {reason}\n  {again}").into())
            }
            Verdict::Inconclusive | Verdict::NotExercised => {
                Ok(Completion::ignored_with(format!("{verdict}: {reason}")))
            }
        }
    }

    /// Returns the result of a case with violations: it passes if all of them are expected.
    fn broken(&self, index: usize, broken: &[&RequirementReport]) -> TestResult {
        let case = &self.cases[index];
        let (expected, surprises): (Vec<_>, Vec<_>) = broken
            .iter()
            .map(|broken| (*broken, self.expected(&broken.id, &case.id)))
            .partition(|(_, it)| it.is_some());
        if surprises.is_empty() {
            let reasons = expected.iter().filter_map(|(broken, entry)| {
                Some(format!("{} is expected to fail: {}", broken.id, entry.as_ref()?.reason))
            });
            return Ok(Completion::ignored_with(reasons.collect::<Vec<_>>().join("; ")));
        }
        let surprises: Vec<RequirementReport> = surprises.into_iter().map(|(broken, _)| broken.clone()).collect();
        let mut text = StripStream::new(Vec::new());
        let written =
            TextReport::new(&mut text, Detail::Cases).reproduced_by(self.plan.reproduce()).failures(&surprises);
        written.map_err(|error| Failed::from(format!("the failure could not be shown: {error}")))?;
        let text = String::from_utf8_lossy(&text.into_inner()).into_owned();
        Err(format!("{}\n{text}", case.title).into())
    }

    /// Returns the result of the test of an expectation about a requirement.
    fn expectation(&self, expectation: &Expectation) -> TestResult {
        let cases = self.case_ids();
        let mistake = expectation
            .mistaken_requirement(Some(self.party()), self.plan.bundle.catalogue())
            .or_else(|| expectation.mistaken_case(&cases));
        if let Some(Mistake { message, help, .. }) = mistake {
            return Err(format!("{message}; {help}").into());
        }
        let Ok(subject) = &self.subject else { return Ok(Completion::Completed) };
        let verdict = self.verdict_on(expectation, subject);
        self.held(expectation, verdict)?;
        match verdict {
            Verdict::Fail => Ok(Completion::Completed),
            other => Ok(Completion::ignored_with(format!("nothing is known of {expectation}: {other}"))),
        }
    }

    /// Returns the verdict on an expectation's requirement in its cases.
    fn verdict_on(&self, expectation: &Expectation, subject: &Subject) -> Verdict {
        let id = expectation.requirement.as_deref().unwrap_or_default();
        let here = |index: &usize| expectation.covers(id, &self.cases[*index].id);
        let mut order: Vec<usize> = (0..self.cases.len()).filter(here).collect();
        // The cases that name it are the likeliest to fail; the sort keeps the order of the others.
        order.sort_by_key(|&index| !self.cases[index].requirements.iter().any(|one| one == id));
        let mut joined = Verdict::NotExercised;
        for index in order {
            let verdict = self.result(index, subject).verdicts.get(id).copied().unwrap_or(Verdict::NotExercised);
            joined = Verdict::over_cases([joined, verdict]);
            if joined == Verdict::Fail {
                break;
            }
        }
        joined
    }

    /// Fails if an expectation is no longer true.
    fn held(&self, expectation: &Expectation, verdict: Verdict) -> Result<(), Failed> {
        let standing = expectation.standing(verdict, true, self.plan.today);
        match expectation.remedy(standing, verdict) {
            Some(remedy) => {
                Err(format!("{expectation} is expected to fail ({}), and {remedy}", expectation.reason).into())
            }
            None => Ok(()),
        }
    }

    fn result(&self, index: usize, subject: &Subject) -> &CaseResult {
        self.results[index].get_or_init(|| self.run(&self.cases[index], subject))
    }

    fn run(&self, case: &Case, subject: &Subject) -> CaseResult {
        let started = Instant::now();
        let trace = run_case(case, subject);
        let mut collector = Collector::new(self.plan.bundle.edition(), self.party(), subject.command.clone());
        collector.add(&trace, None);
        if collector.needs_second_run(&case.id) {
            collector.add(&run_case(case, subject), None);
        }
        let report = collector.case(&case.id).unwrap_or_else(|| unreachable!("the case has run"));
        let mut broken = collector.finish(started.elapsed(), self.plan.options.strict).requirements;
        let decided = broken.iter().filter(|requirement| requirement.verdict != Verdict::NotExercised);
        let verdicts = decided.map(|requirement| (requirement.id.clone(), requirement.verdict)).collect();
        broken.retain(|requirement| requirement.verdict == Verdict::Fail);
        let silence = diagnose(&trace).filter(|_| report.verdict == Verdict::Inconclusive).map(|found| found.text);
        CaseResult { report, broken, verdicts, silence }
    }

    /// Returns why no conversation begins with this program, if the case shows that.
    ///
    /// A case of a client may end before the first prompt without a failure, so for a client the handshake decides.
    fn obstacle(&self, index: usize, subject: &Subject) -> Option<&String> {
        let silence = self.result(index, subject).silence.as_ref()?;
        if self.party() == Party::Agent {
            return Some(silence);
        }
        let first = self.cases.iter().position(|case| is_handshake(&case.id))?;
        self.result(first, subject).silence.as_ref()
    }

    /// Whether a violated requirement of this level fails a case.
    fn decides(&self, level: Level) -> bool {
        level == Level::Must || (self.plan.options.strict && level == Level::Should)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo_test::{Agent, Client};
    use crate::profile::{Means, Setting};

    const HANDSHAKE: &str = "v1/agent/init/handshake";

    /// Answers `initialize` and the fence of the handshake, with this version.
    fn agent(version: &str) -> Agent {
        let hello = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":{version}}}}}"#);
        let fence = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
        Agent::command(["sh", "-c", &format!("read a; echo '{hello}'; read b; echo '{fence}'; read c")])
    }

    /// Runs the test of the handshake.
    fn tested(agent: Agent) -> Result<String, String> {
        handshake_of(agent.0)
    }

    fn handshake_of(plan: TestPlan) -> Result<String, String> {
        let suite = Suite::load(plan);
        let id = suite.plan.bundle.handshake(suite.party());
        let index = suite.cases.iter().position(|case| case.id == id).expect("the case is embedded");
        message_of(suite.case(index))
    }

    /// Runs the test of the first expectation.
    fn expectation(agent: Agent) -> Result<String, String> {
        let suite = Suite::load(agent.0);
        message_of(suite.expectation(&suite.plan.expected[0]))
    }

    /// Returns the reason of an ignored test, or the message of a failed one.
    fn message_of(outcome: TestResult) -> Result<String, String> {
        match outcome {
            Ok(Completion::Completed) => Ok(String::new()),
            Ok(Completion::Ignored { reason }) => Ok(reason.unwrap_or_default()),
            Err(failed) => Err(failed.message().unwrap_or_default().to_owned()),
        }
    }

    #[test]
    fn a_verdict_becomes_the_outcome_of_a_test() {
        assert_eq!(tested(agent("1")), Ok(String::new()));
        let failure = tested(agent("\"1\"").env("KEY", "secret")).expect_err("the version is a text");
        for part in [
            "init.version-integer.agent",
            "MUST",
            "#",
            "cargo test -p acp-conformance --test acp_conformance -- --exact v1/agent/init/handshake",
        ] {
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
        assert!(stale.contains("remove the entry"), "{stale}");
    }

    #[test]
    fn an_expectation_about_a_requirement_has_to_be_true_somewhere() {
        assert_eq!(
            expectation(agent("\"1\"").expect_failure("init.version-integer.agent", "known")),
            Ok(String::new())
        );
        let misspelt =
            expectation(agent("1").expect_failure("cancel.stop-raeson", "known")).expect_err("it is misspelt");
        assert!(misspelt.contains("did you mean `cancel.stop-reason`?"), "{misspelt}");
    }

    #[test]
    fn an_expectation_may_be_about_a_requirement_in_one_case_and_may_expire() {
        let requirement = "init.version-integer.agent";
        let limited = |case: &str, last: &str| {
            let mut agent = agent("\"1\"");
            let expires = last.parse().ok();
            let case = Some(case.to_owned());
            agent.0.expected.push(Expectation { case, expires, ..Expectation::new(requirement, "known") });
            agent.0.today = "2026-11-21".parse().expect("a day");
            agent
        };
        let elsewhere = "v1/agent/cancel/while-asking";
        for (case, last, is_new) in
            [(HANDSHAKE, "2026-11-21", false), (HANDSHAKE, "2026-11-20", true), (elsewhere, "2026-11-21", true)]
        {
            let failure = tested(limited(case, last)).expect_err("the agent breaks more than that");
            assert_eq!(failure.contains(&format!("{requirement}  (MUST)")), is_new, "{failure}");
        }
        assert_eq!(expectation(limited(HANDSHAKE, "2026-11-21")), Ok(String::new()));
        let expired = expectation(limited(HANDSHAKE, "2026-11-20")).expect_err("its day is past");
        assert!(expired.contains("it expired on 2026-11-20"), "{expired}");
        let suite = Suite::load(limited(elsewhere, "2027-01-31").0);
        assert!(!suite.is_of_a_case(&suite.plan.expected[0]));
    }

    const CLIENT: [&str; 3] = ["my-client", "{agent}", "{prompt}"];

    #[test]
    fn what_is_said_wrongly_about_a_client_fails_its_cases_with_the_remedy() {
        let cancel = |name: &str| Client::command(CLIENT).act(name, Means::Line("/stop".to_owned()));
        let typed = Client::command(CLIENT).act("cancel", Means::Keys("\u{3}".to_owned()));
        let profile = Client::profile(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/elizacp.toml"));
        for (client, remedy) in [
            (Client::command([] as [&str; 0]), "the command line of the client is empty"),
            (Client::command(["my-client", "{prompt}"]), "write {agent} where its path goes"),
            (Client::command(["my-client", "{agent}"]), "write {prompt} where the text goes"),
            (cancel("cancle"), "did you mean `cancel`?"),
            (cancel("cancel").setting(Setting::Directories, ["{dirs}"]), "the places here are: `{directories}`"),
            (typed, "add --terminal"),
            (profile, "it is the profile of an agent, but a client is tested"),
            (Client::profile("no-such-profile.toml"), "no-such-profile.toml: no such file"),
            (Client::profile("Cargo.toml"), "the key `kind` is missing"),
        ] {
            let failure = handshake_of(client.0).expect_err(remedy);
            assert!(failure.contains(remedy), "{failure}");
        }
    }

    #[test]
    fn what_was_said_about_a_client_can_be_said_to_the_program() {
        let client = Client::command(CLIENT)
            .act("cancel", Means::Signal("SIGINT".to_owned()))
            .act("set-mode", Means::Line("/mode {modeId}".to_owned()))
            .setting(Setting::PermissionReject, ["--deny", "all"])
            .terminal()
            .terminal();
        let said = "--act 'cancel=signal:SIGINT' --act 'set-mode=line:/mode {modeId}' \
            --setting 'permission-reject=--deny all' --terminal -- my-client {agent} {prompt}";
        assert_eq!(client.0.options.arguments(), said);
        let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/acpx.toml");
        assert_eq!(Client::profile(profile).0.options.arguments(), format!("--profile {profile}"));
        let other = Client::profile(profile).program("acpx-next").0.options.arguments();
        assert!(other.contains(" -- acpx-next --agent"), "{other}");
    }

    #[test]
    fn a_client_that_never_starts_its_agent_fails() {
        let client = Client::command(["sh", "-c", "exit 3", "{agent}", "{prompt}"]);
        let failure = handshake_of(client.clone().0).expect_err("it is none");
        assert!(failure.starts_with("The client exited (exit code 3), but never started its agent."), "{failure}");
        let misspelt = Suite::load(client.expect_failure("fs.raed.text", "known").0);
        let failure = misspelt.expectation(&misspelt.plan.expected[0]).err().expect("the requirement is unknown");
        let message = failure.message().unwrap_or_default();
        assert!(message.starts_with("unknown requirement `fs.raed.text`"), "{message}");
    }

    #[test]
    fn a_profile_says_what_is_expected() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mine.toml");
        let profile = "name = \"mine\"\nkind = \"client\"\ntitle = \"Mine\"\n\
            command = [\"mine\", \"{agent}\", \"{prompt}\"]\n[[expected]]\nrequirement = \"fs.read.line-and-limit\"\nreason = \"issue 7\"\n";
        std::fs::write(&file, profile).expect("a file");
        let suite = Suite::load(Client::profile(&file).0);
        let entry = suite.expected("fs.read.line-and-limit", "v1/client/any");
        assert_eq!((suite.subject.as_ref().err(), entry.map(|it| it.reason.as_str())), (None, Some("issue 7")));
    }
}
