//! The board: a row for each requirement, a column for the newest run of each subject, and the history of each subject.
//! Cells lead to the pages of the runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use maud::{Markup, html};
use serde::Serialize;

use super::document::PageDocument;
use super::head::class;
use crate::protocol::edition_label;
use crate::report::board::{BoardRun, BoardSubject, ListedAgent, broken, date, major, subjects, title, version};
use crate::report::visible::visible;
use crate::report::words::{count, partial};
use crate::requirement::{Level, Party, Status, page};
use crate::results::{RequirementReport, RunReport};
use crate::verdict::{Conformance, Verdict};

const SCRIPT: &str = include_str!("board.js");

/// The data for the script.
#[derive(Serialize)]
struct BoardData<'b> {
    subjects: Vec<Subject<'b>>,
    /// The requirements of each edition, by id.
    catalogue: BTreeMap<Cow<'b, str>, BTreeMap<&'b str, Entry<'b>>>,
}

#[derive(Serialize)]
struct Subject<'b> {
    party: Party,
    name: Cow<'b, str>,
    version: &'b str,
    date: &'b str,
    edition: Cow<'b, str>,
    transport: &'b str,
    verdict: Conformance,
    /// The reason why the report lacks cases, if it does.
    partial: Option<String>,
    /// Whether only selected cases ran.
    selection: bool,
    page: &'b str,
    /// The result for each requirement, in the order of the catalogue.
    cells: Vec<Cell<'b>>,
}

#[derive(Serialize)]
struct Cell<'b> {
    id: &'b str,
    verdict: Verdict,
    /// The verdict of the run before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Verdict>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'b> {
    text: &'b str,
    level: &'static str,
    applies_when: &'b str,
    /// The address of its page in the documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
}

/// Writes the board of these runs and listed agents. `docs` is the address of the documentation, without a slash at its
/// end, to which the requirements link.
pub fn write_board(
    runs: &[BoardRun],
    listed: &[ListedAgent],
    docs: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let subjects = subjects(runs);
    let data = BoardData { subjects: subjects.iter().map(subject).collect(), catalogue: catalogue(&subjects, docs) };
    let (data, head) = (serde_json::to_string(&data)?, head(&subjects, listed, docs));
    let document = PageDocument { title: "ACP conformance board", head: &head, script: SCRIPT, data: &data };
    document.write(out, std::iter::empty())?;
    out.flush()
}

fn subject<'b>(BoardSubject { newest, earlier }: &BoardSubject<'b>) -> Subject<'b> {
    let report = &newest.report;
    let before: BTreeMap<&str, Verdict> = earlier
        .first()
        .map(|run| run.report.requirements.iter().map(|known| (known.id.as_str(), known.verdict)).collect())
        .unwrap_or_default();
    let cell =
        |id: &'b str, verdict| Cell { id, verdict, before: before.get(id).copied().filter(|old| *old != verdict) };
    Subject {
        party: report.subject.kind,
        name: title(report),
        version: version(report),
        date: date(report),
        edition: edition_label(&report.suite.edition),
        transport: &report.suite.transport,
        verdict: report.verdict,
        partial: report.partial.map(partial),
        selection: report.selection,
        page: &newest.page,
        cells: report.requirements.iter().map(|known| cell(&known.id, known.verdict)).collect(),
    }
}

/// Returns the requirements of all editions.
fn catalogue<'b>(
    subjects: &[BoardSubject<'b>],
    docs: Option<&str>,
) -> BTreeMap<Cow<'b, str>, BTreeMap<&'b str, Entry<'b>>> {
    let mut catalogue: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for report in subjects.iter().map(|subject| &subject.newest.report) {
        let entries = report.requirements.iter().map(|known| {
            // A generator of sites makes this address from the path of the page.
            let page = page(&known.id).replacen(".md#", "/#", 1);
            let page = docs.map(|docs| format!("{docs}/requirements/{}/{page}", major(report)));
            let (level, applies_when) = (known.level.name(), known.applies_when.as_str());
            (known.id.as_str(), Entry { text: &known.text, level, applies_when, page })
        });
        catalogue.entry(edition_label(&report.suite.edition)).or_default().extend(entries);
    }
    catalogue
}

/// Writes the subjects with their history, also for readers without scripts.
fn head(subjects: &[BoardSubject<'_>], listed: &[ListedAgent], docs: Option<&str>) -> Markup {
    let runs: usize = subjects.iter().map(|subject| 1 + subject.earlier.len()).sum();
    html! {
        h1 { "ACP conformance board" }
        p class="facts" {
            (count(subjects.len(), "subject", "subjects")) ", " (count(runs, "run", "runs"))
            ". Each cell of the table below leads to the findings and messages of its run."
            @if let Some(docs) = docs { " " a href={ (docs) "/" } { "Documentation" } }
        }
        p class="facts" {
            "The newest run of each subject. Score: the MUSTs that passed, of those that apply and that a program can check. "
            "History: the number of failed MUSTs in each run, the oldest first."
        }
        div class="scroll" tabindex="0" role="group" aria-label="Subjects" {
            table class="coverage subjects" {
                thead {
                    tr {
                        @for name in ["Subject", "Version", "Run on", "Verdict", "Score", "Exercised", "MUST failed", "SHOULD failed", "Since the run before", "History", "Protocol", "Transport", "Suite"] {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody { @for subject in subjects { (row(subject)) } }
            }
        }
        @if !listed.is_empty() { (entries(listed)) }
    }
}

/// Writes the entries of a registry, also those without a run.
fn entries(listed: &[ListedAgent]) -> Markup {
    html! {
        h2 { "Entries of the registry" }
        p class="facts" {
            "An entry that was not installed says nothing about the agent. The login rule is the registry's own: the agent "
            "offers a login of the type agent or terminal."
        }
        div class="scroll" tabindex="0" role="group" aria-label="Entries of the registry" {
            table class="coverage entries" {
                thead { tr { @for name in ["Agent", "Version", "From", "Result", "Login rule"] { th scope="col" { (name) } } } }
                tbody {
                    @for agent in listed {
                        tr {
                            th scope="row" { (visible(&agent.name)) }
                            td { (visible(&agent.version)) }
                            td { (visible(&agent.origin)) }
                            td {
                                (visible(&agent.result))
                                @if !agent.stderr.is_empty() {
                                    details {
                                        summary { "Last lines of standard error" }
                                        pre { @for line in &agent.stderr { (visible(line)) "\n" } }
                                    }
                                }
                            }
                            td { (visible(&agent.login)) }
                        }
                    }
                }
            }
        }
    }
}

fn row(subject: &BoardSubject<'_>) -> Markup {
    let report = &subject.newest.report;
    let edition = edition_label(&report.suite.edition);
    let failed = |level| broken(report, level).count();
    let is_scored = |known: &&RequirementReport| known.level == Level::Must && known.status != Status::Planned;
    let musts = || report.requirements.iter().filter(is_scored).filter(|known| known.same_as.is_empty());
    let count = |verdict| musts().filter(|known| known.verdict == verdict).count();
    let (passed, applicable) = (count(Verdict::Pass), musts().count() - count(Verdict::NotApplicable));
    let exercised = passed + count(Verdict::Fail);
    let score = 100 * passed / applicable.max(1);
    html! {
        tr data-party=(report.subject.kind.name()) data-edition=(visible(&edition)) data-transport=(visible(&report.suite.transport)) {
            th scope="row" {
                a href=(subject.newest.page) { (visible(&title(report))) } " " small { (report.subject.kind.name()) }
            }
            td { (visible(version(report))) }
            td { (visible(date(report))) }
            td {
                span class=(class(report.verdict)) { (report.verdict.name().replace('-', " ")) }
                @if let Some(cut) = report.partial { " " small title=(partial(cut)) { "partial" } }
                @if report.selection { " " small title="Not all cases were selected" { "selected cases" } }
            }
            td data-value=(score) { (score) " %" }
            td { (exercised) " of " (applicable) }
            td { (failed(Level::Must)) }
            td { (failed(Level::Should)) }
            td { (changes(subject)) }
            td { (trend(subject)) }
            td { (visible(&edition)) }
            td { (visible(&report.suite.transport)) }
            td { (visible(&report.suite.version)) }
        }
    }
}

/// Writes how many MUSTs fail now and did not in the run before, and how many failed there and pass now.
fn changes(subject: &BoardSubject<'_>) -> Markup {
    let newest = &subject.newest.report;
    let now = failed_musts(newest);
    let passed = newest.requirements.iter().filter(|known| known.verdict == Verdict::Pass);
    let passed: BTreeSet<&str> = passed.map(|known| known.id.as_str()).collect();
    let counts = subject.earlier.first().map(|run| {
        let before = failed_musts(&run.report);
        (now.difference(&before).count(), before.intersection(&passed).count())
    });
    html! {
        @match counts {
            None => span class="none" { "first run" },
            Some((0, 0)) => span class="none" { "no change" },
            Some((new, fixed)) => {
                @if new > 0 { span class="fail" { (new) " new" } " " }
                @if fixed > 0 { span class="pass" { (fixed) " fixed" } }
            }
        }
    }
}

fn failed_musts(report: &RunReport) -> BTreeSet<&str> {
    broken(report, Level::Must).map(|known| known.id.as_str()).collect()
}

/// Writes the number of failed MUSTs of each run, the oldest first.
fn trend(subject: &BoardSubject<'_>) -> Markup {
    let runs = subject.earlier.iter().rev().chain([&subject.newest]);
    html! {
        ol class="trend" {
            @for run in runs {
                @let about = about(&run.report);
                li class=(class(run.report.verdict)) {
                    a href=(run.page) title=(about) aria-label=(about) {
                        (broken(&run.report, Level::Must).count())
                    }
                }
            }
        }
    }
}

/// Describes a run in a line.
fn about(report: &RunReport) -> String {
    let failed = broken(report, Level::Must).count();
    let about = format!(
        "{}, version {}: {}, {} failed",
        date(report),
        version(report),
        report.verdict.name().replace('-', " "),
        count(failed, "MUST", "MUSTs")
    );
    visible(&about)
}
