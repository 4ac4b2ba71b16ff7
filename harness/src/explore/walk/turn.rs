//! The turns of a move, and the steps between two moves.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::case::model::{Act, Action, Body, Incoming, IncomingBody, Outgoing, Presence, Step};
use crate::requirement::Party;

/// The acts of a client's user that are possible in a walk. The others change more than a session.
const ACTS: [&str; 10] =
    ["prompt", "cancel", "new-session", "load", "resume", "close", "set-mode", "set-option", "decide", "answer"];

/// The acts after which the client still shows the session that it showed before.
const ACTS_IN_SESSION: [&str; 6] = ["prompt", "cancel", "set-mode", "set-option", "decide", "answer"];

/// A running turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    /// The label of its prompt.
    pub(super) label: String,
    /// The session, as a template; null for the turn of a client, which knows its session.
    pub(super) session: Value,
}

/// Builds a step that is in no file, next to one that is.
pub(super) fn next_to(step: &Step, action: Action, text: &str) -> Step {
    Step { text: text.to_owned(), action, decides: Vec::new(), within: None, ..step.clone() }
}

/// Whether a step can be part of a walk: it changes only sessions, and keeps to the protocol.
pub(super) fn is_walkable(action: &Action) -> bool {
    let is_usual = |line: &Outgoing| {
        let is_of_process =
            |method: &str| ["authenticate", "logout", "auth/login", "auth/logout", "session/list"].contains(&method);
        let is_of_process = matches!(&line.body, Body::Request { method, .. } if is_of_process(method));
        !line.illegal && line.split.is_none() && !is_of_process
    };
    match action {
        Action::Send(lines) => lines.iter().all(is_usual),
        Action::Act(act) => ACTS.contains(&act.name.as_str()),
        Action::Expect { .. }
        | Action::AnyOrder(_)
        | Action::Never(_)
        | Action::Fence
        | Action::Reply(_)
        | Action::File(_)
        | Action::Process(_)
        | Action::Forget(_) => true,
        _ => false,
    }
}

/// Returns the acts of the client's user in these steps.
pub(super) fn acts(steps: &[Step]) -> impl Iterator<Item = &str> {
    steps.iter().filter_map(|step| match &step.action {
        Action::Act(act) => Some(act.name.as_str()),
        _ => None,
    })
}

/// Whether the client still shows the same session after these steps.
pub(super) fn stays_in_session(steps: &[Step]) -> bool {
    acts(steps).all(|act| ACTS_IN_SESSION.contains(&act))
}

/// Returns the running turn after these steps of the subject's case, if there is exactly one and its prompt has a
/// label.
pub(super) fn running_turn(steps: &[Step], subject: Party) -> Option<Turn> {
    match subject {
        Party::Agent => turn_of_agent(steps),
        Party::Client => match turns_of_client(steps)?.as_slice() {
            [single] => Some(single.clone()),
            _ => None,
        },
    }
}

/// The turn that the tester began, and that the agent has not ended.
fn turn_of_agent(steps: &[Step]) -> Option<Turn> {
    let mut running: Option<Turn> = None;
    for step in steps {
        match &step.action {
            Action::Send(lines) => {
                for line in lines {
                    match &line.body {
                        Body::Request { label, method, params: Some(params), .. } if method == "session/prompt" => {
                            running = Some(Turn { label: label.clone(), session: params["sessionId"].clone() });
                        }
                        // The case cancels the turn itself.
                        Body::Notification { .. } => running = None,
                        _ => {}
                    }
                }
            }
            Action::Expect { line, .. }
                if running.as_ref().is_some_and(|turn| line.body.answers() == Some(&turn.label)) =>
            {
                running = None;
            }
            Action::AnyOrder(_) => running = None,
            _ => {}
        }
    }
    running.filter(|turn| turn.session.is_string())
}

/// Returns the turns that the client began, and that the tester has not ended; `None` if something else is unfinished:
/// a request of the tester without an answer, or messages in an order that only the run shows.
pub(super) fn turns_of_client(steps: &[Step]) -> Option<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut asked = BTreeSet::new();
    for step in steps {
        match &step.action {
            Action::Send(lines) => {
                for line in lines {
                    match &line.body {
                        Body::Request { label, .. } => {
                            asked.insert(label.as_str());
                        }
                        Body::Result { label, .. } | Body::Error { label, .. } => {
                            turns.retain(|turn| turn.label != *label);
                        }
                        Body::Notification { .. } => {}
                    }
                }
            }
            Action::Expect { line, presence } => match &line.body {
                IncomingBody::Call { label, method, .. } if method == "session/prompt" => {
                    let label = label.clone().filter(|_| *presence == Presence::Must)?;
                    turns.push(Turn { label, session: Value::Null });
                }
                body => {
                    if let Some(label) = body.answers() {
                        asked.remove(label);
                    }
                }
            },
            Action::AnyOrder(_) => return None,
            _ => {}
        }
    }
    asked.is_empty().then_some(turns)
}

/// Returns the steps that cancel the turn and await its end.
pub(super) fn cancel(at: &Step, turn: &Turn, subject: Party) -> Vec<Step> {
    let params = json!({ "sessionId": turn.session });
    let method = "session/cancel".to_owned();
    let steps = match subject {
        Party::Agent => vec![
            (Action::Send(vec![said(Body::Notification { method, params: Some(params) })]), "session/cancel"),
            (must(IncomingBody::Answer { label: turn.label.clone() }), "the end of the cancelled turn"),
        ],
        Party::Client => vec![
            (act("cancel", []), "the user cancels the turn"),
            (must(IncomingBody::Call { label: None, method, params: None }), "session/cancel"),
            (end(&turn.label, "cancelled"), "the end of the cancelled turn"),
        ],
    };
    let fence = (Action::Fence, "a fence");
    steps.into_iter().chain([fence]).map(|(action, text)| next_to(at, action, text)).collect()
}

/// Returns the action that ends a client's turn.
pub(super) fn end(label: &str, reason: &str) -> Action {
    let result = json!({ "stopReason": reason });
    Action::Send(vec![said(Body::Result { label: label.to_owned(), result })])
}

/// Returns the act of a client's user.
pub(super) fn act<const N: usize>(name: &str, arguments: [(&str, &str); N]) -> Action {
    let arguments = arguments.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
    Action::Act(Act { name: name.to_owned(), arguments: Map::from_iter(arguments) })
}

const fn said(body: Body) -> Outgoing {
    Outgoing { body, illegal: false, split: None }
}

const fn must(body: IncomingBody) -> Action {
    Action::Expect { line: Incoming { body, exact: false, from_here: false }, presence: Presence::Must }
}

/// The names that a step binds.
pub(super) fn binds(step: &Step) -> Vec<String> {
    let lines = match &step.action {
        Action::Expect { line, .. } => std::slice::from_ref(line),
        Action::AnyOrder(lines) => lines,
        _ => &[],
    };
    let of_line = |line: &Incoming| {
        let (label, pattern) = match &line.body {
            IncomingBody::Call { label, params, .. } => (label.as_ref(), params.as_ref()),
            IncomingBody::Result { result, .. } => (None, Some(result)),
            IncomingBody::Error { error, .. } => (None, Some(error)),
            IncomingBody::Answer { .. } => (None, None),
        };
        let uses = pattern.map(crate::case::Pattern::names).unwrap_or_default();
        let names = uses.into_iter().filter(|name| name.binds).map(|name| name.name);
        names.chain(label.map(|label| format!("{label}-id"))).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of_line).collect()
}

/// Makes the ids that the tester chooses differ from those of the other moves: a session has a tool call only once.
pub(super) fn renumber(steps: &mut [Step], number: usize) {
    for step in steps {
        if let Action::Send(lines) = &mut step.action {
            for line in lines {
                let value = match &mut line.body {
                    Body::Request { params, .. } | Body::Notification { params, .. } => params.as_mut(),
                    Body::Result { result, .. } => Some(result),
                    Body::Error { .. } => None,
                };
                if let Some(value) = value {
                    renumber_value(value, number);
                }
            }
        }
    }
}

fn renumber_value(value: &mut Value, number: usize) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(id) if matches!(name.as_str(), "toolCallId" | "messageId") && !id.contains('<') => {
                        id.push_str(&format!(".{number}"));
                    }
                    value => renumber_value(value, number),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renumber_value(item, number)),
        _ => {}
    }
}
