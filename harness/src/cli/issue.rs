//! `report-issue`: one failed requirement of a report as a bug report.

use anyhow::bail;

use super::args::IssueArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use super::reports::read;
use crate::diagnostic::nearest;
use crate::report::{worst_first, write_issue};
use crate::results::{RequirementReport, RunReport};

/// How many failed requirements an error names.
const NAMED: usize = 8;

pub(super) fn run(args: &IssueArgs) -> anyhow::Result<ProgramExit> {
    let reports = read(&args.report)?;
    let id = args.requirement.as_str();
    let of = |report: &'_ RunReport| report.requirements.iter().position(|known| known.id == id && known.fails());
    let found = reports.iter().find_map(|report| Some((report, &report.requirements[of(report)?])));
    let Some((report, requirement)) = found else { bail!("{}", not_failed(id, &reports)) };
    write_issue(report, requirement, &mut stdout())?;
    Ok(ProgramExit::Good)
}

/// Explains why there is nothing to report, and names what failed instead.
fn not_failed(id: &str, reports: &[RunReport]) -> String {
    let all = || reports.iter().flat_map(|report| &report.requirements);
    let known: Option<&RequirementReport> = all().find(|known| known.id == id);
    let what = match known {
        Some(known) if !known.same_as.is_empty() => {
            return format!("`{id}` fails only by a mistake of {}; report that one", known.same_as.join(", "));
        }
        Some(known) => format!("`{id}` did not fail: its verdict is {}", known.verdict.name()),
        None => match nearest(id, all().map(|known| known.id.as_str())) {
            Some(near) => format!("the report has no requirement `{id}`; did you mean `{near}`?"),
            None => format!("the report has no requirement `{id}`"),
        },
    };
    let failed: Vec<&str> = reports
        .iter()
        .flat_map(|report| worst_first(&report.requirements))
        .map(|failed| failed.id.as_str())
        .take(NAMED)
        .collect();
    match failed.as_slice() {
        [] => format!("{what}; no requirement failed"),
        failed => format!("{what}; failed: {}", failed.join(", ")),
    }
}
