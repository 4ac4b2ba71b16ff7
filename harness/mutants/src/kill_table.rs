//! The list of all faults, and the kill table: the requirement that catches each, and its other failures.

use std::fmt::Write as _;
use std::io::Write as _;

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::requirement::{Party, Requirement, Status};

use crate::fault::Fault;

/// Prints the faults with this text in their id or requirement; `table` as Markdown, with the counts of each edition.
///
/// # Errors
///
/// The faults cannot be read.
pub(crate) fn print(filter: Option<&str>, table: bool) -> Result<(), String> {
    let mut text = String::new();
    for bundle in [&V1, &V2] {
        let mut faults = Fault::all(bundle.case_folder())?;
        let is_wanted = |text: &str| filter.is_none_or(|filter| text.contains(filter));
        faults.retain(|fault| is_wanted(&fault.id) || is_wanted(&fault.file.kills));
        if table {
            text.push_str(&markdown(bundle, &faults));
            continue;
        }
        for Fault { id, party, file, .. } in &faults {
            let cases: Vec<&str> = file.case.items.iter().map(|(_, case)| case.as_str()).collect();
            let name = format!("{}/{id}", bundle.case_folder());
            let _ =
                writeln!(text, "{party:<6}  {name:<42}  {:<40}  {:<44}  {}", file.kills, cases.join(" "), file.title);
        }
    }
    // A reader such as `head` may have closed the pipe.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// Returns the kill table of an edition.
fn markdown(bundle: &'static Bundle, faults: &[Fault]) -> String {
    let catalogue = bundle.catalogue();
    let mut text = format!("# Kill table, {}\n\n", bundle.case_folder());
    text.push_str(
        "| party | faults | requirements checked | killed by a fault | without a fault |\n|---|--:|--:|--:|--:|\n",
    );
    for party in Party::ALL {
        let checked = || catalogue.iter().filter(|known| known.party == party && known.status == Status::Checked);
        let killed = checked().filter(|known| faults.iter().any(|fault| fault.file.kills == known.id)).count();
        let (all, faults) = (checked().count(), faults.iter().filter(|fault| fault.party == party).count());
        let _ = writeln!(text, "| {party} | {faults} | {all} | {killed} | {} |", all - killed);
    }
    text.push_str("\n| fault | deviation | killed by | also fails |\n|---|---|---|---|\n");
    for Requirement { id, .. } in catalogue.iter() {
        for fault in faults.iter().filter(|fault| fault.file.kills == *id) {
            let (also, sometimes) = (fault.file.also.keys(), fault.file.sometimes.keys());
            let also: Vec<String> = also.cloned().chain(sometimes.map(|id| format!("sometimes {id}"))).collect();
            let _ = writeln!(text, "| {} | {} | {id} | {} |", fault.id, fault.file.title, also.join(", "));
        }
    }
    text.push_str("\n| requirement without a fault | reason |\n|---|---|\n");
    for Requirement { id, no_fault, .. } in catalogue.iter() {
        if let Some(reason) = no_fault {
            let _ = writeln!(text, "| {id} | {reason} |");
        }
    }
    text + "\n"
}
