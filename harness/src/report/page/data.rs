//! What the script of a page reads.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::model::RunReport;
use crate::requirement::Catalogue;

/// Everything but the charts.
#[derive(Serialize)]
pub(super) struct PageData<'p> {
    pub(super) reports: &'p [Reported],
    pub(super) catalogue: BTreeMap<&'p str, Entry<'static>>,
}

/// A report, and what it does not tell.
#[derive(Debug, Serialize)]
pub(super) struct Reported {
    pub(super) report: RunReport,
    /// How the subject is called in a line that reproduces a case; empty where there is none to call.
    pub(super) reproduce: String,
}

/// What the catalogue says of a requirement.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'c> {
    text: &'c str,
    link: Option<String>,
    applies_when: &'c str,
    level: &'static str,
}

/// What the catalogue says of these requirements.
pub(super) fn entries<'i>(ids: impl Iterator<Item = &'i str>) -> BTreeMap<&'i str, Entry<'static>> {
    let catalogue = Catalogue::v1();
    let entry = |id: &'i str| {
        let requirement = catalogue.find(id)?;
        let entry = Entry {
            text: &requirement.text,
            link: requirement.link(),
            applies_when: &requirement.applies_when,
            level: requirement.level.name(),
        };
        Some((id, entry))
    };
    ids.filter_map(entry).collect()
}

impl<'p> PageData<'p> {
    pub(super) fn of(reports: &'p [Reported]) -> Self {
        let requirements = reports.iter().flat_map(|one| one.report.requirements.iter().map(|r| r.id.as_str()));
        let probes = reports.iter().flat_map(|one| one.report.probes.iter().map(|probe| probe.id.as_str()));
        Self { reports, catalogue: entries(requirements.chain(probes)) }
    }
}
