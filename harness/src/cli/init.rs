//! `init`: starts a program, determines what it is, and writes the file of a project.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::args::{Ci, InitArgs};
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::plan::show_problems;
use crate::case::embedded_case;
use crate::edition::{Bundle, V2};
use crate::judge::{Cause, judge};
use crate::options::{RunOptions, StartOptions};
use crate::output_file::write_file;
use crate::plan::{
    ModelSettings, PROJECT_FILE, Reaction, common_variables, find_profile, find_settings, fitting_profile,
    project_file, read_profile, settings_of_profiles,
};
use crate::profile::Profile;
use crate::report::diagnose;
use crate::requirement::Party;
use crate::results::Collector;
use crate::run::{Subject, run_case, stopped};
use crate::trace::What;

/// The workflow of GitHub, from the folder of the file of a project.
const WORKFLOW: &str = ".github/workflows/acp-conformance.yml";

/// Stands for the party in its text.
const PARTY_PLACE: &str = "{party}";

/// Its text.
const GITHUB: &str = include_str!("init/github.yml");

/// The cases that test whether an agent calls tools, by major version.
const TOOL_CASES: [&str; 2] = ["v1/agent/fs/read", "v2/agent/tool/read-file"];

/// The facts about the program.
struct Found {
    party: Party,
    name: Option<String>,
    profile: Option<String>,
    /// The settings that lead an agent to the scripted model.
    model: Option<ModelSettings>,
    reaction: Option<Reaction>,
    /// The reason why an agent called no tool.
    reason: Option<String>,
}

/// An agent to try.
struct Trial<'a> {
    args: &'a InitArgs,
    bundle: &'static Bundle,
}

pub(super) fn run(args: &InitArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let file = Path::new(PROJECT_FILE);
    if args.command.is_empty() {
        let Some(file) = project_file() else {
            bail!("no {PROJECT_FILE} here or above; add the command line of the program after `--` to write one")
        };
        let workflow = workflow_of(&file, args.force)?;
        let project = show_problems(read_profile(&file.display().to_string(), bundle))?;
        return write_workflow(&workflow, project.kind);
    }
    if file.exists() && !args.force {
        bail!("{PROJECT_FILE} exists; --force replaces it");
    }
    let workflow = args.ci.map(|Ci::Github| workflow_of(file, args.force)).transpose()?;
    let starts_agent = args.command.iter().any(|word| word.contains("{agent"));
    let party = if starts_agent { Party::Client } else { Party::Agent };
    let subject = subject(args, party, None)?;
    if party == Party::Client {
        subject.check_client().map_err(anyhow::Error::msg)?;
    }
    let handshake = embedded_case(&bundle.handshake(party), bundle).context("the built-in handshake is missing")?;
    let trace = run_case(&handshake, &subject);
    if let Some(exit) = interrupted() {
        return Ok(exit);
    }
    if let Some(obstacle) = diagnose(&trace) {
        say(&format!("{}\nNo file was written.", obstacle.text));
        return Ok(ProgramExit::Usage);
    }
    let mut judgement = judge(&trace, bundle.edition());
    let name = judgement.introductions.remove(&party).and_then(|said| said.name);
    let speaks_only_v2 = judgement.not_covered.iter().any(|conversation| conversation.version == 2);
    let found = match party {
        Party::Agent => Trial { args, bundle: if speaks_only_v2 { &V2 } else { bundle } }.run(name)?,
        Party::Client => {
            let profile = fitting_profile(party, &args.command, name.as_deref(), bundle);
            Found { party, name, profile, model: None, reaction: None, reason: None }
        }
    };
    // What an interrupted case shows says nothing about the agent.
    if let Some(exit) = interrupted() {
        return Ok(exit);
    }
    let text = text(&found, &args.command);
    write_file(file, |out| out.write_all(text.as_bytes())).with_context(|| format!("cannot write {PROJECT_FILE}"))?;
    show_found(&found, workflow.is_some())?;
    workflow.map_or(Ok(ProgramExit::Good), |workflow| write_workflow(&workflow, party))
}

/// Says that the user ended the command, if so.
fn interrupted() -> Option<ProgramExit> {
    stopped().map(|_| {
        say("interrupted; no file was written");
        ProgramExit::Interrupted
    })
}

/// Returns the path of the workflow next to the file of the project.
///
/// # Errors
///
/// The workflow exists and may not be replaced.
fn workflow_of(project: &Path, may_replace: bool) -> anyhow::Result<PathBuf> {
    let workflow = project.with_file_name(WORKFLOW);
    if workflow.exists() && !may_replace {
        bail!("{} exists; --force replaces it", workflow.display());
    }
    Ok(workflow)
}

/// Writes the workflow and prints the next step.
fn write_workflow(path: &Path, party: Party) -> anyhow::Result<ProgramExit> {
    let text = GITHUB.replace(PARTY_PLACE, party.name());
    let folder = path.parent().context("the workflow has a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| write_file(path, |out| out.write_all(text.as_bytes())))
        .with_context(|| format!("cannot write {}", path.display()))?;
    let path = path.display().to_string();
    let quoted = shell_words::quote(&path);
    writeln!(
        stdout(),
        "Wrote {path}. Next: add the steps that build your program, then\n  git add {quoted} {PROJECT_FILE}"
    )?;
    Ok(ProgramExit::Good)
}

impl Trial<'_> {
    /// Tries the agent unchanged, then with its built-in profile, then with the usual ways to the scripted model.
    fn run(&self, name: Option<String>) -> anyhow::Result<Found> {
        let party = Party::Agent;
        let (reaction, reason) = self.react(None, None)?;
        let found = Found { party, name, profile: None, model: None, reaction: Some(reaction), reason };
        if reaction == Reaction::CallsTool {
            return Ok(found);
        }
        if let Some(name) = fitting_profile(party, &self.args.command, found.name.as_deref(), self.bundle) {
            let profile = find_profile(&name, party, self.bundle)?.0;
            let (reaction, reason) = self.react(Some(profile), None)?;
            return Ok(Found { profile: Some(name), reaction: Some(reaction), reason, ..found });
        }
        for (all, of) in [
            (common_variables(), "the variables of OpenAI, Anthropic and Gemini"),
            (settings_of_profiles(self.bundle)?, "the variables and files of the built-in profiles"),
        ] {
            say(&format!("it calls no tool; trying {of}"));
            let (mut reason, mut is_narrowing) = (None, false);
            let settings = find_settings(&all, |settings| {
                let reaction;
                (reaction, reason) = self.react(None, Some(settings))?;
                if reaction >= Reaction::AsksModel && !std::mem::replace(&mut is_narrowing, true) {
                    say("that leads to the scripted model; finding out which of them matters");
                }
                anyhow::Ok(reaction)
            })?;
            if let Some((model, reaction)) = settings {
                return Ok(Found { model: Some(model), reaction: Some(reaction), reason, ..found });
            }
        }
        Ok(found)
    }

    /// Returns what the agent does with a prompt that asks for a tool call, and the reason if it calls none.
    fn react(
        &self,
        profile: Option<Profile>,
        settings: Option<&ModelSettings>,
    ) -> anyhow::Result<(Reaction, Option<String>)> {
        let mut subject = subject(self.args, Party::Agent, profile)?;
        if let Some(settings) = settings {
            subject.env.extend(settings.env.clone());
            subject.home_files.extend(settings.home.clone());
        }
        let case = TOOL_CASES[usize::from(self.bundle.edition().major > 1)];
        let case = embedded_case(case, self.bundle).context("a built-in case is missing")?;
        let trace = run_case(&case, &subject);
        if trace.calls_tools() {
            return Ok((Reaction::CallsTool, None));
        }
        let mut collector = Collector::new(self.bundle.edition(), Party::Agent, subject.command.clone());
        collector.add(&trace, None);
        let cause = collector.case(&case.id).and_then(|report| report.cause);
        let reason = collector.finish(Duration::ZERO, false).reasons.into_iter().next().map(|reason| reason.text);
        let asks = trace.events.iter().any(|event| matches!(&event.what, What::Model(model) if model.api.is_some()));
        let reaction = match cause {
            Some(Cause::LoginRequired { .. }) => Reaction::LoginRequired,
            _ if asks => Reaction::AsksModel,
            _ => Reaction::NoModel,
        };
        Ok((reaction, reason))
    }
}

fn subject(args: &InitArgs, party: Party, profile: Option<Profile>) -> anyhow::Result<Subject> {
    let start = StartOptions { command: args.command.clone(), ..StartOptions::default() };
    Ok(RunOptions { start, ..RunOptions::default() }.subject(party, profile)?)
}

/// Returns the file of the project.
fn text(found: &Found, command: &[String]) -> String {
    let quoted = |text: &str| toml_edit::value(text).to_string();
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let mut text = format!(
        "# How acp-conformance tests this project: run `acp-conformance` here or below.\nkind = \"{}\"\n",
        found.party
    );
    if let Some(profile) = &found.profile {
        let _ = writeln!(
            text,
            "# The built-in profile; what stands here replaces what it says.\nprofile = {}",
            quoted(profile)
        );
    }
    let _ = writeln!(text, "command = [{}]", words.join(", "));
    text.push_str("\n# Forms of the result besides the text, and the number of cases at once:\n# formats = [\"json=report.json\"]\n# jobs = 2\n");
    if let Some(model) = &found.model {
        let tables =
            [("env", &model.env), ("home", &model.home)].into_iter().filter(|(_, entries)| !entries.is_empty());
        for (table, entries) in tables {
            let _ = write!(text, "\n[{table}]\n# They lead the agent to the scripted model: {}.\n", model.name);
            for (name, value) in entries {
                let _ = writeln!(text, "{} = {}", toml_edit::Key::new(name), quoted(value));
            }
        }
    }
    if found.model.is_none() && found.reaction == Some(Reaction::LoginRequired) {
        text.push_str("\n[env]\n# The agent requires a login: set the variable of its key here.\n");
    }
    text
}

/// Prints the facts and the next steps.
fn show_found(found: &Found, has_workflow: bool) -> anyhow::Result<()> {
    let mut out = stdout();
    let name = found.name.as_deref().unwrap_or("without a name");
    writeln!(out, "{}   {}", found.party, crate::report::visible::in_one_line(name))?;
    if let Some(profile) = &found.profile {
        writeln!(out, "profile {profile}")?;
    }
    if let Some(model) = &found.model {
        writeln!(out, "model   the scripted model, by {}", model.name)?;
    }
    let reason = found.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    match found.reaction {
        Some(Reaction::CallsTool) => writeln!(out, "tools   called when a prompt asks for it")?,
        Some(Reaction::LoginRequired) => writeln!(out, "login   required: set the variable of its key in [env]")?,
        Some(reaction) => {
            let what = if reaction == Reaction::AsksModel { ", though the model was asked" } else { "" };
            writeln!(out, "tools   not called{what}{reason}:")?;
            writeln!(out, "        requirements on tools, files and permissions will not be exercised")?;
            if reaction == Reaction::NoModel {
                writeln!(out, "        docs/model.md says how to lead an agent to the scripted model")?;
            }
        }
        None => {}
    }
    writeln!(out, "\nWrote {PROJECT_FILE}. Next:\n  acp-conformance\n  acp-conformance --case 'prompt/*'")?;
    if !has_workflow {
        writeln!(out, "  acp-conformance init --ci github")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V1;
    use crate::profile::load_text;

    #[test]
    fn workflow_uses_inputs_of_the_action() {
        let text = GITHUB.replace(PARTY_PLACE, Party::Client.name());
        let workflow: serde_json::Value = serde_saphyr::from_str(&text).expect("the workflow is YAML");
        let steps = workflow["jobs"]["conformance"]["steps"].as_array().expect("the job has steps");
        let is_action = |step: &&serde_json::Value| {
            step["uses"].as_str().is_some_and(|name| name.starts_with("acp-conformance/acp-conformance@"))
        };
        let action = steps.iter().find(is_action).expect("a step with the action");
        let given = action["with"].as_object().expect("the action has inputs");
        assert_eq!(given["subject"], "client");
        let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/action.yml")).expect("the action");
        let defined: serde_json::Value = serde_saphyr::from_str(&file).expect("the action is YAML");
        for input in given.keys() {
            assert!(defined["inputs"].get(input).is_some(), "{input}");
        }
    }

    #[test]
    fn written_file_is_a_profile() {
        let command = ["my agent".to_owned(), "--say=\"it's\\n\"".to_owned()];
        let pair = |name: &str| [(name.to_owned(), "{model}\n'''".to_owned())].into();
        let model = ModelSettings { name: "two ways".to_owned(), env: pair("A"), home: pair(".config/a.json") };
        for (reaction, model) in [
            (Reaction::CallsTool, Some(model)),
            (Reaction::CallsTool, None),
            (Reaction::NoModel, None),
            (Reaction::LoginRequired, None),
        ] {
            let wanted = model.clone().unwrap_or_default();
            let found = Found {
                party: Party::Agent,
                name: None,
                profile: Some("opencode".to_owned()),
                model,
                reaction: Some(reaction),
                reason: None,
            };
            let (profile, problems) = load_text(PROJECT_FILE, &text(&found, &command), V1.catalogue());
            assert!(problems.is_empty(), "{problems:?}");
            let profile = profile.expect("a profile");
            assert_eq!(profile.command, command);
            assert_eq!((profile.env, profile.home), (wanted.env, wanted.home));
        }
    }
}
