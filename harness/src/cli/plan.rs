//! From the options to a plan: the cases and the subject.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use anyhow::{Context, anyhow, bail};

use super::args::ExpectedArgs;
use super::expected::Baseline;
use super::output::show;
use super::{last_failed, manual, person};
use crate::case::model::Case;
use crate::edition::{Bundle, Editions};
use crate::explore::can_walk;
use crate::manual::order_for_a_person;
use crate::options::{RunOptions, Shard};
use crate::plan::{Checked, PlanError, find_profile, load_cases, select};
use crate::profile::{Means, Profile};
use crate::protocol::sha256;
use crate::report::count;
use crate::requirement::Party;
use crate::results::{ProfileInfo, ShardInfo};
use crate::run::{Subject, installed_version, quick_cases, quick_cases_of_client};

/// The plan of a run.
pub(super) struct RunPlan {
    /// The edition of the protocol.
    pub(super) bundle: &'static Bundle,
    /// The options of the user.
    pub(super) options: RunOptions,
    pub(super) subject: Subject,
    /// The cases to run, in the order of their ids.
    pub(super) cases: Vec<Case>,
    /// The profile of the subject.
    pub(super) origin: Option<Origin>,
    /// The known failures.
    pub(super) baseline: Option<Baseline>,
    /// The ids of all cases for such a subject, including those that were not selected.
    pub(super) known: Vec<String>,
    /// The part of the selected cases that these are, if they are not all.
    pub(super) part: Option<ShardInfo>,
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

/// Checks that the options name a subject.
///
/// # Errors
///
/// They do not, so the words before `--` are probably its command line.
pub(super) fn check_filters(options: &RunOptions, party: Party) -> anyhow::Result<()> {
    let RunOptions { filters, start, manual, .. } = options;
    if !filters.is_empty() && !manual && start.command.is_empty() && start.profile.is_none() && start.url.is_none() {
        let words = shell_words::join(filters);
        bail!("which {party}? Give its command line after `--`, or a profile:\n  acp-conformance {party} -- {words}");
    }
    Ok(())
}

/// Plans a run. A person who operates the client gets an explanation of its setup.
///
/// # Errors
///
/// Every conflict between the options, with the remedy; and files or cases that do not exist or have mistakes.
pub(super) fn make(
    party: Party,
    options: &RunOptions,
    expected: &ExpectedArgs,
    bundle: &'static Bundle,
) -> anyhow::Result<RunPlan> {
    let mut options = RunOptions { edition: other_edition(bundle, options.exact_edition), ..options.clone() };
    let mut profile = options.start.profile.as_deref().map(|name| profile(name, party, bundle)).transpose()?;
    let all = show_problems(load_cases(options.case_dir.as_deref(), Some(party), bundle))?;
    let transport = options.start.transport();
    let of_party = || all.iter().filter(|case| case.subject == party);
    let fitting = of_party().filter(|case| case.fits(transport, bundle.catalogue()));
    let known: Vec<String> = fitting.map(|case| case.id.clone()).collect();
    let of_profile = profile.as_mut().map(|profile| std::mem::take(&mut profile.expected));
    let of_profile = of_profile.filter(|entries| !entries.is_empty());
    let baseline = Baseline::load(expected, of_profile, Some(party), bundle)?;
    if let Some(baseline) = &baseline {
        baseline.check_cases(&of_party().map(|case| case.id.as_str()).collect::<Vec<_>>())?;
    }
    let mut cases = cases(&options, all, party)?;
    if cases.is_empty() {
        bail!("no selected case can be part of a random walk; `--explore` without a selection plays all that can");
    }
    cases.retain(|case| case.fits(transport, bundle.catalogue()));
    if cases.is_empty() {
        bail!("the selected cases are about another transport; choose theirs by --transport stdio, http or ws");
    }
    let reproduce = || options.reproduce(party);
    let part = options.shard.map(|shard| part(shard, &mut cases, known.len(), reproduce())).transpose()?;
    if options.manual {
        // Each further context costs the person as much as the first use.
        cases.retain(|case| case.context.is_none() || options.names_cases());
        order_for_a_person(&mut cases, &bundle.handshake(party));
    }
    let origin = profile.as_ref().map(Origin::of);
    let subject = match options.manual {
        true => manual::subject(&options, profile)?,
        false => subject(&options, party, profile)?,
    };
    if options.quick {
        let quick = match party {
            Party::Agent => quick_cases(&cases),
            Party::Client => quick_cases_of_client(&cases, subject.shares(), |case| subject.has_controls_for(case)),
        };
        cases = quick.into_iter().map(|index| cases[index].clone()).collect();
    }
    if subject.person.is_some() {
        // A person operates one client at a time.
        options.limits.jobs = Some(NonZeroUsize::MIN);
    }
    if options.explore.is_some() && options.seed.is_none() {
        options.seed = Some(getrandom::u32()?.into());
    }
    Ok(RunPlan { bundle, options, subject, cases, origin, baseline, known, part })
}

fn subject(options: &RunOptions, party: Party, profile: Option<Profile>) -> anyhow::Result<Subject> {
    let mut subject = options.subject(party, profile)?;
    subject.exact_edition = options.exact_edition;
    if party == Party::Client {
        subject.check_client().map_err(anyhow::Error::msg)?;
        if subject.controls.acts.values().any(|means| matches!(means, Means::Person(_))) {
            subject.person = person::at_a_terminal(options.limits.timeout_start);
        }
    }
    Ok(subject)
}

/// Returns the cases of the run before it is split into shards.
fn cases(options: &RunOptions, all: Vec<Case>, party: Party) -> anyhow::Result<Vec<Case>> {
    let may_be_program = !options.filters.is_empty() && options.start.command.is_empty();
    let mut cases = select(options, all, party).map_err(|error| match may_be_program {
        true => anyhow!("{error}\nhelp: the command line of a program goes after `--`"),
        false => error.into(),
    })?;
    if options.last_failed {
        last_failed::keep(&mut cases, party, options)?;
    }
    if options.in_order {
        put_in_order(&mut cases, &options.patterns())?;
    }
    if options.explore.is_some() {
        cases.retain(can_walk);
    }
    Ok(cases)
}

/// Keeps the part of a shard of the selected cases; `known` is the number of all cases for the subject.
fn part(shard: Shard, cases: &mut Vec<Case>, known: usize, reproduce: String) -> anyhow::Result<ShardInfo> {
    let Shard { number, of } = shard;
    let ids: String = cases.iter().map(|case| format!("{}\n", case.id)).collect();
    let whole = cases.len() == known;
    let files = cases.iter().map(|case| Case::file_of(&case.id)).collect::<BTreeSet<_>>().len();
    shard.keep(cases, |case| &case.id);
    if cases.is_empty() {
        let files = count(files, "file", "files");
        bail!("--shard {number}/{of} is empty: the selected cases are in {files}; use fewer shards");
    }
    Ok(ShardInfo { number, of, selection: sha256(ids), whole, cut_short: false, reproduce })
}

/// Sorts the cases as the user names them.
fn put_in_order(cases: &mut [Case], named: &[&String]) -> anyhow::Result<()> {
    let is_named =
        |case: &Case, name: &str| case.id.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let place = |case: &Case| named.iter().position(|name| is_named(case, name));
    if let Some(other) = cases.iter().find(|case| place(case).is_none()) {
        bail!("--in-order needs the id of each case, and {} is selected by a pattern", other.id);
    }
    cases.sort_by_key(place);
    Ok(())
}

/// Returns the name by which the user chooses the edition, if it is not the default: that of its version for the newest
/// one, unless the user chose it exactly.
fn other_edition(bundle: &Bundle, is_exact: bool) -> Option<String> {
    let editions = Editions::built_in();
    let is_newest = editions.named(bundle.case_folder()).is_ok_and(|newest| newest.name() == bundle.name());
    let is_usual = bundle.name() == editions.preferred().name() && !is_exact;
    (!is_usual).then(|| if is_newest && !is_exact { bundle.case_folder() } else { bundle.name() }.to_owned())
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

/// Finds a profile for this party, and shows its mistakes.
pub(super) fn profile(name: &str, party: Party, bundle: &'static Bundle) -> anyhow::Result<Profile> {
    show_problems(find_profile(name, party, bundle)).with_context(|| format!("--profile {name}"))
}
