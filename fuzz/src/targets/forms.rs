//! Reports: every text of a subject stays text in every form, and its control characters are removed.

use std::time::Duration;

use acp_conformance::compare::{self, Side, compare};
use acp_conformance::edition::V1;
use acp_conformance::expected::{Comparison, Date, Expectation};
use acp_conformance::judge::Cause;
use acp_conformance::report::{
    Begin, BoardRun, Detail, EventLines, GithubReport, JunitReport, ListedAgent, MarkdownReport, PageReport, Renderer,
    TextReport, write_board, write_board_markdown,
};
use acp_conformance::requirement::Party;
use acp_conformance::results::{CaseReport, Collector, FindingReport, ProfileInfo, ReasonReport, RunReport};
use acp_conformance::snapshot::Bound;
use acp_conformance::verdict::Verdict;
use pulldown_cmark::{Event, Options, Parser, Tag};

/// Treats the bytes as texts of a subject, separated by a byte that occurs in no text.
pub fn holds(data: &[u8]) {
    let texts: Vec<String> =
        data.split(|byte| *byte == 0xff).map(|text| String::from_utf8_lossy(text).into()).collect();
    let harmless: Vec<String> = texts.iter().map(|text| tame(text)).collect();
    let (forms, wanted) = (forms(&report(&texts)), self::forms(&report(&harmless)));
    for ((name, form), (_, wanted)) in forms.into_iter().zip(wanted) {
        let unfit =
            |c: &char| c.is_control() && *c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}');
        // The others are JSON, or contain it, for programs.
        if !matches!(name, "events" | "page" | "board") {
            assert_eq!(form.chars().find(unfit), None, "a control character in {name}:\n{form}");
        }
        assert_eq!(skeleton(name, &form), skeleton(name, &wanted), "a text became more than a text in {name}:\n{form}");
    }
}

/// Returns a text of the same length that has no special characters in any form except the parts of an id.
fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "/@.".contains(c) { c } else { 'x' }).collect()
}

/// Builds a report with each text in each place that a subject controls.
fn report(texts: &[String]) -> RunReport {
    // Findings name cases even if the texts differ.
    let id = |index: usize| format!("{index} {}", texts[0]);
    let mut around = texts.iter().cycle().cloned();
    let mut next = || around.next().unwrap_or_default();
    let mut report = Collector::new(V1.edition(), Party::Agent, vec![next()]).finish(Duration::ZERO, true);
    (report.subject.name, report.subject.version) = (Some(next()), Some(next()));
    let profile =
        ProfileInfo { name: next(), title: next(), homepage: None, install: Some(next()), version: Some(next()) };
    report.subject.profile = Some(Box::new(profile));
    for (index, requirement) in report.requirements.iter_mut().take(texts.len().min(8)).enumerate() {
        requirement.verdict = Verdict::Fail;
        requirement.notes.push(next());
        requirement.cases.push(next());
        requirement.findings.push(FindingReport {
            case: id(index),
            case_title: Some(next()),
            verdict: Verdict::Fail,
            kind: String::new(),
            fields: serde_json::Map::new(),
            text: next(),
            party: Party::Agent,
            events: vec![1],
            lines: vec![next(), next()],
            line: Some(3),
            stalled: false,
            unconfirmed: false,
            shared: false,
            after: Vec::new(),
            same_as: None,
            counted_in: None,
        });
    }
    for (index, verdict) in Verdict::ALL.into_iter().enumerate() {
        report.cases.push(CaseReport {
            id: id(index),
            title: Some(next()),
            verdict,
            duration_ms: 1,
            file: Some(format!("own/{}", next())),
            trace: None,
            reason: Some(next()),
            cause: Some(Cause::UnknownAct { act: next() }),
            requirements: Vec::new(),
            also: Vec::new(),
            otherwise: None,
            notes: vec![next()],
            stderr: vec![next(), next()],
        });
    }
    report.reasons.push(ReasonReport {
        verdict: Verdict::Inconclusive,
        kind: next(),
        about: [(next(), 2)].into(),
        text: next(),
        cases: vec![id(2)],
    });
    report.next_steps = vec![next()];
    report.model.insert(next(), 1);
    let known = Expectation::new(report.requirements[1].id.clone(), format!("known {}", next()));
    let comparison =
        Comparison { report: &report, whole: true, today: Date::constant(1970, 1, 1), catalogue: V1.catalogue() };
    report.expected = Some(comparison.apply(&[known]));
    report
}

/// Renders the report in every form, by name.
fn forms(report: &RunReport) -> Vec<(&'static str, String)> {
    let runs = [BoardRun { report: report.clone(), page: "runs/1.html".to_owned() }];
    let said = || report.next_steps.concat();
    let (name, version, origin, result, login) = (said(), said(), said(), said(), said());
    let listed = [ListedAgent { name, version, origin, result, login, stderr: vec![said()] }];
    let side = |path: &str| Side::new(path.to_owned(), report.clone());
    let mut other = report.clone();
    other.requirements.iter_mut().for_each(|requirement| requirement.verdict = Verdict::Pass);
    other.cases.clear();
    let difference = compare(&side("old"), &Side::new("new".to_owned(), other), Bound::Full);
    vec![
        ("text", plain(&rendered(|out| Box::new(TextReport::new(out, Detail::Cases)), report))),
        ("junit", rendered(|out| Box::new(JunitReport::new(out)), report)),
        ("github", rendered(|out| Box::new(GithubReport(out)), report)),
        ("markdown", rendered(|out| Box::new(MarkdownReport::new(out)), report)),
        ("events", rendered(|out| Box::new(EventLines(out)), report)),
        ("page", rendered(|out| Box::new(PageReport::new(out)), report)),
        ("board", text(|out| write_board(&runs, &listed, None, out))),
        ("subjects", text(|out| write_board_markdown(&runs, &listed, out))),
        ("diff", plain(&text(|out| compare::write(out, &difference, Bound::Full)))),
    ]
}

fn rendered(renderer: impl FnOnce(&mut Vec<u8>) -> Box<dyn Renderer + '_>, report: &RunReport) -> String {
    let mut bytes = Vec::new();
    let mut renderer = renderer(&mut bytes);
    let begin = Begin::of(report, true, "-- agent".to_owned());
    renderer.finished(&begin, report).expect("a vector takes everything");
    renderer.close().expect("a vector takes everything");
    drop(renderer);
    String::from_utf8(bytes).expect("every form is UTF-8")
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes everything");
    String::from_utf8(bytes).expect("every form is UTF-8")
}

/// Returns the text without styles, which are ours: those of a subject are escaped.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let style = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        plain + part[style..].strip_prefix('m').unwrap_or("\u{1b}[no style")
    })
}

/// Returns the parts of a text with a meaning in the form.
fn skeleton(form: &str, text: &str) -> Vec<String> {
    match form {
        "junit" => {
            let document = roxmltree::Document::parse(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
            document
                .descendants()
                .filter(|node| node.is_element())
                .map(|node| node.tag_name().name().to_owned())
                .collect()
        }
        "github" => {
            let beginnings = text.lines().filter(|line| !line.starts_with(' '));
            beginnings.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
        }
        "events" => text.lines().map(|line| shape(&serde_json::from_str(line).unwrap_or_default())).collect(),
        "markdown" | "subjects" => markup(text),
        "page" | "board" => tags(text),
        _ => Vec::new(),
    }
}

/// Returns the members of a JSON value, without their values.
fn shape(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(members) => members.iter().map(|(name, _)| format!("{name} ")).collect(),
        _ => String::new(),
    }
}

/// Returns the HTML, links and tables of a text in Markdown.
fn markup(text: &str) -> Vec<String> {
    let text_of = |event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(tags(&html).join(" ")),
        Event::Start(Tag::Link { dest_url, .. }) => Some(format!("link {dest_url}")),
        Event::Start(Tag::Image { .. }) => Some("image".to_owned()),
        Event::Start(Tag::Heading { level, .. }) => Some(format!("heading {level}")),
        Event::Start(Tag::CodeBlock(_)) => Some("block".to_owned()),
        Event::Start(Tag::TableCell) => Some("cell".to_owned()),
        _ => None,
    };
    Parser::new_ext(text, Options::all()).filter_map(text_of).collect()
}

/// Returns the tags of a page with the names of their attributes.
fn tags(page: &str) -> Vec<String> {
    let tag = |part: &str| {
        let tag = part.split('>').next().unwrap_or_default();
        tag.split('"').step_by(2).collect::<String>()
    };
    page.split('<').skip(1).map(tag).collect()
}
