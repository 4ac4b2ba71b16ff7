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
use crate::edition::Bundle;
use crate::plan::{built_in_profiles, end_of};
use crate::profile::Profile;
use crate::report::count;
use crate::requirement::{Level, Party, Requirement};

/// Runs the command.
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

fn requirements(args: &ListArgs, bundle: &'static Bundle) -> anyhow::Result<()> {
    let wanted = |r: &&Requirement| {
        args.wants(&[&r.id], r.party)
            && args.level.is_none_or(|level| level == r.level)
            && args.status.is_none_or(|status| status == r.status)
    };
    let list: Vec<&Requirement> = bundle.catalogue().iter().filter(wanted).collect();
    args.found(&list, &bundle.catalogue().iter().map(|known| known.id.as_str()).collect::<Vec<_>>())?;
    let level: fn(Level) -> &'static str = match args.format {
        OutputFormat::Text => Level::spoken,
        OutputFormat::Json => Level::name,
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for r in &list {
        *counts.entry(format!("{} {} {}", r.party.name(), level(r.level), r.status.name())).or_default() += 1;
    }
    match args.format {
        OutputFormat::Text => {
            let rows = list.iter().map(|r| {
                format!("{:<6} {:<6} {:<8} {:<44} {}", r.party, level(r.level), r.status.name(), r.id, r.text)
            });
            let counts = counts.iter().map(|(kind, count)| format!("{count:>4} {kind}"));
            lines(rows.chain([String::new()]).chain(counts))
        }
        OutputFormat::Json => {
            let entry = |r: &&Requirement| json!({ "id": r.id, "party": r.party, "level": r.level, "status": r.status, "text": r.text, "source": r.source, "link": bundle.link(r) });
            document(&json!({ "requirements": list.iter().map(entry).collect::<Vec<_>>(), "counts": counts }))
        }
    }
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
