//! `init`: starts a program, determines what it is, and writes the file of a project.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::{Ci, InitArgs};
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::plan::show_problems;
use crate::case::embedded_case;
use crate::edition::Bundle;
use crate::judge::{Cause, judge};
use crate::options::{RunOptions, StartOptions};
use crate::output_file::write_file;
use crate::plan::{PROJECT_FILE, find_profile, fitting_profile, project_file, read_profile};
use crate::profile::Profile;
use crate::report::diagnose;
use crate::requirement::Party;
use crate::results::Collector;
use crate::run::{Subject, run_case};

/// The workflow of GitHub, from the folder of the file of a project.
const WORKFLOW: &str = ".github/workflows/acp-conformance.yml";

/// Stands for the party in its text.
const PARTY_PLACE: &str = "{party}";

/// Its text.
const GITHUB: &str = include_str!("init/github.yml");

/// The case that tests whether an agent calls tools.
const TOOL_CASE: &str = "v1/agent/fs/read";

/// The variables that lead agents to their model, with values for the scripted one.
const MODEL_VARIABLES: [(&str, &str); 6] = [
    ("OPENAI_BASE_URL", "{model}/v1"),
    ("OPENAI_API_KEY", "none"),
    ("ANTHROPIC_BASE_URL", "{model}"),
    ("ANTHROPIC_API_KEY", "none"),
    ("GOOGLE_GEMINI_BASE_URL", "{model}"),
    ("GEMINI_API_KEY", "none"),
];

/// The result of a trial run of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tools {
    /// It called a tool.
    Called,
    /// It requires a login.
    LoginRequired,
    /// It did not call a tool.
    NotCalled,
}

/// The facts about the program.
struct Found {
    party: Party,
    name: Option<String>,
    profile: Option<String>,
    env: BTreeMap<String, String>,
    tools: Option<Tools>,
}

/// Runs the command.
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
    let subject = subject(args, party, None, BTreeMap::new())?;
    if party == Party::Client {
        subject.check_client().map_err(anyhow::Error::msg)?;
    }
    let handshake = embedded_case(&bundle.handshake(party), bundle).context("the built-in handshake is missing")?;
    let trace = run_case(&handshake, &subject);
    if let Some(obstacle) = diagnose(&trace) {
        say(&format!("{}\nNo file was written.", obstacle.text));
        return Ok(ProgramExit::Usage);
    }
    let said = judge(&trace, bundle.edition()).introductions.remove(&party);
    let name = said.and_then(|said| said.name);
    let found = match party {
        Party::Agent => of_agent(args, name, bundle)?,
        Party::Client => {
            let profile = fitting_profile(party, &args.command, name.as_deref(), bundle);
            Found { party, name, profile, env: BTreeMap::new(), tools: None }
        }
    };
    let text = text(&found, &args.command);
    write_file(file, |out| out.write_all(text.as_bytes())).with_context(|| format!("cannot write {PROJECT_FILE}"))?;
    show_found(&found, workflow.is_some())?;
    workflow.map_or(Ok(ProgramExit::Good), |workflow| write_workflow(&workflow, party))
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
    let path = path.display();
    writeln!(
        stdout(),
        "Wrote {path}. Next: add the steps that build your program, then\n  git add {path} {PROJECT_FILE}"
    )?;
    Ok(ProgramExit::Good)
}

/// Tries the agent unchanged, then with its built-in profile, then with the scripted model.
fn of_agent(args: &InitArgs, name: Option<String>, bundle: &'static Bundle) -> anyhow::Result<Found> {
    let party = Party::Agent;
    let mut found = Found { party, name, profile: None, env: BTreeMap::new(), tools: None };
    let plain = tools(&subject(args, party, None, BTreeMap::new())?, bundle)?;
    found.tools = Some(plain);
    if plain == Tools::Called {
        return Ok(found);
    }
    if let Some(name) = fitting_profile(party, &args.command, found.name.as_deref(), bundle) {
        let profile = find_profile(&name, party, bundle)?.0;
        let tools = tools(&subject(args, party, Some(profile), BTreeMap::new())?, bundle)?;
        return Ok(Found { profile: Some(name), tools: Some(tools), ..found });
    }
    let env: BTreeMap<_, _> = MODEL_VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let tools = tools(&subject(args, party, None, env.clone())?, bundle)?;
    if tools == Tools::Called {
        found = Found { env, tools: Some(tools), ..found };
    }
    Ok(found)
}

fn subject(
    args: &InitArgs,
    party: Party,
    profile: Option<Profile>,
    env: BTreeMap<String, String>,
) -> anyhow::Result<Subject> {
    let start = StartOptions { command: args.command.clone(), ..StartOptions::default() };
    let mut subject = RunOptions { start, ..RunOptions::default() }.subject(party, profile)?;
    subject.env.extend(env);
    Ok(subject)
}

/// Determines whether the agent calls a tool when a prompt asks for it.
fn tools(subject: &Subject, bundle: &'static Bundle) -> anyhow::Result<Tools> {
    let case = embedded_case(TOOL_CASE, bundle).context("a built-in case is missing")?;
    let trace = run_case(&case, subject);
    let mut collector = Collector::new(bundle.edition(), Party::Agent, subject.command.clone());
    collector.add(&trace, None);
    let cause = collector.case(&case.id).and_then(|report| report.cause);
    Ok(match cause {
        Some(Cause::LoginRequired { .. }) => Tools::LoginRequired,
        _ if trace.calls_tools() => Tools::Called,
        _ => Tools::NotCalled,
    })
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
    if !found.env.is_empty() {
        text.push_str(
            "\n[env]\n# These point the agent to the scripted model; leave out those that it does not know.\n",
        );
        for (name, value) in &found.env {
            let _ = writeln!(text, "{name} = {}", quoted(value));
        }
    }
    if found.tools == Some(Tools::LoginRequired) {
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
    match found.tools {
        Some(Tools::Called) if found.env.is_empty() => writeln!(out, "tools   called when a prompt asks for it")?,
        Some(Tools::Called) => writeln!(out, "tools   called with the scripted model")?,
        Some(Tools::NotCalled) => {
            writeln!(out, "tools   not called: requirements on tools, files and permissions will not be exercised")?;
        }
        Some(Tools::LoginRequired) => writeln!(out, "login   required: set the variable of its key in [env]")?,
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
        for tools in [Tools::Called, Tools::NotCalled, Tools::LoginRequired] {
            let env =
                if tools == Tools::Called { [("A".to_owned(), "{model}".to_owned())].into() } else { BTreeMap::new() };
            let found = Found {
                party: Party::Agent,
                name: None,
                profile: Some("opencode".to_owned()),
                env,
                tools: Some(tools),
            };
            let (profile, problems) = load_text(PROJECT_FILE, &text(&found, &command), V1.catalogue());
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(profile.map(|profile| profile.command), Some(command.to_vec()));
        }
    }
}
