//! From arguments to what is to be done: which cases, against which subject.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use include_dir::{Dir, include_dir};

use super::args::{AgentArgs, ClientArgs, RunArgs, StartArgs};
use super::expected::Baseline;
use super::shard::Part;
use super::{fault, manual, output, person};
use crate::case;
use crate::case::model::Case;
use crate::diagnostic::nearest;
use crate::edition::Bundle;
use crate::fault::Planted;
use crate::profile::{self, Controls, Hints, Means, Profile};
use crate::report::model::ProfileInfo;
use crate::requirement::Party;
use crate::run::{Subject, installed_version};

/// The built-in profiles, and the settings of editors.
pub(super) static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// What `agent` or `client` is to do.
pub(super) struct Plan {
    /// The edition of the protocol.
    pub(super) bundle: &'static Bundle,
    /// The subject.
    pub(super) subject: Subject,
    /// The selected cases, in the order of their ids.
    pub(super) cases: Vec<Case>,
    /// How many run at once.
    pub(super) jobs: usize,
    /// Whether each case has a conversation of its own.
    pub(super) isolate: bool,
    /// What the user would type to start the subject again.
    pub(super) reproduce: String,
    /// What the profile of the subject says of it.
    pub(super) origin: Option<Origin>,
    /// What is known to fail.
    pub(super) baseline: Option<Baseline>,
    /// The ids of all cases for such a subject, also of those that were not selected.
    pub(super) known: Vec<String>,
    /// Which part of the selected cases these are, if they are not all.
    pub(super) part: Option<Part>,
}

/// What a profile says of its subject.
pub(super) struct Origin {
    info: ProfileInfo,
    /// What prints the version that is installed.
    version: Option<Vec<String>>,
}

impl Origin {
    /// What there is to know of that profile.
    pub(super) fn of(profile: &Profile) -> Self {
        let Profile { name, title, homepage, install, version, .. } = profile.clone();
        Self { info: ProfileInfo { name, title, homepage, install, version: None }, version }
    }

    /// The same for the report on a subject that said of itself which version it is, or did not.
    pub(super) fn info(&self, said: Option<&str>) -> ProfileInfo {
        let asked = self.version.as_deref().filter(|_| said.is_none());
        ProfileInfo { version: asked.and_then(installed_version), ..self.info.clone() }
    }
}

/// Plans the run of an agent.
///
/// # Errors
///
/// Every way in which the arguments do not fit together, with the remedy.
pub(super) fn of_agent(args: &AgentArgs, bundle: &'static Bundle) -> anyhow::Result<Plan> {
    let plan = make(&args.run, Party::Agent, Controls::default(), bundle)?;
    Ok(Plan { isolate: args.isolate, ..plan })
}

/// Plans the run of a client.
///
/// # Errors
///
/// As for an agent.
pub(super) fn of_client(args: &ClientArgs, bundle: &'static Bundle) -> anyhow::Result<Plan> {
    let controls = Controls {
        acts: args.user.acts.iter().cloned().collect(),
        settings: args.user.settings.iter().cloned().collect(),
        agent_name: args.user.agent_name.clone(),
        terminal: args.user.terminal,
        exit_codes: BTreeMap::new(),
    };
    if args.manual {
        return manual::plan(args, controls, bundle);
    }
    let mut plan = make(&args.run, Party::Client, controls, bundle)?;
    plan.subject.check_client().map_err(anyhow::Error::msg)?;
    if plan.subject.controls.acts.values().any(|means| matches!(means, Means::Person(_))) {
        plan.subject.person = person::at_a_terminal(args.run.start.timeout_start);
        // Nobody does two things at once.
        plan.jobs = if plan.subject.person.is_some() { 1 } else { plan.jobs };
    }
    Ok(plan)
}

/// What is to be run, apart from the subject.
pub(super) struct Choice {
    /// The profile.
    pub(super) profile: Option<Profile>,
    /// The cases.
    pub(super) cases: Vec<Case>,
    /// The fault that the subject gets.
    pub(super) fault: Option<Planted>,
    /// What is known to fail.
    pub(super) baseline: Option<Baseline>,
    /// The ids of all cases for such a subject, also of those that were not selected.
    pub(super) known: Vec<String>,
    /// Which part of the selected cases these are, if they are not all.
    pub(super) part: Option<Part>,
}

/// Finds what the arguments name.
///
/// # Errors
///
/// That something is not there, or has mistakes.
pub(super) fn choose(args: &RunArgs, party: Party, bundle: &'static Bundle) -> anyhow::Result<Choice> {
    let mut profile = args.start.profile.as_deref().map(|name| find_profile(name, party, bundle)).transpose()?;
    // What a fault of the other side breaks is said by the cases of that side.
    let side = args.fault.is_none().then_some(party);
    let all = load_cases(args.case_dir.as_deref(), side, bundle)?;
    let known: Vec<String> = all.iter().filter(|case| case.subject == party).map(|case| case.id.clone()).collect();
    let of_profile = profile.as_mut().map(|profile| std::mem::take(&mut profile.expected));
    let of_profile = of_profile.filter(|entries| !entries.is_empty());
    let baseline = Baseline::load(&args.result.expected, of_profile, Some(party), bundle)?;
    if let Some(baseline) = &baseline {
        baseline.check_cases(&known.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let fault = args.fault.as_deref().map(|name| fault::find(name, Some(party), &all, bundle)).transpose()?;
    let mut cases = select(all, party, args)?;
    if let Some(fault) = fault.as_ref().filter(|_| args.cases.is_empty() && args.requirements.is_empty()) {
        cases.retain(|case| fault.cases.contains(&case.id));
    }
    let part = args.shard.map(|shard| shard.part(&mut cases, known.len())).transpose()?;
    Ok(Choice { profile, cases, fault: fault.map(Planted::new), baseline, known, part })
}

/// The options that start the same subject again. Values of the environment may be secret, so only names are shown.
fn reproduce(args: &RunArgs, controls: &Controls) -> String {
    let quoted = |text: &str| shell_words::quote(text).into_owned();
    let mut words: Vec<String> = Vec::new();
    words.extend(args.fault.iter().map(|name| format!("--fault {}", quoted(name))));
    words.extend(args.start.profile.iter().map(|name| format!("--profile {}", quoted(name))));
    words.extend(
        args.start.env.iter().filter_map(|pair| pair.split('=').next()).map(|name| format!("--env {name}=\"${name}\"")),
    );
    words.extend(args.start.keep_home.then(|| "--keep-home".to_owned()));
    words.extend(controls.acts.iter().map(|(act, means)| format!("--act {}", quoted(&format!("{act}={means}")))));
    words.extend(controls.settings.iter().map(|(setting, given)| {
        format!("--setting {}", quoted(&format!("{}={}", setting.name(), shell_words::join(given))))
    }));
    words.extend(controls.agent_name.iter().map(|name| format!("--agent-name {}", quoted(name))));
    words.extend(controls.terminal.then(|| "--terminal".to_owned()));
    if !args.start.command.is_empty() {
        words.push(format!("-- {}", shell_words::join(&args.start.command)));
    }
    words.join(" ")
}

fn make(args: &RunArgs, party: Party, controls: Controls, bundle: &'static Bundle) -> anyhow::Result<Plan> {
    let said = controls.clone();
    let Choice { profile, cases, fault, baseline, known, part } = choose(args, party, bundle)?;
    let origin = profile.as_ref().map(Origin::of);
    let mut subject = subject(&args.start, party, profile, controls)?;
    subject.fault = fault;
    let reproduce = reproduce(args, &said);
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = args.start.jobs.unwrap_or_else(cores).get();
    Ok(Plan { bundle, subject, cases, jobs, isolate: false, reproduce, origin, baseline, known, part })
}

/// Loads the built-in cases, of one side or of both, with those of the folder.
///
/// # Errors
///
/// When a file has mistakes; they have been shown.
pub(super) fn load_cases(
    dir: Option<&Path>,
    side: Option<Party>,
    bundle: &'static Bundle,
) -> anyhow::Result<Vec<Case>> {
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        bail!("--cases {}: no such folder", dir.display());
    }
    let (cases, problems) = case::embedded_and(dir, side, bundle);
    output::show(&problems);
    if problems.iter().any(crate::diagnostic::Diagnostic::is_error) {
        bail!("the cases have mistakes; nothing was run");
    }
    if let Some(dir) = dir.filter(|_| !cases.iter().any(|case| case.is_own)) {
        bail!(
            "--cases {}: there is no case in it; a case is a file such as v1/agent/AREA/NAME.yaml below it",
            dir.display()
        );
    }
    Ok(cases)
}

fn select(mut cases: Vec<Case>, party: Party, args: &RunArgs) -> anyhow::Result<Vec<Case>> {
    cases.retain(|case| case.subject == party);
    let wanted = |texts: &[String], ids: &[&str]| {
        texts.is_empty() || texts.iter().any(|text| ids.iter().any(|id| id.contains(text.as_str())))
    };
    let (selected, others): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| {
        let requirements: Vec<&str> = case.requirements.iter().map(String::as_str).collect();
        wanted(&args.cases, &[&case.id]) && wanted(&args.requirements, &requirements)
    });
    if selected.is_empty() {
        bail!("no case of {} fits {}", party.one(), unfit(args, &others));
    }
    Ok(selected)
}

/// What no case fits, and what was probably meant by it.
fn unfit(args: &RunArgs, cases: &[Case]) -> String {
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let requirements: Vec<&str> = cases.iter().flat_map(|case| case.requirements.iter().map(String::as_str)).collect();
    let given = args.cases.iter().map(|text| format!("--case {text}"));
    let given = given.chain(args.requirements.iter().map(|text| format!("--requirement {text}")));
    let given = given.collect::<Vec<_>>().join(" ");
    match meant(&args.cases, &ids).or_else(|| meant(&args.requirements, &requirements)) {
        Some(near) => format!("{given}; did you mean `{near}`?"),
        None => format!("{given}; `acp-conformance list` shows the cases"),
    }
}

/// Which id, or end of one, is near to a text that stands in none of them.
fn meant<'i>(texts: &[String], ids: &[&'i str]) -> Option<&'i str> {
    let mut strange = texts.iter().filter(|text| !ids.iter().any(|id| id.contains(text.as_str())));
    strange.find_map(|text| nearest(text, ids.iter().map(|&id| end_of(id, text))))
}

/// As many parts of the end of an id as the text has.
fn end_of<'i>(id: &'i str, text: &str) -> &'i str {
    let slashes = text.matches('/').count();
    id.rmatch_indices('/').nth(slashes).map_or(id, |(at, _)| &id[at + 1..])
}

fn find_profile(name: &str, party: Party, bundle: &'static Bundle) -> anyhow::Result<Profile> {
    let (shown, bytes) = profile_file(name)?;
    let (profile, problems) = profile::load_bytes(&shown, &bytes, bundle.catalogue());
    output::show(&problems);
    let profile = profile.with_context(|| format!("the profile {name} has mistakes"))?;
    if profile.kind != party {
        let kind = profile.kind;
        bail!("--profile {name} is the profile of {}; see `acp-conformance {kind} --help`", kind.one());
    }
    Ok(profile)
}

/// Every built-in profile, in the order of their names.
///
/// # Errors
///
/// That one of them has mistakes.
pub(super) fn built_in_profiles(bundle: &'static Bundle) -> anyhow::Result<Vec<Profile>> {
    let files = PROFILES.files().filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
    let mut profiles = Vec::new();
    for file in files {
        let path = file.path().display().to_string();
        let (profile, problems) = profile::load_bytes(&path, file.contents(), bundle.catalogue());
        output::show(&problems);
        profiles.push(profile.with_context(|| format!("the built-in profile {path} has mistakes"))?);
    }
    profiles.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(profiles)
}

/// What a profile says to the scripted model.
///
/// # Errors
///
/// That there is no such profile, that it has mistakes, or that it is not of an agent.
pub(super) fn hints_of(name: &str, bundle: &'static Bundle) -> anyhow::Result<Hints> {
    Ok(find_profile(name, Party::Agent, bundle)?.hints)
}

/// The bytes of a profile, and how its file is called.
///
/// # Errors
///
/// That there is no such profile.
pub(super) fn profile_file(name: &str) -> anyhow::Result<(String, Cow<'static, [u8]>)> {
    if let Some(file) = PROFILES.get_file(format!("{name}.toml")) {
        return Ok((format!("profiles/{name}.toml"), file.contents().into()));
    }
    let path = Path::new(name);
    if path.is_dir() {
        bail!("--profile {name}: it is a folder");
    }
    if !path.exists() {
        bail!("--profile {name}: {}", no_profile(name));
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name.to_owned(), bytes.into()))
}

/// What to say of a profile that is not there. What is written like a path is meant as one.
fn no_profile(name: &str) -> String {
    if name.contains('/') || name.ends_with(".toml") {
        return "no such file".to_owned();
    }
    let names: Vec<&str> = PROFILES.files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("no such file, and no built-in profile; did you mean `{near}`?"),
        None => format!(
            "no such file, and no built-in profile; there are {}; see `acp-conformance list --profiles`",
            names.join(", ")
        ),
    }
}

fn subject(args: &StartArgs, party: Party, profile: Option<Profile>, controls: Controls) -> anyhow::Result<Subject> {
    let here = std::env::current_dir().context("the current directory is gone")?;
    let mut subject = match profile {
        Some(profile) => Subject::of_profile(profile, here.clone()),
        None => Subject { party, ..Subject::agent(Vec::new(), here.clone()) },
    };
    if !args.command.is_empty() {
        subject.command.clone_from(&args.command);
        subject.install = None;
    }
    let Some(program) = subject.command.first_mut() else {
        let example = match party {
            Party::Agent => "my-agent --acp",
            Party::Client => "my-client --agent {agent} --dir {cwd} {prompt}",
        };
        bail!(
            "which {party}? Give its command line behind `--`, or a profile:\n  acp-conformance {party} -- {example}"
        );
    };
    if program.contains('/') && !program.starts_with('{') {
        // A path is meant from here, also when the program is started in another directory.
        let path: PathBuf = here.join(&*program).components().collect();
        *program = path.display().to_string();
    }
    subject.cwd = args.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    subject.keep_home = args.keep_home;
    subject.controls.overlay(controls);
    subject.env.extend(environment(&args.env)?);
    subject.limits = subject.limits.with(&limits(args));
    Ok(subject)
}

/// The limits that were given.
pub(super) const fn limits(args: &StartArgs) -> case::LimitOverrides {
    case::LimitOverrides {
        start: args.timeout_start,
        answer: args.timeout_answer,
        turn: args.timeout_turn,
        exit: args.timeout_exit,
    }
}

fn environment(pairs: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let split = |pair: &String| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("--env {pair}: write it as NAME=VALUE"),
    };
    pairs.iter().map(split).collect()
}
