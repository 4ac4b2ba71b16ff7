//! Which cases share a conversation, and in which order.
//!
//! Cases that send the same `initialize` share one; what they do afterwards stays in sessions of their own. A case is alone if it is
//! about the start or the end of the process, or does something that later cases would notice whatever the agent does.

use std::collections::BTreeMap;

use super::step::send;
use crate::case::model::{Action, Body, Case, Ids, Presence, WireSetup};
use crate::case::template::Bindings;
use crate::requirement::Party;

/// The beginning that cases of one conversation have in common: the params of `initialize` as they go on the wire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Opening(String);

/// Requests that change what later cases of a process would see.
const OF_ALL_SESSIONS: [&str; 3] = ["initialize", "authenticate", "logout"];

/// The cases that are worth a further conversation, so that several jobs have something to do.
const WORTH_A_START: usize = 12;

/// Returns the conversations of a run: the positions of their cases, in the order of running. Large ones come first.
pub(super) fn conversations(cases: &[Case], jobs: usize) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<Opening, Vec<usize>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match Opening::of(case) {
            Some(opening) => groups.entry(opening).or_default().push(index),
            None => alone.push(vec![index]),
        }
    }
    let mut conversations: Vec<Vec<usize>> = Vec::new();
    for mut group in groups.into_values() {
        // An agent may fail to survive a line that breaks the protocol; then only cases of the same kind need another process. The
        // first case sends `initialize`, so it should write as most do.
        group.sort_by_key(|&index| (breaks_the_protocol(&cases[index]), !writes_as_usual(&cases[index])));
        let parts = (group.len() / WORTH_A_START).clamp(1, jobs.max(1));
        conversations.extend(group.chunks(group.len().div_ceil(parts)).map(<[usize]>::to_vec));
    }
    conversations.sort_by_key(|group| std::cmp::Reverse(group.len()));
    conversations.extend(alone);
    conversations
}

impl Opening {
    /// The beginning of a case that can share a conversation; `None` if it has to be alone.
    fn of(case: &Case) -> Option<Self> {
        let [first, second, ..] = case.steps.as_slice() else { return None };
        let (label, params) = send::initialize(&first.action)?;
        let answered = match &second.action {
            Action::Expect { line, presence: Presence::Must } => line.body.answers() == Some(label),
            _ => false,
        };
        let shares = case.subject == Party::Agent
            && answered
            && second.decides.is_empty()
            && !case.tester.page
            && case.steps.iter().skip(1).all(|step| leaves_the_process(&step.action));
        shares.then(|| Self(Bindings::for_case(case, "", "").interpolate(params).to_string()))
    }
}

/// Whether the process is as usable after a step as before it.
fn leaves_the_process(action: &Action) -> bool {
    match action {
        Action::Send(lines) => lines.iter().all(|line| match &line.body {
            Body::Request { method, .. } => !OF_ALL_SESSIONS.contains(&method.as_str()),
            Body::Notification { .. } | Body::Result { .. } | Body::Error { .. } => true,
        }),
        Action::Expect { .. }
        | Action::AnyOrder(_)
        | Action::Never(_)
        | Action::Fence
        | Action::Reply(_)
        | Action::File(_)
        | Action::Process(_)
        | Action::Mcp(_)
        | Action::Raw(_) => true,
        Action::Page(_)
        | Action::Act(_)
        | Action::AgentProcess(_)
        | Action::Login
        | Action::CloseStdin
        | Action::End
        | Action::Exit { .. } => false,
    }
}

/// Whether the tester writes integer ids and no `_meta`.
fn writes_as_usual(case: &Case) -> bool {
    let WireSetup { ids, meta } = case.tester.wire;
    ids == Ids::Integer && !meta
}

/// Whether the case sends lines that break the protocol.
fn breaks_the_protocol(case: &Case) -> bool {
    case.steps.iter().any(|step| match &step.action {
        Action::Raw(_) => true,
        Action::Send(lines) => lines.iter().any(|line| line.illegal || line.split.is_some()),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
