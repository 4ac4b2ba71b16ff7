//! The agent's half of the area `system-prompt`: its answers, and its requests to the model.

use serde_json::Value;

use super::{CAPABILITY, MEMBER, OVERRIDE, blocks_of, mode_of, prompt_in};
use crate::areas::common::{BAD_PARAMS, LOGIN, OPENING, WITHDRAWN};
use crate::areas::support::{Finish, same_path};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, Exchange, IntentPrompt, Opening, Outcome, Payload, Session, Trial, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::requirement::Party;
use crate::trace::{MARK, ModelEvent, Precedence};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("system-prompt.append-accepted", On::Response(with!(accepted, Given::Append))).only(OPENING),
    Check::agent("system-prompt.append-accepted", On::End(|m, r| refused(m, Given::Append, r))),
    Check::agent("system-prompt.override-accepted", On::Response(with!(accepted, Given::Override))).only(OPENING),
    Check::agent("system-prompt.override-accepted", On::End(|m, r| refused(m, Given::Override, r))),
    Check::agent("system-prompt.null-is-omitted", On::Response(with!(accepted, Given::Null))).only(OPENING),
    Check::agent("system-prompt.null-is-omitted", On::End(|m, r| refused(m, Given::Null, r))),
    Check::agent("system-prompt.no-session-on-error", On::Response(shown_before_error))
        .only(&["session/load", "session/resume"]),
    Check::agent("system-prompt.no-session-on-error", On::Payload(listed)).with_history().only(&["session/list"]),
    Check::agent("system-prompt.error-code", On::Response(error_code)).only(OPENING),
    Check::agent("system-prompt.effective", On::Model(precedence)),
    Check::agent("system-prompt.effective", On::Response(lost)).only(&["session/prompt"]),
    Check::agent("session.new.independent", On::Response(leaked)).only(&["session/prompt"]),
    Check::agent("session.new.independent", On::Update(leaked_until_idle)).only(&["state_update"]),
];

/// A value of the member that an agent with the capability accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Null, which is the same as no member.
    Null,
    /// Text blocks in the mode that each such agent supports.
    Append,
    /// The same in the mode that the agent advertises by a capability of its own.
    Override,
}

impl Given {
    fn of(ctx: &CheckContext<'_>, params: &Value) -> Option<Self> {
        let member = params.member(MEMBER).filter(|_| ctx.conversation.agent_has(CAPABILITY))?;
        let Some(prompt) = prompt_in(params) else { return member.is_null().then_some(Self::Null) };
        let is_text = |block: &Value| {
            block.member("type").is_some_and(|kind| kind == "text")
                && block.member("text").is_some_and(Value::is_string)
        };
        let blocks = blocks_of(prompt);
        match mode_of(prompt).filter(|_| !blocks.is_empty() && blocks.iter().all(is_text))? {
            "append" => Some(Self::Append),
            "override" if ctx.conversation.agent_has(OVERRIDE) => Some(Self::Override),
            _ => None,
        }
    }
}

/// "Agents advertising the capability MUST accept `text` content blocks", in each mode that they advertise; "Omitted
/// and `null` are equivalent".
///
/// Correct but unusual: the request is refused for its `cwd`, its MCP servers, a session that is open already, or since
/// a login is missing. So an error fails only by contrast: see [`refused`].
fn accepted(ctx: &CheckContext<'_>, answer: &Answer<'_>, given: Given, ruling: &mut Ruling<'_>) {
    let exchange = answer.exchange.filter(|exchange| !exchange.deliberate);
    let Some(exchange) = exchange.filter(|exchange| Given::of(ctx, &exchange.params) == Some(given)) else { return };
    if let Outcome::Result(_) = answer.outcome {
        return ruling.pass();
    }
    ruling.proved_by(&[exchange.n]).inconclusive(fact!(
        "error-response",
        "the agent answered {method} with a systemPrompt with {answer}, which may have another reason",
        method = exchange.method, answer = answer.outcome.describe(); code = answer.outcome.error_code()
    ));
}

/// As above: the member is the reason if the agent refuses each such request, and accepts the same request each time
/// without it.
fn refused(ctx: &CheckContext<'_>, given: Given, ruling: &mut Ruling<'_>) {
    let has = |trial: &Trial| Given::of(ctx, &trial.exchange.params) == Some(given);
    let is_refused = |trial: &Trial| trial.error.is_some_and(|code| ![LOGIN, WITHDRAWN].contains(&code));
    let is_without = |trial: &Trial| trial.exchange.params.member(MEMBER).is_none();
    let alike = |one: &Trial, other: &Trial| (has(other) || is_without(other)) && one.is_like(other, MEMBER);
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "system-prompt-refused",
            "the agent refused each {method} with this systemPrompt, and none without; expected it to accept them",
            method = trial.exchange.method;
            code = trial.error
        ));
    }
}

/// Whether an agent without extensions of ours has to refuse the system prompt: for a mode that it did not advertise,
/// or for a block of another type.
fn is_inapplicable(ctx: &CheckContext<'_>, params: &Value) -> bool {
    let Some(prompt) = prompt_in(params).filter(|_| ctx.conversation.agent_has(CAPABILITY)) else { return false };
    let is_own = |name: Option<&str>| name.is_some_and(|name| name.starts_with('_'));
    let kinds = blocks_of(prompt).iter().map(|block| block.text("type"));
    let mode = mode_of(prompt);
    is_own(mode) || mode == Some("override") && ctx.conversation.agent_lacks(OVERRIDE) || kinds.into_iter().any(is_own)
}

/// "Agents that cannot apply it … MUST return an error instead of creating, loading, or resuming the session": no
/// history comes before the error.
///
/// Correct but unusual: a session that was open before and is at work, whose messages come meanwhile.
fn shown_before_error(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| is_inapplicable(ctx, &exchange.params)) else { return };
    let code = answer.outcome.error_code().filter(|code| *code != LOGIN);
    let Some((id, _)) = exchange.session().zip(code) else { return };
    let session = ctx.conversation.session(id);
    let at_work = session.is_some_and(|session| {
        session.turn.is_some() || session.work.state.as_deref().is_some_and(|state| state != "idle")
    });
    match ctx.areas.system_prompt.get(id).and_then(|known| known.shown) {
        None => ruling.pass(),
        Some(_) if at_work || !ctx.conversation.whole => {}
        Some(shown) => ruling.proved_by(&[exchange.n, shown]).fail(fact!(
            "history-before-error",
            "the agent sent the history of `{session_id}` before it refused the systemPrompt of {method}; expected \
            only the error",
            session_id = id, method = exchange.method; code = code
        )),
    }
}

/// As above: a session that was not created is in no list.
///
/// Correct but unusual: an agent that keeps no session before its first prompt; and a session of the same folder that
/// the client created otherwise. A case creates no other session in the folder of the refused one.
fn listed(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    if !payload.is_result {
        return;
    }
    let cwd = |trial: &Trial| trial.exchange.text("cwd").map(str::to_owned);
    let of_new = || ctx.conversation.trials.of(Party::Client).filter(|trial| trial.exchange.method == "session/new");
    for trial in of_new().filter(|trial| is_inapplicable(ctx, &trial.exchange.params)) {
        let Some(folder) = cwd(trial).filter(|_| trial.error.is_some_and(|code| code != LOGIN)) else { continue };
        if of_new().any(|other| other.error.is_none() && cwd(other).as_ref() == Some(&folder)) {
            continue;
        }
        let is_there = |entry: &Value| entry.text("cwd").is_some_and(|cwd| same_path(cwd, &folder));
        let found = payload.places("SessionInfo").find(|(_, entry)| is_there(entry));
        match found {
            None => ruling.pass(),
            Some((at, entry)) => ruling.proved_by(&[trial.n]).fail(fact!(
                "refused-session-listed",
                "the agent listed the session `{session_id}` in the folder of a session/new that it refused for \
                its systemPrompt; expected no session there",
                session_id = entry.member("sessionId"); pointer = payload.pointer(at)
            )),
        }
    }
}

/// A probe: the code of the error for a system prompt that the agent cannot apply.
fn error_code(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let is_meant = answer.exchange.is_some_and(|exchange| is_inapplicable(ctx, &exchange.params));
    match answer.outcome.error_code().filter(|_| is_meant) {
        None => {}
        Some(BAD_PARAMS) => ruling.note(Fact::holds()),
        Some(code) => ruling.note(fact!(
            "other-error-code",
            "the agent refused a systemPrompt with the error code {code}; {expected} is usual",
            code,
            expected = BAD_PARAMS
        )),
    }
}

/// "Agents SHOULD give the content system-level precedence, for example in the model's system prompt or developer
/// instructions rather than in user-turn content." The requests to the scripted model show it.
///
/// Correct but unusual: a developer message, and a text that stands in a turn of the user as well.
fn precedence(_: &CheckContext<'_>, model: &ModelEvent, ruling: &mut Ruling<'_>) {
    match model.marked {
        None => {}
        Some(Precedence::System) => ruling.pass(),
        Some(Precedence::User) => ruling.fail(fact!(
            "system-prompt-in-user-turn",
            "the agent sent the systemPrompt to its model in a turn of the user; expected system instructions"
        )),
    }
}

/// As above: the text reaches the model at all.
///
/// Correct but unusual: later requests of a session that refer to an earlier one, and requests of the agent for its own
/// purposes. So only the first turn of the session counts, in which the model answered the user.
fn lost(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let (exchange, memory) = (finish.exchange, &ctx.areas.system_prompt);
    let created = exchange.session().and_then(|id| memory.get(id)?.created_with.as_ref());
    let is_marked = |block: &Value| block.text("text").is_some_and(|text| text.contains(MARK));
    let marked =
        created.is_some_and(|prompt| mode_of(prompt) == Some("append") && blocks_of(prompt).iter().any(is_marked));
    if let Some(asked) = memory.unmarked.filter(|_| marked && memory.marked.is_none() && finish.session.prompts == 1) {
        ruling.proved_by(&[asked]).fail(fact!(
            "system-prompt-lost",
            "the agent asked its model without the text of the systemPrompt; expected it among the instructions"
        ));
    }
}

/// "Each session maintains its own context": the instructions for a session without a system prompt do not hold that of
/// another one.
///
/// Correct but unusual: a user who quotes the text, a fork, and a session from before this conversation.
fn leaked(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((id, finish)) = answer.exchange.and_then(Exchange::session).zip(Finish::of(ctx, answer)) {
        decide_leaked(ctx, id, finish.session, ruling);
    }
}

/// The same for version 2, where an idle state ends the work on a prompt.
///
/// Correct but unusual: see [`leaked`].
fn leaked_until_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(session) = update.known.filter(|_| update.body.text("state") == Some("idle")) {
        decide_leaked(ctx, update.session, session, ruling);
    }
}

fn decide_leaked(ctx: &CheckContext<'_>, id: &str, session: &Session, ruling: &mut Ruling<'_>) {
    let log = &session.model;
    let may_quote = |prompt: &IntentPrompt| prompt.text.as_ref().is_none_or(|text| text.contains(MARK));
    let is_known = session.opening == Opening::New && ctx.conversation.whole && !log.is_uncertain && !log.is_cut;
    let has_own = ctx.areas.system_prompt.get(id).is_some() || ctx.conversation.may_open_otherwise();
    if !is_known || has_own || log.prompts.iter().any(may_quote) {
        return;
    }
    let marked = log.requests.iter().find(|asked| asked.event.marked == Some(Precedence::System));
    if let Some((asked, prompt)) = marked.zip(log.prompts.last()) {
        ruling.proved_by(&[asked.n, prompt.n]).fail(fact!(
            "system-prompt-of-other-session",
            "the agent sent its model the systemPrompt of another session among the instructions for `{session_id}`; \
            expected only those of that session",
            session_id = id
        ));
    }
}
