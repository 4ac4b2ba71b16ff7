//! `explain`: one requirement, one case, the list of an area, or pages of all requirements.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

use super::args::ExplainArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use crate::diagnostic::nearest;
use crate::edition::Bundle;
use crate::explain::{self, Sources};
use crate::requirement::{Catalogue, Requirement};

/// Runs the command.
pub(super) fn run(args: &ExplainArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    if let Some(folder) = &args.pages {
        return write_pages(folder, bundle);
    }
    let (catalogue, sources) = (bundle.catalogue(), Sources::of(bundle));
    let given = args.requirement.as_deref().unwrap_or_default();
    let below = format!("{given}.");
    let group: Vec<&Requirement> = catalogue.iter().filter(|r| r.id.starts_with(&below)).collect();
    let text = if let Some(requirement) = catalogue.find(given) {
        explain::show(&sources.entry(requirement))
    } else if let Some(case) = sources.case(given) {
        explain::show_case(&sources, case)
    } else if group.is_empty() {
        bail!("{}", unknown(given, catalogue, &sources));
    } else {
        explain::list(&group)
    };
    write!(stdout(), "{text}")?;
    Ok(ProgramExit::Good)
}

fn write_pages(folder: &Path, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for page in explain::pages(&Sources::of(bundle)) {
        let path = folder.join(&page.name);
        std::fs::write(&path, page.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
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
