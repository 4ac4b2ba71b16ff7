//! `agent` and `client` with `--protocol`: one version of the protocol, each that the subject speaks, or the newest of
//! those.

use anyhow::bail;

use super::args::ResultArgs;
use super::exit::ProgramExit;
use super::output::say;
use super::plan;
use super::suite::{self, NotThisVersion, Others};
use crate::edition::{Bundle, Editions};
use crate::options::RunOptions;
use crate::report::protocol;
use crate::requirement::Party;
use crate::run::stopped;

/// The versions that a run tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    /// The preferred one.
    One,
    /// Each that the subject speaks.
    All,
    /// The newest that the subject speaks.
    Newest,
}

impl Versions {
    /// Returns the meaning of the option `--protocol`.
    pub(super) fn of(option: Option<&str>) -> Self {
        match option {
            Some("all") => Self::All,
            Some("newest") => Self::Newest,
            _ => Self::One,
        }
    }
}

/// Runs the plan of the preferred edition, or that of several in turn. An edition whose version the subject does not
/// speak has no report among several and does not count.
///
/// # Errors
///
/// Those of a plan or a run.
pub(super) fn run(
    versions: Versions,
    editions: &Editions,
    party: Party,
    (options, result): (&RunOptions, &ResultArgs),
) -> anyhow::Result<ProgramExit> {
    let plan = |bundle| plan::make(party, options, &result.expected, bundle);
    if versions == Versions::One {
        return suite::run(plan(editions.preferred())?, result, &result.outputs(), Others::None);
    }
    let of_one = [("--expected", result.expected.expected.is_some()), ("--shard", options.shard.is_some())];
    if let Some((option, _)) = of_one.into_iter().find(|(_, given)| *given) {
        bail!("{option} is about one version of the protocol: use --protocol v1 or --protocol v2");
    }
    if versions == Versions::Newest {
        return run_newest(editions, party, (options, result));
    }
    let outputs = |bundle: &'static Bundle| {
        let outputs = result.outputs().into_iter().map(|output| output.of_version(bundle.case_folder()));
        outputs.collect::<anyhow::Result<Vec<_>>>()
    };
    let (mut worst, mut spoken, mut nothing_selected, mut refused) = (ProgramExit::Good, 0, None, None);
    for bundle in editions.current() {
        if stopped().is_some() {
            say(&format!("\n{}: not tested, because the run was stopped", protocol(bundle.name())));
            worst = worst.worse(ProgramExit::Incomplete);
            continue;
        }
        say(&format!("\n{}:", protocol(bundle.name())));
        let plan = match plan(bundle) {
            // The selected cases may belong to another version.
            Err(error) if options.is_selection() => {
                say(&format!("not tested: {error:#}"));
                nothing_selected = nothing_selected.or(Some(error));
                continue;
            }
            plan => plan?,
        };
        // A program of an older version may refuse a handshake that it does not know.
        let others = if spoken > 0 { Others::Older } else { Others::Each };
        match suite::run(plan, result, &outputs(bundle)?, others) {
            Ok(exit) => {
                worst = worst.worse(exit);
                spoken += 1;
            }
            Err(error) => {
                let other: NotThisVersion = error.downcast()?;
                say(&format!("not tested: the {party} {other}"));
                if stopped().is_some() {
                    worst = worst.worse(ProgramExit::Incomplete);
                }
                refused = refused.or(matches!(other, NotThisVersion::NoHandshake(_)).then_some(bundle));
            }
        }
    }
    // A subject that speaks no version has a report as well.
    if let Some(oldest) = refused.filter(|_| spoken == 0 && stopped().is_none()) {
        say(&format!("\n{}, although it refuses the handshake:", protocol(oldest.name())));
        return Ok(worst.worse(suite::run(plan(oldest)?, result, &outputs(oldest)?, Others::None)?));
    }
    match nothing_selected.filter(|_| spoken == 0) {
        Some(error) => Err(error),
        None if spoken == 0 => Ok(worst.worse(ProgramExit::Incomplete)),
        None => Ok(worst),
    }
}

/// Runs the plan of the newest edition whose version the subject speaks. The oldest one is run in any case, so that a
/// subject that speaks none has a report.
fn run_newest(
    editions: &Editions,
    party: Party,
    (options, result): (&RunOptions, &ResultArgs),
) -> anyhow::Result<ProgramExit> {
    let plan = |bundle| plan::make(party, options, &result.expected, bundle);
    let newest_first = editions.newest_first();
    let Some((oldest, newer)) = newest_first.split_last() else { bail!("this program has no edition") };
    for bundle in newer {
        let plan = match plan(bundle) {
            // The selected cases may belong to another version.
            Err(_) if options.is_selection() => continue,
            plan => plan?,
        };
        match suite::run(plan, result, &result.outputs(), Others::Older) {
            Err(error) => {
                let other: NotThisVersion = error.downcast()?;
                say(&format!("{}: not tested: the {party} {other}", protocol(bundle.name())));
            }
            ended => return ended,
        }
    }
    suite::run(plan(oldest)?, result, &result.outputs(), Others::None)
}
