//! Area `session`: the methods of every agent with sessions, the effect of a cancel, and the state of a new session.

use super::state::Question;
use crate::areas::cancel::v2::goes_on;
use crate::areas::common::decide_implemented;
use crate::areas::state::{STATE, served};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, Opening, Session, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("session.baseline-list", On::Response(with!(baseline, LIST))).alone().only(&[LIST]),
    Check::agent("session.baseline-resume", On::Response(with!(baseline, RESUME))).alone().only(&[RESUME]),
    Check::agent("session.baseline-close", On::Response(with!(baseline, CLOSE))).alone().only(&[CLOSE]),
    Check::agent("session.baseline-cancel", On::End(|ctx, ruling| goes_on(ctx, false, ruling))),
    Check::agent("session.new-state-after", On::Update(state_after_new)).only(&[STATE]),
    Check::agent("session.new-state-after", On::End(no_state_after_new)),
    Check::agent("session.new.independent", On::CaseEnd(question_elsewhere)),
];

const LIST: &str = "session/list";
const RESUME: &str = "session/resume";
const CLOSE: &str = "session/close";

/// "Supplying `{}` means the Agent supports the baseline session methods": this is one of them.
///
/// Correct but unusual: the agent keeps no session that was closed, or has another reason to refuse. Only -32601 fails.
fn baseline(ctx: &CheckContext<'_>, answer: &Answer<'_>, method: &str, ruling: &mut Ruling<'_>) {
    if ctx.conversation.agent_has(Feature::Method(method)) {
        decide_implemented(answer, method, ruling);
    }
}

/// Returns the sessions that were not idle before the answer that opened them.
fn busy<'m>(ctx: &CheckContext<'m>) -> impl Iterator<Item = (&'m str, usize, &'m Session)> {
    let busy = ctx.areas.session.early.iter().filter(|(_, (_, state))| state != "idle");
    let known = busy.filter_map(|(id, (n, _))| Some((id.as_str(), *n, ctx.conversation.session(id)?)));
    known.filter(|(_, n, session)| session.opening == Opening::New && session.known > *n)
}

/// "An Agent whose new session is not `idle` MUST send the session's `state_update` after this response."
///
/// Correct but unusual: the same state before the response and after it, and a session that is idle again by then. A
/// state after a prompt may be that of its work.
fn state_after_new(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let mut busy = busy(ctx).filter(|(id, ..)| *id == update.session);
    if update.variant == STATE && busy.any(|(_, _, session)| session.work.state.is_none() && session.prompts == 0) {
        ruling.pass();
    }
}

/// As above, for an agent that answered a later request.
fn no_state_after_new(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for (id, n, session) in busy(ctx) {
        let is_missing = session.work.state.is_none() && !conversation.may_miss_work(session);
        if conversation.whole && is_missing && served(ctx, session.known) {
            ruling.proved_by(&[session.known, n]).fail(fact!(
                "no-state-after-new",
                "the agent reported a state before its answer to session/new, and none after it; expected it again";
                session_id = id
            ));
        }
    }
    let is_new = conversation.sessions.values().any(|session| session.opening == Opening::New);
    if is_new && busy(ctx).next().is_none() {
        ruling.not_applicable(fact!("new-session-idle", "each new session of the agent is idle"));
    }
}

/// "Each session maintains its own context": a permission is requested in the session whose work makes the tool call.
///
/// Correct but unusual: ids of tool calls that are unique in their session only, tool calls that are reported after the
/// request or never, and subagents, whose questions may be those of their parents. So the request names a running call
/// of another session, which never asks for it, and its own session never reports it although the agent reported
/// another call for which it asked.
fn question_elsewhere(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let (conversation, questions) = (ctx.conversation, &ctx.areas.session.questions);
    let is_reported = |question: &&Question| {
        let session = conversation.session(&question.session);
        session.and_then(|session| session.tools.get(&question.tool)).is_some_and(|tool| tool.reported)
    };
    let of_case = || questions.iter().filter(|question| conversation.is_of_case(question.n));
    let is_known = !ctx.areas.session.has_more_questions() && conversation.children.is_empty();
    if !is_known || !of_case().any(|question| is_reported(&question)) {
        return;
    }
    // Without work elsewhere, no question can go to a wrong session.
    let had_work =
        |session: &&Session| session.work.accepted.iter().any(|(accepted, _)| conversation.is_of_case(*accepted));
    if conversation.sessions.values().filter(had_work).count() > 1 {
        ruling.pass();
    }
    for question in of_case().filter(|question| !is_reported(question)) {
        let Some((owner, reported)) = &question.running else { continue };
        let asks_itself = |other: &Question| other.session == *owner && other.tool == question.tool;
        if conversation.whole && !questions.iter().any(asks_itself) {
            ruling.proved_by(&[*reported, question.n]).fail(fact!(
                "question-in-other-session",
                "the agent requested permission in the session `{actual}` for the tool call `{tool_call_id}` of the \
                session `{expected}`; expected the request in its own session",
                actual = question.session, tool_call_id = question.tool, expected = owner;
                pointer = "/params/sessionId"
            ));
        }
    }
}
