//! `explain`: one requirement, one case, the list of an area, or pages of all requirements.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

use super::args::ExplainArgs;
use super::exit::ProgramExit;
use super::output::{say, stdout};
use crate::diagnostic::nearest;
use crate::edition::{Bundle, Editions};
use crate::explain::{self, Sources};
use crate::requirement::{Catalogue, Requirement};

/// Runs the command. An id that the preferred edition does not have is shown from the next one that has it, unless the
/// user chose an edition.
pub(super) fn run(args: &ExplainArgs, editions: &Editions, is_chosen: bool) -> anyhow::Result<ProgramExit> {
    let preferred = editions.preferred();
    if let Some(folder) = &args.pages {
        return write_pages(folder, preferred);
    }
    let given = args.requirement.as_deref().unwrap_or_default();
    let bundles = if is_chosen { &editions.all()[..1] } else { editions.all() };
    let known = bundles.iter().find_map(|bundle| Some((*bundle, text_of(given, bundle)?)));
    let Some((bundle, text)) = known else {
        bail!("{}", unknown(given, preferred.catalogue(), &Sources::of(preferred)));
    };
    let mut out = stdout();
    if bundle.name() != preferred.name() {
        writeln!(out, "`{given}` is not in {}; this is from {}:\n", preferred.label(), bundle.label())?;
    }
    write!(out, "{text}")?;
    Ok(ProgramExit::Good)
}

/// Explains a requirement, a case or an area of an edition; `None` if it does not have it.
fn text_of(given: &str, bundle: &'static Bundle) -> Option<String> {
    let (catalogue, sources) = (bundle.catalogue(), Sources::of(bundle));
    let below = format!("{given}.");
    let group: Vec<&Requirement> = catalogue.iter().filter(|r| r.id.starts_with(&below)).collect();
    if let Some(requirement) = catalogue.find(given) {
        Some(explain::show(&sources.entry(requirement)))
    } else if let Some(case) = sources.case(given) {
        Some(explain::show_case(&sources, case))
    } else {
        (!group.is_empty()).then(|| explain::list(&group))
    }
}

fn write_pages(folder: &Path, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    say("looking for the shortest exchanges of each requirement …");
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
