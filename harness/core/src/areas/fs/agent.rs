//! Area `fs`, the agent's half: how the agent uses the client's files.

use crate::areas::common::{decide_absolute, mentions, proper};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{OUTPUT_SILENCE, between, millis};
use crate::conversation::{Answer, CallSeen, Outcome, Session, Trial};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("fs.read.path-absolute", On::Call(read_path_absolute)).alone().only(&[READ]),
    Check::agent("fs.write.path-absolute", On::Call(write_path_absolute)).alone().only(&[WRITE]),
    Check::agent("fs.read.line-one-based", On::Call(line_one_based)).alone().only(&[READ]),
    Check::agent("fs.session-known", On::Call(session_known)).only(&[READ, WRITE]),
    Check::agent("fs.error-survived", On::Response(with!(decide_survived, "fs/"))).only(&["session/prompt"]),
    Check::agent("fs.error-survived", On::End(|ctx, ruling| left_after_refusal(ctx, "fs/", ruling))),
];

pub(super) const READ: &str = "fs/read_text_file";
pub(super) const WRITE: &str = "fs/write_text_file";

/// Whether this answer ends a turn in which a tool of that kind was called and the client did not refuse it.
pub(in crate::areas) fn turn_did(ctx: &CheckContext<'_>, answer: &Answer<'_>, kind: &str) -> bool {
    let session = proper(answer, "session/prompt").and_then(|prompt| ctx.conversation.session(prompt.session()?));
    let Some((session, turn)) = session.and_then(|session| Some((session, session.turn.as_ref()?))) else {
        return false;
    };
    let ended = matches!(answer.outcome, Outcome::Result(_)) && turn.cancelled.is_none();
    let mut tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    ended && tools.any(|tool| tool.kind.as_deref() == Some(kind) && tool.is_allowed())
}

/// "path: Absolute path to the file to read."
///
/// Correct but unusual: a path below a cwd or a root that the client itself gave as a relative path. It is
/// inconclusive.
fn read_path_absolute(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(path) = call.text_of(READ, "path") {
        decide_absolute(ctx, call.text("sessionId"), (READ, "/params/path"), path, ruling);
    }
}

/// "path: Absolute path to the file to write."
///
/// Correct but unusual: as with reading, a path below a relative cwd or root of the client. It is inconclusive.
fn write_path_absolute(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(path) = call.text_of(WRITE, "path") {
        decide_absolute(ctx, call.text("sessionId"), (WRITE, "/params/path"), path, ruling);
    }
}

/// "Optional line number to start reading from (1-based)."
///
/// Correct but unusual: `line` is null or absent, or after the end of the file. These do not fail.
fn line_one_based(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let line = call.params.and_then(|params| params.member("line")?.as_i64());
    if let (READ, Some(line @ 0..)) = (call.method, line) {
        ruling.decide(line > 0, || {
            fact!(
                "line-zero",
                "the agent sent the line {actual} in {method}; expected lines from 1",
                actual = line, method = READ; pointer = "/params/line"
            )
        });
    }
}

/// "The Session ID for this request": a session that the client knows and in which a turn or request is running.
///
/// Correct but unusual: an agent that reads for a session before its first prompt, for example the instructions in a
/// folder above it, while another session runs there; and one that reads for a subagent. See [`asked_for_path`] for
/// turns in several sessions.
fn session_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (READ | WRITE, Some(id)) = (call.method, call.text("sessionId")) else { return };
    let conversation = ctx.conversation;
    let mut open = conversation.open_of(ctx.from.other());
    let Some(session) = conversation.session(id) else {
        if conversation.children.contains_key(id) {
            return ruling.pass();
        }
        // A session that is being created has no id for the client yet, and the client's own id may be used.
        let excuse = open.find(|o| o.method == "session/new" || o.method == "session/fork" || o.session() == Some(id));
        match excuse {
            Some(open) => ruling.proved_by(&[open.n]).inconclusive(fact!(
                "session-being-opened",
                "the agent named the unknown session `{session_id}` while {waiting} waits for its response",
                session_id = id, waiting = open.method; pointer = "/params/sessionId"
            )),
            None if conversation.may_know_session(id) => {}
            None => ruling.fail(fact!(
                "unknown-session",
                "the agent named the unknown session `{session_id}` in {method}; expected an open session",
                session_id = id, method = call.method; pointer = "/params/sessionId"
            )),
        }
        return;
    };
    let other = call.text("path").and_then(|path| meant_by_path(ctx, session, path));
    match other {
        // Redacted texts are alike.
        None if conversation.is_redacted && session.turn.is_some() && others_run(ctx, id) => {}
        None if let Some((other, n)) = asked_for_path(ctx, call, session) => {
            ruling.proved_by(&[n]).fail_in_case(fact!(
                "session-of-other-turn",
                "the agent named the session `{session_id}`, whose prompts do not mention this file; expected \
                `{expected}`, whose running turn does",
                session_id = id, expected = other;
                method = call.method, pointer = "/params/sessionId"
            ));
        }
        Some((other, n)) => {
            let fact = fact!(
                "idle-session",
                "the agent named the session `{session_id}`, in which no turn runs; expected `{expected}`, which runs",
                session_id = id, expected = other;
                method = call.method, pointer = "/params/sessionId"
            );
            // In a recording, the new session may have other reasons, such as a link to a folder of the other one.
            ruling.proved_by(&[n]).fail_if(conversation.whole, fact);
        }
        None => ruling.pass(),
    }
}

/// Returns the one session with a running turn that contains the path, if no turn runs in the named session and it is
/// in another place.
fn meant_by_path<'m>(ctx: &CheckContext<'m>, named: &Session, path: &str) -> Option<(&'m str, usize)> {
    let inside = |session: &Session| {
        let mut roots = session.roots.iter().chain([&session.cwd]);
        roots.any(|root| !root.is_empty() && std::path::Path::new(path).starts_with(root))
    };
    let above = || {
        std::path::Path::new(path).parent().is_some_and(|folder| std::path::Path::new(&named.cwd).starts_with(folder))
    };
    if named.turn.is_some() || named.loading.is_some() || named.resuming.is_some() || inside(named) || above() {
        return None;
    }
    let mut running = ctx.conversation.sessions.iter().filter(|(_, session)| session.turn.is_some());
    let (id, session) = running.next().filter(|(_, session)| inside(session))?;
    running.next().is_none().then_some(())?;
    Some((id, session.turn.as_ref()?.n))
}

/// Whether a turn runs in another session.
fn others_run(ctx: &CheckContext<'_>, id: &str) -> bool {
    ctx.conversation.sessions.iter().any(|(other, session)| other != id && session.turn.is_some())
}

/// Returns the one other session whose running turn is to use the file of a call, if no prompt of the named session,
/// in which a turn runs as well, mentions a file of this name.
///
/// Correct but unusual: an agent that reads other files than the user named, such as its instructions.
fn asked_for_path<'m>(ctx: &CheckContext<'m>, call: &CallSeen<'_>, named: &Session) -> Option<(&'m str, usize)> {
    let name = std::path::Path::new(call.text("path")?).file_name()?.to_str()?;
    let (path, quoted) = (format!("/{name}\""), format!("\"{name}\""));
    if named.turn.is_none()
        || named.model.is_cut
        || named.model.prompts.iter().any(|prompt| prompt.intent.contains(name))
    {
        return None;
    }
    let mentions = |intent: &str| intent.contains(&path) || intent.contains(&quoted);
    let mut others = ctx.conversation.sessions.iter().filter_map(|(id, session)| {
        let prompt = session.turn.as_ref().and(session.model.prompts.last())?;
        mentions(&prompt.intent).then_some((id.as_str(), prompt.n))
    });
    others.next().filter(|_| others.next().is_none())
}

/// An error answer of the client to a request below `prefix` does not end the turn with the same error.
///
/// The prompt may fail for reasons of the model. In a case, the tester's error has a text of its own, so its
/// repetition proves the origin; a client's text in a recording does not.
pub(in crate::areas) fn decide_survived(
    ctx: &CheckContext<'_>,
    answer: &Answer<'_>,
    prefix: &str,
    ruling: &mut Ruling<'_>,
) {
    const SHORTEST: usize = 8;
    let Some(prompt) = proper(answer, "session/prompt") else { return };
    let turn = prompt.session().and_then(|id| ctx.conversation.session(id)?.turn.as_ref());
    // Redacted texts are alike.
    let is_comparable = ctx.conversation.whole && !ctx.conversation.is_redacted;
    let refused = turn.into_iter().flat_map(|turn| &turn.refused).filter(|refusal| refusal.method.starts_with(prefix));
    for refusal in refused {
        let words = refusal.message.as_str();
        match answer.outcome {
            Outcome::Result(_) => ruling.pass(),
            _ if is_comparable && words.len() >= SHORTEST && mentions(answer.outcome, words) => {
                ruling.proved_by(&[refusal.n]).fail(fact!(
                    "error-passed-on",
                    "the agent ended the turn with the client's own error to {method}, `{message}`; expected it to \
                    continue",
                    method = refusal.method, message = words;
                    code = answer.outcome.error_code()
                ));
            }
            Outcome::Error(_) => ruling.proved_by(&[refusal.n]).inconclusive(fact!(
                "turn-failed-after-refusal",
                "the agent ended the turn with an error after the client refused {method}, perhaps for another \
                reason",
                method = refusal.method;
                code = answer.outcome.error_code()
            )),
        }
    }
}

/// As above: the agent goes on with the turn after the error answer.
///
/// Correct but unusual: an agent that waits before it tries again, or a model that pauses. So the agent ended an
/// earlier turn of the session soon after the client had served it, and a second process shows the same.
pub(in crate::areas) fn left_after_refusal(ctx: &CheckContext<'_>, prefix: &str, ruling: &mut Ruling<'_>) {
    const TIMES: u32 = 4;
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for open in conversation.open_prompts().filter(|open| conversation.timed_out.contains_key(&open.n)) {
        let Some((id, session)) = open.session().and_then(|id| Some((id, conversation.session(id)?))) else { continue };
        let Some((turn, log)) = session.turn.as_ref().zip(session.log.as_ref()) else { continue };
        let Some(refusal) = turn.refused.last().filter(|refusal| refusal.method.starts_with(prefix)) else { continue };
        let silence = between(refusal.us, until);
        let is_silent = log.last_output_us.is_none_or(|last| last <= refusal.us) && silence > OUTPUT_SILENCE;
        let is_alone = turn.n == open.n && turn.cancelled.is_none() && log.disturbed.is_none();
        let asks = conversation.open_of(Party::Agent).any(|request| request.session() == Some(id));
        let served = conversation.fence.is_some_and(|fence| fence > refusal.n);
        let is_quick = |trial: &Trial| {
            let was_served = trial.turn.as_ref().is_some_and(|turn| turn.served);
            was_served && between(trial.exchange.us, trial.us) * TIMES < silence
        };
        let mut before = conversation.trials.of(Party::Client).filter(|trial| trial.exchange.session() == Some(id));
        if is_silent && is_alone && !asks && served && before.any(is_quick) {
            ruling.proved_by(&[open.n, refusal.n]).fail_if_repeated(fact!(
                "turn-left-after-refusal",
                "the agent sent nothing for {limit_ms} after the client refused {method}, and did not answer the \
                prompt; expected it to continue, as after a request that the client served",
                limit_ms = millis(OUTPUT_SILENCE), method = refusal.method; session_id = id
            ));
        }
    }
}
