//! The content, without a form: what there is to say about one requirement.

use crate::case::{self, Case};
use crate::edition::Bundle;
use crate::fault::{self, Fault};
use crate::judge::Registry;
use crate::requirement::{Catalogue, Level, Party, Requirement, Status};

/// Everything from which a requirement is explained.
pub struct Sources {
    /// The edition.
    pub bundle: &'static Bundle,
    /// The cases, in the order of their ids.
    cases: Vec<Case>,
    /// The faults, in the order of their names.
    faults: Vec<Fault>,
}

/// What there is to say about one requirement.
pub struct Entry<'s> {
    /// The requirement.
    pub requirement: &'s Requirement,
    /// The address of the page that it comes from.
    pub link: Option<String>,
    /// What can be said in a word or two: a name and its value.
    pub facts: Vec<(&'static str, String)>,
    /// What takes a sentence or a list, in the order of reading.
    pub parts: Vec<(&'static str, Section)>,
}

/// One part of an entry.
pub enum Section {
    /// Sentences.
    Sentences(String),
    /// Files of the repository.
    Files(Vec<Item>),
    /// What to type.
    Command(String),
}

/// A file of the repository that has to do with a requirement.
pub struct Item {
    /// Its id or name.
    pub id: String,
    /// What it is about, in a sentence.
    pub title: String,
    /// Its path from the root of the repository.
    pub path: String,
}

impl Sources {
    /// The sources that are built in for an edition.
    #[must_use]
    pub fn of(bundle: &'static Bundle) -> Self {
        let (cases, _) = case::embedded(bundle);
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        let (faults, _) = fault::embedded(bundle, &ids);
        Self { bundle, cases, faults }
    }

    /// The faults, in the order of their names.
    pub(super) fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// Gathers what there is to say about a requirement.
    #[must_use]
    pub fn entry<'s>(&self, requirement: &'s Requirement) -> Entry<'s> {
        let cases: Vec<Item> = self.cases_for(&requirement.id).map(item_of_case).collect();
        let ground = match cases.is_empty() {
            false => Ground::Cases,
            true if Registry::all().requirements().contains(requirement.id.as_str()) => Ground::EveryTrace,
            true => Ground::Nothing,
        };
        let mut parts = vec![(how_title(requirement.status, ground), Section::Sentences(requirement.how.clone()))];
        parts.extend(requirement.remark.clone().map(|remark| ("Remark", Section::Sentences(remark))));
        let general = self.bundle.catalogue().iter().filter(|other| other.refers_to.contains(&requirement.id));
        let general: Vec<&str> = general.map(|other| other.id.as_str()).collect();
        let related = [("Covers as well", requirement.refers_to.join(", ")), ("Also covered by", general.join(", "))];
        let related = related.into_iter().filter(|(_, ids)| !ids.is_empty());
        parts.extend(related.map(|(title, ids)| (title, Section::Sentences(ids + "."))));
        parts.push(("The smallest fault that breaks it", Section::Sentences(requirement.mutant.clone())));
        parts.push(("Cases", if cases.is_empty() { without_case(ground) } else { Section::Files(cases) }));
        let faults = [
            ("Faults that it must catch", self.faults_that(|fault| fault.kills == requirement.id)),
            ("Other faults that break it too", self.faults_that(|fault| fault.breaks_besides(&requirement.id))),
        ];
        let without_fault = requirement.no_fault.clone().map(|why| ("Why no fault proves it", Section::Sentences(why)));
        parts.extend(without_fault);
        let faults = faults.into_iter().filter(|(_, items)| !items.is_empty());
        parts.extend(faults.map(|(title, items)| (title, Section::Files(items))));
        parts.extend(command(requirement, ground).map(|command| ("Run it", Section::Command(command))));
        Entry { requirement, link: self.bundle.link(requirement), facts: facts(requirement), parts }
    }

    /// The cases that were written for a requirement.
    fn cases_for(&self, id: &str) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.requirements.iter().any(|known| known == id))
    }

    fn faults_that(&self, wanted: impl Fn(&Fault) -> bool) -> Vec<Item> {
        self.faults.iter().filter(|fault| wanted(fault)).map(item_of_fault).collect()
    }
}

/// The areas of the catalogue, in its order.
#[must_use]
pub fn areas(catalogue: &Catalogue) -> Vec<&str> {
    let mut areas = Vec::new();
    for requirement in catalogue.iter() {
        if !areas.contains(&requirement.area()) {
            areas.push(requirement.area());
        }
    }
    areas
}

/// The name of a level in running text.
pub(super) const fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::MayProbe => "probe",
    }
}

fn facts(requirement: &Requirement) -> Vec<(&'static str, String)> {
    let status = match requirement.status {
        Status::Checked => "checked: a program decides it",
        Status::Probe => "probe: the specification leaves it open, and nobody fails",
        Status::Human => "human: only a person can decide it",
        Status::Planned => "planned: nothing looks at it yet",
    };
    vec![
        ("binds", requirement.party.one().to_owned()),
        ("level", level(requirement.level).to_owned()),
        ("status", status.to_owned()),
        ("applies", requirement.applies_when.clone()),
    ]
}

/// In what a requirement is looked at.
#[derive(Clone, Copy)]
enum Ground {
    /// In cases that were written for it.
    Cases,
    /// In the traces of all cases, by a check.
    EveryTrace,
    /// In nothing.
    Nothing,
}

const fn how_title(status: Status, ground: Ground) -> &'static str {
    match (status, ground) {
        (Status::Human, _) => "How a person can judge it",
        (Status::Planned, _) | (Status::Checked, Ground::Nothing) => "How it could be judged",
        (Status::Checked, _) => "How it is judged",
        (Status::Probe, Ground::Nothing) => "How it could be recorded",
        (Status::Probe, _) => "How it is recorded",
    }
}

fn without_case(ground: Ground) -> Section {
    let why = match ground {
        Ground::Nothing => "None: nothing looks at it in this version.",
        _ => "None of its own: it is judged in the trace of every case.",
    };
    Section::Sentences(why.to_owned())
}

/// How to exercise it: alone, or with everything else where it has no case of its own.
fn command(requirement: &Requirement, ground: Ground) -> Option<String> {
    let selection = match ground {
        Ground::Cases => format!(" --requirement {}", requirement.id),
        Ground::EveryTrace => String::new(),
        Ground::Nothing => return None,
    };
    let subject = match requirement.party {
        Party::Agent => "your-agent --acp",
        Party::Client => "your-client --agent {agent} --dir {cwd} {prompt}",
    };
    Some(format!("acp-conformance {}{selection} -- {subject}", requirement.party))
}

fn item_of_case(case: &Case) -> Item {
    Item { id: case.id.clone(), title: case.title.clone(), path: format!("cases/{}.yaml", Case::file_of(&case.id)) }
}

fn item_of_fault(fault: &Fault) -> Item {
    Item { id: fault.id.clone(), title: fault.title.clone(), path: fault.source.path().to_owned() }
}
