//! The gaps of a recording, and the requirements that it therefore cannot decide: they neither fail nor pass.

use crate::conversation::Holes;
use crate::requirement::{Need, Requirement};
use crate::trace::Lack;

/// Whether a recording with this gap can decide the requirement.
pub(super) fn can_decide(requirement: &Requirement, lack: Lack) -> bool {
    let need = match lack {
        Lack::Bytes => return !requirement.area().is_below_content(),
        // Each check knows whether it needs the order, and each requirement which messages it needs.
        Lack::Order | Lack::Messages => return true,
        Lack::Encoding => Need::Encoding,
        Lack::Ends => Need::Ends,
        Lack::Times => Need::Times,
        Lack::Processes => Need::Processes,
        Lack::Replays => Need::Replays,
        Lack::Content => Need::Content,
    };
    !requirement.needs.contains(&need)
}

/// Returns the kinds of messages that must be complete for checking the requirement.
pub(super) fn requires(requirement: &Requirement) -> Holes {
    let has = |need| requirement.needs.contains(&need);
    Holes {
        anywhere: has(Need::History),
        requests: has(Need::Requests),
        sessions: has(Need::Sessions),
        terminals: has(Need::Terminals),
        tools: has(Need::Tools),
        order: false,
    }
}
