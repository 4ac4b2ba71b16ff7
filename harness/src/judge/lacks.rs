//! What a recording does not tell, and which requirements can therefore not be judged on it: neither failed nor passed.

use crate::trace::Lack;

/// Whether a recording with these lacks tells if the requirement holds; `late` says that it may have begun in the middle of
/// the conversation, or has holes.
pub(super) fn tells(requirement: &str, lacks: &[Lack], late: bool) -> bool {
    let of = |area: &str| requirement.split_once('.').is_some_and(|(first, _)| first == area);
    !(late && LATE.contains(&requirement))
        && lacks.iter().all(|lack| match lack {
            Lack::Bytes => !of("transport") && (!of("jsonrpc") || PAIRING.contains(&requirement)),
            Lack::Times => !TIMED.contains(&requirement),
            Lack::Processes => !ENDED.contains(&requirement),
            Lack::Order => of("transport") || of("schema") || (of("jsonrpc") && !PAIRING.contains(&requirement)),
            Lack::Replays => !of("load"),
        })
}

/// What is left of JSON-RPC when the envelopes were written anew: which answer belongs to which request.
const PAIRING: &[&str] = &[];

/// What is decided by how long something took, or by how close two things came to each other.
const TIMED: &[&str] = &[];

/// What is decided by whether somebody was told to end, or lost their input.
const ENDED: &[&str] =
    &["cancel.scope", "cancelreq.internal.client", "cancelreq.scope.client", "prompt.cancelled-only-on-cancel"];

/// What is decided by something that may have been said before the recording began.
const LATE: &[&str] = &[];
