//! From arguments to a plan: the cases and the subject.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};

use super::args::{AgentArgs, ClientArgs, RunArgs, StartArgs};
use super::expected::Baseline;
use super::output::show;
use super::shard::ShardPart;
use super::{last_failed, person};
use crate::case::LimitOverrides;
use crate::case::model::Case;
use crate::edition::{Bundle, Editions};
use crate::explore::can_walk;
use crate::plan::{Checked, PlanError, Selection, StartOptions, find_profile, load_cases};
use crate::profile::{Controls, Hints, Means, Profile};
use crate::requirement::Party;
use crate::results::ProfileInfo;
use crate::run::{Jobs, Subject, installed_version, quick_cases};

/// The most processes of an agent at once without `--jobs`: each may take some hundred megabytes.
const MOST_JOBS: usize = 16;

/// The plan of `agent` or `client`.
pub(super) struct RunPlan {
    /// The edition of the protocol.
    pub(super) bundle: &'static Bundle,
    /// The subject.
    pub(super) subject: Subject,
    /// The selected cases, in the order of their ids.
    pub(super) cases: Vec<Case>,
    /// How many run at once.
    pub(super) jobs: Jobs,
    /// Whether each case has a conversation of its own.
    pub(super) isolate: bool,
    /// Whether to run cases although another shape of them exercised nothing.
    pub(super) thorough: bool,
    /// Whether all cases run in one process, in their order.
    pub(super) in_order: bool,
    /// The command that starts the subject again.
    pub(super) reproduce: String,
    /// The profile of the subject.
    pub(super) origin: Option<Origin>,
    /// The known failures.
    pub(super) baseline: Option<Baseline>,
    /// The ids of all cases for such a subject, including those that were not selected.
    pub(super) known: Vec<String>,
    /// The part of the selected cases that these are, if they are not all.
    pub(super) part: Option<ShardPart>,
    /// Whether the user chose some of the cases.
    pub(super) is_selection: bool,
    /// The random walks to play over the cases.
    pub(super) walks: Option<Walks>,
    /// The cases of which walks may be made, if the run looks for walks that fail.
    pub(super) moves: Option<Moves>,
}

/// The random walks of a run.
pub(super) struct Walks {
    /// Their number.
    pub(super) count: usize,
    /// The number that determines them.
    pub(super) seed: u64,
}

/// The cases of which walks may be made: all that exist for the subject.
pub(super) struct Moves {
    party: Party,
    bundle: &'static Bundle,
    /// The folder of additional cases.
    dir: Option<PathBuf>,
}

impl Moves {
    fn of(args: &RunArgs, party: Party, bundle: &'static Bundle) -> Self {
        Self { party, bundle, dir: args.case_dir.clone() }
    }

    /// Loads the cases.
    pub(super) fn load(&self) -> Result<Vec<Case>, PlanError> {
        let (mut cases, _) = load_cases(self.dir.as_deref(), Some(self.party), self.bundle)?;
        cases.retain(|case| case.subject == self.party);
        Ok(cases)
    }
}

/// The facts in the profile of a subject.
pub(super) struct Origin {
    info: ProfileInfo,
    /// The command that prints the installed version.
    version: Option<Vec<String>>,
}

impl Origin {
    /// Takes the facts from a profile.
    pub(super) fn of(profile: &Profile) -> Self {
        let Profile { name, title, homepage, install, version, .. } = profile.clone();
        Self { info: ProfileInfo { name, title, homepage, install, version: None }, version }
    }

    /// Returns the name of the profile.
    pub(super) fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the same for the report; `said` is the version that the subject reported.
    pub(super) fn info(&self, said: Option<&str>) -> ProfileInfo {
        let asked = self.version.as_deref().filter(|_| said.is_none());
        ProfileInfo { version: asked.and_then(installed_version), ..self.info.clone() }
    }
}

/// Adds the words before `--` to the patterns of cases.
///
/// # Errors
///
/// The arguments have no program, so these words are probably its command line.
pub(super) fn take_filters(args: &mut RunArgs, party: Party, is_manual: bool) -> anyhow::Result<()> {
    if !args.filters.is_empty() && !is_manual && args.start.command.is_empty() && args.start.profile.is_none() {
        let words = shell_words::join(&args.filters);
        bail!("which {party}? Give its command line after `--`, or a profile:\n  acp-conformance {party} -- {words}");
    }
    args.cases.extend(args.filters.iter().cloned());
    Ok(())
}

/// Plans the run of an agent.
///
/// # Errors
///
/// Every conflict between the arguments, with the remedy.
pub(super) fn of_agent(args: &AgentArgs, bundle: &'static Bundle) -> anyhow::Result<RunPlan> {
    let mut plan = make(&args.run, Party::Agent, Controls::default(), args.isolate, bundle)?;
    if args.quick {
        plan.cases = quick_cases(&plan.cases).into_iter().map(|index| plan.cases[index].clone()).collect();
    }
    let thorough = args.thorough || names_cases(&args.run);
    Ok(RunPlan { isolate: args.isolate, thorough, ..plan })
}

/// Whether the user names cases, and so wants all of them to run.
fn names_cases(args: &RunArgs) -> bool {
    !selection(args).is_empty() || args.last_failed
}

/// Plans the run of a client.
///
/// # Errors
///
/// As for an agent.
pub(super) fn of_client(args: &ClientArgs, bundle: &'static Bundle) -> anyhow::Result<RunPlan> {
    let mut plan = make(&args.run, Party::Client, controls(args), args.isolate, bundle)?;
    plan.subject.check_client().map_err(anyhow::Error::msg)?;
    if plan.subject.controls.acts.values().any(|means| matches!(means, Means::Person(_))) {
        plan.subject.person = person::at_a_terminal(args.run.start.timeout_start);
        // A person operates one client at a time.
        plan.jobs = if plan.subject.person.is_some() { Jobs::exactly(1) } else { plan.jobs };
    }
    Ok(RunPlan { isolate: args.isolate, thorough: args.thorough || names_cases(&args.run), ..plan })
}

/// Returns the acts and settings of the client's user in the arguments.
pub(super) fn controls(args: &ClientArgs) -> Controls {
    Controls {
        acts: args.user.acts.iter().cloned().collect(),
        settings: args.user.settings.iter().cloned().collect(),
        agent_name: args.user.agent_name.clone(),
        terminal: args.user.terminal,
        exit_codes: BTreeMap::new(),
        share: None,
    }
}

/// The plan without the subject.
pub(super) struct Choice {
    /// The profile.
    pub(super) profile: Option<Profile>,
    /// The cases.
    pub(super) cases: Vec<Case>,
    /// The known failures.
    pub(super) baseline: Option<Baseline>,
    /// The ids of all cases for such a subject, including those that were not selected.
    pub(super) known: Vec<String>,
    /// The part of the selected cases that these are, if they are not all.
    pub(super) part: Option<ShardPart>,
}

/// Reads the files and cases that the arguments name.
///
/// # Errors
///
/// One does not exist, or has mistakes.
pub(super) fn choose(args: &RunArgs, party: Party, bundle: &'static Bundle) -> anyhow::Result<Choice> {
    let mut profile = args.start.profile.as_deref().map(|name| profile(name, party, bundle)).transpose()?;
    let all = show_problems(load_cases(args.case_dir.as_deref(), Some(party), bundle))?;
    let known: Vec<String> = all.iter().filter(|case| case.subject == party).map(|case| case.id.clone()).collect();
    let of_profile = profile.as_mut().map(|profile| std::mem::take(&mut profile.expected));
    let of_profile = of_profile.filter(|entries| !entries.is_empty());
    let baseline = Baseline::load(&args.result.expected, of_profile, Some(party), bundle)?;
    if let Some(baseline) = &baseline {
        baseline.check_cases(&known.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let selection = selection(args);
    let may_be_program = !args.filters.is_empty() && args.start.command.is_empty();
    let mut cases = selection.select(all, party).map_err(|error| match may_be_program {
        true => anyhow!("{error}\nhelp: the command line of a program goes after `--`"),
        false => error.into(),
    })?;
    if args.last_failed {
        last_failed::keep(&mut cases, party)?;
    }
    if args.in_order {
        put_in_order(&mut cases, &args.cases)?;
    }
    let part = args.shard.map(|shard| shard.part(&mut cases, known.len())).transpose()?;
    Ok(Choice { profile, cases, baseline, known, part })
}

/// Sorts the cases as the user names them.
fn put_in_order(cases: &mut [Case], named: &[String]) -> anyhow::Result<()> {
    let is_named =
        |case: &Case, name: &str| case.id.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let place = |case: &Case| named.iter().position(|name| is_named(case, name));
    if let Some(other) = cases.iter().find(|case| place(case).is_none()) {
        bail!("--in-order needs the id of each case, and {} is selected by a pattern", other.id);
    }
    cases.sort_by_key(place);
    Ok(())
}

/// Returns the selection in the arguments.
fn selection(args: &RunArgs) -> Selection<'_> {
    Selection { cases: &args.cases, requirements: &args.requirements, skipped: &args.skipped }
}

fn make(
    args: &RunArgs,
    party: Party,
    controls: Controls,
    isolate: bool,
    bundle: &'static Bundle,
) -> anyhow::Result<RunPlan> {
    let Choice { profile, mut cases, baseline, known, part } = choose(args, party, bundle)?;
    let origin = profile.as_ref().map(Origin::of);
    let options =
        StartOptions { isolate, edition: other_edition(bundle, args.exact_edition), ..options(args, party, controls)? };
    let subject = Subject { exact_edition: args.exact_edition, ..options.subject(profile)? };
    let reproduce = options.reproduce();
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let usual = match party {
        // An agent waits for its commands, its model and its limits; meanwhile the next process starts.
        Party::Agent => Jobs { usual: cores + cores / 2, most: (8 * cores).min(MOST_JOBS) },
        Party::Client => Jobs::exactly(cores),
    };
    let jobs = args.start.jobs.map_or(usual, |jobs| Jobs::exactly(jobs.get()));
    let walks = args.explore.map(|count| walks(count.get(), args.seed)).transpose()?;
    let moves = walks.is_some().then(|| Moves::of(args, party, bundle));
    if walks.is_some() {
        cases.retain(can_walk);
    }
    Ok(RunPlan {
        bundle,
        subject,
        cases,
        jobs,
        isolate: false,
        thorough: false,
        in_order: args.in_order,
        reproduce,
        origin,
        baseline,
        known,
        part,
        is_selection: is_selection(args) || walks.is_some(),
        walks,
        moves,
    })
}

/// Plans this many walks; without a seed, a random one determines them.
fn walks(count: usize, seed: Option<u64>) -> anyhow::Result<Walks> {
    Ok(Walks { count, seed: seed.map_or_else(|| getrandom::u32().map(u64::from), Ok)? })
}

/// Whether the arguments choose some of the cases.
pub(super) fn is_selection(args: &RunArgs) -> bool {
    !selection(args).is_empty() || !args.skipped.is_empty() || args.last_failed
}

/// Returns the name by which the user chooses the edition, if it is not the default: that of its version for the newest
/// one, unless the user chose it exactly.
fn other_edition(bundle: &Bundle, is_exact: bool) -> Option<String> {
    let editions = Editions::built_in();
    let is_newest = editions.named(bundle.case_folder()).is_ok_and(|newest| newest.name() == bundle.name());
    let is_usual = bundle.name() == editions.preferred().name() && !is_exact;
    (!is_usual).then(|| if is_newest && !is_exact { bundle.case_folder() } else { bundle.name() }.to_owned())
}

/// Returns the options of a start.
fn options(args: &RunArgs, party: Party, controls: Controls) -> anyhow::Result<StartOptions> {
    let StartArgs { command, profile, env, cwd, keep_home, login, .. } = &args.start;
    Ok(StartOptions {
        party,
        command: command.clone(),
        profile: profile.clone(),
        env: env.iter().map(|pair| variable(pair)).collect::<anyhow::Result<_>>()?,
        cwd: cwd.clone(),
        keep_home: *keep_home,
        login: login.clone(),
        limits: limits(&args.start),
        controls,
        case_dir: args.case_dir.clone(),
        strict: args.strict,
        isolate: false,
        edition: None,
    })
}

/// Shows the mistakes that were found on the way to a result.
pub(super) fn show_problems<T>(result: Checked<T>) -> Result<T, PlanError> {
    match result {
        Ok((result, problems)) => {
            show(&problems);
            Ok(result)
        }
        Err(error) => {
            show(&error.problems);
            Err(error)
        }
    }
}

fn profile(name: &str, party: Party, bundle: &'static Bundle) -> anyhow::Result<Profile> {
    show_problems(find_profile(name, party, bundle)).with_context(|| format!("--profile {name}"))
}

/// Returns the hints of a profile for the scripted model.
///
/// # Errors
///
/// The profile does not exist, has mistakes, or is not for an agent.
pub(super) fn hints_of(name: &str, bundle: &'static Bundle) -> anyhow::Result<Hints> {
    Ok(profile(name, Party::Agent, bundle)?.hints)
}

/// Returns the given limits.
pub(super) const fn limits(args: &StartArgs) -> LimitOverrides {
    LimitOverrides {
        start: args.timeout_start,
        answer: args.timeout_answer,
        turn: args.timeout_turn,
        exit: args.timeout_exit,
    }
}

fn variable(pair: &str) -> anyhow::Result<(String, String)> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("--env {pair}: write it as NAME=VALUE"),
    }
}
