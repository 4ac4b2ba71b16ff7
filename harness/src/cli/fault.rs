//! `--fault`: gives the subject a fault, to see whether it is noticed.

use std::path::Path;

use anyhow::{Context, bail};

use super::output::{say, show};
use crate::case::model::Case;
use crate::fault::{self, Fault, Planted};
use crate::requirement::Party;

/// The fault of this name, or in this file.
///
/// # Errors
///
/// When there is none, when the file has mistakes, or when the fault is nothing that can be put into a foreign program.
pub(super) fn find(name: &str, party: Party, cases: &[Case]) -> anyhow::Result<Fault> {
    let fault = named(name, cases)?;
    let Fault { id, party: whose, .. } = &fault;
    if *whose != party {
        bail!("the fault {id} is one of the {whose}; see `acp-conformance {whose} --help`");
    }
    Ok(fault)
}

/// As [`find`], of either party.
pub(super) fn named(name: &str, cases: &[Case]) -> anyhow::Result<Fault> {
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let fault = if name.contains(['/', '.']) {
        let bytes = std::fs::read(name).with_context(|| format!("--fault {name}"))?;
        let (fault, problems) = fault::load_bytes(name, &bytes, &ids);
        show(&problems);
        fault.with_context(|| format!("the fault {name} has mistakes"))?
    } else {
        let (faults, _) = fault::embedded(&ids);
        let names: Vec<String> = faults.iter().map(|fault| fault.id.clone()).collect();
        let found = faults.into_iter().find(|fault| fault.id == name);
        found.with_context(|| unknown(name, &names))?
    };
    if fault.edits.is_empty() {
        let (id, party, words) = (&fault.id, fault.party, shell_words::join(&fault.peer_args));
        bail!(
            "the fault {id} is behaviour of the reference {party}, and no change of what is said: run `acp-reference-{party} {words}`"
        );
    }
    Ok(fault)
}

fn unknown(name: &str, names: &[String]) -> String {
    let near = crate::diagnostic::nearest(name, names.iter().map(String::as_str));
    let meant = near.map_or_else(
        || "`acp-conformance list --faults` shows what there is".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let file = if Path::new(name).exists() { format!("; the file would be ./{name}") } else { String::new() };
    format!("--fault {name}: no such fault; {meant}{file}")
}

/// Says beside the result what was done to the subject.
pub(super) fn announce(planted: &Planted) {
    let Fault { id, title, kills, .. } = &*planted.fault;
    match planted.fired() {
        0 => say(&format!("the fault {id} changed no message: nothing of the kind came")),
        n => say(&format!("with the fault {id} ({title}), which changed {n} message(s) and should break {kills}")),
    }
}
