//! Probes of turns, their failures and their usage, and of the list of sessions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::proper;
use crate::areas::list::entries;
use crate::areas::support::Finish;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Outcome, Session, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::Feature;
use crate::wire::Members;

pub(in crate::areas) const CHECKS: &[Check] = &[
    Check::agent("prompt.concurrent", On::Response(concurrent)).only(&["session/prompt"]),
    Check::agent("prompt.failure-is-error", On::Response(failure)).only(&["session/prompt"]),
    Check::agent("prompt.error-explained", On::Response(explained)),
    Check::agent("prompt.user-echo", On::Update(echo)).only(&["user_message_chunk"]),
    Check::agent("usage.within-window", On::Update(within_window)).alone().only(&["usage_update"]),
    Check::agent("load.running-turn", On::Response(load_of_running)).only(&["session/load"]),
    Check::agent("list.all-directories", On::Response(all_directories)).only(&["session/list"]),
    Check::agent("list.metadata", On::Response(metadata)).only(&["session/list"]),
    Check::agent("registry.login-method", On::Response(login_method)).only(&["initialize"]),
];

/// Notes what becomes of a prompt that came while another one of its session was unanswered.
fn concurrent(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some(turn) = session.turn.as_ref().filter(|turn| turn.overlapped && turn.n < exchange.n) else { return };
    let first_open = turn.unanswered.contains(&turn.n);
    ruling.note(match answer.outcome {
        Outcome::Error(_) => fact!(
            "refused-during-turn",
            "the agent answered a prompt during a turn with {answer}",
            answer = answer.outcome.describe(); code = answer.outcome.error_code()
        ),
        Outcome::Result(_) if first_open => {
            fact!("answered-during-turn", "the agent answered a prompt during a turn before the prompt of that turn")
        }
        Outcome::Result(_) => {
            fact!("answered-after-turn", "the agent answered a prompt during a turn after the prompt of that turn")
        }
    });
}

fn failure(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| !finish.was_cancelled()) else { return };
    let said = finish.session.tools.values().any(|tool| tool.turn == finish.turn.number);
    if finish.reason() == Some("end_turn") && finish.turn.first_output.is_none() && !said {
        ruling.note(fact!("empty-turn", "the agent ended a turn with `end_turn` and without any output"));
    }
}

fn explained(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some(exchange), Outcome::Error(error)) = (answer.exchange.filter(|it| !it.deliberate), answer.outcome) else {
        return;
    };
    if answer.outcome.error_code() != Some(-32603) || exchange.method.starts_with('_') {
        return;
    }
    let message = error.text("message").unwrap_or_default();
    let generic = message.trim_end_matches('.').eq_ignore_ascii_case("internal error") || message.is_empty();
    let has_data = error.member("data").is_some_and(|data| !data.is_null());
    ruling.note_whether(!generic || has_data, || {
        fact!(
            "unexplained-error",
            "the agent answered {method} with the error {code}, and with no words or data about its reason",
            method = exchange.method,
            code = -32603
        )
    });
}

fn echo(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let live = update.known.is_some_and(|session| session.turn.is_some() && session.loading.is_none());
    if live && update.variant == "user_message_chunk" {
        ruling.note(fact!("user-message-echoed", "the agent sent the message of the user back during its turn"));
    }
}

fn within_window(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let number = |name: &str| update.body.member(name).and_then(Value::as_u64);
    if let (Some(used), Some(size), "usage_update") = (number("used"), number("size"), update.variant) {
        ruling.note_whether(used <= size, || {
            fact!("more-than-window", "the agent reported {used} used tokens of a context window of {size}", used, size)
        });
    }
}

fn load_of_running(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/load") else { return };
    if exchange.turn.is_none() {
        return;
    }
    let session = exchange.session().and_then(|id| ctx.conversation.session(id));
    let running = session.and_then(|session| session.turn.as_ref()).is_some_and(|turn| Some(turn.n) == exchange.turn);
    ruling.note(match (answer.outcome, running) {
        (Outcome::Error(_), _) => fact!(
            "load-refused-during-turn",
            "the agent answered session/load during a turn of the session with {answer}",
            answer = answer.outcome.describe()
        ),
        (Outcome::Result(_), true) => {
            fact!("loaded-during-turn", "the agent loaded the session while its turn went on")
        }
        (Outcome::Result(_), false) => {
            fact!("turn-ended-by-load", "the agent ended the turn of the session, and loaded it")
        }
    });
}

/// Returns the sessions of this connection that had a prompt, with their ids, and the first page of a list without a
/// filter.
fn prompted<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(Vec<(&'m str, &'m Session)>, &'m Value)> {
    let (exchange, result) = answer.result_of("session/list").filter(|(exchange, _)| !exchange.deliberate)?;
    let filtered = ["cwd", "cursor"].iter().any(|name| exchange.params.member(name).is_some_and(|it| !it.is_null()));
    let sessions = ctx.conversation.sessions.iter().filter(|(_, session)| {
        session.has_history && session.turn.is_none() && !session.was_ended && session.is_introduced()
    });
    (!filtered).then(|| (sessions.map(|(id, session)| (id.as_str(), session)).collect(), result))
}

fn all_directories(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((prompted, result)) = prompted(ctx, answer) else { return };
    let listed: BTreeSet<&str> = entries(result).map(|(id, _)| id).collect();
    let cwds: BTreeSet<&str> = prompted.iter().map(|(_, session)| &*session.cwd).collect();
    let (here, gone): (Vec<_>, Vec<_>) = prompted.iter().partition(|(id, _)| listed.contains(id));
    let shown: BTreeSet<&str> = here.iter().map(|(_, session)| &*session.cwd).collect();
    let has_more = result.member("nextCursor").is_some_and(|cursor| !cursor.is_null());
    if cwds.len() < 2 || here.is_empty() || has_more && shown.len() < 2 {
        return;
    }
    let left_out = gone.iter().filter(|_| !has_more).find(|(_, session)| !shown.contains(&*session.cwd));
    ruling.note(left_out.map_or_else(Fact::holds, |(_, session)| {
        fact!(
            "directory-left-out",
            "the agent answered session/list without a filter, and left out the sessions of `{cwd}`",
            cwd = session.cwd
        )
    }));
}

fn metadata(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((prompted, result)) = prompted(ctx, answer) else { return };
    let known: BTreeSet<&str> = prompted.iter().map(|(id, _)| *id).collect();
    for entry in result.list("sessions") {
        let has = |name: &str| entry.text(name).is_some_and(|text| !text.is_empty());
        let ours = entry.text("sessionId").is_some_and(|id| known.contains(id));
        for name in ["title", "updatedAt"].into_iter().filter(|_| ours) {
            ruling.note_whether(has(name), || {
                fact!("no-metadata", "the agent listed a session that had a prompt without {member}", member = name)
            });
        }
    }
}

fn login_method(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    let methods = result.member("authMethods").and_then(Value::as_array);
    let types = methods.into_iter().flatten().map(|method| method.text("type"));
    let served = types.into_iter().any(|kind| matches!(kind.unwrap_or("agent"), "agent" | "terminal"));
    // A client that declares no support for terminals gets no method of theirs.
    let declared = ctx.conversation.client_has(Feature::Login("terminal"));
    if served || declared {
        ruling.note_whether(served, || {
            fact!("no-login-method", "the agent offers no login method of the type `agent` or `terminal`")
        });
    }
}
