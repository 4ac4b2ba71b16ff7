//! Checks that the catalogue, the checks and the cases agree: every requirement with the status `checked` has a check.

use std::collections::BTreeSet;

use acp_conformance::case::{Case, embedded};
use acp_conformance::edition::{Bundle, Editions};
use acp_conformance::judge::Registry;
use acp_conformance::requirement::Status;
use libtest_mimic::Trial;

use super::{files, none_of, read};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/catalogue":
        what_is_called_checked_is_checked,
        every_check_judges_a_requirement_of_its_party,
        cases_are_for_what_is_judged,
        requirements_refer_to_more_specific_ones,
        cases_name_their_schema_for_editors,
        links_are_plain_addresses,
    ]
}

fn editions() -> Vec<&'static Bundle> {
    Editions::built_in().all().to_vec()
}

fn cases(edition: &'static Bundle) -> Vec<Case> {
    embedded(edition).0
}

fn what_is_called_checked_is_checked() {
    let mut idle = Vec::new();
    for edition in editions() {
        let cases = cases(edition);
        let mut judged: BTreeSet<&str> = Registry::all().requirements();
        judged.extend(cases.iter().flat_map(|case| &case.steps).flat_map(|step| &step.decides).map(String::as_str));
        let checked = edition.catalogue().iter().filter(|r| r.status == Status::Checked);
        let unjudged = checked.filter(|r| !judged.contains(r.id.as_str()));
        idle.extend(unjudged.map(|r| format!("{} {}", edition.name(), r.id)));
    }
    none_of("called checked, without a check, a row of the shapes or a step that decides it", &idle);
}

fn every_check_judges_a_requirement_of_its_party() {
    let checks = Registry::all().iter().map(|check| (check.requirement, Some(check.party)));
    let rows = Registry::all().requirements().into_iter().map(|requirement| (requirement, None));
    let mut wrong = BTreeSet::new();
    for (id, party) in checks.chain(rows) {
        let found: Vec<_> = editions().iter().filter_map(|edition| edition.catalogue().find(id)).collect();
        if let Some(other) = found.iter().find(|found| party.is_some_and(|party| party != found.party)) {
            wrong.insert(format!("{id}: binds the {}", other.party));
        }
        if !found.iter().any(|found| matches!(found.status, Status::Checked | Status::Probe)) {
            wrong.insert(format!("{id}: no catalogue calls it checked or a probe"));
        }
    }
    none_of("checks that do not fit the catalogue", &wrong.into_iter().collect::<Vec<_>>());
}

fn cases_are_for_what_is_judged() {
    let mut wrong = Vec::new();
    for (edition, case) in
        editions().into_iter().flat_map(|edition| cases(edition).into_iter().map(move |it| (edition, it)))
    {
        let ids: BTreeSet<&String> =
            case.requirements.iter().chain(case.steps.iter().flat_map(|step| &step.decides)).collect();
        for id in ids {
            match edition.catalogue().find(id).map(|found| found.status) {
                Some(Status::Planned) => wrong.push(format!("{}: {id} is only planned", case.id)),
                Some(_) => {}
                None => wrong.push(format!("{}: {id} is not in the catalogue", case.id)),
            }
        }
    }
    none_of("cases for what nothing judges", &wrong);
}

fn requirements_refer_to_more_specific_ones() {
    let mut wrong = Vec::new();
    for edition in editions() {
        let find = |id: &str| edition.catalogue().find(id);
        for general in edition.catalogue().iter() {
            for id in &general.refers_to {
                match find(id) {
                    Some(specific) if specific.party == general.party && specific.status == Status::Checked => {}
                    _ => wrong
                        .push(format!("{} refers to {id}: not a checked requirement of the same party", general.id)),
                }
            }
            let (mut ahead, mut known) = (general.refers_to.clone(), BTreeSet::new());
            while let Some(id) = ahead.pop() {
                ahead.extend(
                    find(&id).filter(|_| known.insert(id.clone())).into_iter().flat_map(|it| it.refers_to.clone()),
                );
            }
            if known.contains(&general.id) {
                wrong.push(format!("{} refers to itself", general.id));
            }
        }
    }
    none_of("requirements that refer to others in a wrong way", &wrong);
}

fn cases_name_their_schema_for_editors() {
    let mut wrong = Vec::new();
    let of_editions = ["cases/v1", "cases/v2"].into_iter().flat_map(files);
    for file in of_editions.filter(|file| file.ends_with(".yaml") && !file.contains("/include/")) {
        let up = "../".repeat(file.matches('/').count());
        let wanted = format!("# yaml-language-server: $schema={up}schemas/case.schema.json");
        if read(&file).lines().next() != Some(wanted.as_str()) {
            wrong.push(format!("{file}: the first line should be `{wanted}`"));
        }
    }
    none_of("cases that an editor does not know", &wrong);
}

/// Reports with other links cannot be read back, since forms put links into HTML.
fn links_are_plain_addresses() {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:.#-_$".contains(c);
    let links = editions().into_iter().flat_map(|bundle| bundle.catalogue().iter().map(|r| bundle.link(r)));
    let wrong: Vec<String> = links.flatten().filter(|link| !link.chars().all(is_plain)).collect();
    none_of("links that are not plain addresses", &wrong);
}
