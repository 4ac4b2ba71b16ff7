//! Areas `session` and `update`: sessions, and which of them messages name.

use serde_json::Value;

use crate::judge::check::{Check, On};
use crate::judge::conversation::{Conversation, Opening};
use crate::judge::moment::{Answer, CallSeen, Moment, UpdateSeen};
use crate::judge::ruling::Ruling;
use crate::judge::timestamp::is_iso8601;
use crate::protocol::Kind;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("session.new.returns-id", On::Response(returns_id)),
    Check::agent("session.new.unique-id", On::Response(unique_id)),
    Check::agent("session.new.independent", On::Response(independent)),
    Check::agent("session.unknown-id", On::Response(unknown_id)),
    Check::agent("session.update-after-new", On::Response(update_after_new)),
    Check::agent("update.session-known", On::Update(update_session_known)),
    Check::agent("update.session-known", On::End(strangers_stayed)),
    Check::agent("update.is-notification", On::Call(update_is_notification)),
    Check::agent("permission.session-known", On::Call(permission_session_known)),
    Check::agent("usage.currency", On::Update(usage_currency)),
    Check::agent("info.partial", On::Update(info_partial)),
    Check::agent("info.updated-at", On::Update(info_updated_at)),
];

/// "The Agent MUST respond with a unique Session ID": a result that is null or has an empty id names no session.
///
/// Correct but unusual: an id of blanks, of a thousand letters, or in another script. Only an empty text fails.
fn returns_id(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("session/new") else { return };
    if result.is_null() {
        ruling.fail("the result of session/new is null", &[]);
    } else if result.get("sessionId").and_then(Value::as_str) == Some("") {
        ruling.fail("the session id is empty", &[]);
    }
}

/// "The Agent MUST respond with a unique Session ID that identifies this conversation."
///
/// Correct but unusual: the agent gives the id of a session again that was closed or deleted. That is inconclusive.
fn unique_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/new") else { return };
    let Some(id) = result.get("sessionId").and_then(Value::as_str).filter(|id| !id.is_empty()) else { return };
    match moment.talk.session(id) {
        Some(other) => {
            let message = format!("session/new returns `{id}`, the id of another session");
            let also = [other.known, exchange.n];
            if other.was_ended { ruling.inconclusive(message, &also) } else { ruling.fail(message, &also) }
        }
        None if !moment.talk.sessions.is_empty() => ruling.pass(),
        None => {}
    }
}

/// "Each session maintains its own context, conversation history, and state": a mode that was chosen for one session is
/// not found in another that had a different one, and was not touched.
///
/// Correct but unusual: a session that is opened again is in the default mode, or in one that nobody chose. An agent may also
/// keep the mode that was chosen last as its default. So the mode that was chosen for another session fails only when a
/// session that was created after that choice began in another mode.
fn independent(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/resume").or(answer.result_of("session/load")) else {
        return;
    };
    let mode = |state: &Value| Some(state.get("currentModeId")?.as_str()?.to_owned());
    let Some((id, now)) = exchange.session().zip(result.get("modes").and_then(mode)) else { return };
    let before = moment.talk.session(id).and_then(|session| mode(session.modes.as_ref()?));
    let others = moment.talk.sessions.iter().filter(|(other, _)| *other != id);
    let mut chosen =
        others.filter_map(|(_, other)| other.mode_set.as_ref().filter(|set| Some(&set.mode) != before.as_ref()));
    match before {
        Some(ref before) if *before == now && chosen.next().is_some() => ruling.pass(),
        Some(ref before) if *before != now => {
            if let Some(set) = chosen.find(|set| set.mode == now) {
                let message =
                    format!("the session is in the mode `{now}`, which was chosen for another; it was in `{before}`");
                let mut newer = moment.talk.sessions.values();
                let begins_elsewhere = newer.any(|session| {
                    session.opening == Opening::New
                        && session.known > set.n
                        && session.mode().is_some_and(|mode| mode != set.mode)
                });
                match begins_elsewhere {
                    true => ruling.fail(message, &[set.n, exchange.n]),
                    false => ruling.inconclusive(format!("{message}; it may be the default now"), &[set.n, exchange.n]),
                }
            }
        }
        _ => {}
    }
}

/// A session that the agent does not know cannot be prompted or configured.
fn unknown_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let concerned =
        matches!(exchange.method.as_str(), "session/prompt" | "session/set_mode" | "session/set_config_option");
    let Some(id) = exchange.session().filter(|id| concerned && talk.session(id).is_none()) else { return };
    let stored = [&["loadSession"][..], &["sessionCapabilities", "resume"], &["sessionCapabilities", "list"]];
    match answer.outcome.error_code() {
        _ if talk.initialized.is_none() => {}
        Some(code) => {
            if !matches!(code, -32002 | -32602) {
                ruling.note(format!(
                    "{} with an unknown session is refused with error {code}, and not -32002",
                    exchange.method
                ));
            }
            ruling.pass();
        }
        // An agent that stores sessions may know one from another connection.
        None if stored.iter().any(|path| talk.agent_has(path)) => {
            ruling.inconclusive(
                format!("{} succeeded with the session `{id}`, not opened here", exchange.method),
                &[exchange.n],
            );
        }
        None => ruling.fail(format!("{} succeeded with the unknown session `{id}`", exchange.method), &[exchange.n]),
    }
}

/// The client learns the id of a new session by the answer, and cannot attribute an update before it.
fn update_after_new(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/new") else { return };
    let Some(id) = result.get("sessionId").and_then(Value::as_str) else { return };
    match moment.talk.course.strangers.get(id) {
        Some(&early) => {
            ruling.fail(
                format!("an update for the new session `{id}` came before the answer that names it"),
                &[early, exchange.n],
            );
        }
        None => ruling.pass(),
    }
}

fn is_being_made(talk: &Conversation) -> bool {
    talk.open_of(Party::Client).any(|open| open.method == "session/new")
}

/// An update belongs to a session that the client created, or asked to load or resume.
///
/// Correct but unusual: an update comes before the answer to `session/new` that names its session, or that says why there
/// is none after all; a draft method opened the session, or the client named it first. None of these fails.
fn update_session_known(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.session(update.session).is_some() {
        ruling.pass();
    } else if !moment.talk.may_know_session(update.session) && !is_being_made(moment.talk) {
        ruling.fail(format!("the client knows no session `{}`", update.session), &[]);
    }
}

/// As above, for an update that came while a session was being made, and was not for that one.
fn strangers_stayed(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    if is_being_made(moment.talk) {
        return;
    }
    let unknown = |id: &str| moment.talk.session(id).is_none() && !moment.talk.may_know_session(id);
    for (id, &n) in moment.talk.course.strangers.iter().filter(|(id, _)| unknown(id)) {
        let message = format!("the client knows no session `{id}`");
        let mut later = moment.talk.errors.range(n..).filter(|(_, (method, _))| method == "session/new");
        match later.next() {
            Some((&failed, _)) => {
                ruling.inconclusive(format!("{message}, since it could not be created"), &[n, failed])
            }
            None => ruling.fail(message, &[n]),
        }
    }
}

/// `session/update` is a notification.
///
/// Correct but unusual: none is known; an `id` of null is an id as well.
fn update_is_notification(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/update" {
        ruling
            .decide(call.kind == Kind::Notification, || "session/update was sent with an id, as a request".to_owned());
    }
}

/// A permission request belongs to a session that the client knows.
fn permission_session_known(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method != "session/request_permission" || is_being_made(moment.talk) {
        return;
    }
    if let Some(id) = call.text("sessionId").filter(|id| !moment.talk.may_know_session(id)) {
        ruling.decide(moment.talk.session(id).is_some(), || format!("the client knows no session `{id}`"));
    }
}

/// "currency is an ISO 4217 currency code like \"USD\""; the schema allows other units as well, so those are noted.
fn usage_currency(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let currency = update.body.get("cost").and_then(|cost| cost.get("currency")).and_then(Value::as_str);
    let Some(currency) = currency.filter(|_| update.variant == "usage_update") else { return };
    let iso = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if !iso && !currency.trim().is_empty() {
        ruling.note(format!("the currency `{currency}` is no ISO 4217 code"));
    }
    ruling.decide(!currency.trim().is_empty(), || "the currency is empty".to_owned());
}

/// A `session_info_update` holds the metadata that changed, and not the identity of the session.
fn info_partial(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "session_info_update" {
        let fixed =
            ["sessionId", "cwd", "additionalDirectories"].into_iter().find(|member| update.body.get(member).is_some());
        ruling.decide(fixed.is_none(), || {
            format!("the session_info_update has the member `{}`", fixed.unwrap_or_default())
        });
    }
}

/// `updatedAt`: "ISO 8601 timestamp of last activity. Set to null to clear."
fn info_updated_at(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let stamp = update.body.get("updatedAt").and_then(Value::as_str);
    if let Some(stamp) = stamp.filter(|_| update.variant == "session_info_update") {
        ruling.decide(is_iso8601(stamp), || format!("updatedAt is `{stamp}`, and no timestamp of ISO 8601"));
    }
}
