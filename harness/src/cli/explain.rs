//! `explain`: one requirement, one case, or the list of an area.

use std::io::Write;

use anyhow::bail;

use super::args::ExplainArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use crate::diagnostic::nearest;
use crate::edition::Bundle;
use crate::explain::{self, Sources};
use crate::requirement::{Catalogue, Requirement};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let catalogue = bundle.catalogue();
    if let Some(requirement) = catalogue.find(&args.requirement) {
        write!(stdout(), "{}", explain::show(&Sources::of(bundle).entry(requirement)))?;
        return Ok(ProgramExit::Good);
    }
    let sources = Sources::of(bundle);
    if let Some(case) = sources.case(&args.requirement) {
        write!(stdout(), "{}", explain::show_case(&sources, case))?;
        return Ok(ProgramExit::Good);
    }
    let below = format!("{}.", args.requirement);
    let group: Vec<&Requirement> = catalogue.iter().filter(|r| r.id.starts_with(&below)).collect();
    if group.is_empty() {
        bail!("{}", unknown(&args.requirement, catalogue, &sources));
    }
    write!(stdout(), "{}", explain::list(&group))?;
    Ok(ProgramExit::Good)
}

fn unknown(given: &str, catalogue: &Catalogue, sources: &Sources) -> String {
    let ids = || catalogue.iter().map(|r| r.id.as_str());
    let halves: Vec<&str> = ids().filter(|id| id.starts_with(given)).take(8).collect();
    let remedy = if halves.is_empty() {
        let near = nearest(given, ids().chain(explain::areas(catalogue)).chain(sources.case_ids()));
        near.map_or_else(
            || "; `acp-conformance list` and `list --requirements` list the ids".to_owned(),
            |near| format!("; did you mean `{near}`?"),
        )
    } else {
        format!("; these start with it: {}", halves.join(", "))
    };
    format!("no requirement, area or case is named `{given}`{remedy}")
}
