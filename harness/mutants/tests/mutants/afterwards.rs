//! Redaction and recording, on the traces of the reference programs: a redacted trace fails no further requirement, and
//! a case recorded from a trace passes.

use std::sync::Arc;

use acp_conformance::case::{Case, embedded, load_text};
use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::V1;
use acp_conformance::judge::{Tally, judge, judge_case};
use acp_conformance::record::record;
use acp_conformance::redact::redact;
use acp_conformance::requirement::Transport;
use acp_conformance::run::run_case;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};

use crate::reference;

/// The cases that are recorded and run again, one or more for each kind of line in a recording.
const RECORDED: [&str; 24] = [
    "v1/agent/cancel/while-asking",
    "v1/agent/config/set",
    "v1/agent/fs/read",
    "v1/agent/fs/write",
    "v1/agent/init/handshake",
    "v1/agent/list/all",
    "v1/agent/load/replay",
    "v1/agent/modes/set",
    "v1/agent/permission/rejected-write",
    "v1/agent/plan/progress",
    "v1/agent/terminal/run",
    "v1/agent/tool/failure",
    "v1/client/cancel/notification",
    "v1/client/config/set",
    "v1/client/fs/read-line-and-limit",
    "v1/client/init/handshake",
    "v1/client/list/pages",
    "v1/client/load/replay",
    "v1/client/modes/set",
    "v1/client/permission/cancelled",
    "v1/client/permission/rejected",
    "v1/client/update/between-turns",
    "v1/client/session/second-session",
    "v1/client/terminal/all-methods",
];

pub fn trials() -> Vec<Trial> {
    let (cases, _) = embedded(&V1);
    let mut trials = Vec::new();
    for case in cases.into_iter().map(Arc::new) {
        if RECORDED.contains(&case.id.as_str()) {
            let played = Arc::clone(&case);
            trials.push(Trial::test(format!("{}-recorded", case.id), move || check_recorded(&played)));
        }
        trials.push(Trial::test(format!("{}-redacted", case.id), move || check_redacted(&case)).with_kind("redaction"));
    }
    let missing = RECORDED.iter().filter(|id| !trials.iter().any(|trial| trial.name() == format!("{id}-recorded")));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "unknown cases: {missing:?}");
    trials
}

fn check_redacted(case: &Case) -> Result<(), Failed> {
    let all = [Transport::Stdio, Transport::Http, Transport::WebSocket];
    let transport = all.into_iter().find(|transport| case.fits(*transport, V1.catalogue())).unwrap_or_default();
    let trace = run_case(case, &reference::subject_over(transport, case.subject, &[]));
    let [before, after] = [&trace, &redact(&trace, V1.edition())].map(|trace| judge(trace, V1.edition()));
    let fails = |(_, tally): &(&String, &Tally)| tally.verdict() == Verdict::Fail;
    let new = after.tallies.iter().filter(fails).filter(|(id, _)| before.verdict(id) != Verdict::Fail);
    let new: Vec<_> = new.map(|(id, tally)| format!("{id}: {}", tally.findings[0].text())).collect();
    if new.is_empty() { Ok(()) } else { Err(new.join("\n").into()) }
}

fn check_recorded(case: &Case) -> Result<(), Failed> {
    let subject = reference::subject(case.subject, &[]);
    let trace = run_case(case, &subject);
    let text = record(&trace, "a run", V1.edition()).ok_or("it cannot become a case")?;
    let (recorded, problems) = load_text("recorded.yaml", &text, &V1);
    let ([recorded], []) = (recorded.as_slice(), problems.as_slice()) else {
        return Err(format!("{text}\n{}", render_all(&problems, RenderStyle::Plain)).into());
    };
    let again = run_case(recorded, &subject);
    let verdict = judge_case(&again, &judge(&again, V1.edition()), V1.catalogue());
    match verdict.verdict {
        Verdict::Pass => Ok(()),
        other => Err(format!("{other}: {}\n{text}", verdict.reason.unwrap_or_default()).into()),
    }
}
