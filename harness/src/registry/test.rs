//! Tests an installed entry: this program runs again as a child, once for the registry's own rule, and once for the
//! cases in each version of the protocol.

use std::ffi::OsString;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::bounded::{Bounded, Ended, RegistryLimits, Stopped, last_lines};
use super::entry::RegistryEntry;
use super::install::Installed;
use super::results::{EditionResult, EntryOutcome, LoginRule, major_of};
use super::rule::{RULE_CASE, RULE_YAML, login_rule};
use super::sandbox::EntryFolders;
use crate::edition::V1;
use crate::plan::PROJECT_FILE;
use crate::profile::{self, Profile};
use crate::report::count;
use crate::requirement::Party;
use crate::results::{PartialReason, RequirementReport, RunReport};
use crate::trace::{Trace, What};
use crate::transport::process::{Environment, Launch};
use crate::verdict::Verdict;

/// The folder of the reports, in that of the results.
const REPORTS: &str = "reports";

/// The folder of the traces there, with one folder for each entry.
const TRACES: &str = "traces";

/// The time limit for the response to the first `initialize`: the first start of a program is slower than later ones.
const FIRST_START: Duration = Duration::from_secs(60);

/// The folder of the profiles there that were found for entries without a built-in one.
const PROFILES: &str = "profiles";

/// The most time to look for such a profile: an agent that needs a login of its own lets each try wait.
const SEARCH: Duration = Duration::from_secs(180);

/// How much longer than its time limit a run of cases may take: it confirms its failures and writes its reports.
const GRACE: Duration = Duration::from_secs(60);

/// How long a run may take to write its reports after it was stopped.
const FAREWELL: Duration = Duration::from_secs(20);

/// Which cases run on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseChoice {
    /// The built-in profile of the entry, with which the scripted model answers.
    pub profile: Option<String>,
    /// Whether only a few cases run.
    pub quick: bool,
}

impl CaseChoice {
    /// Returns the choice in words.
    pub fn words(&self) -> String {
        let cases = if self.quick { "a few cases" } else { "all cases" };
        match &self.profile {
            Some(name) => format!("{cases}, with the profile {name} and the scripted model"),
            None => format!("{cases}, with the settings that `init` finds"),
        }
    }
}

/// Chooses the built-in profile of an entry: the one that installs its package, or else the one with its id.
pub fn case_choice(entry: &RegistryEntry, profiles: &[Profile], quick: bool) -> CaseChoice {
    let packages = entry.distributions.iter().flatten().map(|distribution| distribution.package());
    let packages: Vec<&str> = packages.map(unversioned).collect();
    let agents = || profiles.iter().filter(|profile| profile.kind == Party::Agent);
    let installs = |profile: &&Profile| {
        let words = profile.install.iter().flat_map(|install| install.split([' ', ',']));
        words.map(unversioned).any(|word| packages.contains(&word))
    };
    let found = agents().find(installs).or_else(|| agents().find(|profile| profile.name == entry.id));
    CaseChoice { profile: found.map(|profile| profile.name.clone()), quick }
}

/// Returns the name of a package without its version.
fn unversioned(package: &str) -> &str {
    let from = usize::from(package.starts_with('@'));
    let end = package[from..].find(['@', '=', '[', '<', '>', '~']).map_or(package.len(), |at| from + at);
    &package[..end]
}

/// An installed entry to test.
#[derive(Debug)]
pub struct EntryTest<'t> {
    /// The entry.
    pub entry: &'t RegistryEntry,
    /// Its installation.
    pub installed: &'t Installed,
    /// Which cases run.
    pub choice: &'t CaseChoice,
    /// The first word of the command of its profile, if it has one.
    pub profile_program: Option<&'t str>,
    /// The limits.
    pub limits: &'t RegistryLimits,
    /// How many processes of the agent run at once.
    pub jobs: usize,
    /// The folder of the results.
    pub output: &'t Path,
    /// Whether to keep the traces of all cases there.
    pub traces: bool,
}

/// The result of a test; parts of an [`EntryResult`](super::EntryResult).
#[derive(Debug)]
pub struct TestResult {
    /// How far the entry came.
    pub outcome: EntryOutcome,
    /// Why it came no further.
    pub reason: Option<String>,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
    /// The registry's own rule.
    pub login: LoginRule,
    /// The results in each version of the protocol.
    pub editions: Vec<EditionResult>,
}

impl TestResult {
    /// Returns that the entry has no verdict, for this reason.
    fn undecided(outcome: EntryOutcome, reason: String, stderr: Vec<String>, login: LoginRule) -> Self {
        Self { outcome, reason: Some(reason), stderr, login, editions: Vec::new() }
    }
}

/// Tests an entry. Its reports are written below the folder of the results. `None` if the user stopped the run.
pub async fn test_entry(test: &EntryTest<'_>) -> Option<TestResult> {
    match test.run().await {
        Ok(result) => Some(result),
        Err(Cut::Interrupted) => None,
        Err(Cut::Harness(reason, stderr)) => {
            let login = LoginRule::unknown("the harness failed");
            Some(TestResult::undecided(EntryOutcome::HarnessError, reason, stderr, login))
        }
    }
}

/// Why a test has no result of the entry.
enum Cut {
    Interrupted,
    Harness(String, Vec<String>),
}

impl From<std::io::Error> for Cut {
    fn from(error: std::io::Error) -> Self {
        Self::Harness(error.to_string(), Vec::new())
    }
}

/// The first contact with an entry.
struct Contact {
    login: LoginRule,
    /// Why the agent did not answer, and the last lines of its standard error.
    obstacle: Option<(String, Vec<String>)>,
}

impl EntryTest<'_> {
    async fn run(&self) -> Result<TestResult, Cut> {
        remove_reports(self.output, &self.entry.id);
        // The one of an earlier test may be of another version.
        let _ = fs::remove_file(self.output.join(self.profile_place()));
        let folders = EntryFolders::make()?;
        let contact = match self.contact(&folders).await? {
            Ok(contact) => contact,
            Err(ended) => return Ok(stopped(&ended, LoginRule::unknown("the agent was stopped"))),
        };
        // The settings of a profile may be what lets an agent start.
        if let Some((reason, stderr)) = contact.obstacle.clone().filter(|_| self.choice.profile.is_none()) {
            return Ok(TestResult::undecided(EntryOutcome::NotStarted, reason, stderr, contact.login));
        }
        drop(folders);
        let found = match &self.choice.profile {
            Some(_) => None,
            None => self.find_profile().await?,
        };
        let folders = EntryFolders::make()?;
        self.cases(&folders, contact, found).await
    }

    /// Returns the place of the profile that the test found, in the folder of the results.
    pub fn found_profile(&self) -> Option<String> {
        let place = self.profile_place();
        self.output.join(&place).is_file().then_some(place)
    }

    fn profile_place(&self) -> String {
        format!("{PROFILES}/{}.toml", self.entry.id)
    }

    /// Searches the settings that lead the entry to the scripted model, as `init` does, and returns the file of a
    /// profile with them.
    async fn find_profile(&self) -> Result<Option<PathBuf>, Cut> {
        let kept = std::path::absolute(self.output.join(self.profile_place()))?;
        let folders = EntryFolders::make()?;
        let env = self.installed.env.iter();
        let environment = env.fold(folders.environment(), |all, (name, value)| all.with(name, value));
        let args = [OsString::from("init")].into_iter().chain(self.command()).collect();
        self.child(&folders, args, SEARCH.min(self.limits.time), environment).await?;
        let found = folders.work().join(PROJECT_FILE);
        let Ok((Some(profile), _)) = profile::load_file(&found, V1.catalogue()) else { return Ok(None) };
        if profile.env.is_empty() && profile.home.is_empty() {
            return Ok(None);
        }
        fs::create_dir_all(self.output.join(PROFILES))?;
        fs::copy(&found, &kept)?;
        Ok(Some(kept))
    }

    /// Starts the entry as the registry describes it, and asks for its logins.
    async fn contact(&self, folders: &EntryFolders) -> Result<Result<Contact, Ended>, Cut> {
        let [cases, traces] = ["cases", "traces"].map(|name| folders.root().join(name));
        let file = cases.join(format!("{RULE_CASE}.yaml"));
        fs::create_dir_all(file.parent().unwrap_or(&cases))?;
        fs::write(&file, RULE_YAML)?;
        let start = FIRST_START.min(self.limits.time);
        let report = folders.root().join("contact.json");
        let mut args: Vec<OsString> =
            ["agent", "--protocol", "v1", "--quiet", "--jobs", "1", "--case", RULE_CASE].map(OsString::from).to_vec();
        args.extend(["--cases".into(), cases.into(), "--trace-dir".into(), traces.clone().into()]);
        args.extend(["--timeout-start".into(), milliseconds(start)]);
        args.extend(["--format".into(), json_to(&report)]);
        args.extend(self.settings());
        args.extend(self.command());
        // A failure may be confirmed by further starts.
        let ended = self.child(folders, args, 3 * start + GRACE, folders.environment()).await?;
        if ended.stopped.is_some() {
            return Ok(Err(ended));
        }
        let failed = || Cut::Harness(format!("the first contact {}", ended.how()), ended.last_lines.clone());
        let report = read_report(&report).ok_or_else(failed)?;
        let trace = first_trace(&traces);
        let login = match &trace {
            Some(trace) => login_rule(trace),
            None => LoginRule::unknown("the first contact has no trace"),
        };
        let obstacle =
            report.obstacle.map(|text| (sentence_of(&text), trace.as_ref().map(stderr_of).unwrap_or_default()));
        Ok(Ok(Contact { login, obstacle }))
    }

    /// Runs the cases in each version of the protocol that the entry speaks.
    async fn cases(&self, folders: &EntryFolders, contact: Contact, found: Option<PathBuf>) -> Result<TestResult, Cut> {
        let written = folders.root().join(REPORTS);
        fs::create_dir(&written)?;
        let mut args: Vec<OsString> =
            ["agent", "--protocol", "all", "--quiet", "--allow-incomplete"].map(OsString::from).to_vec();
        args.extend(["--time-limit".into(), milliseconds(self.limits.time)]);
        args.extend(["--format".into(), json_to(&written.join(format!("{}.json", self.entry.id)))]);
        if self.traces {
            let traces = std::path::absolute(self.output.join(TRACES).join(&self.entry.id))?;
            args.extend(["--trace-dir".into(), traces.into()]);
        }
        args.extend(self.choice.quick.then(|| "--quick".into()));
        args.extend(["--jobs".into(), self.jobs.to_string().into()]);
        args.extend(self.settings());
        let mut environment = folders.environment();
        let profile = found.map(OsString::from).or_else(|| self.choice.profile.as_ref().map(OsString::from));
        args.extend(profile.into_iter().flat_map(|profile| ["--profile".into(), profile]));
        // The command of a profile leads the program to the scripted model; the one of the registry does not.
        match self.profile_program.filter(|program| self.installed.bin.join(program).is_file()) {
            Some(_) => environment = environment.with("PATH", path_with(&self.installed.bin)),
            None => args.extend(self.command()),
        }
        let ended = self.child(folders, args, self.limits.time + GRACE, environment).await?;
        let reports = self.keep_reports(&written)?;
        let editions: Vec<EditionResult> = reports
            .iter()
            .filter(|kept| is_result(&kept.0))
            .map(|(report, file)| EditionResult::of(report, file.clone()))
            .collect();
        if !editions.is_empty() {
            let cut_off = reports.iter().find(|(report, _)| report.obstacle.is_none() && !is_result(report));
            let reason = ended.limit().or_else(|| match cut_off {
                Some((report, _)) => Some(self.time_limit_before(report)),
                None => self.time_limit_in(&reports),
            });
            let outcome = EntryOutcome::Tested;
            return Ok(TestResult { outcome, reason, stderr: Vec::new(), login: contact.login, editions });
        }
        if ended.stopped.is_some() {
            return Ok(stopped(&ended, contact.login));
        }
        if let Some((report, _)) = reports.iter().find(|(report, _)| report.obstacle.is_none()) {
            let reason = self.time_limit_before(report);
            return Ok(TestResult::undecided(EntryOutcome::Stopped, reason, ended.last_lines, contact.login));
        }
        // Exit code 3 without a report: the agent speaks no version that this program tests.
        let obstacle = reports.iter().find_map(|(report, _)| report.obstacle.as_deref().map(sentence_of));
        let (reason, stderr) = match (obstacle, contact.obstacle) {
            (_, Some((reason, stderr))) => (reason, stderr),
            (Some(reason), None) => (reason, ended.last_lines),
            (None, None) if ended.exit == Some(crate::trace::Exit::Code(3)) => {
                ("the agent speaks no version of the protocol that this program tests".to_owned(), ended.last_lines)
            }
            (None, None) => {
                return Err(Cut::Harness(format!("the run of the cases {}", ended.how()), ended.last_lines));
            }
        };
        Ok(TestResult::undecided(EntryOutcome::NotStarted, reason, stderr, contact.login))
    }

    /// Returns that the time limit ended before this report, which decides nothing.
    fn time_limit_before(&self, report: &RunReport) -> String {
        let (seconds, version) = (self.limits.time.as_secs(), major_of(&report.suite.edition));
        format!("the time limit of {seconds} s ended before a requirement of {version} was decided")
    }

    /// Returns how many cases of these reports the time limit left out, if any.
    fn time_limit_in(&self, reports: &[(RunReport, String)]) -> Option<String> {
        let cut_off = reports.iter().filter_map(|(report, _)| report.partial);
        let cases = cut_off.filter(|partial| partial.reason == PartialReason::TimeLimit).map(|partial| partial.not_run);
        let cases = cases.reduce(|sum, more| sum + more)?;
        let were = count(cases, "case was", "cases were");
        Some(format!("the time limit of {} s ended; {were} not run", self.limits.time.as_secs()))
    }

    /// Runs this program again.
    async fn child(
        &self,
        folders: &EntryFolders,
        args: Vec<OsString>,
        time: Duration,
        environment: Environment,
    ) -> Result<Ended, Cut> {
        let launch = Launch { program: std::env::current_exe()?.into(), args, cwd: folders.work(), environment };
        let (marker, filled) = (folders.marker(), folders.root().to_owned());
        let bounded = Bounded { launch, marker, time, limits: self.limits, filled, farewell: Some(FAREWELL) };
        let ended = bounded.run().await.map_err(|error| Cut::Harness(error, Vec::new()))?;
        if ended.stopped == Some(Stopped::Interrupted) { Err(Cut::Interrupted) } else { Ok(ended) }
    }

    /// Returns the options of the entry's environment and directory.
    fn settings(&self) -> Vec<OsString> {
        let env = self.installed.env.iter();
        let env = env.flat_map(|(name, value)| ["--env".into(), format!("{name}={value}").into()]);
        let cwd = self.installed.cwd.iter().flat_map(|cwd| ["--cwd".into(), cwd.into()]);
        env.chain(cwd).collect()
    }

    /// Returns the command line of the entry, as the registry describes it.
    fn command(&self) -> Vec<OsString> {
        let program = self.installed.program.clone().into_os_string();
        ["--".into(), program].into_iter().chain(self.installed.args.iter().map(Into::into)).collect()
    }

    /// Moves the reports to the results, and returns each with its path from there.
    fn keep_reports(&self, written: &Path) -> Result<Vec<(RunReport, String)>, Cut> {
        fs::create_dir_all(self.output.join(REPORTS))?;
        let mut files: Vec<PathBuf> = fs::read_dir(written)?.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let mut reports = Vec::new();
        for file in files {
            let (Some(report), Some(name)) = (read_report(&file), file.file_name()) else { continue };
            let place = format!("{REPORTS}/{}", name.to_string_lossy());
            if is_result(&report) {
                // The two folders may be on different disks.
                fs::copy(&file, self.output.join(&place))?;
            }
            reports.push((report, place));
        }
        Ok(reports)
    }
}

/// Whether a report says anything about the agent in its version of the protocol: the time limit may end a run before
/// the agent has answered.
fn is_result(report: &RunReport) -> bool {
    let is_decided = |known: &RequirementReport| matches!(known.verdict, Verdict::Pass | Verdict::Fail);
    report.obstacle.is_none() && (report.partial.is_none() || report.requirements.iter().any(is_decided))
}

fn stopped(ended: &Ended, login: LoginRule) -> TestResult {
    let reason = ended.limit().unwrap_or_else(|| ended.how());
    TestResult::undecided(EntryOutcome::Stopped, reason, ended.last_lines.clone(), login)
}

/// Removes the reports of an earlier test, which may be of versions that the entry no longer speaks.
fn remove_reports(output: &Path, id: &str) {
    for entry in fs::read_dir(output.join(REPORTS)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let version = name.strip_prefix(id).and_then(|rest| rest.strip_prefix("-v")?.strip_suffix(".json"));
        if version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit())) {
            // A file that stays is replaced, or named by no result.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn read_report(file: &Path) -> Option<RunReport> {
    serde_json::from_reader(BufReader::new(fs::File::open(file).ok()?)).ok()
}

fn first_trace(folder: &Path) -> Option<Trace> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files.iter().find_map(|file| Trace::read(BufReader::new(fs::File::open(file).ok()?)).ok())
}

/// Returns the last lines of the standard error in a trace.
fn stderr_of(trace: &Trace) -> Vec<String> {
    last_lines(trace.events.iter().filter_map(|event| match &event.what {
        What::Stderr(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }))
}

/// Returns the sentence of a diagnosis, which may stand above or below the last lines of standard error.
fn sentence_of(diagnosis: &str) -> String {
    let sentence = diagnosis.lines().find(|line| !line.starts_with(' ') && !line.ends_with(':'));
    sentence.unwrap_or(diagnosis).to_owned()
}

fn milliseconds(time: Duration) -> OsString {
    format!("{}ms", time.as_millis()).into()
}

fn json_to(file: &Path) -> OsString {
    let mut text = OsString::from("json=");
    text.push(file);
    text
}

/// Returns the PATH with a folder first.
fn path_with(first: &Path) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(first.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(all).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::edition::V1;
    use crate::plan::built_in_profiles;

    #[test]
    fn profile_is_that_of_the_package_or_of_the_id() {
        let profiles = built_in_profiles(&V1).expect("built-in profiles").0;
        let profile = |id: &str, distribution: serde_json::Value| {
            let value = json!({ "id": id, "name": "A", "version": "1.0.0", "distribution": distribution });
            let entry = RegistryEntry::read(&value, "linux-x86_64").expect("an entry");
            case_choice(&entry, &profiles, false).profile
        };
        let npx = |package: &str| json!({ "npx": { "package": package } });
        assert_eq!(profile("gemini", npx("@google/gemini-cli@0.1.0")).as_deref(), Some("gemini-cli"));
        assert_eq!(profile("codex-acp", npx("@agentclientprotocol/codex-acp@1.0.0")).as_deref(), Some("codex-acp"));
        assert_eq!(profile("codex", npx("@zed-industries/codex-acp")).as_deref(), Some("zed-codex-acp"));
        assert_eq!(
            profile("vibe", json!({ "uvx": { "package": "mistral-vibe==9" } })).as_deref(),
            Some("mistral-vibe")
        );
        let archive = json!({ "binary": { "linux-x86_64": { "archive": "https://a/b.zip", "cmd": "./opencode" } } });
        assert_eq!(profile("opencode", archive).as_deref(), Some("opencode"));
        assert_eq!(profile("other", npx("other")), None);
        // The profile of a client.
        assert_eq!(profile("acpx", npx("acpx")), None);
    }
}
