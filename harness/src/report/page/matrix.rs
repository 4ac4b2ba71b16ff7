//! Many subjects in one page: a row for each requirement, a column for each subject.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::{Markup, html};
use serde::Serialize;

use super::chart::Chart;
use super::data::{CatalogueEntry, entries};
use super::document::{PageDocument, json};
use super::head;
use crate::protocol::edition_label;
use crate::report::visible::visible;
use crate::report::words::{self, partial};
use crate::requirement::Party;
use crate::results::{FindingReport, RequirementReport, RunReport};
use crate::verdict::{Conformance, Verdict};

const SCRIPT: &str = concat!(include_str!("table.js"), include_str!("matrix.js"));

/// A subject of the matrix.
#[derive(Debug)]
pub struct Column {
    /// Its report.
    pub report: RunReport,
    /// The file of its report.
    pub file: String,
    /// The charts of its cases whose traces were found.
    pub charts: BTreeMap<String, Chart>,
}

/// The data for the script.
#[derive(Serialize)]
struct MatrixData<'m> {
    subjects: Vec<MatrixSubject<'m>>,
    catalogue: BTreeMap<&'m str, CatalogueEntry<'m>>,
}

#[derive(Serialize)]
struct MatrixSubject<'m> {
    party: Party,
    name: String,
    version: &'m str,
    verdict: Conformance,
    edition: Cow<'m, str>,
    file: &'m str,
    /// The reason why the report lacks cases, if it does.
    partial: Option<String>,
    /// The result for each requirement, in the order of the catalogue.
    cells: Vec<Cell<'m>>,
}

#[derive(Serialize)]
struct Cell<'m> {
    id: &'m str,
    verdict: Verdict,
    /// The number of cases that exercised it.
    cases: usize,
    findings: &'m [FindingReport],
    notes: &'m [String],
}

impl<'m> From<&'m RequirementReport> for Cell<'m> {
    fn from(requirement: &'m RequirementReport) -> Self {
        let RequirementReport { id, verdict, cases, findings, notes, .. } = requirement;
        Self { id, verdict: *verdict, cases: cases.len(), findings, notes }
    }
}

/// Writes the page. Columns are sorted by party, name and version; the parties have a table each.
///
/// # Errors
///
/// Errors of the stream.
pub fn write_matrix(mut columns: Vec<Column>, out: &mut dyn Write) -> io::Result<()> {
    columns.sort_by(order);
    let data = MatrixData {
        subjects: columns.iter().map(subject).collect(),
        catalogue: entries(columns.iter().map(|column| &column.report)),
    };
    let charts = columns.iter().enumerate().flat_map(|(place, column)| {
        column.charts.iter().map(move |(case, chart)| Ok((format!("{place} {case}"), json(chart)?)))
    });
    let charts = charts.collect::<io::Result<Vec<_>>>()?;
    let (data, head) = (json(&data)?, head(&columns));
    let document = PageDocument { title: "ACP conformance matrix", head: &head, script: SCRIPT, data: &data };
    document.write(out, charts.iter().map(|(name, chart)| (name.as_str(), chart.as_str())))?;
    out.flush()
}

fn subject(column: &Column) -> MatrixSubject<'_> {
    let RunReport { subject, suite, verdict, requirements, .. } = &column.report;
    MatrixSubject {
        party: subject.kind,
        name: words::name(subject),
        version: subject.version.as_deref().unwrap_or_default(),
        verdict: *verdict,
        edition: edition_label(&suite.edition),
        file: &column.file,
        partial: column.report.partial.map(partial),
        cells: requirements.iter().map(Cell::from).collect(),
    }
}

/// Writes the verdict on each subject, for readers without scripts.
fn head(columns: &[Column]) -> Markup {
    let broken = |report: &RunReport| report.requirements.iter().filter(|known| known.fails()).count();
    html! {
        h1 { "ACP conformance matrix" }
        details class="facts" {
            summary { (columns.len()) " reports" }
            ul {
                @for Column { report, file, .. } in columns {
                    li {
                        (visible(&head::name(&report.subject))) ": " (report.verdict.name().replace('-', " ")) ", "
                        (broken(report)) " broken" @if let Some(cut) = report.partial { ", partial: " (partial(cut)) }
                        " " small { (visible(file)) }
                    }
                }
            }
        }
    }
}

fn order(a: &Column, b: &Column) -> Ordering {
    let key = |column: &Column| {
        let subject = &column.report.subject;
        (
            subject.kind,
            words::name(subject).to_lowercase(),
            version(subject.version.as_deref().unwrap_or_default()),
            column.file.clone(),
        )
    };
    key(a).cmp(&key(b))
}

/// A part of a version. The order of variants makes `1.0-rc` older than `1.0`: a word comes before the end, and a number after
/// it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart {
    Word(String),
    End,
    Number(u128),
}

/// Splits a version into parts, so that 1.10 comes after 1.9 and 1.0-rc.1 before 1.0.
fn version(text: &str) -> Vec<VersionPart> {
    let text = text.split('+').next().unwrap_or(text);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let part = |word: &str| word.parse().map_or_else(|_| VersionPart::Word(word.to_lowercase()), VersionPart::Number);
    words.map(part).chain([VersionPart::End]).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::edition::V1;
    use crate::results::Collector;
    use crate::results::{Partial, PartialReason};

    fn column(kind: Party, name: &str, version: &str) -> Column {
        let mut report = Collector::new(V1.edition(), kind, Vec::new()).finish(Duration::ZERO, false);
        (report.subject.name, report.subject.version) = (Some(name.to_owned()), Some(version.to_owned()));
        Column { report, file: format!("{name}.json"), charts: BTreeMap::new() }
    }

    #[test]
    fn columns_are_sorted_by_party_name_and_version() {
        let mut columns = [
            column(Party::Client, "a", "1"),
            column(Party::Agent, "b", "1.10.0"),
            column(Party::Agent, "B", "1.9.0"),
            column(Party::Agent, "b", "1.10.0-rc.1"),
            column(Party::Agent, "b", "1.10"),
            column(Party::Agent, "a", "2"),
        ];
        columns.sort_by(order);
        let told: Vec<String> =
            columns.iter().map(|c| format!("{} {}", c.report.subject.kind, head::name(&c.report.subject))).collect();
        assert_eq!(
            told,
            ["agent a 2", "agent B 1.9.0", "agent b 1.10", "agent b 1.10.0-rc.1", "agent b 1.10.0", "client a 1"]
        );
    }

    fn page(column: Column) -> String {
        let mut page = Vec::new();
        write_matrix(vec![column], &mut page).expect("a vector takes everything");
        String::from_utf8(page).expect("a page is UTF-8")
    }

    #[test]
    fn a_partial_report_is_marked() {
        let mut cut = column(Party::Agent, "a", "1");
        cut.report.partial = Some(Partial { reason: PartialReason::Interrupted, not_run: 1 });
        let page = page(cut);
        assert!(page.contains(", partial: the run was interrupted; 1 case was not run "), "{page}");
        assert!(page.contains(r#""partial":"the run was interrupted; 1 case was not run""#), "{page}");
    }

    #[test]
    fn a_hostile_name_stays_text() {
        let page = page(column(Party::Agent, "</script><img src=x>", "<b>"));
        assert!(!page.contains("<img") && !page.contains("<b>"));
    }
}
