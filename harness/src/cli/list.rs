//! `list`: the cases, the requirements, or the faults.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

use super::args::{Format, ListArgs};
use super::exit::Exit;
use super::output::stdout;
use super::plan::load_cases;
use crate::fault;
use crate::requirement::{Catalogue, Requirement};

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> anyhow::Result<Exit> {
    match (args.requirements, args.faults) {
        (true, _) => requirements(args)?,
        (_, true) => faults(args)?,
        _ => cases(args)?,
    }
    Ok(Exit::Good)
}

fn cases(args: &ListArgs) -> anyhow::Result<()> {
    let mut cases = load_cases(None)?;
    cases.retain(|case| args.filter.as_ref().is_none_or(|text| case.id.contains(text)));
    let mut out = stdout();
    match args.format {
        Format::Text => {
            for case in &cases {
                writeln!(out, "{:<48}  {}", case.id, case.title)?;
            }
            writeln!(out, "\n{} cases", cases.len())?;
        }
        Format::Json => {
            let list: Vec<_> = cases
                .iter()
                .map(|case| json!({ "id": case.id, "title": case.title, "subject": case.subject, "requirements": case.requirements }))
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "cases": list }))?)?;
        }
    }
    Ok(())
}

fn faults(args: &ListArgs) -> anyhow::Result<()> {
    let cases = load_cases(None)?;
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let mut faults = fault::embedded(&ids).0;
    faults.retain(|fault| args.filter.as_ref().is_none_or(|text| fault.id.contains(text)));
    let mut out = stdout();
    match args.format {
        Format::Text => {
            for fault in &faults {
                writeln!(out, "{:<6} {:<40} {:<44} {}", fault.party, fault.id, fault.kills, fault.title)?;
            }
            writeln!(out, "\n{} faults", faults.len())?;
        }
        Format::Json => {
            let list: Vec<_> = faults
                .iter()
                .map(|fault| json!({ "id": fault.id, "party": fault.party, "kills": fault.kills, "title": fault.title, "cases": fault.cases }))
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "faults": list }))?)?;
        }
    }
    Ok(())
}

fn requirements(args: &ListArgs) -> anyhow::Result<()> {
    let wanted = |r: &&Requirement| args.filter.as_ref().is_none_or(|text| r.id.contains(text));
    let list: Vec<&Requirement> = Catalogue::v1().iter().filter(wanted).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for r in &list {
        *counts.entry(format!("{} {} {}", r.party.name(), r.level.name(), r.status.name())).or_default() += 1;
    }
    let mut out = stdout();
    match args.format {
        Format::Text => {
            for r in &list {
                writeln!(out, "{:<6} {:<9} {:<8} {:<44} {}", r.party, r.level.name(), r.status.name(), r.id, r.text)?;
            }
            writeln!(out)?;
            for (kind, count) in &counts {
                writeln!(out, "{count:>4} {kind}")?;
            }
        }
        Format::Json => {
            let rows: Vec<_> = list
                .iter()
                .map(|r| json!({ "id": r.id, "party": r.party, "level": r.level, "status": r.status, "text": r.text, "source": r.source, "link": r.link() }))
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "requirements": rows, "counts": counts }))?)?;
        }
    }
    Ok(())
}
