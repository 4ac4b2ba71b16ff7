//! Area `terminal`: the terminals that an agent shows.

use crate::areas::common::decide_absolute;
use crate::areas::content::v2::base64;
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{CallSeen, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("terminal.cwd-absolute", On::Update(cwd)).alone().only(TERMINAL),
    Check::agent("terminal.id-not-reused", On::Update(id_reused)).only(TERMINAL),
    Check::agent("terminal.base64-standalone", On::Payload(with!(base64, OUTPUT)))
        .only(&["terminal_update", "terminal_output_chunk"]),
    Check::agent("terminal.signal-name", On::Update(signal)).alone().only(TERMINAL),
    Check::agent("terminal.no-client-methods", On::Call(client_method)).alone(),
];

const TERMINAL: &[&str] = &["terminal_update"];

/// The members with the output of a terminal.
const OUTPUT: &[(&str, &str)] = &[("TerminalOutput", "data"), ("TerminalOutputChunk", "data")];

/// "The absolute working directory of the command."
fn cwd(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let path = update.body.text("cwd").filter(|_| update.variant == "terminal_update");
    if let Some(path) = path {
        decide_absolute(ctx, Some(update.session), ("session/update", "/params/update/cwd"), path, ruling);
    }
}

/// A terminal id is "unique within the session": a finished terminal does not become another one.
///
/// Correct but unusual: a replay, the same command shown again, and a command that the agent reports in full only after
/// its end. So only another command fails, in work that began after the end.
fn id_reused(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let known = update.known.filter(|session| session.resuming.is_none() && TERMINAL.contains(&update.variant));
    let Some(session) = known else { return };
    let (work, text) = (&session.work, |name: &str| update.body.text(name));
    let Some((id, command)) = text("terminalId").zip(text("command")) else { return };
    let Some(known) = work.terminals.get(id) else {
        if work.terminals.values().any(|terminal| terminal.is_over) {
            ruling.pass();
        }
        return;
    };
    let (Some(ended), Some(before)) = (known.ended, &known.command) else { return };
    if before != command && work.begun.is_some_and(|(begun, _)| begun > ended) {
        ruling.proved_by(&[ended]).fail_in_case(fact!(
            "terminal-id-again",
            "the agent showed another command in the terminal `{terminal_id}`, whose command had ended; expected \
            another id",
            terminal_id = id;
            session_id = update.session, pointer = "/params/update/terminalId"
        ));
    }
}

/// "Agents SHOULD use the conventional platform signal name. POSIX examples include `SIGTERM` … Other platforms may use
/// a platform-specific name."
///
/// Correct but unusual: names of another form, which may be those of a platform. They are noted; only a number fails.
fn signal(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let signal = update.body.member("exitStatus").and_then(|status| status.text("signal"));
    let Some(signal) = signal.filter(|_| TERMINAL.contains(&update.variant)) else { return };
    if signal.starts_with("SIG") {
        return ruling.pass();
    }
    let fact = fact!(
        "signal-name",
        "the agent reported the signal `{actual}`; expected a name such as `SIGTERM`",
        actual = signal; pointer = "/params/update/exitStatus/signal"
    );
    let is_number = signal.trim().parse::<i64>().is_ok();
    if is_number { ruling.fail(fact) } else { ruling.note(fact) }
}

/// Files and terminals of the client are not part of version 2.
///
/// Correct but unusual: methods of an extension, such as `_fs/read_text_file`. The underscore makes them custom
/// methods.
fn client_method(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let withdrawn = ["fs/", "terminal/"].iter().any(|area| call.method.starts_with(area));
    ruling.decide(!withdrawn, || {
        fact!(
            "method-of-version-1",
            "the agent called {method}, which only version 1 has",
            method = call.method; pointer = "/method"
        )
    });
}
