//! From arguments to what is to be done: which cases, against which subject.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use include_dir::{Dir, include_dir};

use super::args::AgentArgs;
use super::{fault, output};
use crate::case::model::Case;
use crate::case::{self, Vocabulary};
use crate::fault::Planted;
use crate::profile::{self, Profile};
use crate::requirement::Party;
use crate::run::{Limits, Subject};

static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// What `agent` is to do.
pub(super) struct Plan {
    /// The subject.
    pub(super) subject: Subject,
    /// The selected cases, in the order of their ids.
    pub(super) cases: Vec<Case>,
    /// How many run at once.
    pub(super) jobs: usize,
    /// What the user would type to start the subject again.
    pub(super) reproduce: String,
}

/// Makes the plan.
///
/// # Errors
///
/// Every way in which the arguments do not fit together, with the remedy.
pub(super) fn make(args: &AgentArgs) -> anyhow::Result<Plan> {
    let profile = args.profile.as_deref().map(find_profile).transpose()?;
    let all = load_cases(args.case_dir.as_deref())?;
    let fault = args.fault.as_deref().map(|name| fault::find(name, &all)).transpose()?;
    let mut cases = select(all, args)?;
    if let Some(fault) = fault.as_ref().filter(|_| args.cases.is_empty() && args.requirements.is_empty()) {
        cases.retain(|case| fault.cases.contains(&case.id));
    }
    let mut subject = subject(args, profile)?;
    subject.fault = fault.map(Planted::new);
    let reproduce = match (&args.profile, args.command.is_empty()) {
        (Some(name), true) => format!("--profile {name}"),
        _ => format!("-- {}", shell_words::join(&args.command)),
    };
    let reproduce = args.fault.as_ref().map(|name| format!("--fault {name} {reproduce}")).unwrap_or(reproduce);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Plan { subject, cases, jobs: args.jobs.unwrap_or(cores).max(1), reproduce })
}

/// Loads the built-in cases with those of the folder.
///
/// # Errors
///
/// When a file has mistakes; they have been shown.
pub(super) fn load_cases(dir: Option<&Path>) -> anyhow::Result<Vec<Case>> {
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        bail!("--cases {}: no such folder", dir.display());
    }
    let (cases, problems) = case::embedded_and(dir, &Vocabulary::v1());
    output::show(&problems);
    if problems.iter().any(crate::diagnostic::Diagnostic::is_error) {
        bail!("the cases have mistakes; nothing was run");
    }
    Ok(cases)
}

fn select(mut cases: Vec<Case>, args: &AgentArgs) -> anyhow::Result<Vec<Case>> {
    let wanted = |texts: &[String], ids: &[&str]| {
        texts.is_empty() || texts.iter().any(|text| ids.iter().any(|id| id.contains(text.as_str())))
    };
    cases.retain(|case| {
        let requirements: Vec<&str> = case.requirements.iter().map(String::as_str).collect();
        case.subject == Party::Agent && wanted(&args.cases, &[&case.id]) && wanted(&args.requirements, &requirements)
    });
    if cases.is_empty() {
        bail!("no case of an agent fits the selection; `acp-conformance list` shows the cases");
    }
    Ok(cases)
}

fn find_profile(name: &str) -> anyhow::Result<Profile> {
    let built_in = PROFILES.get_file(format!("{name}.toml"));
    let (profile, problems) = match built_in {
        Some(file) => profile::load_bytes(&format!("profiles/{name}.toml"), file.contents()),
        None if Path::new(name).exists() => {
            profile::load_file(Path::new(name)).with_context(|| format!("cannot read {name}"))?
        }
        None => {
            let names: Vec<String> =
                PROFILES.files().filter_map(|f| Some(f.path().file_stem()?.to_str()?.to_owned())).collect();
            bail!("--profile {name}: no such file, and no built-in profile; there are {}", names.join(", "));
        }
    };
    output::show(&problems);
    profile.with_context(|| format!("the profile {name} has mistakes"))
}

fn subject(args: &AgentArgs, profile: Option<Profile>) -> anyhow::Result<Subject> {
    let here = std::env::current_dir().context("the current directory is gone")?;
    let mut command = args.command.clone();
    if command.is_empty() {
        command = profile.as_ref().map(|profile| profile.command.clone()).unwrap_or_default();
    }
    let Some(program) = command.first_mut() else {
        bail!(
            "which agent? Give its command line behind `--`, or a profile:\n  acp-conformance agent -- my-agent --acp"
        );
    };
    if program.contains('/') {
        // A path is meant from here, also when the agent is started in another directory.
        *program = here.join(&*program).display().to_string();
    }
    let cwd: PathBuf = args.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let mut subject = Subject::agent(command, cwd);
    subject.keep_home = args.keep_home;
    subject.limits = Limits::default();
    if let Some(profile) = profile {
        subject.limits = subject.limits.with(&profile.limits);
        subject.env = profile.env;
        subject.prompts = profile.prompts;
        subject.home_files = profile.home.into_iter().collect();
    }
    subject.env.extend(environment(&args.env)?);
    let own = case::LimitOverrides {
        start: args.timeout_start,
        answer: args.timeout_answer,
        turn: args.timeout_turn,
        exit: args.timeout_exit,
    };
    subject.limits = subject.limits.with(&own);
    Ok(subject)
}

fn environment(pairs: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let split = |pair: &String| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("--env {pair}: write it as NAME=VALUE"),
    };
    pairs.iter().map(split).collect()
}
