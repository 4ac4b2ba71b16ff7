//! The files of the faults are correct: every name in them is known, and each checked requirement has a fault or the
//! reason why it has none.

use std::collections::BTreeSet;
use std::fs;

use acp_conformance::case;
use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::{Party, Status};
use acp_conformance_mutants::fault::{EditFile, Fault, MatchFile, file};
use libtest_mimic::{Failed, Trial};

/// The first line of each fault, for editors.
const SCHEMA: &str = "# yaml-language-server: $schema=../../../../fault.schema.json";

pub fn trials() -> Vec<Trial> {
    let of_edition = |bundle: &'static Bundle| {
        let name = |what: &str| format!("{}-{what}", bundle.case_folder());
        [
            Trial::test(name("faults-are-correct"), move || faults_are_correct(bundle)),
            Trial::test(name("checked-requirements-have-a-fault"), move || requirements_have_a_fault(bundle)),
        ]
    };
    let mut trials: Vec<Trial> = [&V1, &V2].into_iter().flat_map(of_edition).collect();
    trials.push(Trial::test("schema-is-current", schema_is_current));
    trials.push(Trial::test("mistakes-are-reported", mistakes_are_reported));
    trials
}

/// `ACP_BLESS=1` writes the schema.
fn schema_is_current() -> Result<(), Failed> {
    let path = format!("{}/fault.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema = serde_json::to_string_pretty(&file::schema())? + "\n";
    if std::env::var_os("ACP_BLESS").is_some() {
        fs::write(&path, &schema)?;
    }
    if fs::read_to_string(&path)? == schema { Ok(()) } else { Err(format!("{path} is out of date").into()) }
}

fn faults_are_correct(bundle: &'static Bundle) -> Result<(), Failed> {
    let cases = case::embedded(bundle).0;
    let cases: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let (mut ids, mut problems) = (BTreeSet::new(), Vec::new());
    for fault in Fault::all(bundle.case_folder())? {
        let mut found = problems_of(&fault, bundle.edition(), &cases);
        let text = fs::read_to_string(&fault.path)?;
        found.extend((text.lines().next() != Some(SCHEMA)).then(|| format!("the first line is not `{SCHEMA}`")));
        found.extend((!ids.insert(fault.id.clone())).then(|| "another fault has this id".to_owned()));
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", fault.path.display())));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

fn requirements_have_a_fault(bundle: &'static Bundle) -> Result<(), Failed> {
    // The requirements of HTTP hold for every version, and have one check: the faults of the first prove it.
    let of_http = Fault::all(V1.case_folder())?.into_iter().filter(|fault| fault.file.transport.is_some());
    let faults = Fault::all(bundle.case_folder())?.into_iter().chain(of_http);
    let killed: BTreeSet<String> = faults.map(|fault| fault.file.kills).collect();
    let mut problems = Vec::new();
    for requirement in bundle.catalogue().iter() {
        let is_killed = killed.contains(&requirement.id);
        let problem = match (requirement.status, is_killed, &requirement.no_fault) {
            (Status::Checked, false, None) => "no fault violates it, and no `no-fault` gives the reason",
            (Status::Checked, true, Some(_)) => "a fault violates it, and `no-fault` denies that",
            (Status::Checked, ..) | (_, _, None) => continue,
            (_, _, Some(_)) => "it has a `no-fault`, and no check",
        };
        problems.push(format!("{}: {problem}", requirement.id));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// Lists the mistakes in a fault.
fn problems_of(fault: &Fault, edition: &Edition, cases: &BTreeSet<&str>) -> Vec<String> {
    let Fault { file, party, .. } = fault;
    let mut problems = Vec::new();
    for id in file.also.keys().chain(file.sometimes.keys()).chain([&file.kills]) {
        match edition.catalogue.find(id) {
            None => problems.push(format!("no requirement has the id `{id}`")),
            Some(known) if known.party != *party => problems.push(format!("`{id}` does not bind the {party}")),
            Some(known) if known.status != Status::Checked => problems.push(format!("no check covers `{id}`")),
            Some(_) => {}
        }
    }
    let area = fault.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
    if file.kills.split('.').next().is_none_or(|wanted| area != wanted) {
        problems.push(format!("it is not in the folder of the area of `{}`", file.kills));
    }
    if file.also.contains_key(&file.kills) || file.sometimes.contains_key(&file.kills) {
        problems.push("it lists what it kills anyway".to_owned());
    }
    let reasons = file.also.iter().chain(&file.sometimes);
    problems.extend(reasons.filter(|(_, why)| why.trim().is_empty()).map(|(id, _)| format!("`{id}` has no reason")));
    let unknown = file.case.items.iter().filter(|(_, case)| !cases.contains(case.as_str()));
    problems.extend(unknown.map(|(_, case)| format!("no case has the id `{case}`")));
    let foreign = if *party == Party::Agent { &file.client } else { &file.agent };
    problems.extend((!foreign.is_empty()).then(|| format!("it has options of the {}", party.other())));
    for EditFile { on, change } in &file.edits {
        check_match(on, edition, *party, &mut problems);
        for other in [&on.after, &on.until].into_iter().flatten() {
            check_match(other, edition, *party, &mut problems);
        }
        let is_until_received = change.delay_until.as_ref().is_some_and(|until| until.received.is_some());
        if on.end.is_some() || is_until_received {
            problems.push("only `delay-until` has `end`, and it waits for the program".to_owned());
        }
        if on.received.is_some() && change.changes_lines() {
            problems.push("a received message can only lose or change members, or be dropped".to_owned());
        }
        if !change.acts_on_lines() && !change.edits_members() {
            problems.push("an edit does nothing".to_owned());
        }
        if let Some(until) = &change.delay_until {
            check_match(until, edition, *party, &mut problems);
        }
        let from_and_to = change.rename.iter().flat_map(|(from, to)| [from, to]);
        let pointers = from_and_to.chain(change.set.keys()).chain(&change.remove).chain(on.wanted.keys());
        problems.extend(pointers.filter(|at| !at.starts_with('/')).map(|at| format!("`{at}` is not a JSON pointer")));
    }
    problems
}

fn check_match(on: &MatchFile, edition: &Edition, party: Party, problems: &mut Vec<String>) {
    let given = [&on.method, &on.result_of, &on.error_of, &on.update].into_iter().flatten().count();
    if given + usize::from(on.any.is_some()) + usize::from(on.end.is_some()) != 1 {
        problems.push("a match has exactly one of `method`, `result-of`, `error-of`, `update`, `any` and `end`".into());
    }
    let sender = if on.received.is_some() { party.other() } else { party };
    let answered = [&on.result_of, &on.error_of].into_iter().flatten().map(|method| (method, sender.other()));
    for (method, caller) in on.method.iter().map(|method| (method, sender)).chain(answered) {
        if !method.starts_with('_') && !edition.methods.knows(caller, method) {
            problems.push(format!("the {caller} calls no method `{method}`"));
        }
    }
}

/// Each mistake of a file is reported.
fn mistakes_are_reported() -> Result<(), Failed> {
    let text = "title: t\nkills: prompt.stop-reson\ncase: v1/agent/none\nclient: [--x]\nalso: {plan.replaced: ''}\n\
        match: {result-of: session/promt, received: true}\ndo: {replace: x, set: {result: 1}}\n";
    let file = Fault::parse("x.yaml", text.as_bytes())?;
    let fault = Fault { id: "x".into(), path: "faults/v1/agent/tool/x.yaml".into(), party: Party::Agent, file };
    let found = problems_of(&fault, V1.edition(), &BTreeSet::new()).join("\n");
    let wanted = [
        "no requirement has the id `prompt.stop-reson`",
        "not in the folder of the area",
        "`plan.replaced` has no reason",
        "no case has the id `v1/agent/none`",
        "options of the client",
        "calls no method `session/promt`",
        "a received message can only",
        "`result` is not a JSON pointer",
    ];
    match wanted.iter().find(|wanted| !found.contains(**wanted)) {
        Some(missing) => Err(format!("not reported: {missing}\n{found}").into()),
        None => Ok(()),
    }
}
