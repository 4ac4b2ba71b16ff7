//! The part of a page that needs no script: the verdict, the subject, the coverage, and the violations.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::data::Reported;
use crate::report::broken::{Broken, examples, unconfirmed, worst_first};
use crate::report::visible::visible;
use crate::report::words::{outcome, partial, protocol_of, subject as full_name, unstable_cases};
use crate::report::{count, expected_text};
use crate::requirement::{Level, Party};
use crate::results::{Driven, FindingReport, RequirementReport, RunReport};
use crate::verdict::{Conformance, Verdict};

/// Returns the title of the page.
pub(super) fn title(reports: &[Reported]) -> String {
    let one = |Reported { report, .. }: &Reported| format!("{}: {}", full_name(report), report.verdict.name());
    let all: Vec<String> = reports.iter().map(one).collect();
    format!("{} – ACP conformance", all.join(", "))
}

/// Writes a section for each report.
pub(super) fn head(reports: &[Reported]) -> Markup {
    html! { @for Reported { report, .. } in reports { (section(report)) } }
}

fn section(report: &RunReport) -> Markup {
    let RunReport { suite, subject, verdict, summary, .. } = report;
    let kind = subject.kind;
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = summary.duration_ms as f64 / 1000.0;
    let command: Vec<_> = subject.command.iter().map(|word| shell_words::quote(word)).collect();
    let name = full_name(report);
    html! {
        section class="subject" aria-label={ "The " (kind.name()) } {
            h1 { (visible(&name)) " " span class={ "verdict " (class(*verdict)) } { (words(verdict.name())) } }
            p class="facts" { (outcome(report)) "." }
            @if let Some(cut) = report.partial { p class="facts" { "partial: " (partial(cut)) } }
            @if let Some(expected) = &report.expected {
                p class="facts" { "expected failures: " (visible(&expected_text::summary(expected))) }
            }
            p class="facts" {
                (kind.name()) @if subject.driven == Some(Driven::Manual) { ", driven by hand" } " · "
                @if !command.is_empty() { code { (visible(&command.join(" "))) } " · " }
                (visible(&protocol_of(suite))) " · acp-conformance " (visible(&suite.version)) " · "
                (count(report.cases.len(), "case", "cases")) " · " (format!("{seconds:.1} s"))
                @if let Some(repeated) = &report.repeated { " · " (repeated.runs) " runs" }
            }
            (coverage(report))
            (broken(report))
            (seen(report))
            (unstable(report))
            (undecided(report))
            @if !report.next_steps.is_empty() {
                h2 { "Next" }
                ul class="reasons" { @for step in &report.next_steps { li { (visible(step)) } } }
            }
        }
    }
}

fn words(name: &str) -> String {
    name.replace('-', " ")
}

/// Returns the class of the elements that show this verdict.
pub(super) const fn class(verdict: Conformance) -> &'static str {
    match verdict {
        Conformance::Conformant | Conformance::Passed => "pass",
        Conformance::Incomplete => "inconclusive",
        Conformance::NotConformant => "fail",
        Conformance::HarnessError => "harness-error",
    }
}

/// Lists the cases whose verdict differs from run to run.
fn unstable(report: &RunReport) -> Markup {
    let cases = unstable_cases(report);
    html! {
        @if !cases.is_empty() {
            h2 { "Cases with different verdicts in these runs" }
            ul class="reasons" { @for case in &cases { li { (visible(case)) } } }
        }
    }
}

fn coverage(report: &RunReport) -> Markup {
    html! {
        p class="facts" { "Requirements that were exercised, of those that apply" }
        div class="scroll" tabindex="0" role="group" aria-label="Coverage" {
            table class="coverage" {
                thead {
                    tr {
                        th scope="col" { "Level" }
                        th scope="col" { "Exercised" }
                        @for verdict in Verdict::ALL { th scope="col" { (words(verdict.name())) } }
                    }
                }
                tbody {
                    @for level in [Level::Must, Level::Should] {
                        (row(report.subject.kind, level, &counts(&report.requirements, level)))
                    }
                }
            }
        }
    }
}

fn row(party: Party, level: Level, counts: &BTreeMap<Verdict, usize>) -> Markup {
    let count = |verdict| counts.get(&verdict).copied().unwrap_or_default();
    // Requirements that were observed but not decided do not count as exercised.
    let exercised = count(Verdict::Pass) + count(Verdict::Fail);
    let applicable = counts.values().sum::<usize>() - count(Verdict::NotApplicable);
    html! {
        tr {
            th scope="row" { (level.name().to_uppercase()) }
            td {
                span class="amount" { (exercised) " of " (applicable) } " "
                meter max=(applicable) value=(exercised) {}
            }
            @for verdict in Verdict::ALL {
                @match count(verdict) {
                    0 => td class="none" { "0" },
                    n => td class=(verdict.name()) {
                        a href={ "#party=" (party.name()) "&level=" (level.name()) "&verdict=" (verdict.name()) } { (n) }
                    }
                }
            }
        }
    }
}

fn counts(requirements: &[RequirementReport], level: Level) -> BTreeMap<Verdict, usize> {
    let mut counts = BTreeMap::new();
    for requirement in requirements.iter().filter(|one| one.level == level && one.same_as.is_empty()) {
        *counts.entry(requirement.verdict).or_default() += 1;
    }
    counts
}

fn broken(report: &RunReport) -> Markup {
    let broken = worst_first(&report.requirements);
    html! {
        @if !broken.is_empty() {
            h2 { "Failures" }
            ul class="broken" {
                @for requirement in broken { li { (broken_one(requirement, report)) } }
            }
        }
    }
}

/// Lists the failures that one process showed and no second one confirmed.
fn seen(report: &RunReport) -> Markup {
    let seen: Vec<_> = unconfirmed(report).collect();
    html! {
        @if !seen.is_empty() {
            h2 { "Seen, not confirmed" }
            ul class="broken" {
                @for Broken { requirement, finding } in seen {
                    li {
                        a href={ "#requirement=" (requirement.id) } { (requirement.id) } " "
                        small { (requirement.level.name().to_uppercase()) } " " (visible(&requirement.text))
                        p class="seen" { (visible(&finding.text)) }
                        p class="seen" { "case: " (visible(&finding.case_name())) }
                    }
                }
            }
        }
    }
}

/// Lists the reasons why cases are undecided or were not exercised. Cases that do not apply need no explanation.
fn undecided(report: &RunReport) -> Markup {
    let reasons: Vec<_> = report.reasons.iter().filter(|reason| reason.verdict != Verdict::NotApplicable).collect();
    html! {
        @if !reasons.is_empty() {
            h2 { "Undecided cases" }
            ul class="reasons" {
                @for reason in reasons {
                    li {
                        span class=(reason.verdict.name()) {
                            (count(reason.cases.len(), "case", "cases")) " " (words(reason.verdict.name()))
                        }
                        ": " (visible(&reason.text))
                    }
                }
            }
        }
    }
}

/// Returns the address of the deciding message in the chart of a case.
fn messages(finding: &FindingReport) -> String {
    let event = finding.events.first().map_or_else(String::new, |event| format!("&event={event}"));
    format!("#view=cases&case={}{event}", finding.case)
}

fn broken_one(requirement: &RequirementReport, report: &RunReport) -> Markup {
    let RequirementReport { id, level, text, .. } = requirement;
    // Unexpected failures come first, since they are new.
    let first = examples(requirement).into_iter().min_by_key(|broken| broken.expected(report).is_some());
    html! {
        a href={ "#requirement=" (id) } { (id) } " " small { (level.name().to_uppercase()) } " " (visible(text))
        @if let Some(broken) = first {
            p class="seen" { (visible(&broken.finding.text)) }
            p class="seen" {
                "case: " (visible(&broken.finding.case_name())) " · "
                a href=(messages(broken.finding)) { "show the messages" }
            }
            @if let Some(sometimes) = report.repeated.as_ref().and_then(|repeated| repeated.sometimes_fails(id)) {
                p class="seen" { "runs: " (sometimes) }
            }
            @if let Some(also) = requirement.also() { p class="seen" { (visible(&also)) } }
            @if let Some(entry) = broken.expected(report) {
                p class="seen" { "expected to fail: " (visible(&entry.reason)) }
            }
        }
    }
}
