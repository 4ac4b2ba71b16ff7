//! Messages of version 1 that version 2 removed, and calls in the wrong form.

use crate::areas::{Check, Moment, On};
use crate::conversation::{CallSeen, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Kind;

pub(super) const CHECKS: &[Check] = &[
    Check::agent(
        "tool.no-create-variant",
        On::Update(|_, update, ruling| variant(update, ["tool_call", "tool_call_update"], ruling)),
    )
    .alone()
    .only(&["tool_call", "tool_call_update"]),
    Check::agent(
        "plan.no-v1-variant",
        On::Update(|_, update, ruling| variant(update, ["plan", "plan_update"], ruling)),
    )
    .alone()
    .only(&["plan", "plan_update"]),
    Check::agent(
        "config.no-modes",
        On::Update(|_, update, ruling| variant(update, ["current_mode_update", "config_option_update"], ruling)),
    )
    .alone()
    .only(&["current_mode_update", "config_option_update"]),
    Check::agent("terminal.no-client-methods", On::Call(client_method)).alone(),
    Check::client("resume.no-load", On::Call(load)).alone().only(&["session/load", "session/resume"]),
];

pub(super) const BOTH: &[[Check; 2]] =
    &[Check::both_alone(["jsonrpc.kind-matches.agent", "jsonrpc.kind-matches.client"], On::Call(kind_matches))];

/// Fails an update of version 1, and passes the one that replaces it in version 2.
fn variant(update: &UpdateSeen<'_>, [withdrawn, present]: [&str; 2], ruling: &mut Ruling<'_>) {
    if update.variant == present {
        ruling.pass();
    } else if update.variant == withdrawn {
        let fact = fact!(
            "update-of-version-1",
            "the agent sent the update `{actual}`, which only version 1 has; expected `{expected}`",
            actual = update.variant, expected = present; pointer = "/params/update/sessionUpdate"
        );
        ruling.fail(fact, &[]);
    }
}

/// Files and terminals of the client are not part of version 2.
///
/// Correct but unusual: methods of an extension, such as `_fs/read_text_file`. The underscore makes them custom methods.
fn client_method(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let withdrawn = ["fs/", "terminal/"].iter().any(|area| call.method.starts_with(area));
    ruling.decide(!withdrawn, || {
        fact!(
            "method-of-version-1",
            "the agent called {method}, which only version 1 has",
            method = call.method; pointer = "/method"
        )
    });
}

/// "session/resume" with `replayFrom` stands for "session/load".
fn load(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "session/resume" {
        ruling.pass();
    } else if call.method == "session/load" {
        let fact = fact!(
            "method-of-version-1",
            "the client called {method}, which only version 1 has; expected session/resume",
            method = call.method; pointer = "/method"
        );
        ruling.fail(fact, &[]);
    }
}

/// A method is either a request or a notification.
///
/// Correct but unusual: a method that the party does not have, and `$/cancel_request` of either party.
fn kind_matches(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(expected) = moment.talk.edition.methods.kind_of(moment.from, call.method) else { return };
    let name = |kind: Kind| if kind == Kind::Request { "request" } else { "notification" };
    ruling.decide(expected == call.kind, || {
        fact!(
            "wrong-form",
            "the {party} sent {method} as a {actual}; expected a {expected}",
            party = moment.from, method = call.method, actual = name(call.kind), expected = name(expected);
            pointer = "/id"
        )
    });
}
