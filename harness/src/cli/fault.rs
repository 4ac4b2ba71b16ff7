//! `--fault`: plants a fault in the subject, to see whether a check detects it.

use std::path::Path;

use anyhow::{Context, bail};

use super::output::{say, show};
use crate::case::model::Case;
use crate::edition::Bundle;
use crate::fault::{self, Fault, Planted};
use crate::requirement::Party;
use crate::results::RunReport;
use crate::verdict::Verdict;

/// Finds the fault with this name, or in this file; of this party, if one is given.
///
/// # Errors
///
/// The fault does not exist, the file has mistakes, or the fault cannot be planted in a foreign program.
pub(super) fn find(name: &str, party: Option<Party>, cases: &[Case], bundle: &'static Bundle) -> anyhow::Result<Fault> {
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let fault = if name.contains(['/', '.']) {
        let bytes = std::fs::read(name).with_context(|| format!("--fault {name}"))?;
        let (fault, problems) = fault::load_bytes(name, &bytes, bundle.edition(), &ids);
        show(&problems);
        fault.with_context(|| format!("the fault {name} has mistakes"))?
    } else {
        let (mut faults, _) = fault::embedded(bundle, &ids);
        match faults.iter().position(|fault| fault.id == name) {
            Some(at) => faults.swap_remove(at),
            None => bail!(unknown(name, party, &faults)),
        }
    };
    let whose = fault.party;
    if party.is_some_and(|party| party != whose) {
        bail!("the fault {name} is for `acp-conformance {whose}`");
    }
    if fault.edits.is_empty() {
        let words = shell_words::join(&fault.peer_args);
        bail!(
            "the fault {name} is built into the reference {whose} and cannot be injected: run `acp-reference-{whose} {words}`"
        );
    }
    Ok(fault)
}

fn unknown(name: &str, party: Option<Party>, faults: &[Fault]) -> String {
    if Path::new(name).exists() {
        return format!("--fault {name}: unknown fault; for a file, write ./{name}");
    }
    let own = faults.iter().filter(|fault| party.is_none_or(|party| fault.party == party) && !fault.edits.is_empty());
    match crate::diagnostic::nearest(name, own.map(|fault| fault.id.as_str())) {
        Some(near) => format!("--fault {name}: unknown fault; did you mean `{near}`?"),
        None => format!("--fault {name}: unknown fault; `acp-conformance list --faults` lists them"),
    }
}

/// Prints the injected fault next to the result, and whether a check detected it.
pub(super) fn announce(planted: &Planted, report: &RunReport) {
    let Fault { id, title, kills, .. } = &*planted.fault;
    say(&format!("with the fault {id}: {title}"));
    let count = planted.changed();
    let effect = if count == 0 { "no effect" } else { "only part of its effect" };
    for reason in planted.idle() {
        say(&format!("  the fault had {effect}: {reason}"));
    }
    if count == 0 {
        return;
    }
    let messages = if count == 1 { "message" } else { "messages" };
    let noticed = match verdict(report, kills) {
        Some(Verdict::Fail) => format!("{kills} failed, as expected"),
        Some(verdict) => format!("not detected: {kills} is {verdict}"),
        None => format!("not detected: {kills} was not checked"),
    };
    say(&format!("  {noticed} ({count} {messages} changed)"));
}

fn verdict(report: &RunReport, requirement: &str) -> Option<Verdict> {
    report.requirements.iter().find(|known| known.id == requirement).map(|known| known.verdict)
}
