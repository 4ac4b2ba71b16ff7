//! Probes of modes, options and commands: changes of the agent's own, and sessions that are opened again.

use serde_json::Value;

use crate::areas::modes::agent::client_sets;
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, Session, UpdateSeen, current_values, option_id};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::wire::Members;

pub(in crate::areas) const CHECKS: &[Check] = &[
    Check::agent("config.self-change-announced", On::Update(own_change)).only(&[OPTIONS]),
    Check::agent("config.self-change-announced", On::Response(silent_change)).only(&REOPEN),
    Check::agent("config.echo-update", On::Update(with!(echo, OPTIONS))).only(&[OPTIONS]),
    Check::agent("modes.echo-update", On::Update(with!(echo, MODE))).only(&[MODE]),
    Check::agent("load.settings-kept", On::Response(settings_kept)).only(&REOPEN),
    Check::agent("commands.after-reopening", On::Update(announced_again)).only(&["available_commands_update"]),
    Check::agent("commands.after-reopening", On::End(not_announced_again)),
];

const OPTIONS: &str = "config_option_update";
const MODE: &str = "current_mode_update";
const REOPEN: [&str; 2] = ["session/load", "session/resume"];

/// Returns the session that the answer opens again as the client knew it, with the result.
fn reopened<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(&'m Session, &'m Value)> {
    let (exchange, result) = REOPEN.iter().find_map(|method| answer.result_of(method))?;
    Some((ctx.conversation.session(exchange.session()?)?, result))
}

/// Returns the first option whose value differs between two lists: its id, and both values.
fn changed<'m>(before: &'m [Value], now: &'m Value) -> Option<(&'m str, &'m Value, &'m Value)> {
    let now = current_values(now.member("configOptions")?.as_array()?);
    current_values(before).into_iter().find_map(|(id, before)| {
        let now = now.get(id).filter(|now| **now != before)?;
        Some((id, before, *now))
    })
}

fn own_change(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|session| session.turn.is_some() && !client_sets(ctx));
    let before = session.and_then(|session| session.options.as_deref());
    if update.variant == OPTIONS && before.is_some_and(|before| changed(before, update.body).is_some()) {
        ruling.note(Fact::holds());
    }
}

/// An option that a turn changed without an update shows when the session is reopened; an earlier reopening must have
/// shown that it does not change the options by itself.
fn silent_change(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, result)) = reopened(ctx, answer).filter(|_| !client_sets(ctx)) else { return };
    let turns = session.options_kept.is_some_and(|prompts| prompts < session.prompts);
    let change = session.options.as_deref().and_then(|before| changed(before, result));
    if let Some((id, before, now)) = change.filter(|_| turns) {
        ruling.note(fact!(
            "silent-change",
            "the agent returned the value {actual} of the option `{config_id}`, and no update had changed it from \
            {before}",
            actual = now,
            config_id = id,
            before
        ));
    }
}

/// Between turns only the client changes something.
fn echo(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, variant: &str, ruling: &mut Ruling<'_>) {
    let idle = update.known.is_some_and(|session| session.turn.is_none());
    if idle && update.variant == variant && client_sets(ctx) {
        ruling.note(fact!("echoed", "the agent sent {update} after the client's change", update = update.variant));
    }
}

/// The client may set the mode as a mode or by an option of that category, and each changes the other.
fn settings_kept(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, result)) = reopened(ctx, answer).filter(|_| client_sets(ctx)) else { return };
    let mode = result.pointer("/modes/currentModeId").and_then(Value::as_str);
    let chosen = session.chosen_mode.as_deref();
    if let Some((before, now)) = chosen.or(session.mode()).zip(mode) {
        ruling.note_whether(before == now, || {
            fact!(
                "other-mode-after-reopening",
                "the agent returned the mode `{actual}`; before, the session had `{before}`",
                actual = now,
                before
            )
        });
    }
    let Some(known) = session.options.as_deref() else { return };
    let Some(list) = result.member("configOptions").and_then(Value::as_array) else { return };
    let mut values = current_values(known);
    let chosen = chosen.map(Value::from);
    for option in known.iter().filter(|option| option.text("category") == Some("mode")) {
        values.extend(option_id(option).zip(chosen.as_ref()));
    }
    let now = current_values(list);
    let lost = values.into_iter().find_map(|(id, before)| {
        let now = now.get(id).filter(|now| **now != before)?;
        Some((id, before, *now))
    });
    ruling.note(lost.map_or_else(Fact::holds, |(id, before, now)| {
        fact!(
            "other-value-after-reopening",
            "the agent returned the value {actual} of the option `{config_id}`; before, the session had {before}",
            actual = now,
            config_id = id,
            before
        )
    }));
}

fn announced_again(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let opens = |session: &Session| session.loading.or(session.resuming).is_some() && session.commands.is_some();
    let due = update.known.is_some_and(|session| session.commands_due.is_some() || opens(session));
    if due && update.variant == "available_commands_update" {
        ruling.note(Fact::holds());
    }
}

/// The list may come a little later, but not after a whole turn.
fn not_announced_again(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let due = |session: &Session| {
        let later = session.ended.as_ref().zip(session.commands_due).is_some_and(|(ended, due)| ended.prompt > due);
        later && session.closed.is_none() && !session.deleted
    };
    if ctx.conversation.sessions.values().any(due) {
        ruling.note(fact!(
            "commands-not-sent-again",
            "the agent sent a list of commands, and none after it loaded or resumed the session"
        ));
    }
}
