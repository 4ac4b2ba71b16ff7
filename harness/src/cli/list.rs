//! `list`: the cases, the requirements or the profiles.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::bail;
use serde_json::{Value, json};

use super::args::{ListArgs, OutputFormat};
use super::exit::ProgramExit;
use super::output::stdout;
use super::plan::show_problems;
use crate::case::{Headline, headlines};
use crate::diagnostic::nearest;
use crate::edition::{Bundle, Editions};
use crate::plan::{built_in_profiles, end_of};
use crate::profile::Profile;
use crate::report::count;
use crate::requirement::{Difference, Level, Party, Requirement, Status};

pub(super) fn run(args: &ListArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    match args {
        ListArgs { requirements: true, .. } => requirements(args, bundle),
        ListArgs { profiles: true, .. } => profiles(args, bundle),
        _ => cases(args, bundle),
    }?;
    if bundle.is_draft() && args.format == OutputFormat::Text {
        writeln!(stdout(), "\nof {}", bundle.label())?;
    }
    Ok(ProgramExit::Good)
}

impl ListArgs {
    /// Fails if the filter leaves no entry, and suggests a similar id.
    fn found<T>(&self, left: &[T], ids: &[&str]) -> anyhow::Result<()> {
        match &self.filter {
            Some(filter) if left.is_empty() => {
                let near = nearest(filter, ids.iter().map(|id| end_of(id, filter)));
                bail!(
                    "nothing matches `{filter}`{}",
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
                )
            }
            _ => Ok(()),
        }
    }

    /// Whether the filter fits one of these ids, and the party is wanted.
    fn wants(&self, ids: &[&str], party: Party) -> bool {
        let named = self.filter.as_ref().is_none_or(|text| ids.iter().any(|id| id.contains(text)));
        named && self.party.is_none_or(|wanted| wanted == party)
    }
}

fn cases(args: &ListArgs, bundle: &'static Bundle) -> anyhow::Result<()> {
    let mut cases = headlines(bundle);
    let ids: Vec<String> = cases.iter().map(|case| case.id.clone()).collect();
    cases.retain(|case| args.wants(&[&case.id], case.subject));
    args.found(&cases, &ids.iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some(shard) = args.shard {
        shard.keep(&mut cases, |case| &case.id);
    }
    let rows = cases.iter().map(|Headline { id, title, .. }| format!("{id:<48}  {title}"));
    match args.format {
        OutputFormat::Text => lines(rows.chain([format!("\n{}", count(cases.len(), "case", "cases"))])),
        OutputFormat::Json => {
            let entry = |Headline { id, title, subject, requirements }: &Headline| json!({ "id": id, "title": title, "subject": subject, "requirements": requirements });
            document(&json!({ "cases": cases.iter().map(entry).collect::<Vec<_>>() }))
        }
    }
}

fn profiles(args: &ListArgs, bundle: &'static Bundle) -> anyhow::Result<()> {
    let mut profiles = show_problems(built_in_profiles(bundle))?;
    let names: Vec<String> = profiles.iter().map(|profile| profile.name.clone()).collect();
    profiles.retain(|profile| args.wants(&[&profile.name], profile.kind));
    args.found(&profiles, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    match args.format {
        OutputFormat::Text => {
            let row = |Profile { name, kind, title, install, .. }: &Profile| {
                format!("{name:<22}  {kind:<6}  {title:<32}  {}", install.as_deref().unwrap_or_default())
            };
            lines(profiles.iter().map(row).chain([format!("\n{}", count(profiles.len(), "profile", "profiles"))]))
        }
        OutputFormat::Json => {
            let entry = |Profile { name, kind, title, homepage, install, .. }: &Profile| json!({ "name": name, "kind": kind, "title": title, "homepage": homepage, "install": install });
            document(&json!({ "profiles": profiles.iter().map(entry).collect::<Vec<_>>() }))
        }
    }
}

/// A requirement of a list, with its difference from an earlier edition if the list shows those.
type Row = (&'static Requirement, Option<&'static Difference>);

fn requirements(args: &ListArgs, bundle: &'static Bundle) -> anyhow::Result<()> {
    let mut list: Vec<Row> = match &args.since {
        None => bundle.catalogue().iter().map(|requirement| (requirement, None)).collect(),
        Some(earlier) => differences(earlier, bundle)?,
    };
    let ids: Vec<&str> = list.iter().map(|(known, _)| known.id.as_str()).collect();
    list.retain(|(r, _)| {
        args.wants(&[&r.id], r.party)
            && args.level.is_none_or(|level| level == r.level)
            && args.status.is_none_or(|status| status == r.status)
    });
    args.found(&list, &ids)?;
    let level: fn(Level) -> &'static str = match args.format {
        OutputFormat::Text => Level::spoken,
        OutputFormat::Json => Level::name,
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (r, difference) in &list {
        let kind = difference.map_or_else(String::new, |it| format!("{} ", it.kind.name()));
        let kind = format!("{kind}{} {} {}", r.party.name(), level(r.level), r.status.name());
        *counts.entry(kind).or_default() += 1;
    }
    match args.format {
        OutputFormat::Text => {
            let rows = list.iter().map(|(r, difference)| {
                let kind = difference.map_or_else(String::new, |it| format!("{:<8} ", it.kind.name()));
                let text = difference.filter(|it| !it.why.is_empty()).map_or(&r.text, |it| &it.why);
                format!("{kind}{:<6} {:<6} {:<8} {:<44} {text}", r.party, level(r.level), r.status.name(), r.id)
            });
            let counts = counts.iter().map(|(kind, count)| format!("{count:>4} {kind}"));
            lines(rows.chain([String::new()]).chain(counts))
        }
        OutputFormat::Json => {
            let entry = |(r, difference): &Row| {
                let mut entry = json!({ "id": r.id, "party": r.party, "level": r.level, "status": r.status, "text": r.text, "source": r.source, "link": bundle.link(r) });
                // The reason why a program does not decide it.
                if let (Status::Human | Status::Planned, Some(remark)) = (r.status, &r.remark) {
                    entry["remark"] = json!(remark);
                }
                if let Some(difference) = difference {
                    entry["change"] = json!(difference.kind.name());
                    entry["why"] = json!(difference.why);
                }
                entry
            };
            document(&json!({ "requirements": list.iter().map(entry).collect::<Vec<_>>(), "counts": counts }))
        }
    }
}

/// Returns the requirements that differ from those of an earlier edition. A requirement that is gone comes from the
/// last edition that had it.
fn differences(earlier: &str, bundle: &'static Bundle) -> anyhow::Result<Vec<Row>> {
    let before = || std::iter::successors(bundle.base(), |bundle| bundle.base());
    let before_it = Editions::built_in().named(earlier).ok().filter(|it| it.name() != bundle.name());
    let Some(differences) = before_it.and_then(|it| bundle.differences_since(it.name())) else {
        let known: Vec<_> = before().map(Bundle::name).collect();
        match known.as_slice() {
            [] => bail!("--since {earlier}: no edition before {} is built in", bundle.name()),
            _ => bail!("--since {earlier}: expected an edition before {}: {}", bundle.name(), known.join(", ")),
        }
    };
    let find = |id: &str| std::iter::once(bundle).chain(before()).find_map(|bundle| bundle.catalogue().find(id));
    Ok(differences.into_iter().filter_map(|it| Some((find(&it.id)?, Some(it)))).collect())
}

fn lines(lines: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let mut out = stdout();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn document(value: &Value) -> anyhow::Result<()> {
    writeln!(stdout(), "{}", serde_json::to_string_pretty(value)?)?;
    Ok(())
}
