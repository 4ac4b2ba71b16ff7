//! The catalogue, the checks and the cases hold together: what is called checked is checked, and by what is known.

use std::collections::BTreeSet;

use acp_conformance::case::{Case, embedded};
use acp_conformance::edition::V1;
use acp_conformance::fault;
use acp_conformance::judge::Registry;
use acp_conformance::requirement::Status;

use super::{files, none_of, read};

fn cases() -> Vec<Case> {
    embedded(&V1).0
}

#[test]
fn what_is_called_checked_is_checked() {
    let cases = cases();
    let mut judged: BTreeSet<&str> = Registry::all().requirements();
    judged.extend(cases.iter().flat_map(|case| &case.steps).flat_map(|step| &step.decides).map(String::as_str));
    let checked = V1.catalogue().iter().filter(|r| r.status == Status::Checked);
    let idle: Vec<_> = checked.filter(|r| !judged.contains(r.id.as_str())).map(|r| r.id.clone()).collect();
    none_of("called checked, without a check, a row of the shapes or a step that decides it", &idle);
}

#[test]
fn every_check_judges_a_requirement_of_its_party() {
    let catalogue = V1.catalogue();
    let checks = Registry::all().iter().map(|check| (check.requirement, Some(check.party)));
    let rows = Registry::all().requirements().into_iter().map(|requirement| (requirement, None));
    let mut wrong = BTreeSet::new();
    for (id, party) in checks.chain(rows) {
        match catalogue.find(id) {
            None => wrong.insert(format!("{id}: not in the catalogue")),
            Some(found) if party.is_some_and(|party| party != found.party) => {
                wrong.insert(format!("{id}: binds the {}", found.party))
            }
            Some(found) if !matches!(found.status, Status::Checked | Status::Probe) => {
                wrong.insert(format!("{id}: called {}", found.status.name()))
            }
            Some(_) => false,
        };
    }
    none_of("checks that do not fit the catalogue", &wrong.into_iter().collect::<Vec<_>>());
}

#[test]
fn cases_are_for_what_is_judged() {
    let mut wrong = Vec::new();
    for case in cases() {
        let ids: BTreeSet<&String> =
            case.requirements.iter().chain(case.steps.iter().flat_map(|step| &step.decides)).collect();
        for id in ids {
            match V1.catalogue().find(id).map(|found| found.status) {
                Some(Status::Planned) => wrong.push(format!("{}: {id} is only planned", case.id)),
                Some(_) => {}
                None => wrong.push(format!("{}: {id} is not in the catalogue", case.id)),
            }
        }
    }
    none_of("cases for what nothing judges", &wrong);
}

#[test]
fn what_is_checked_is_proved_by_a_fault() {
    let cases = cases();
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let killed: BTreeSet<String> = fault::embedded(&V1, &ids).0.into_iter().map(|fault| fault.kills).collect();
    let mut wrong = Vec::new();
    for requirement in V1.catalogue().iter() {
        let problem = match (requirement.status, killed.contains(&requirement.id), &requirement.no_fault) {
            (Status::Checked, true, None) | (Status::Checked, false, Some(_)) => continue,
            (Status::Checked, false, None) => "no fault kills it, and no `no-fault` says why",
            (Status::Checked, true, Some(_)) => "a fault kills it, and `no-fault` says that there is none",
            (_, _, Some(_)) => "it has a `no-fault`, and nothing checks it",
            (_, _, None) => continue,
        };
        wrong.push(format!("{}: {problem}", requirement.id));
    }
    none_of("requirements whose proof is not in order", &wrong);
}

#[test]
fn requirements_refer_to_more_specific_ones() {
    let find = |id: &str| V1.catalogue().find(id);
    let mut wrong = Vec::new();
    for general in V1.catalogue().iter() {
        for id in &general.refers_to {
            match find(id) {
                Some(specific) if specific.party == general.party && specific.status == Status::Checked => {}
                _ => wrong.push(format!("{} refers to {id}: not a checked requirement of the same party", general.id)),
            }
        }
        let (mut ahead, mut known) = (general.refers_to.clone(), BTreeSet::new());
        while let Some(id) = ahead.pop() {
            ahead
                .extend(find(&id).filter(|_| known.insert(id.clone())).into_iter().flat_map(|it| it.refers_to.clone()));
        }
        if known.contains(&general.id) {
            wrong.push(format!("{} refers to itself", general.id));
        }
    }
    none_of("requirements that refer to others in a wrong way", &wrong);
}

#[test]
fn cases_name_their_schema_for_editors() {
    let mut wrong = Vec::new();
    for file in files("cases/v1").iter().filter(|file| file.ends_with(".yaml") && !file.contains("/include/")) {
        let up = "../".repeat(file.matches('/').count());
        let wanted = format!("# yaml-language-server: $schema={up}schemas/case.schema.json");
        if read(file).lines().next() != Some(wanted.as_str()) {
            wrong.push(format!("{file}: the first line should be `{wanted}`"));
        }
    }
    none_of("cases that an editor does not know", &wrong);
}

#[test]
fn faults_stand_in_the_folder_of_their_party_and_area() {
    let cases = cases();
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let (faults, problems) = fault::embedded(&V1, &ids);
    assert_eq!(problems, []);
    let mut wrong = Vec::new();
    for fault in faults {
        let area = fault.kills.split('.').next().unwrap_or_default();
        let wanted = format!("cases/faults/{}/{area}/{}.yaml", fault.party, fault.id);
        if fault.source.path() != wanted {
            wrong.push(format!("{} should be {wanted}", fault.source.path()));
        }
        let schema = "# yaml-language-server: $schema=../../../../schemas/fault.schema.json";
        if fault.source.text().lines().next() != Some(schema) {
            wrong.push(format!("{}: the first line should be `{schema}`", fault.source.path()));
        }
    }
    none_of("faults in the wrong folder or without their schema", &wrong);
}
