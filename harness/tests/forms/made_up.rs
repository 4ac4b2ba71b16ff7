//! A report that no honest subject causes.

use std::collections::BTreeMap;
use std::time::Duration;

use acp_conformance::edition::V1;
use acp_conformance::expected::{Comparison, Date, Expectation};
use acp_conformance::report::{Begin, Renderer};
use acp_conformance::requirement::Party;
use acp_conformance::results::{
    CaseReport, Collector, FindingReport, ProfileInfo, Repeated, RequirementReport, RunReport,
};
use acp_conformance::verdict::{Conformance, Verdict};

use super::readers::Lines;

/// A name of a subject that could harm a reader.
pub const NASTY: &str = "]]><script>&|`*_[x](http://e) ```\n````\n```\r\n::error::forged\n%0A::error::forged # SKIP\n</details>\
                         \u{0}\u{1b}[31m\u{fffe}\u{ffff}\u{202e}\u{2028}\u{85}@all \\| \"'";

/// The length of a message that is too long.
pub const LONG: usize = 100_000;

/// A case file of the user.
pub const OWN: &str = "mine/a b#,:%.yaml";

/// Builds the report of a run with many violations and errors.
pub fn hostile() -> RunReport {
    let mut report = Collector::new(V1.edition(), Party::Agent, vec![NASTY.to_owned()]).finish(Duration::ZERO, false);
    report.subject.name = Some(NASTY.to_owned());
    report.subject.version = Some(NASTY.to_owned());
    report.verdict = Conformance::NotConformant;
    let long = format!("{NASTY}{}", "ä".repeat(LONG));
    let asking = "v1/agent/cancel/while-asking";
    fail(
        &mut report,
        "cancel.stop-reason",
        &[(asking, &long, Some(12)), (asking, "once more", None), (NASTY, "x", None)],
    );
    fail(&mut report, "prompt.cancelled-only-on-cancel", &[("v1/agent/own/case", NASTY, Some(7))]);
    fail(&mut report, "cancel.idle", &[("v1/agent/fs/read", NASTY, None)]);
    report.cases = vec![
        case(NASTY, Verdict::Fail, Some(NASTY)),
        case(asking, Verdict::Fail, None),
        case("v1/agent/fs/read", Verdict::Pass, None),
        case("v1/agent/fs/write", Verdict::Inconclusive, Some(&long)),
        case("v1/agent/init/handshake", Verdict::HarnessError, Some(&long)),
        case("v1/agent/own/case", Verdict::Fail, Some("prompt.cancelled-only-on-cancel")),
        case("v1/agent/prompt/plain@one,two", Verdict::NotApplicable, Some(NASTY)),
    ];
    report.cases[0].file = Some(NASTY.to_owned());
    report.cases[5].file = Some(format!("./{OWN}"));
    report
}

/// Builds the same run, in which a SHOULD counts like a MUST.
pub fn strict() -> RunReport {
    RunReport { strict: true, ..hostile() }
}

/// Builds the report of five runs, in two of which a case failed.
pub fn repeated() -> RunReport {
    let verdicts = BTreeMap::from([(Verdict::Pass, 3), (Verdict::Fail, 2)]);
    let repeated = Repeated {
        runs: 5,
        requirements: BTreeMap::from([("cancel.stop-reason".to_owned(), verdicts.clone())]),
        cases: BTreeMap::from([("v1/agent/cancel/while-asking".to_owned(), verdicts)]),
    };
    RunReport { repeated: Some(repeated), ..hostile() }
}

/// Builds the same run with a baseline that expects one of its failures.
pub fn expected() -> RunReport {
    let mut report = hostile();
    let known = Expectation::new("prompt.cancelled-only-on-cancel", format!("known {NASTY}"));
    let comparison =
        Comparison { report: &report, whole: true, today: Date::constant(1970, 1, 1), catalogue: V1.catalogue() };
    report.expected = Some(comparison.apply(&[known]));
    report
}

/// Builds reports on three subjects: one with all facts, one with none, and a hostile one.
pub fn subjects() -> Vec<RunReport> {
    let mut known = Collector::new(V1.edition(), Party::Client, Vec::new()).finish(Duration::ZERO, false);
    known.began = Some("2026-11-21T14:40:00Z".to_owned());
    known.subject.name = Some("plain".to_owned());
    known.subject.profile = Some(Box::new(ProfileInfo {
        name: "plain".to_owned(),
        title: "Plain client".to_owned(),
        homepage: Some("https://www.example.org/plain".to_owned()),
        install: Some("pip install plain==1.2.0".to_owned()),
        version: Some("1.2.0".to_owned()),
    }));
    known.verdict = Conformance::NotConformant;
    for (id, verdict) in [
        ("fs.read.content", Verdict::Pass),
        ("fs.read.unadvertised", Verdict::Pass),
        ("permission.late-request", Verdict::Fail),
        ("fs.read.missing-file-code", Verdict::Fail),
        ("prompt.params", Verdict::Inconclusive),
    ] {
        requirement(&mut known, id).verdict = verdict;
    }
    let silent = Collector::new(V1.edition(), Party::Client, Vec::new()).finish(Duration::ZERO, false);
    let mut hostile = hostile();
    hostile.began = Some(NASTY.to_owned());
    hostile.subject.profile = Some(Box::new(ProfileInfo {
        name: NASTY.to_owned(),
        title: NASTY.to_owned(),
        homepage: Some(format!("https://example.org/{NASTY}")),
        install: Some(NASTY.to_owned()),
        version: None,
    }));
    vec![silent, known, hostile]
}

fn requirement<'r>(report: &'r mut RunReport, id: &str) -> &'r mut RequirementReport {
    report.requirements.iter_mut().find(|requirement| requirement.id == id).expect("a requirement")
}

/// Returns the output of a renderer for the events of a run.
pub fn rendered<R: Renderer>(renderer: impl FnOnce(Lines) -> R, report: &RunReport) -> Vec<u8> {
    let out = Lines::default();
    renderer(out.clone()).finished(&begin(report), report).expect("a vector takes everything");
    out.flushed()
}

/// Returns the facts that are known before the first case of that run.
pub fn begin(report: &RunReport) -> Begin {
    Begin::of(report, true, format!("acp-conformance agent --case {{case}} -- {NASTY}"))
}

fn fail(report: &mut RunReport, id: &str, findings: &[(&str, &str, Option<usize>)]) {
    let requirement = requirement(report, id);
    requirement.verdict = Verdict::Fail;
    requirement.findings = findings
        .iter()
        .map(|(case, message, line)| FindingReport {
            case: (*case).to_owned(),
            case_title: Some(format!("Title of {case}")),
            verdict: Verdict::Fail,
            kind: String::new(),
            fields: serde_json::Map::new(),
            text: (*message).to_owned(),
            party: Party::Agent,
            events: vec![3],
            lines: vec![format!("#3 agent → client  {NASTY}")],
            line: *line,
            stalled: false,
            unconfirmed: false,
            shared: false,
            after: Vec::new(),
            same_as: None,
            counted_in: None,
        })
        .collect();
}

fn case(id: &str, verdict: Verdict, reason: Option<&str>) -> CaseReport {
    CaseReport {
        id: id.to_owned(),
        title: Some(format!("Title of {id} {NASTY}")),
        verdict,
        duration_ms: 1234,
        file: None,
        trace: None,
        reason: reason.map(str::to_owned),
        cause: None,
        requirements: Vec::new(),
        also: Vec::new(),
        otherwise: None,
        notes: Vec::new(),
        stderr: vec![format!("Traceback {NASTY}"), NASTY.to_owned()],
    }
}
