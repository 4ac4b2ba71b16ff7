//! Area `permission`: who asks before acting, and what an answer means.

use std::collections::BTreeSet;

use serde_json::Value;

use super::support::{Finish, fail_in_case};
use crate::judge::check::{Check, On};
use crate::judge::conversation::{Decision, Session, SessionCourse, ToolCall};
use crate::judge::moment::{Answer, CallSeen, Moment, UpdateSeen};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("permission.option-ids-unique", On::Call(option_ids_unique)),
    Check::agent("permission.before-execution", On::Call(act_while_asking)),
    Check::agent("permission.before-execution", On::Call(asked_afterwards)),
    Check::agent("permission.before-execution", On::Update(status_while_asking)),
    Check::agent("permission.before-execution", On::Received(waited)),
    Check::agent("permission.reject-respected", On::Call(act_in_spite_of::<REJECTED>)),
    Check::agent("permission.reject-respected", On::Response(respected::<REJECTED>)),
    Check::agent("permission.cancelled-respected", On::Call(act_in_spite_of::<CANCELLED>)),
    Check::agent("permission.cancelled-respected", On::Response(respected::<CANCELLED>)),
    Check::agent("permission.tool-call-linked", On::Response(tool_call_linked)),
];

const REJECTED: bool = false;
const CANCELLED: bool = true;

/// The answer names an option by its id.
///
/// Correct but unusual: several options of one kind, or with one name.
fn option_ids_unique(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let options =
        call.params.filter(|_| call.method == "session/request_permission").and_then(|p| p.get("options")?.as_array());
    let mut seen = BTreeSet::new();
    for id in options.into_iter().flatten().filter_map(|option| option.get("optionId")?.as_str()) {
        ruling.decide(seen.insert(id), || format!("two options have the optionId `{id}`"));
    }
}

/// A file that is about to be written, or a command that is about to run, with what is known about its session.
struct Act<'m> {
    session: &'m Session,
    course: &'m SessionCourse,
    /// None for a command.
    path: Option<&'m str>,
}

impl<'m> Act<'m> {
    fn of(moment: &Moment<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let id = call.text("sessionId")?;
        let path = match call.method {
            "fs/write_text_file" => Some(call.text("path")?),
            "terminal/create" => None,
            _ => return None,
        };
        Some(Self { session: moment.talk.session(id)?, course: moment.talk.course.session(id)?, path })
    }

    /// Whether this can belong to the tool call and to no other of the running turn.
    fn belongs_to(&self, id: &str) -> bool {
        fits(self.session, self.course, id, self.path)
    }

    /// Fails a file that was written. A command may be another one than that of the tool call, unless a case asked for it.
    fn decide(&self, moment: &Moment<'_>, message: String, n: usize, ruling: &mut Ruling<'_>) {
        match self.path {
            Some(_) => ruling.fail(message, &[n]),
            None => fail_in_case(moment, message, &[n], ruling),
        }
    }
}

/// Whether a write to `path` (or a command, without one) can belong to this tool call and to no other that the turn has.
fn fits(session: &Session, course: &SessionCourse, id: &str, path: Option<&str>) -> bool {
    let could = |id: &str, tool: &ToolCall| match path {
        Some(path) => tool.paths.contains(path),
        None => course.kinds.get(id).is_some_and(|kind| kind == "execute"),
    };
    // A tool call that names no path might write anything, and one without a kind might run anything.
    let silent = |id: &str, tool: &ToolCall| match path {
        Some(_) => tool.paths.is_empty(),
        None => !course.kinds.contains_key(id),
    };
    let others = session.tools.iter().filter(|(other, tool)| other.as_str() != id && tool.turn == session.prompts);
    let mine = session.tools.get(id).is_some_and(|tool| tool.turn == session.prompts && could(id, tool));
    // In a session with overlapping prompts the act may belong to the other prompt.
    let alone = course.turn.as_ref().is_none_or(|turn| turn.overlapped.is_none());
    alone && mine && !others.into_iter().any(|(other, tool)| could(other, tool) || silent(other, tool))
}

fn name(path: Option<&str>) -> String {
    path.map_or("a command was run".to_owned(), |path| format!("`{path}` was written"))
}

/// The tool calls of the session that wait for a permission: id and event of the request.
fn asking<'m>(moment: &Moment<'m>, session: &str) -> Vec<(&'m str, usize)> {
    let open = moment.talk.open_of(Party::Agent).filter(|open| open.method == "session/request_permission");
    let here = open.filter(|open| open.session() == Some(session));
    here.filter_map(|open| Some((open.params.pointer("/toolCall/toolCallId")?.as_str()?, open.n))).collect()
}

/// "Before proceeding with execution, the Agent MAY request permission": what it asked for waits for the answer.
///
/// Correct but unusual: an agent that goes on with other tool calls meanwhile, or runs a command of its own, such as
/// `git status`, which it reports as no tool call. Only a write or a command that can belong to no other call of the turn
/// counts, and a command in a recording is inconclusive.
fn act_while_asking(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(act) = Act::of(moment, call) else { return };
    let asking = asking(moment, call.text("sessionId").unwrap_or_default());
    if let Some((id, n)) = asking.into_iter().find(|(id, _)| act.belongs_to(id)) {
        let message = format!("{} for `{id}` while its permission was being asked for", name(act.path));
        act.decide(moment, message, n, ruling);
    }
}

/// As above: asking for what was done already is too late.
///
/// Correct but unusual: an agent that writes a file without asking, and asks for the next step of the same tool call. A case
/// asks for one step alone; a recording shows nothing of what the permission is for.
fn asked_afterwards(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let asks = call.params.filter(|_| call.method == "session/request_permission");
    let Some(id) = asks.and_then(|params| params.pointer("/toolCall/toolCallId")?.as_str()) else { return };
    let session = call.text("sessionId").unwrap_or_default();
    let (Some(session), Some(course)) = (moment.talk.session(session), moment.talk.course.session(session)) else {
        return;
    };
    let Some((tool, turn)) = session.tools.get(id).zip(course.turn.as_ref()) else { return };
    let deeds = turn.deeds.iter().filter(|deed| deed.n > tool.n && tool.permissions.is_empty());
    let mut early = deeds.filter(|deed| fits(session, course, id, deed.path.as_deref()));
    if let Some(deed) = early.next() {
        let message = format!("{} for `{id}` before its permission is asked for", name(deed.path.as_deref()));
        fail_in_case(moment, message, &[deed.n, tool.n], ruling);
    }
}

/// A status alone does not prove that the tool ran.
fn status_while_asking(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let text = |name: &str| update.body.get(name).and_then(Value::as_str);
    let (Some(id), Some("completed")) = (text("toolCallId"), text("status")) else { return };
    if let Some((_, n)) = asking(moment, update.session).into_iter().find(|(asked, _)| *asked == id) {
        ruling.inconclusive(format!("`{id}` is completed while its permission is being asked for"), &[n]);
    }
}

/// Exercised by an answer for which the agent waited.
fn waited(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.result_of("session/request_permission").is_some() {
        ruling.pass();
    }
}

/// When the client's last answer about the tool call was of this kind: its event.
fn refused<const HOW: bool>(tool: &ToolCall) -> Option<usize> {
    let wanted = if HOW == CANCELLED { Decision::Cancelled } else { Decision::Rejected };
    let last = tool.permissions.iter().filter_map(|permission| permission.answer).next_back();
    last.filter(|(_, decision)| *decision == wanted).map(|(n, _)| n)
}

/// What the user rejected is not done; and `cancelled` is no approval either.
///
/// Correct but unusual: an agent that does it after it asked again and was allowed, does the same for another tool call, or runs
/// the command in a sandbox, since the user did not let it out of there. So a command in a recording is inconclusive.
fn act_in_spite_of<const HOW: bool>(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(act) = Act::of(moment, call) else { return };
    let refused = act.session.tools.iter().filter_map(|(id, tool)| Some((id, refused::<HOW>(tool)?)));
    for (id, n) in refused.filter(|(id, _)| act.belongs_to(id)) {
        let how = if HOW == CANCELLED { "cancelled" } else { "rejected" };
        act.decide(moment, format!("{} for `{id}`, whose permission was {how}", name(act.path)), n, ruling);
    }
}

/// Exercised by a turn in which a permission was refused, and which ended without the deed.
fn respected<const HOW: bool>(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer) else { return };
    let mut tools = finish.session.tools.values().filter(|tool| tool.turn == finish.turn.number);
    if tools.any(|tool| refused::<HOW>(tool).is_some()) {
        ruling.pass();
    }
}

/// The tool call that permission is asked for is one that updates speak of, at the latest before the turn ends; what the
/// user did not allow may never become a tool call.
fn tool_call_linked(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(moment, answer) else { return };
    let Some(course) = finish.exchange.session().and_then(|id| moment.talk.course.session(id)) else { return };
    for (id, tool) in finish.session.tools.iter().filter(|(_, tool)| tool.turn == finish.turn.number) {
        let asked: Vec<usize> = tool.permissions.iter().map(|permission| permission.n).collect();
        let allowed = tool.permissions.iter().any(|it| it.answer.is_some_and(|(_, it)| it == Decision::Allowed));
        match course.reported.contains(id) {
            true if !asked.is_empty() => ruling.pass(),
            false if allowed => {
                ruling.fail(format!("permission was given for `{id}`, and no update spoke of it"), &asked);
            }
            _ => {}
        }
    }
}
