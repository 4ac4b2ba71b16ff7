//! Which cases may share a process, and when a case has left one as it found it. When in doubt, it has not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::step::{needs, send};
use crate::case::model::{Action, Body, Case, Ids, NeedRoot, Outgoing, Presence, TesterSetup, WireSetup};
use crate::case::template::Bindings;
use crate::requirement::Party;
use crate::trace::{Event, INVENTED, Outcome, ProcessEvent, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// The beginning that cases have in common which may share a process: the params of `initialize` as they go on the wire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opening(String);

/// What a case shows of the start and the end of a process, it shows on one of its own; and what is withdrawn may come late.
const OF_A_PROCESS: [&str; 4] = ["init.", "transport.", "auth.", "cancelreq."];

/// What leaves no mark on an agent beyond the session that it is about. What an agent lists holds the sessions of other cases,
/// and what it is set to may outlive its session.
const OF_A_SESSION: [&str; 6] =
    ["session/new", "session/load", "session/resume", "session/prompt", "session/cancel", "session/close"];

impl Opening {
    /// How a case begins that could go on where another one has begun; none when it needs a process of its own.
    pub(super) fn of(case: &Case) -> Option<Self> {
        let [first, second, ..] = case.steps.as_slice() else { return None };
        let (label, params) = send::initialize(&first.action)?;
        let answered = match &second.action {
            Action::Expect { line, presence: Presence::Must } => line.body.answers() == Some(label),
            _ => false,
        };
        let of_process = |id: &String| OF_A_PROCESS.iter().any(|area| id.starts_with(area));
        let alike = answered && second.decides.is_empty() && is_plain(&case.tester);
        let alike = alike && case.subject == Party::Agent && !case.requirements.iter().any(of_process);
        alike.then(|| Self(Bindings::for_case(case, "", "").interpolate(params).to_string()))
    }

    /// The beginning that most of the cases have which could leave their process to others.
    pub(super) fn usual(cases: &[Case]) -> Option<Self> {
        let mut counts: BTreeMap<Self, usize> = BTreeMap::new();
        for opening in cases.iter().filter(|case| leaves_no_mark(case)).filter_map(Self::of) {
            *counts.entry(opening).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(opening, _)| opening)
    }

    /// Whether a case that begins like this could leave its process to others.
    pub(super) fn may_begin(&self, case: &Case) -> bool {
        leaves_no_mark(case) && Self::of(case).as_ref() == Some(self)
    }

    /// Whether a case could go on where one has begun like this, with `answer` as the answer to `initialize`: it leaves no
    /// mark, or ends at once because the agent does not advertise what it needs.
    pub(super) fn may_go_on(&self, case: &Case, answer: &Value) -> bool {
        (leaves_no_mark(case) || is_out_of_place(case, answer)) && Self::of(case).as_ref() == Some(self)
    }
}

/// Whether the setup of the tester is the usual one.
fn is_plain(tester: &TesterSetup) -> bool {
    let WireSetup { ids, meta } = tester.wire;
    let declared = tester.capabilities.as_object();
    tester.mcp.is_empty()
        && !tester.page
        && tester.info.is_none()
        && ids == Ids::Integer
        && !meta
        && declared.is_some_and(|all| all.keys().all(|name| matches!(name.as_str(), "fs" | "terminal")))
}

/// Whether nothing that the transcript says concerns more than its own sessions.
pub(super) fn leaves_no_mark(case: &Case) -> bool {
    case.steps.iter().skip(2).all(|step| match &step.action {
        Action::Send(lines) => lines.iter().all(is_of_a_session),
        Action::Expect { .. }
        | Action::AnyOrder(_)
        | Action::Never(_)
        | Action::Fence
        | Action::Reply(_)
        | Action::File(_) => true,
        Action::Raw(_)
        | Action::Process(_)
        | Action::Mcp(_)
        | Action::Page(_)
        | Action::Act(_)
        | Action::AgentProcess(_)
        | Action::Login
        | Action::CloseStdin
        | Action::End
        | Action::Exit { .. } => false,
    })
}

fn is_of_a_session(line: &Outgoing) -> bool {
    let harmless = match &line.body {
        Body::Request { wire_id: Some(_), .. } => false,
        Body::Request { method, params, .. } | Body::Notification { method, params } => {
            let known = OF_A_SESSION.contains(&method.as_str()) && names_no_server(params.as_ref());
            known || method.starts_with(INVENTED)
        }
        Body::Result { .. } | Body::Error { .. } => true,
    };
    harmless && !line.illegal && line.split.is_none()
}

fn names_no_server(params: Option<&Value>) -> bool {
    let servers = params.and_then(|params| params.get("mcpServers")?.as_array());
    servers.is_none_or(Vec::is_empty)
}

/// Whether the answer to `initialize` shows that the case does not apply, so that none of its other steps run.
fn is_out_of_place(case: &Case, answer: &Value) -> bool {
    case.needs.iter().any(|need| {
        let root = match need.root {
            NeedRoot::Initialize => answer,
            NeedRoot::Agent => answer.get("agentCapabilities").unwrap_or(&Value::Null),
            NeedRoot::Session | NeedRoot::Client => return false,
        };
        !needs::is_met(need, root)
    })
}

/// The sessions of a case that left its process as it found it: the subject kept no line waiting, every request has its
/// answer, nothing was allowed for good, and nothing else happened.
pub(super) fn left_as_found(events: &[Event], earlier: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut open = HashMap::new();
    let mut sessions = BTreeSet::new();
    for event in events {
        match &event.what {
            What::Line { from, bytes, .. } => {
                let Content::One { value, .. } = read_line(bytes) else { return None };
                match Envelope::of(&value) {
                    Envelope::Call(call) => open.extend(call.id.map(|id| ((*from, RpcId::new(id)), value.clone()))),
                    Envelope::Response { id, result, .. } => {
                        let asked = open.remove(&(from.other(), RpcId::new(id?)));
                        if asked.is_some_and(|asked| is_for_good(&asked, result)) {
                            return None;
                        }
                        let session = result.and_then(|result| result.get("sessionId")?.as_str());
                        let is_new = |id: &str| !earlier.contains(id) && sessions.insert(id.to_owned());
                        if !session.is_none_or(is_new) {
                            return None;
                        }
                    }
                    Envelope::Unclear => return None,
                }
            }
            What::Step(step) if is_stuck(step.outcome) => return None,
            What::Stderr(_) | What::Step(_) | What::Model(_) | What::Fence(_) => {}
            What::Process(ProcessEvent::Spawned { .. } | ProcessEvent::Reused(_) | ProcessEvent::Parted) => {}
            What::Process(_) | What::Unattributed(_) | What::Stdout(_) | What::Mcp(_) | What::Visit(_) => return None,
        }
    }
    open.is_empty().then_some(sessions)
}

/// Whether the answer to a request says something that a later session may be spared to ask.
fn is_for_good(asked: &Value, result: Option<&Value>) -> bool {
    let chosen = result.and_then(|result| result.pointer("/outcome/optionId"));
    let Some(chosen) = chosen.filter(|_| asked["method"] == "session/request_permission") else {
        return asked["method"] == "elicitation/create";
    };
    let options = asked.pointer("/params/options").and_then(Value::as_array).into_iter().flatten();
    let mut kinds = options.filter(|option| option.get("optionId") == Some(chosen)).map(|option| &option["kind"]);
    !kinds.all(|kind| matches!(kind.as_str(), Some("allow_once" | "reject_once")))
}

/// Whether a step that went like this left something that may still come.
const fn is_stuck(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::TimedOut | Outcome::Ended | Outcome::LoginNeeded | Outcome::HarnessError)
}

/// The events with which a process begins, up to its answer to `initialize`, and that answer; none when something else was
/// said before.
pub(super) fn beginning(events: &[Event]) -> Option<(&[Event], Value)> {
    let lines = events.iter().filter_map(|event| match &event.what {
        What::Line { from, bytes, .. } => Some((event.n, *from, bytes)),
        _ => None,
    });
    let [(_, Party::Client, asked), (at, Party::Agent, answer)] = lines.take(2).collect::<Vec<_>>()[..] else {
        return None;
    };
    let read = |bytes: &[u8]| read_line(bytes).one();
    let (asked, mut answer) = (read(asked)?, read(answer)?);
    let is_answer = asked["method"] == "initialize" && asked["id"] == answer["id"];
    is_answer.then_some((&events[..=at], answer.get_mut("result")?.take()))
}

#[cfg(test)]
mod tests;
