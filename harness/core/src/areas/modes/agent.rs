//! Area `modes`: the modes of a session and their changes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::{BAD_PARAMS, LOGIN, OPENING, decide_implemented, note_null, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{UPDATE_WITH_RESPONSE, between};
use crate::conversation::{Answer, Exchange, Outcome, Payload, SETTERS, Session, Trial, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("modes.current-listed", On::Payload(current_listed)).only(OPENING),
    Check::agent("modes.ids-unique", On::Payload(ids_unique)).only(OPENING),
    Check::agent("modes.set-implemented", On::Response(set_implemented)).only(&[SET]),
    Check::agent("modes.set-implemented", On::End(|ctx, ruling| decide_current_refused(ctx, SET, "modeId", ruling))),
    Check::agent("modes.set-implemented", On::End(|ctx, ruling| decide_listed_refused(ctx, SET, "modeId", ruling))),
    Check::agent("modes.set-anytime", On::Response(set_anytime)).only(&[SET]),
    Check::agent("modes.set-anytime", On::End(|ctx, ruling| decide_refused_in_turns(ctx, SET, ruling))),
    Check::agent("modes.set-result", On::Response(set_result)).alone().only(&[SET]),
    Check::agent("modes.set-effective", On::Update(set_effective)).only(&["current_mode_update"]),
    Check::agent("modes.set-effective", On::Response(set_kept)).only(&["session/load", "session/resume"]),
    Check::agent("modes.unknown-refused", On::Response(unknown_refused)).only(&[SET]),
    Check::agent("modes.self-change-announced", On::Update(self_change)).only(&["current_mode_update"]),
    Check::agent("modes.self-change-announced", On::Response(silent_change)).only(&["session/load", "session/resume"]),
    Check::agent("modes.update-field", On::Update(update_field)).alone().only(&["current_mode_update"]),
    Check::agent("modes.update-listed", On::Update(update_listed)).only(&["current_mode_update"]),
];

const SET: &str = "session/set_mode";

/// Returns the ids of the modes that a state lists.
fn ids(state: &Value) -> impl Iterator<Item = &str> {
    state.list("availableModes").iter().filter_map(|mode| mode.text("id"))
}

/// The current mode is one of "the set of modes that the Agent can operate in".
///
/// Correct but unusual: an agent without modes lists none, and has an empty text or a default as the current one.
/// Without a list, nothing can be compared. A mode that the client set although it was not listed was accepted by
/// mistake, which is a finding of `modes.unknown-refused`; a recording may lack that request.
fn current_listed(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, state) in payload.places("SessionModeState") {
        let current = state.text("currentModeId");
        if let Some(current) = current.filter(|_| state.member("availableModes").is_some_and(Value::is_array)) {
            let good = ids(state).any(|id| id == current);
            if !good && ctx.areas.modes.may_be_set_unlisted(ctx.conversation) {
                continue;
            }
            if ids(state).next().is_none() {
                return ruling.inconclusive(fact!(
                    "no-modes-listed",
                    "the agent sent the currentModeId `{actual}` and no modes",
                    actual = current; method = payload.method, pointer = payload.pointer(at) + "/currentModeId"
                ));
            }
            ruling.decide(good, || {
                fact!(
                    "unlisted-mode",
                    "the agent sent the currentModeId `{actual}`; expected a mode of availableModes",
                    actual = current; method = payload.method, pointer = payload.pointer(at) + "/currentModeId"
                )
            });
        }
    }
}

/// "id: Unique identifier for this mode."
///
/// Correct but unusual: ids that differ only in case or blanks, and two modes of one name. Ids are compared exactly.
fn ids_unique(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, state) in payload.places("SessionModeState") {
        let mut seen = BTreeSet::new();
        match ids(state).find(|id| !seen.insert(*id)) {
            Some(doubled) => ruling.fail(fact!(
                "duplicate-id",
                "the agent listed two modes with the id `{mode_id}`; expected unique ids",
                mode_id = doubled; method = payload.method, pointer = payload.pointer(at) + "/availableModes"
            )),
            None if seen.len() > 1 => ruling.pass(),
            None => {}
        }
    }
}

/// Returns the request to set a mode that the session lists, with the session.
fn set_of<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(&'m Exchange, &'m Session)> {
    let exchange = proper(answer, SET)?;
    let session = ctx.conversation.session(exchange.session()?)?;
    session.lists_mode(exchange.text("modeId")?).then_some((exchange, session))
}

/// Clients change the mode "by calling the `session/set_mode` method", with any of the listed modes.
///
/// Correct but unusual: a policy forbids a mode that is listed. Here only -32601 fails.
fn set_implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if set_of(ctx, answer).is_some() {
        decide_implemented(answer, SET, ruling);
    }
}

/// Fails an agent that refuses each request to set a listed value that is set already, and none that changes it.
///
/// Correct but unusual: an agent that forbids some values, or any change. Both groups need two requests about the same
/// session, and the same values were accepted as a change.
pub(in crate::areas) fn decide_current_refused(
    ctx: &CheckContext<'_>,
    method: &str,
    member: &str,
    ruling: &mut Ruling<'_>,
) {
    let is_refused = |trial: &Trial| trial.exchange.method == method && trial.error.is_some_and(|code| code != LOGIN);
    let trials = &ctx.conversation.trials;
    let is_known_value = |trial: &Trial| {
        let mut changes = trials.of(Party::Client).filter(|other| !other.to_current && other.error.is_none());
        changes.any(|other| other.is_like(trial, ""))
    };
    let alike = |one: &Trial, other: &Trial| one.is_like(other, member) && !other.in_turn;
    let has = |trial: &Trial| trial.to_current && is_known_value(trial);
    if let Some((trial, events)) = trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "current-value-refused",
            "the agent refused each {method} with the value that was set already, and none that changed it; expected \
            it to accept every listed value",
            method;
            code = trial.error
        ));
    }
}

/// Fails an agent that calls each request to set one of the listed values invalid, and accepts the others.
///
/// Correct but unusual: an agent whose policy forbids a listed value. The params are valid then, so the error has
/// another code. An agent that forbids several values does not fail either.
pub(in crate::areas) fn decide_listed_refused(
    ctx: &CheckContext<'_>,
    method: &str,
    member: &str,
    ruling: &mut Ruling<'_>,
) {
    let trials = &ctx.conversation.trials;
    let is_refused = |trial: &Trial| {
        let is_meant = trial.exchange.method == method && trial.to_listed && !trial.in_turn;
        is_meant && trial.error == Some(BAD_PARAMS)
    };
    let alike = |one: &Trial, other: &Trial| one.is_like(other, member) && other.to_listed;
    let proof = trials.of(Party::Client).filter(|trial| is_refused(trial)).find_map(|refused| {
        let value = refused.exchange.params.member(member);
        trials.contrast(|trial| trial.exchange.params.member(member) == value, is_refused, alike)
    });
    if let Some((trial, events)) = proof {
        let value = trial.exchange.params.member(member).unwrap_or(&Value::Null);
        ruling.proved_by(&events).fail(fact!(
            "listed-value-refused",
            "the agent called each {method} with the listed value `{actual}` invalid, and none with another one; \
            expected it to accept every listed value",
            method, actual = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            code = trial.error
        ));
    }
}

/// "The current mode can be changed at any point during a session, whether the Agent is idle or generating a response."
fn set_anytime(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((exchange, session)) = set_of(ctx, answer) {
        decide_anytime(answer, exchange, session, ruling);
    }
}

/// Decides about the answer to a change that the client requested during a turn.
///
/// Correct but unusual: the answer comes after the turn since the agent handles one message at a time, or the change is
/// refused for another reason, such as a policy server that is busy. The words of the error decide nothing: see
/// [`decide_refused_in_turns`].
pub(in crate::areas) fn decide_anytime(
    answer: &Answer<'_>,
    exchange: &Exchange,
    session: &Session,
    ruling: &mut Ruling<'_>,
) {
    let Some(turn) = exchange.turn else { return };
    let running = session.turn.as_ref().is_some_and(|now| now.n == turn);
    match answer.outcome {
        Outcome::Result(_) if running => ruling.pass(),
        Outcome::Result(_) => ruling.proved_by(&[exchange.n, turn]).inconclusive(fact!(
            "answered-after-turn",
            "the agent answered {method}, sent during a turn, only after the turn",
            method = exchange.method
        )),
        Outcome::Error(_) => ruling.proved_by(&[exchange.n, turn]).inconclusive(fact!(
            "error-response",
            "the agent answered {method} during a turn with {answer}, which may have another reason",
            method = exchange.method, answer = answer.outcome.describe(); code = answer.outcome.error_code()
        )),
    }
}

/// A setting is refused because of the turn if the agent refuses it in each of several turns and accepts the same
/// request each time that no turn runs.
pub(in crate::areas) fn decide_refused_in_turns(ctx: &CheckContext<'_>, method: &str, ruling: &mut Ruling<'_>) {
    let is_refused = |trial: &Trial| trial.exchange.method == method && trial.error.is_some_and(|code| code != LOGIN);
    let alike = |one: &Trial, other: &Trial| one.is_like(other, "");
    if let Some((trial, events)) = ctx.conversation.trials.contrast(|trial| trial.in_turn, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "refused-during-turns",
            "the agent refused {method} in each turn, and accepted the same request between turns; expected it at \
            any time",
            method;
            code = trial.error
        ));
    }
}

/// The schema requires an object here; older agents send null. Both are correct.
fn set_result(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    note_null(answer, SET, ruling);
}

/// After a successful `session/set_mode`, the session is in that mode: an update does not name the old one.
///
/// Correct but unusual: the updates on two changes in a row come after both answers, so that one names the intermediate
/// mode; or the agent leaves the mode by itself later or in a turn, or reverts it because of a policy, or the client
/// sets the mode again by an option; or the update reports an earlier change, late, or the current mode after the agent
/// ignored one that it does not list. These do not fail: only an update within half a second, in a case, does.
fn set_effective(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| update.variant == "current_mode_update") else {
        return;
    };
    let Some(mode) = update.body.text("currentModeId") else { return };
    let mut open = ctx.conversation.open_of(ctx.from.other()).filter(|open| open.session() == Some(update.session));
    let asked = open.any(|open| open.method == SET && open.text("modeId") == Some(mode));
    let mut open = ctx.conversation.open_of(ctx.from.other()).filter(|open| open.session() == Some(update.session));
    // "This allows Agents to reflect dependent changes": the mode may depend on any option.
    if open.any(|open| open.method == "session/set_config_option") {
        return;
    }
    match &session.mode_set {
        _ if asked => ruling.pass(),
        Some(set) if set.mode == mode => ruling.pass(),
        Some(set) if !session.lists_mode(&set.mode) => {}
        Some(set) if set.before == mode && session.turn.is_none() => {
            let fact = fact!(
                "old-mode-in-update",
                "the agent sent an update with the old mode `{actual}` after the client set `{expected}`; expected \
                the new one",
                actual = mode, expected = set.mode;
                pointer = "/params/update/currentModeId"
            );
            // Later the agent may have changed it again by itself.
            let at_once = between(set.us, ctx.us) < UPDATE_WITH_RESPONSE && !set.after_another;
            let is_late_report = ctx.areas.modes.may_report(update.session, mode);
            ruling.proved_by(&[set.n]).fail_if(at_once && !is_late_report && ctx.conversation.whole, fact);
        }
        _ => {}
    }
}

/// The state that a load or a resume returns also shows the mode.
fn set_kept(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let reopened = ["session/load", "session/resume"].iter().find_map(|method| answer.result_of(method));
    let Some((exchange, result)) = reopened else { return };
    let set = exchange.session().and_then(|id| ctx.conversation.session(id)?.mode_set.as_ref());
    let current = result.pointer("/modes/currentModeId").and_then(Value::as_str);
    if let (Some(set), Some(current)) = (set, current) {
        if set.mode == current {
            ruling.pass();
        } else {
            // The specification leaves open whether the mode survives a load.
            ruling.proved_by(&[set.n]).inconclusive(fact!(
                "other-mode-after-reopening",
                "the agent answered {method} with the mode `{actual}`; the client had set `{expected}`",
                method = exchange.method, actual = current, expected = set.mode; pointer = "/result/modes/currentModeId"
            ));
        }
    }
}

/// The mode "Must be one of the modes listed in `availableModes`", so the agent refuses another one.
fn unknown_refused(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, SET) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some(mode) = exchange.text("modeId").filter(|mode| session.modes.is_some() && !session.lists_mode(mode)) else {
        return;
    };
    match answer.outcome {
        Outcome::Result(_) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unlisted-mode-accepted",
            "the agent accepted the mode `{mode_id}`, which it does not list; expected an error",
            mode_id = mode; method = SET
        )),
        Outcome::Error(_) => {
            ruling.pass();
            if answer.outcome.error_code() != Some(BAD_PARAMS) {
                ruling.note(fact!(
                    "other-error-code",
                    "the agent refused a mode that it does not list with {answer}; the code for this is {expected}",
                    answer = answer.outcome.describe(), expected = BAD_PARAMS; actual = answer.outcome.error_code()
                ));
            }
        }
    }
}

/// The schema requires `currentModeId`; an example on the page on modes has `modeId`.
fn update_field(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| update.body.member(name).is_some();
    if update.variant == "current_mode_update" && has("modeId") && !has("currentModeId") {
        ruling.note(fact!(
            "mode-id-member",
            "the agent sent `modeId` in an update, as one example of the specification; the schema has `currentModeId`";
            pointer = "/params/update/modeId"
        ));
    }
}

/// "The Agent can also change its own mode and let the Client know".
fn self_change(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|_| update.variant == "current_mode_update");
    let Some(session) = session.filter(|session| session.turn.is_some() && !client_sets(ctx)) else { return };
    let mode = update.body.text("currentModeId");
    if session.mode().is_some() && mode.is_some() && session.mode() != mode {
        ruling.pass();
    }
}

/// A mode that a turn changed without an update shows when the session is reopened; an earlier reopening must have
/// shown that it does not change the mode by itself.
///
/// Correct but unusual: an agent that resets the mode when the session is reopened, and says so in the response.
fn silent_change(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let reopened = ["session/load", "session/resume"].iter().find_map(|method| answer.result_of(method));
    let Some((exchange, result)) = reopened.filter(|_| !client_sets(ctx)) else { return };
    let Some(id) = exchange.session() else { return };
    let Some(session) = ctx.conversation.session(id) else { return };
    let found = result.pointer("/modes/currentModeId").and_then(Value::as_str);
    let found = found.filter(|found| ctx.areas.modes.first(id) != Some(found));
    let (Some(announced), Some(found)) = (session.mode(), found) else { return };
    let options = session.options.iter().flatten().filter(|option| option.text("category") == Some("mode"));
    let by_option = options.into_iter().any(|option| option.text("currentValue") == Some(found));
    let turns = session.mode_kept.is_some_and(|prompts| prompts < session.prompts);
    if ctx.conversation.whole && turns && announced != found && !by_option {
        ruling.proved_by(&[session.known]).fail(fact!(
            "silent-change",
            "the agent answered {method} with the mode `{actual}`; expected an update that changes `{before}` to it",
            method = exchange.method, actual = found, before = announced; pointer = "/result/modes/currentModeId"
        ));
    }
}

/// Whether the client changes modes or options in this conversation, which an agent may apply late.
pub(in crate::areas) fn client_sets(ctx: &CheckContext<'_>) -> bool {
    SETTERS.iter().any(|method| ctx.conversation.has_sent(ctx.from.other(), method))
}

/// The agent changes to one of its own modes.
///
/// Correct but unusual: the agent lists no modes, or has others since it was loaded, and the response with their list
/// is still to come. A mode that the client set although it was not listed was accepted by mistake, as in
/// [`current_listed`].
fn update_listed(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|_| update.variant == "current_mode_update") else {
        return;
    };
    let Some(mode) = update.body.text("currentModeId").filter(|_| session.modes.is_some()) else {
        return;
    };
    let unknown = session.loading.or(session.resuming).is_some()
        || session.modes.as_ref().is_some_and(|modes| ids(modes).next().is_none());
    if unknown && !session.lists_mode(mode) {
        return ruling.inconclusive(fact!(
            "unknown-modes",
            "the agent sent an update with the mode `{actual}`; the list of its modes is not known at this point",
            actual = mode; pointer = "/params/update/currentModeId"
        ));
    }
    if !session.lists_mode(mode) && ctx.areas.modes.may_be_set_unlisted(ctx.conversation) {
        return;
    }
    ruling.decide(session.lists_mode(mode), || {
        fact!(
            "unlisted-mode",
            "the agent sent an update with the mode `{actual}`; expected a mode that it lists",
            actual = mode; pointer = "/params/update/currentModeId"
        )
    });
}
