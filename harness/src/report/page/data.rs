//! The data for the script of a page.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::edition::Editions;
use crate::example::exchange;
use crate::requirement::Level;
use crate::results::RunReport;
use crate::verdict::Verdict;

/// All data except the charts.
#[derive(Serialize)]
pub(super) struct PageData<'p> {
    pub(super) reports: &'p [Reported],
    pub(super) catalogue: BTreeMap<&'p str, CatalogueEntry<'p>>,
}

/// A report and its gaps.
#[derive(Debug, Serialize)]
pub(super) struct Reported {
    pub(super) report: RunReport,
    /// The command that runs a case again, with `{case}` instead of its id; empty if unknown.
    pub(super) reproduce: String,
}

/// The catalogue's entry for a requirement.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CatalogueEntry<'c> {
    text: &'c str,
    link: Option<&'c str>,
    applies_when: &'c str,
    level: &'static str,
    /// The messages of a correct exchange, if a report has a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exchange: Vec<String>,
}

/// Returns the texts of the requirements and probes in these reports, by id.
fn entries(reports: &[Reported]) -> BTreeMap<&str, CatalogueEntry<'_>> {
    let (mut entries, editions) = (BTreeMap::new(), Editions::built_in());
    for Reported { report, .. } in reports {
        let bundle = editions.named(&report.suite.edition).ok();
        let correct = |id: &str| bundle.map(|bundle| exchange(bundle, id, Verdict::Pass)).unwrap_or_default();
        entries.extend(report.requirements.iter().map(|r| {
            let entry = CatalogueEntry {
                text: &r.text,
                link: r.link.as_deref(),
                applies_when: &r.applies_when,
                level: r.level.name(),
                exchange: if r.fails() { correct(&r.id) } else { Vec::new() },
            };
            (r.id.as_str(), entry)
        }));
        entries.extend(report.probes.iter().map(|probe| {
            let (text, link, level) = (&probe.text, probe.link.as_deref(), Level::MayProbe.name());
            (probe.id.as_str(), CatalogueEntry { text, link, applies_when: "", level, exchange: Vec::new() })
        }));
    }
    entries
}

impl<'p> PageData<'p> {
    pub(super) fn of(reports: &'p [Reported]) -> Self {
        Self { reports, catalogue: entries(reports) }
    }
}
