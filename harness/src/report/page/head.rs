//! What stands in a page also without a script: the verdict, the subject, coverage, and what was broken.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::data::Reported;
use super::document::escape;
use crate::report::broken::failures;
use crate::report::expected_text;
use crate::report::model::{Conformance, Driven, FindingReport, RequirementReport, RunReport, SubjectInfo};
use crate::requirement::{Catalogue, Level, Party};
use crate::verdict::Verdict;

/// The title of the page.
pub(super) fn title(reports: &[Reported]) -> String {
    let one = |Reported { report, .. }: &Reported| format!("{}: {}", name(&report.subject), report.verdict.name());
    let all: Vec<String> = reports.iter().map(one).collect();
    format!("{} – ACP conformance", all.join(", "))
}

/// A section for each report.
pub(super) fn head(reports: &[Reported]) -> String {
    let mut html = String::new();
    for Reported { report, .. } in reports {
        // Nothing fails that is written into a string.
        let _ = section(&mut html, report);
    }
    html
}

/// How a subject calls itself, with its version.
pub(super) fn name(subject: &SubjectInfo) -> String {
    let name = bare_name(subject);
    subject.version.as_ref().map_or_else(|| name.clone(), |version| format!("{name} {version}"))
}

/// How a subject calls itself; one that gives no name is called by what is started.
pub(super) fn bare_name(subject: &SubjectInfo) -> String {
    if let Some(name) = &subject.name {
        return name.clone();
    }
    let program = subject.command.iter().take_while(|word| !word.starts_with('-') && !word.contains('{'));
    let words: Vec<&str> = program.map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    if words.is_empty() {
        return format!("{} without a name", subject.kind.one());
    }
    format!("{} (gives no name)", words.join(" "))
}

fn section(html: &mut String, report: &RunReport) -> std::fmt::Result {
    let RunReport { suite, subject, verdict, summary, .. } = report;
    let (name, kind) = (escape(&name(subject)), subject.kind);
    let (word, class) = (verdict.name().replace('-', " "), class(*verdict));
    writeln!(html, "<section class=\"subject\" aria-label=\"The {kind}\">")?;
    writeln!(html, "<h1>{name} <span class=\"verdict {class}\">{word}</span></h1>")?;
    writeln!(html, "<p class=\"facts\">{}</p>", means(*verdict))?;
    if let Some(expected) = &report.expected {
        let summary = escape(&expected_text::summary(expected));
        writeln!(html, "<p class=\"facts\">what is expected to fail: {summary}</p>")?;
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = summary.duration_ms as f64 / 1000.0;
    let driven = if subject.driven == Some(Driven::Manual) { ", driven by hand" } else { "" };
    write!(html, "<p class=\"facts\">{kind}{driven} · ")?;
    if !subject.command.is_empty() {
        let command: Vec<_> = subject.command.iter().map(|word| shell_words::quote(word)).collect();
        write!(html, "<code>{}</code> · ", escape(&command.join(" ")))?;
    }
    let cases = match report.cases.len() {
        1 => "1 case".to_owned(),
        n => format!("{n} cases"),
    };
    let (edition, version) = (escape(&suite.edition), escape(&suite.version));
    writeln!(html, "judged by {edition}, suite {version} · {cases} · {seconds:.1} s</p>")?;
    coverage(html, report)?;
    broken(html, report)?;
    writeln!(html, "</section>")
}

const fn class(verdict: Conformance) -> &'static str {
    match verdict {
        Conformance::Conformant => "pass",
        Conformance::Incomplete => "inconclusive",
        Conformance::NotConformant => "fail",
        Conformance::HarnessError => "harness-error",
    }
}

const fn means(verdict: Conformance) -> &'static str {
    match verdict {
        Conformance::Conformant => "Every MUST that applies and that a program can decide was exercised and kept.",
        Conformance::Incomplete => "No MUST was broken, and some were not exercised or not decided.",
        Conformance::NotConformant => "A MUST was broken.",
        Conformance::HarnessError => "The harness itself failed; this says nothing about the subject.",
    }
}

fn coverage(html: &mut String, report: &RunReport) -> std::fmt::Result {
    writeln!(html, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Coverage\">")?;
    writeln!(
        html,
        "<table class=\"coverage\"><caption>Requirements that were exercised, of those that apply</caption>"
    )?;
    write!(html, "<thead><tr><th scope=\"col\">Level</th><th scope=\"col\">Exercised</th>")?;
    for verdict in Verdict::ALL {
        write!(html, "<th scope=\"col\">{}</th>", verdict.name().replace('-', " "))?;
    }
    writeln!(html, "</tr></thead><tbody>")?;
    for level in [Level::Must, Level::Should] {
        row(html, report.subject.kind, level, &counts(&report.requirements, level))?;
    }
    writeln!(html, "</tbody></table></div>")
}

fn row(html: &mut String, party: Party, level: Level, counts: &BTreeMap<Verdict, usize>) -> std::fmt::Result {
    let count = |verdict| counts.get(&verdict).copied().unwrap_or_default();
    // What was observed and not decided was not exercised enough to count.
    let exercised = count(Verdict::Pass) + count(Verdict::Fail);
    let applicable = counts.values().sum::<usize>() - count(Verdict::NotApplicable);
    write!(html, "<tr><th scope=\"row\">{}</th>", level.name().to_uppercase())?;
    write!(
        html,
        "<td><span class=\"amount\">{exercised} of {applicable}</span> <meter max=\"{applicable}\" value=\"{exercised}\"></meter></td>"
    )?;
    for verdict in Verdict::ALL {
        match count(verdict) {
            0 => write!(html, "<td class=\"none\">0</td>")?,
            n => {
                let view = format!("#party={party}&amp;level={}&amp;verdict={verdict}", level.name());
                write!(html, "<td class=\"{verdict}\"><a href=\"{view}\">{n}</a></td>")?;
            }
        }
    }
    writeln!(html, "</tr>")
}

fn counts(requirements: &[RequirementReport], level: Level) -> BTreeMap<Verdict, usize> {
    let mut counts = BTreeMap::new();
    for requirement in requirements.iter().filter(|requirement| requirement.level == level) {
        *counts.entry(requirement.verdict).or_default() += 1;
    }
    counts
}

fn broken(html: &mut String, report: &RunReport) -> std::fmt::Result {
    let broken: Vec<_> =
        report.requirements.iter().filter(|requirement| requirement.verdict == Verdict::Fail).collect();
    if broken.is_empty() {
        return Ok(());
    }
    writeln!(html, "<h2>Broken</h2>\n<ul class=\"broken\">")?;
    for requirement in broken {
        let RequirementReport { id, level, .. } = requirement;
        let text = Catalogue::v1().find(id).map_or("", |requirement| requirement.text.as_str());
        let (id, level) = (escape(id), level.name().to_uppercase());
        writeln!(html, "<li><a href=\"#requirement={id}\">{id}</a> <small>{level}</small> {}", escape(text))?;
        // What nobody expected is the news.
        let first = failures(requirement).min_by_key(|broken| broken.expected(report).is_some());
        if let Some(broken) = first {
            let FindingReport { case, message, .. } = broken.finding;
            writeln!(html, "<p class=\"seen\">{}: {}</p>", escape(case), escape(message))?;
            if let Some(entry) = broken.expected(report) {
                writeln!(html, "<p class=\"seen\">expected to fail: {}</p>", escape(&entry.reason))?;
            }
        }
        writeln!(html, "</li>")?;
    }
    writeln!(html, "</ul>")
}
