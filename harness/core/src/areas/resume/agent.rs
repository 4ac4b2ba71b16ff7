//! Area `resume`: sessions that are continued without a replay.

use serde_json::Value;

use crate::areas::common::{
    BAD_PARAMS, decide_continues, decide_implemented, is_history, proper, repeats_history, rest_of_begun,
};
use crate::areas::remembered::decide_remembers;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Opening, Outcome, Trial, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("resume.implemented", On::Response(implemented)).alone().only(&[RESUME]),
    Check::agent("resume.no-replay", On::Update(replay)),
    Check::agent("resume.no-replay", On::Response(no_replay)).only(&[RESUME]),
    Check::agent("resume.result-object", On::Response(result_not_null)).alone().only(&[RESUME]),
    Check::agent("resume.continues", On::Response(continues)).only(&["session/prompt"]),
    Check::agent("resume.mcp-omitted", On::Response(mcp_omitted)).only(&[RESUME]),
    Check::agent("resume.mcp-omitted", On::End(mcp_required)),
];

const RESUME: &str = "session/resume";
const CAPABILITY: Feature<'static> = Feature::Method(RESUME);

/// "Agents that advertise `sessionCapabilities.resume` allow Clients to reconnect to an existing session."
///
/// Correct but unusual: the agent has forgotten the session, or requires a login first. Only -32601 fails.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.agent_has(CAPABILITY) {
        decide_implemented(answer, RESUME, ruling);
    }
}

/// "the Agent MUST NOT replay the conversation history via `session/update` notifications before responding."
///
/// Correct but unusual: a report on a command that still runs crosses the request, a greeting comes that also began the
/// message of an earlier turn, or another client has a turn in the same session, which the agent shows to both. So a
/// message that is new on this connection is inconclusive, except for
/// a user's message in a session that is new to it.
fn replay(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| is_history(update.variant)) else { return };
    let (Some(request), None, None) = (session.resuming, &session.turn, session.loading) else { return };
    let fact = fact!(
        "replay",
        "the agent sent {update} before its response to {method}; expected no replay",
        update = update.variant, method = RESUME; session_id = update.session, pointer = "/params/update/sessionUpdate"
    );
    let tool = update.body.text("toolCallId").filter(|_| update.variant == "tool_call");
    let repeats = repeats_history(ctx, session, update) && rest_of_begun(session, update).is_none();
    let again = repeats || tool.is_some_and(|id| session.tools.contains_key(id));
    let unknown = !session.is_introduced() && !ctx.conversation.holes.anywhere;
    ruling.proved_by(&[request]).fail_if(again || unknown && update.variant == "user_message_chunk", fact);
}

/// Passes when a session with a history is resumed.
fn no_replay(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let session = answer.result_of(RESUME).and_then(|(exchange, _)| ctx.conversation.session(exchange.session()?));
    if session.is_some_and(|session| session.has_history && session.turn.is_none()) {
        ruling.pass();
    }
}

/// Page and schema show an object, and the reference implementation accepts no null here.
///
/// Correct but unusual: an object that is empty or whose members are all null. Only `null` itself fails.
fn result_not_null(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((_, Value::Null)) = answer.result_of(RESUME) {
        ruling.fail(fact!(
            "null-result",
            "the agent answered {method} with null; expected an object",
            method = RESUME; pointer = "/result"
        ));
    }
}

/// It "returns once the session is ready to continue". See [`decide_continues`] and
/// [`decide_remembers`] for the unusual cases.
fn continues(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    decide_continues(ctx, answer, Opening::Resume, ruling);
    decide_remembers(ctx, answer, Opening::Resume, ruling);
}

/// `mcpServers` is optional in this request.
///
/// Correct but unusual: the agent refuses for another reason, or a server that it remembers does not start. The words
/// of the error decide nothing: see [`mcp_required`].
fn mcp_omitted(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, RESUME).filter(|exchange| exchange.params.member("mcpServers").is_none())
    else {
        return;
    };
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        _ if answer.outcome.error_code() == Some(BAD_PARAMS) => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "error-response",
            "the agent answered {method} without mcpServers with {answer}, which may have another reason",
            method = RESUME, answer = answer.outcome.describe(); code = answer.outcome.error_code()
        )),
        Outcome::Error(_) => {}
    }
}

/// As above: the servers are required if the agent refuses each request without them, and accepts each one with an
/// empty list.
fn mcp_required(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    const SERVERS: &str = "mcpServers";
    let has = |trial: &Trial| trial.exchange.params.member(SERVERS).is_none();
    let is_refused = |trial: &Trial| trial.exchange.method == RESUME && trial.error == Some(BAD_PARAMS);
    let alike = |one: &Trial, other: &Trial| one.is_like(other, SERVERS);
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "omitted-servers-refused",
            "the agent refused each {method} without mcpServers, and none with them; expected results, since they \
            are optional",
            method = RESUME;
            code = trial.error
        ));
    }
}
