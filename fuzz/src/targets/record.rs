//! The results from a trace: a case, a text, a chart, a report.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use acp_conformance::case::{Includes, Vocabulary, load_bytes};
use acp_conformance::diagnostic::{RenderStyle, render_all};
use acp_conformance::edition::V1;
use acp_conformance::record::record;
use acp_conformance::report::{Chart, diagnose};
use acp_conformance::requirement::Party;
use acp_conformance::results::{Collector, RunReport};
use acp_conformance::snapshot;
use acp_conformance::trace::Trace;

use super::conversation_of;

static INCLUDES: LazyLock<Includes> = LazyLock::new(|| Includes::of(&V1));

/// Treats the bytes as a conversation.
pub fn holds(data: &[u8]) {
    let trace = conversation_of(data);
    holds_for(&trace);
    if let Some(text) = record(&trace, "x.jsonl", V1.edition()) {
        // A violation of a subject may become a mistake in the case, but its texts must not change the structure of the
        // file.
        let (_, mut problems) = load_bytes("recorded.yaml", text.as_bytes(), &Vocabulary::of(V1.edition()), &INCLUDES);
        problems.retain(|problem| problem.code.starts_with("yaml::"));
        assert!(problems.is_empty(), "{text}\n{}", render_all(&problems, RenderStyle::Plain));
    }
}

/// Checks the properties of traces of any origin.
pub fn holds_for(trace: &Trace) {
    assert_eq!(snapshot::text(trace), snapshot::text(trace));
    let _ = diagnose(trace);
    let mut collector = Collector::new(V1.edition(), trace.header.subject.unwrap_or(Party::Agent), Vec::new());
    for case in collector.add(trace, None) {
        let chart = serde_json::to_value(Chart::of(trace, collector.evidence(&case))).expect("a chart is JSON");
        assert_eq!(chart["of"], trace.events.len());
    }
    let report = collector.finish(Duration::ZERO, true);
    let text = serde_json::to_string(&report).expect("a report is JSON");
    assert_eq!(serde_json::from_str::<RunReport>(&text).ok(), Some(report));
    let _ = Chart::of(trace, BTreeSet::new());
}
