//! `agent` and `client` with `--protocol`: one version of the protocol, or each that the subject speaks.

use std::time::Instant;

use anyhow::bail;

use super::args::RunArgs;
use super::exit::ProgramExit;
use super::output::say;
use super::plan::{RunPlan, is_selection};
use super::suite::{self, OtherVersion};
use crate::edition::{Bundle, Editions};
use crate::report::protocol;
use crate::requirement::Party;
use crate::run::stopped;

/// The value of `--protocol` for each version.
pub(super) const ALL: &str = "all";

/// Runs the plan of the preferred edition; with `all`, that of each edition in turn. An edition whose version the subject does not
/// speak has no report then and does not count.
///
/// # Errors
///
/// Those of a plan or a run.
pub(super) fn run(
    all: bool,
    editions: &Editions,
    (party, args): (Party, &RunArgs),
    begun: Instant,
    plan: impl Fn(&'static Bundle) -> anyhow::Result<RunPlan>,
) -> anyhow::Result<ProgramExit> {
    if !all {
        return suite::run(plan(editions.preferred())?, args, &args.result.outputs(), false, begun);
    }
    let of_one = [
        ("--expected", args.result.expected.expected.is_some()),
        ("--fault", args.fault.is_some()),
        ("--shard", args.shard.is_some()),
    ];
    if let Some((option, _)) = of_one.into_iter().find(|(_, given)| *given) {
        bail!("{option} is about one version of the protocol: use --protocol v1 or --protocol v2");
    }
    let (mut worst, mut spoken, mut nothing_selected) = (ProgramExit::Good, 0, None);
    for bundle in editions.all() {
        if stopped().is_some() {
            say(&format!("\n{}: not tested, because the run was stopped", protocol(bundle.name())));
            worst = worst.worse(ProgramExit::Incomplete);
            continue;
        }
        say(&format!("\n{}:", protocol(bundle.name())));
        let plan = match plan(bundle) {
            // The selected cases may belong to another version.
            Err(error) if is_selection(args) => {
                say(&format!("not tested: {error:#}"));
                nothing_selected = nothing_selected.or(Some(error));
                continue;
            }
            plan => plan?,
        };
        let outputs = args.result.outputs().into_iter().map(|output| output.of_version(bundle.case_folder()));
        let outputs = outputs.collect::<anyhow::Result<Vec<_>>>()?;
        match suite::run(plan, args, &outputs, true, begun) {
            Ok(exit) => {
                worst = worst.worse(exit);
                spoken += 1;
            }
            Err(error) => {
                let OtherVersion(found) = error.downcast()?;
                say(&format!("not tested: the {party} speaks version {found} of the protocol"));
            }
        }
    }
    match nothing_selected.filter(|_| spoken == 0) {
        Some(error) => Err(error),
        None if spoken == 0 => Ok(worst.worse(ProgramExit::Incomplete)),
        None => Ok(worst),
    }
}
