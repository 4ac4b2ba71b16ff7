//! Area `permission`, the agent's half: acts that wait for a permission, and answers that forbid them.

use std::collections::BTreeSet;

use crate::areas::support::Finish;
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, CallSeen, Decision, Exchange, Session, Target, ToolCall, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("permission.option-ids-unique", On::Call(option_ids_unique))
        .alone()
        .only(&["session/request_permission"]),
    Check::agent("permission.before-execution", On::Call(act_while_asking))
        .only(&["fs/write_text_file", "terminal/create"]),
    Check::agent("permission.before-execution", On::Call(asked_afterwards)).only(&["session/request_permission"]),
    Check::agent("permission.before-execution", On::Update(status_while_asking)),
    Check::agent("permission.before-execution", On::ReceivedResponse(waited)).only(&["session/request_permission"]),
    Check::agent("permission.reject-respected", On::Call(with!(act_in_spite_of, Decision::Rejected)))
        .only(&["fs/write_text_file", "terminal/create"]),
    Check::agent("permission.reject-respected", On::Response(with!(respected, Decision::Rejected)))
        .only(&["session/prompt"]),
    Check::agent("permission.cancelled-respected", On::Call(with!(act_in_spite_of, Decision::Cancelled)))
        .only(&["fs/write_text_file", "terminal/create"]),
    Check::agent("permission.cancelled-respected", On::Response(with!(respected, Decision::Cancelled)))
        .only(&["session/prompt"]),
    Check::agent("permission.tool-call-linked", On::Response(tool_call_linked)).only(&["session/prompt"]),
    Check::agent("permission.tool-call-linked", On::Response(asked_for_earlier_call)).only(&["session/prompt"]),
];

/// The answer names an option by its id.
///
/// Correct but unusual: several options of one kind, or with one name.
fn option_ids_unique(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let options = call
        .params
        .filter(|_| call.method == "session/request_permission")
        .and_then(|p| p.member("options")?.as_array());
    let mut seen = BTreeSet::new();
    for id in options.into_iter().flatten().filter_map(|option| option.text("optionId")) {
        ruling.decide(seen.insert(id), || {
            fact!(
                "duplicate-option-id",
                "the agent offered two options with the optionId `{option_id}`; expected unique ids",
                option_id = id; pointer = "/params/options"
            )
        });
    }
}

/// A file that is about to be written, or a command that is about to run, with the facts about its session.
struct Act<'m> {
    session: &'m Session,
    target: Target,
}

impl<'m> Act<'m> {
    fn of(ctx: &CheckContext<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let target = Target::of(call.method, call.params?)?;
        let id = call.text("sessionId")?;
        Some(Self { session: ctx.conversation.session(id)?, target })
    }

    /// Whether this can belong to the tool call and to no other of the running turn.
    fn belongs_to(&self, id: &str) -> bool {
        fits(self.session, id, &self.target)
    }

    /// Decides an act for this tool call. In a recording, a command may differ from that of the tool call.
    fn decide(&self, id: &str, state: State, n: usize, ruling: &mut Ruling<'_>) {
        let fact = acted(state, id, &self.target);
        match self.target {
            Target::File(_) => ruling.proved_by(&[n]).fail(fact),
            Target::Command(_) if is_named(self.session, id, &self.target) => ruling.proved_by(&[n]).fail_in_case(fact),
            Target::Command(_) => ruling.proved_by(&[n]).inconclusive(ran_another(state, id)),
        }
    }
}

/// The state of a permission when the agent acts.
#[derive(Clone, Copy)]
enum State {
    NotAsked,
    Asked,
    Refused,
}

/// Whether the title of the tool call names what a command is about. An agent also runs commands of its own, such as
/// `git status`.
fn is_named(session: &Session, id: &str, target: &Target) -> bool {
    match target {
        Target::File(_) => true,
        Target::Command(word) => session.tools.get(id).is_some_and(|tool| tool.title.contains(word.as_str())),
    }
}

/// Whether a write or a command can belong to this tool call and to no other that the turn has.
fn fits(session: &Session, id: &str, target: &Target) -> bool {
    let could = |tool: &ToolCall| match target {
        Target::File(path) => tool.paths.contains(path),
        Target::Command(_) => tool.kind.as_deref() == Some("execute"),
    };
    // A tool call without a path might write any file, and one without a kind might run any command.
    let silent = |tool: &ToolCall| match target {
        Target::File(_) => tool.paths.is_empty(),
        Target::Command(_) => tool.kind.is_none(),
    };
    let others = session.tools.iter().filter(|(other, tool)| other.as_str() != id && tool.turn == session.prompts);
    let mine = session.tools.get(id).is_some_and(|tool| tool.turn == session.prompts && could(tool));
    // In a session with overlapping prompts the act may belong to the other prompt.
    let alone = session.log.as_ref().is_none_or(|turn| turn.overlapped.is_none());
    alone && mine && !others.into_iter().any(|(_, tool)| could(tool) || silent(tool))
}

/// Returns the fact of a write or a command for a tool call in this state of its permission.
fn acted(kind: State, tool_call_id: &str, target: &Target) -> Fact {
    match (kind, target) {
        (State::Asked, Target::File(path)) => fact!(
            "act-while-asking",
            "the agent wrote `{path}` for `{tool_call_id}` before the client answered its permission request",
            path,
            tool_call_id
        ),
        (State::Asked, Target::Command(_)) => fact!(
            "act-while-asking",
            "the agent ran a command for `{tool_call_id}` before the client answered its permission request",
            tool_call_id
        ),
        (State::NotAsked, Target::File(path)) => fact!(
            "act-before-asking",
            "the agent wrote `{path}` for `{tool_call_id}` before it requested the permission",
            path,
            tool_call_id
        ),
        (State::NotAsked, Target::Command(_)) => fact!(
            "act-before-asking",
            "the agent ran a command for `{tool_call_id}` before it requested the permission",
            tool_call_id
        ),
        (State::Refused, Target::File(path)) => fact!(
            "act-after-refusal",
            "the agent wrote `{path}` for `{tool_call_id}` although the client refused the permission",
            path,
            tool_call_id
        ),
        (State::Refused, Target::Command(_)) => fact!(
            "act-after-refusal",
            "the agent ran a command for `{tool_call_id}` although the client refused the permission",
            tool_call_id
        ),
    }
}

/// Returns the fact of a command that the title of the tool call does not name.
fn ran_another(kind: State, tool_call_id: &str) -> Fact {
    let when = match kind {
        State::NotAsked => "before it requested the permission",
        State::Asked => "before the client answered the permission request",
        State::Refused => "after the client refused the permission",
    };
    fact!(
        "another-command",
        "the agent ran a command {when} for `{tool_call_id}`, perhaps one of its own",
        when,
        tool_call_id
    )
}

/// Returns the tool calls of the session that wait for a permission: id and event of the request.
fn asking<'m>(ctx: &CheckContext<'m>, session: &str) -> Vec<(&'m str, usize)> {
    let open = ctx.conversation.open_of(Party::Agent).filter(|open| open.method == "session/request_permission");
    let here = open.filter(|open| open.session() == Some(session));
    here.filter_map(|open| Some((open.params.member("toolCall")?.text("toolCallId")?, open.n))).collect()
}

/// "Before proceeding with execution, the Agent MAY request permission": the act then waits for the answer.
///
/// Correct but unusual: an agent that continues with other tool calls meanwhile, or runs a command of its own, such as
/// `git status`, without reporting a tool call. Only a write or a command that can belong to no other call of the turn
/// counts. A command is inconclusive in a recording, and if the title of the call does not name its last argument.
fn act_while_asking(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(act) = Act::of(ctx, call) else { return };
    let asking = asking(ctx, call.text("sessionId").unwrap_or_default());
    if let Some((id, n)) = asking.into_iter().find(|(id, _)| act.belongs_to(id)) {
        act.decide(id, State::Asked, n, ruling);
    }
}

/// As above: a request after the act is too late.
///
/// Correct but unusual: an agent that writes a file without asking, and asks for the next step of the same tool call. A
/// case asks for a single step; a recording does not show what the permission is for.
fn asked_afterwards(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let asks = call.params.filter(|_| call.method == "session/request_permission");
    let Some(id) = asks.and_then(|params| params.member("toolCall")?.member("toolCallId")?.as_str()) else { return };
    let session = call.text("sessionId").unwrap_or_default();
    let Some(session) = ctx.conversation.session(session) else { return };
    let Some((tool, turn)) = session.tools.get(id).zip(session.log.as_ref()) else { return };
    let side_effects =
        turn.side_effects.iter().filter(|side_effect| side_effect.n > tool.n && tool.permissions.is_empty());
    let mut early = side_effects.filter(|side_effect| fits(session, id, &side_effect.target));
    if let Some(side_effect) = early.next() {
        let events = [side_effect.n, tool.n];
        let proved = ruling.proved_by(&events);
        if is_named(session, id, &side_effect.target) {
            proved.fail_in_case(acted(State::NotAsked, id, &side_effect.target));
        } else {
            proved.inconclusive(ran_another(State::NotAsked, id));
        }
    }
}

/// A status alone does not prove that the tool ran.
fn status_while_asking(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), Some("completed")) = (update.body.text("toolCallId"), update.body.text("status")) else { return };
    if let Some((_, n)) = asking(ctx, update.session).into_iter().find(|(asked, _)| *asked == id) {
        ruling.proved_by(&[n]).inconclusive(fact!(
            "completed-while-asking",
            "the agent reported `{tool_call_id}` as completed before the client answered its permission request",
            tool_call_id = id; pointer = "/params/update/status"
        ));
    }
}

/// Exercised by an answer for which the agent waited.
fn waited(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.result_of("session/request_permission").is_some() {
        ruling.pass();
    }
}

/// Returns the event of the client's last answer about the tool call, if it was this decision.
fn refused(tool: &ToolCall, wanted: Decision) -> Option<usize> {
    let last = tool.permissions.iter().filter_map(|permission| permission.answer).next_back();
    last.filter(|(_, decision)| *decision == wanted).map(|(n, _)| n)
}

/// The agent does not run what the user rejected or cancelled.
///
/// Correct but unusual: an agent that does it after it asked again and was allowed, does the same for another tool
/// call, or runs the command in a sandbox, since the user only refused to run it outside. So a command in a recording
/// is inconclusive.
fn act_in_spite_of(ctx: &CheckContext<'_>, call: &CallSeen<'_>, refusal: Decision, ruling: &mut Ruling<'_>) {
    let Some(act) = Act::of(ctx, call).filter(|act| act.session.has_denied) else { return };
    let refused = act.session.tools.iter().filter_map(|(id, tool)| Some((id, refused(tool, refusal)?)));
    for (id, n) in refused.filter(|(id, _)| act.belongs_to(id)) {
        act.decide(id, State::Refused, n, ruling);
    }
}

/// Exercised by a turn with a refused permission that ended without the act.
fn respected(ctx: &CheckContext<'_>, answer: &Answer<'_>, refusal: Decision, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.session.has_denied) else { return };
    if finish.session.tools_of_prompt().any(|(_, tool)| refused(tool, refusal).is_some()) {
        ruling.pass();
    }
}

/// Updates report the tool call of a permission request, at the latest before the turn ends; a refused one may remain
/// unreported.
fn tool_call_linked(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer) else { return };
    for (id, tool) in finish.session.tools_of_prompt() {
        let asked: Vec<usize> = tool.permissions.iter().map(|permission| permission.n).collect();
        let allowed = tool.permissions.iter().any(|it| it.answer.is_some_and(|(_, it)| it == Decision::Allowed));
        match tool.reported {
            true if !asked.is_empty() => ruling.pass(),
            false if allowed => ruling.proved_by(&asked).fail(fact!(
                "tool-call-not-reported",
                "the agent got permission for the tool call `{tool_call_id}`; expected an update that reports it",
                tool_call_id = id
            )),
            _ => {}
        }
    }
}

/// "Details about the tool call requiring permission": a call that ended in an earlier turn requires none.
///
/// Correct but unusual: an agent that runs an earlier call once more, asks about the result of one, or asks about one
/// that ran on in the background, while it runs other calls without asking. So only an allowed request fails whose tool
/// call had asked and ended in an earlier turn, and which no update of this turn reports, while the only other call of
/// its kind waits without a request of its own, and ends after the answer.
fn asked_for_earlier_call(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((finish, id)) = Finish::of(ctx, answer).zip(answer.exchange.and_then(Exchange::session)) else { return };
    let (session, turn) = (finish.session, finish.turn);
    for (earlier, tool) in session.tools.iter().filter(|(_, tool)| tool.turn < session.prompts && tool.is_final()) {
        if !tool.reported || turn.tools.contains(earlier) {
            continue;
        }
        let [asked_before @ .., last] = tool.permissions.as_slice() else { continue };
        let Some((answered, Decision::Allowed)) = last.answer.filter(|_| last.n > turn.n) else { continue };
        if asked_before.is_empty() || asked_before.iter().any(|permission| permission.n > turn.n) {
            continue;
        }
        let mut alike = session.tools_of_prompt().filter(|(_, other)| other.kind == tool.kind);
        let Some((id_of_call, call)) = alike.next().filter(|_| alike.next().is_none()) else { continue };
        let ended = ctx.areas.permission.ended(id, turn, id_of_call);
        let is_unasked = call.reported && call.permissions.is_empty() && call.n < last.n;
        if is_unasked && ended.is_some_and(|ended| ended > answered) {
            ruling.proved_by(&[last.n, tool.n, call.n]).fail_in_case(fact!(
                "earlier-tool-call",
                "the agent requested permission for the tool call `{actual}`, which had ended in an earlier turn, and \
                ran `{expected}` after the answer; expected a request for that one",
                actual = earlier,
                expected = id_of_call
            ));
        }
    }
}
