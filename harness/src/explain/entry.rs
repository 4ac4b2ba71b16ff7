//! The content of an explanation, without its layout: everything known about a requirement or a case.

use crate::case::{self, Case};
use crate::edition::Bundle;
use crate::example::exchange;
use crate::judge::Registry;
use crate::requirement::{Catalogue, Difference, Level, Party, Requirement, Status, Transport};
use crate::verdict::Verdict;

/// The built-in data for explanations.
pub struct Sources {
    /// The edition.
    pub bundle: &'static Bundle,
    /// The cases, in the order of their ids.
    cases: Vec<Case>,
}

/// The explanation of one requirement.
pub struct Entry<'s> {
    /// The requirement.
    pub requirement: &'s Requirement,
    /// The address of the page that it comes from.
    pub link: Option<String>,
    /// Short facts: a name and its value.
    pub facts: Vec<(&'static str, String)>,
    /// Sections with a title, in the order of reading.
    pub parts: Vec<(&'static str, Section)>,
}

/// One part of an entry.
pub enum Section {
    /// Sentences.
    Sentences(String),
    /// Files of the repository.
    Files(Vec<Item>),
    /// A command.
    Command(String),
    /// Messages of an exchange, or the lines of a file.
    Lines(Vec<String>),
}

/// A related file or entry.
pub struct Item {
    /// Its id or name.
    pub id: String,
    /// Its title, in a sentence.
    pub title: String,
    /// Its path from the root of the repository, or the page of an entry.
    pub path: String,
}

impl Sources {
    /// Returns the built-in sources of an edition.
    pub fn of(bundle: &'static Bundle) -> Self {
        let (cases, _) = case::embedded(bundle);
        Self { bundle, cases }
    }

    /// Gathers the explanation of a requirement.
    pub fn entry<'s>(&self, requirement: &'s Requirement) -> Entry<'s> {
        let cases: Vec<Item> = self.cases_for(&requirement.id).map(item_of_case).collect();
        let ground = match cases.is_empty() {
            false => Ground::Cases,
            true if Registry::all().requirements().contains(requirement.id.as_str()) => Ground::EveryTrace,
            true => Ground::Nothing,
        };
        let mut parts = vec![(how_title(requirement.status, ground), Section::Sentences(requirement.how.clone()))];
        for (title, verdict) in [("A correct exchange", Verdict::Pass), ("A wrong exchange", Verdict::Fail)] {
            let lines = exchange(self.bundle, &requirement.id, verdict);
            parts.extend((!lines.is_empty()).then_some((title, Section::Lines(lines))));
        }
        let hints = requirement.sdk.iter().map(|(sdk, hint)| format!("{}: {hint}", sdk.name())).collect::<Vec<_>>();
        parts.extend((!hints.is_empty()).then_some(("With the SDKs", Section::Lines(hints))));
        parts.extend(requirement.remark.clone().map(|remark| ("Remark", Section::Sentences(remark))));
        let general = self.bundle.catalogue().iter().filter(|other| other.refers_to.contains(&requirement.id));
        let general: Vec<&str> = general.map(|other| other.id.as_str()).collect();
        let related = [("Also covers", requirement.refers_to.join(", ")), ("Also covered by", general.join(", "))];
        let related = related.into_iter().filter(|(_, ids)| !ids.is_empty());
        parts.extend(related.map(|(title, ids)| (title, Section::Sentences(ids + "."))));
        parts.push(("The smallest violation", Section::Sentences(requirement.mutant.clone())));
        parts.extend(requirement.unusual.clone().map(|text| ("Unusual, and correct", Section::Sentences(text))));
        parts.push(("Cases", if cases.is_empty() { without_case(ground) } else { Section::Files(cases) }));
        parts.extend(command(self.bundle, requirement, ground).map(|command| ("Run it", Section::Command(command))));
        Entry { requirement, link: self.bundle.link(requirement), facts: facts(self.bundle, requirement), parts }
    }

    /// Finds a case by its id; the ids of a matrix may omit the shape.
    pub fn case(&self, id: &str) -> Option<&Case> {
        let exact = self.cases.iter().find(|case| case.id == id);
        exact.or_else(|| self.cases.iter().find(|case| Case::file_of(&case.id) == id))
    }

    /// Returns the ids of the cases, in their order.
    pub fn case_ids(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.id.as_str())
    }

    /// Gathers the requirements and the script of a case.
    pub fn case_parts(&self, case: &Case) -> Vec<(&'static str, Section)> {
        let known = |id: &String| self.bundle.catalogue().find(id);
        let requirements = case.requirements.iter().filter_map(known).map(|requirement| Item {
            id: requirement.id.clone(),
            title: requirement.text.clone(),
            path: requirement.page(),
        });
        let script = case.source.text().lines().map(str::to_owned).collect();
        let (option, subject) = start(case.subject, |transport| case.fits(transport, self.bundle.catalogue()));
        let protocol = protocol_option(self.bundle);
        let command = format!("acp-conformance {}{protocol}{option} --case {} -- {subject}", case.subject, case.id);
        vec![
            ("Requirements", Section::Files(requirements.collect())),
            ("Script", Section::Lines(script)),
            ("Run it", Section::Command(command)),
        ]
    }

    /// Returns the cases that name a requirement, in their first use.
    fn cases_for(&self, id: &str) -> impl Iterator<Item = &Case> {
        let first = self.cases.iter().filter(|case| case.context.is_none());
        first.filter(move |case| case.requirements.iter().any(|known| known == id))
    }
}

/// Returns the areas of the catalogue, in its order.
pub fn areas(catalogue: &Catalogue) -> Vec<&str> {
    let mut areas = Vec::new();
    for requirement in catalogue.iter() {
        if !areas.contains(&requirement.area().name()) {
            areas.push(requirement.area().name());
        }
    }
    areas
}

/// Returns the name of a level in running text.
pub(super) const fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::MayProbe => "probe",
    }
}

/// The short facts about a requirement; for a draft, they begin with the edition.
fn facts(bundle: &'static Bundle, requirement: &Requirement) -> Vec<(&'static str, String)> {
    let status = match requirement.status {
        Status::Checked => "checked: a program decides it",
        Status::Probe => "probe: the specification leaves it open, so it never fails",
        Status::Human => "human: only a person can decide it",
        Status::Planned => "planned: not checked yet",
    };
    let edition = bundle.is_draft().then(|| ("edition", bundle.label()));
    let facts = [
        ("binds", requirement.party.one().to_owned()),
        ("level", level(requirement.level).to_owned()),
        ("status", status.to_owned()),
        ("applies", requirement.applies_when.text().to_owned()),
    ];
    let differences = bundle.catalogue().differences().iter().filter(|difference| difference.id == requirement.id);
    let since = differences.map(|Difference { kind, why, .. }| {
        let colon = if why.is_empty() { "" } else { ": " };
        ("since", format!("{} in {}{colon}{why}", kind.name(), bundle.name()))
    });
    edition.into_iter().chain(facts).chain(since).collect()
}

/// The places where a requirement is checked.
#[derive(Clone, Copy)]
enum Ground {
    /// In cases that name it.
    Cases,
    /// In the traces of all cases, by a check.
    EveryTrace,
    /// Nowhere.
    Nothing,
}

const fn how_title(status: Status, ground: Ground) -> &'static str {
    match (status, ground) {
        (Status::Human, _) => "How a person can check it",
        (Status::Planned, _) | (Status::Checked, Ground::Nothing) => "How it could be checked",
        (Status::Checked, _) => "How it is checked",
        (Status::Probe, Ground::Nothing) => "How it could be recorded",
        (Status::Probe, _) => "How it is recorded",
    }
}

fn without_case(ground: Ground) -> Section {
    let why = match ground {
        Ground::Nothing => "None: this version does not check it.",
        _ => "No separate case: it is checked in the trace of every case.",
    };
    Section::Sentences(why.to_owned())
}

/// Returns the command to exercise it: alone, or with all cases if no case names it.
fn command(bundle: &Bundle, requirement: &Requirement, ground: Ground) -> Option<String> {
    let selection = match ground {
        Ground::Cases => format!(" --requirement {}", requirement.id),
        Ground::EveryTrace => String::new(),
        Ground::Nothing => return None,
    };
    let (party, protocol) = (requirement.party, protocol_option(bundle));
    let condition = &requirement.applies_when.condition;
    let (option, subject) = start(party, |transport| condition.is_possible_over(transport));
    Some(format!("acp-conformance {party}{protocol}{option}{selection} -- {subject}"))
}

/// Returns the option that chooses the edition of a draft, with a space before it; empty for the stable protocol.
pub(super) fn protocol_option(bundle: &Bundle) -> String {
    if bundle.is_draft() { format!(" --protocol {}", bundle.case_folder()) } else { String::new() }
}

/// Returns the option for the first transport that fits, and an example of a command line for it.
fn start(party: Party, fits: impl Fn(Transport) -> bool) -> (&'static str, &'static str) {
    let option = match [Transport::Stdio, Transport::Http, Transport::WebSocket].into_iter().find(|it| fits(*it)) {
        Some(Transport::Http) => " --transport http",
        Some(Transport::WebSocket) => " --transport ws",
        Some(Transport::Stdio) | None => "",
    };
    let subject = match (party, option.is_empty()) {
        (Party::Agent, true) => "my-agent --acp",
        (Party::Agent, false) => "my-agent serve --port {port}",
        (Party::Client, true) => "my-client --agent {agent} --dir {cwd} {prompt}",
        (Party::Client, false) => "my-client --url {url} --dir {cwd} {prompt}",
    };
    (option, subject)
}

fn item_of_case(case: &Case) -> Item {
    Item { id: case.id.clone(), title: case.title.clone(), path: format!("cases/{}.yaml", Case::file_of(&case.id)) }
}
