//! Runs the installed program acp-conformance, and makes one `cargo test` of each case.
//!
#![doc = include_str!("../README.md")]

mod outcomes;

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Completion, Trial};
use serde_json::Value;

pub use outcomes::{CaseTest, Outcome, tests};

/// The variable with the path of the program. Without it, the program is searched on `PATH`.
pub const BINARY_VARIABLE: &str = "ACP_CONFORMANCE_BINARY";

/// The options that select cases, each with a value.
const SELECTION: [&str; 4] = ["--case", "--requirement", "--skip", "--shard"];

/// The most cases that are selected by name. Further ones make the command line long and save little time.
const MOST_NAMED: usize = 100;

/// The cases of one subject: how to run them.
#[derive(Debug, Clone)]
#[must_use = "nothing is tested before `run`"]
pub struct Suite {
    party: &'static str,
    options: Vec<String>,
    command: Vec<String>,
    deny_inconclusive: bool,
}

/// Tests an agent with this command line, as words.
pub fn agent(command: impl IntoIterator<Item = impl Into<String>>) -> Suite {
    Suite::new("agent", command)
}

/// Tests a client with this command line, as words, in which `{agent}` stands for the path of its agent.
pub fn client(command: impl IntoIterator<Item = impl Into<String>>) -> Suite {
    Suite::new("client", command)
}

impl Suite {
    fn new(party: &'static str, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self { party, options: Vec::new(), command, deny_inconclusive: false }
    }

    /// Adds options of `acp-conformance agent` or `acp-conformance client`, as words.
    pub fn options(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.extend(words.into_iter().map(Into::into));
        self
    }

    /// Makes undecided cases fail instead of being ignored.
    pub const fn deny_inconclusive(mut self) -> Self {
        self.deny_inconclusive = true;
        self
    }

    /// Runs the tests that the arguments of this process select, and returns the exit code for `main`.
    #[expect(clippy::print_stderr, reason = "this is the whole program of a test target")]
    pub fn run(self) -> ExitCode {
        let args = Arguments::from_args();
        match self.trials(&args) {
            Ok(trials) => libtest_mimic::run(&args, trials).exit_code(),
            Err(problem) => {
                eprintln!("error: {problem}");
                ExitCode::FAILURE
            }
        }
    }

    fn trials(&self, args: &Arguments) -> Result<Vec<Trial>, String> {
        let ids = self.ids()?;
        if args.list {
            return Ok(ids.into_iter().map(|id| Trial::test(id, || Ok(()))).collect());
        }
        let is_wanted = |id: &&String| !args.is_filtered_out(&Trial::test(id.as_str(), || Ok(())));
        let wanted: Vec<&String> = ids.iter().filter(is_wanted).collect();
        // `list` does not know the cases of this option.
        let knows_all = !self.options.iter().any(|word| word == "--cases" || word.starts_with("--cases="));
        if wanted.is_empty() && knows_all {
            return Ok(Vec::new());
        }
        let names_all = knows_all && wanted.len() <= MOST_NAMED;
        let report = self.report(if names_all { &wanted } else { &[] })?;
        let tests = tests(&report, |case| self.again(case), self.deny_inconclusive);
        Ok(tests.into_iter().map(trial).collect())
    }

    /// Returns the ids of the cases, without starting the subject.
    fn ids(&self) -> Result<Vec<String>, String> {
        let mut words = vec!["list", "--party", self.party, "--format", "json"];
        let protocol = self.options.iter().position(|word| word == "--protocol");
        if let Some([option, version, ..]) = protocol.map(|at| &self.options[at..]) {
            words.extend([option.as_str(), version.as_str()]);
        }
        words.extend(self.options.iter().filter(|word| word.starts_with("--protocol=")).map(String::as_str));
        let list = json(&output(words)?)?;
        let cases = list["cases"].as_array().into_iter().flatten();
        Ok(cases.filter_map(|case| case["id"].as_str()).map(str::to_owned).collect())
    }

    /// Runs these cases, or all, and returns the report.
    fn report(&self, cases: &[&String]) -> Result<Value, String> {
        let mut words: Vec<&str> = vec![self.party, "--quiet", "--format", "json"];
        words.extend(self.options.iter().map(String::as_str));
        words.extend(cases.iter().flat_map(|case| ["--case", case.as_str()]));
        words.push("--");
        words.extend(self.command.iter().map(String::as_str));
        let report = json(&output(words)?)?;
        if let Some(obstacle) = report["obstacle"].as_str() {
            return Err(obstacle.to_owned());
        }
        if !report["partial"].is_null() {
            return Err("the run ended early, and its report is partial".to_owned());
        }
        Ok(report)
    }

    /// Returns the command that runs a case again.
    fn again(&self, case: &str) -> String {
        let mut words = vec!["acp-conformance", self.party];
        let mut is_value = false;
        for word in &self.options {
            let selects = SELECTION.contains(&word.split('=').next().unwrap_or_default());
            if !selects && !is_value {
                words.push(word);
            }
            is_value = selects && !word.contains('=');
        }
        words.extend(["--case", case, "--"]);
        words.extend(self.command.iter().map(String::as_str));
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Makes a test of a case whose result is known.
fn trial(case: CaseTest) -> Trial {
    let CaseTest { id, title, outcome, message, .. } = case;
    Trial::ignorable_test(id, move || match outcome {
        Outcome::Pass => Ok(Completion::Completed),
        Outcome::Skip => Ok(Completion::ignored_with(message)),
        Outcome::Fail if title.is_empty() => Err(message.into()),
        Outcome::Fail => Err(format!("{title}\n{message}").into()),
    })
}

/// Runs the program. Its messages go to the standard error of this process.
fn output(words: Vec<&str>) -> Result<Output, String> {
    let own = std::env::var_os(BINARY_VARIABLE).filter(|path| !path.is_empty());
    let program = own.clone().unwrap_or_else(|| OsString::from("acp-conformance"));
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null()).stderr(Stdio::inherit());
    command.output().map_err(|error| cannot_start(own.as_ref(), &error))
}

fn cannot_start(own: Option<&OsString>, error: &io::Error) -> String {
    let install = "help: install it with `cargo install --locked acp-conformance`, or set the variable to its path";
    match own {
        Some(path) => {
            format!("cannot start {} of {BINARY_VARIABLE}: {error}\n{install}", path.to_string_lossy())
        }
        None if error.kind() == io::ErrorKind::NotFound => {
            format!("no program `acp-conformance` on PATH, and {BINARY_VARIABLE} is not set\n{install}")
        }
        None => format!("cannot start `acp-conformance` on PATH ({BINARY_VARIABLE} is not set): {error}\n{install}"),
    }
}

/// Returns the JSON that the program printed. A run with verdicts exits with 0, 1, 3 or 4, so its code decides nothing.
fn json(output: &Output) -> Result<Value, String> {
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("acp-conformance ended with {} and wrote no report; see its message above", output.status))
}

/// Returns the word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_repeats_a_case_selects_only_it() {
        let suite = agent(["my agent"]).options(["--profile", "mine", "--case", "cancel", "--shard=1/2", "--strict"]);
        let again = "acp-conformance agent --profile mine --strict --case a@b -- 'my agent'";
        assert_eq!(suite.again("a@b"), again);
    }

    #[test]
    fn a_missing_program_names_both_places_and_the_remedy() {
        let error = io::Error::from(io::ErrorKind::NotFound);
        for own in [None, Some(OsString::from("/no/such"))] {
            let text = cannot_start(own.as_ref(), &error);
            assert!(text.contains(BINARY_VARIABLE) && text.contains("cargo install"), "{text}");
            assert!(text.contains(if own.is_some() { "/no/such" } else { "PATH" }), "{text}");
        }
    }
}
