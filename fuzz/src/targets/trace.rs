//! Trace files: a file that was read is written unchanged, and checked with any times and places in it.

use acp_conformance::edition::V1;
use acp_conformance::judge::judge;
use acp_conformance::snapshot::normalised;
use acp_conformance::trace::Trace;

use super::{record, written};

/// Treats the bytes as a trace file.
pub fn holds(data: &[u8]) {
    let Ok(trace) = Trace::read(data) else { return };
    assert!(trace.events.iter().enumerate().all(|(position, event)| event.n == position));
    let bytes = written(&trace);
    let again = Trace::read(bytes.as_slice()).expect("what was written can be read");
    assert_eq!(again, trace);
    assert_eq!(written(&again), bytes);
    let edition = V1.edition();
    assert_eq!(judge(&trace, edition), judge(&again, edition));
    record::holds_for(&trace);
    let subject = trace.header.subject.unwrap_or(acp_conformance::requirement::Party::Agent);
    assert_eq!(normalised(subject, &trace.events), normalised(subject, &again.events));
}
