//! Area `fs`: how the agent uses the client's files, and what the client answers.

use std::cmp::Ordering;

use serde_json::Value;

use super::common::{NO_METHOD, decide_absolute, decide_refused, proper};
use crate::fact;
use crate::judge::Fact;
use crate::judge::check::{Check, On};
use crate::judge::conversation::Session;
use crate::judge::moment::{Answer, CallSeen, Moment, Outcome};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("fs.read.capability", On::Call(read_capability)),
    Check::agent("fs.read.capability", On::Response(read_without)),
    Check::agent("fs.write.capability", On::Call(write_capability)),
    Check::agent("fs.write.capability", On::Response(write_without)),
    Check::agent("fs.read.path-absolute", On::Call(read_path_absolute)),
    Check::agent("fs.write.path-absolute", On::Call(write_path_absolute)),
    Check::agent("fs.read.line-one-based", On::Call(line_one_based)),
    Check::agent("fs.session-known", On::Call(session_known)),
    Check::agent("fs.error-survived", On::Response(error_survived)),
    Check::client("fs.read.implemented", On::Response(read_implemented)),
    Check::client("fs.read.unadvertised", On::Response(read_unadvertised)),
    Check::client("fs.read.limit", On::Response(read_limit)),
    Check::client("fs.write.implemented", On::Response(write_implemented)),
    Check::client("fs.write.unadvertised", On::Response(write_unadvertised)),
    Check::client("fs.capability-honest", On::Response(read_implemented)),
    Check::client("fs.capability-honest", On::Response(write_implemented)),
];

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";
const READING: [&str; 2] = ["fs", "readTextFile"];
const WRITING: [&str; 2] = ["fs", "writeTextFile"];

/// "If `readTextFile` or `writeTextFile` is `false` or not present, the Agent MUST NOT attempt to call …"
///
/// Correct but unusual: the agent calls the method before it answered `initialize`, or on one of several connections. The
/// capabilities in the `initialize` request of the same connection count; a recording without it decides nothing.
fn read_capability(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    forbid(moment, call, READ, &READING, ruling);
}

/// As above, for writing.
///
/// Correct but unusual: a client that offers writing and no reading. Each capability counts by itself.
fn write_capability(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    forbid(moment, call, WRITE, &WRITING, ruling);
}

/// Shown by a turn that read a file by other means.
fn read_without(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.client_lacks(&READING) && turn_did(moment, answer, "read") {
        ruling.pass();
    }
}

/// Shown by a turn that changed a file by other means.
fn write_without(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if moment.talk.client_lacks(&WRITING) && turn_did(moment, answer, "edit") {
        ruling.pass();
    }
}

/// Fails a call of `method`, or of all methods below it when it ends in a slash, to a client without the capability.
pub(super) fn forbid(moment: &Moment<'_>, call: &CallSeen<'_>, method: &str, path: &[&str], ruling: &mut Ruling<'_>) {
    let meant = call.method == method || method.ends_with('/') && call.method.starts_with(method);
    let (true, true, Some((n, _))) = (meant, moment.talk.client_lacks(path), &moment.talk.initialize) else { return };
    let message = format!("{} was called, and the client did not advertise {}", call.method, path.join("."));
    if moment.talk.deliberate.contains(n) {
        ruling.inconclusive(format!("{message}, in an initialize request that was wrong on purpose"), &[*n]);
    } else {
        ruling.fail(message, &[*n]);
    }
}

/// Whether this answer ends a turn in which a tool of that kind was called and not held back by the client.
pub(super) fn turn_did(moment: &Moment<'_>, answer: &Answer<'_>, kind: &str) -> bool {
    let session = proper(answer, "session/prompt").and_then(|prompt| moment.talk.session(prompt.session()?));
    let Some((session, turn)) = session.and_then(|session| Some((session, session.turn.as_ref()?))) else {
        return false;
    };
    let ended = matches!(answer.outcome, Outcome::Result(_)) && turn.cancelled.is_none();
    let mut tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    ended && tools.any(|tool| tool.kind == kind && tool.is_allowed())
}

/// "path: Absolute path to the file to read."
///
/// Correct but unusual: a path below a cwd or a root that the client itself gave as a relative path. It is inconclusive.
fn read_path_absolute(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let (READ, Some(path)) = (call.method, call.text("path")) {
        decide_absolute(moment, call.text("sessionId"), (READ, "/params/path"), path, ruling);
    }
}

/// "path: Absolute path to the file to write."
///
/// Correct but unusual: as with reading, a path below a relative cwd or root of the client. It is inconclusive.
fn write_path_absolute(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let (WRITE, Some(path)) = (call.method, call.text("path")) {
        decide_absolute(moment, call.text("sessionId"), (WRITE, "/params/path"), path, ruling);
    }
}

/// "Optional line number to start reading from (1-based)."
///
/// Correct but unusual: `line` is null or absent, or behind the end of the file. None of these fails.
fn line_one_based(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let line = call.params.and_then(|params| params.get("line")?.as_i64());
    if let (READ, Some(line @ 0..)) = (call.method, line) {
        ruling.decide(line > 0, || "line is 0, and lines count from 1".to_owned());
    }
}

/// "The Session ID for this request": of a session that the client knows, and in which something goes on.
///
/// Correct but unusual: an agent that reads for a session before its first prompt, for example the instructions in a folder
/// above it, while another session runs there.
fn session_known(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (READ | WRITE, Some(id)) = (call.method, call.text("sessionId")) else { return };
    let talk = moment.talk;
    let mut open = talk.open_of(moment.from.other());
    let Some(session) = talk.session(id) else {
        // A session that is being made has no name for the client yet, and what the client names it may mean.
        let excuse = open.find(|o| o.method == "session/new" || o.method == "session/fork" || o.session() == Some(id));
        match excuse {
            Some(open) => {
                ruling.inconclusive(format!("the session `{id}` is unknown while {} waits", open.method), &[open.n])
            }
            None if talk.may_know_session(id) => {}
            None => ruling.fail(format!("the client knows no session `{id}`"), &[]),
        }
        return;
    };
    let other = call.text("path").and_then(|path| meant_by_path(moment, session, path));
    match other {
        Some((other, n)) => {
            let message =
                format!("the session `{id}` was never prompted, and the path belongs to the running session `{other}`");
            // In a recording the new session may have its reasons, such as a link to a folder of the other one.
            match talk.whole {
                true => ruling.fail(message, &[n]),
                false => ruling.inconclusive(message, &[n]),
            }
        }
        None => ruling.pass(),
    }
}

/// The one session with a running turn that the path lies in, when the named one never had a turn and is elsewhere.
fn meant_by_path<'m>(moment: &Moment<'m>, named: &Session, path: &str) -> Option<(&'m str, usize)> {
    let inside = |session: &Session| {
        let mut roots = session.roots.iter().chain([&session.cwd]);
        roots.any(|root| !root.is_empty() && std::path::Path::new(path).starts_with(root))
    };
    let above = || {
        std::path::Path::new(path).parent().is_some_and(|folder| std::path::Path::new(&named.cwd).starts_with(folder))
    };
    if named.prompts > 0 || named.loading.is_some() || named.resuming.is_some() || inside(named) || above() {
        return None;
    }
    let mut running = moment.talk.sessions.iter().filter(|(_, session)| session.turn.is_some());
    let (id, session) = running.next().filter(|(_, session)| inside(session))?;
    running.next().is_none().then_some(())?;
    Some((id, session.turn.as_ref()?.n))
}

/// An error answer of the client does not end the turn in the same error.
fn error_survived(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    decide_survived(moment, answer, "fs/", ruling);
}

/// Judges a turn in which the client answered a request below `prefix` with an error.
///
/// That the prompt fails too may be the model's doing; only the client's own words in the error show where it came from.
pub(super) fn decide_survived(moment: &Moment<'_>, answer: &Answer<'_>, prefix: &str, ruling: &mut Ruling<'_>) {
    const SHORTEST: usize = 8;
    let Some(prompt) = proper(answer, "session/prompt") else { return };
    let turn = prompt.session().and_then(|id| moment.talk.session(id)?.turn.as_ref());
    let refused = turn.into_iter().flat_map(|turn| &turn.refused).filter(|refusal| refusal.method.starts_with(prefix));
    for refusal in refused {
        let words = refusal.message.as_str();
        match answer.outcome {
            Outcome::Result(_) => ruling.pass(),
            _ if words.len() >= SHORTEST && super::common::mentions(answer.outcome, words) => {
                let message =
                    format!("the client refused {}, and that error came back as the turn's: `{words}`", refusal.method);
                ruling.fail(message, &[refusal.n]);
            }
            Outcome::Error(_) => {
                let message =
                    format!("the turn failed after the client refused {}, maybe for another reason", refusal.method);
                ruling.inconclusive(message, &[refusal.n]);
            }
        }
    }
}

/// A client that advertises reading answers with the content.
///
/// Correct but unusual: the client refuses this file with another error, as without the user's consent, or sends an empty text.
/// Neither fails.
fn read_implemented(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    served(moment, answer, READ, &READING, ruling);
}

/// A client that advertises writing carries it out.
///
/// Correct but unusual: the client refuses with another error, or its result is null or an object. None of these fails.
fn write_implemented(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    served(moment, answer, WRITE, &WRITING, ruling);
}

/// An error says that this file was not read or written, for want of it or of the user's consent. Only -32601 says that
/// no file ever is.
fn served(moment: &Moment<'_>, answer: &Answer<'_>, method: &str, path: &[&str], ruling: &mut Ruling<'_>) {
    if proper(answer, method).is_none() || !moment.talk.client_has(path) {
        return;
    }
    match answer.outcome {
        Outcome::Result(result) if method == WRITE || result.get("content").is_some_and(Value::is_string) => {
            ruling.pass();
        }
        Outcome::Error(_) if answer.outcome.error_code() == Some(NO_METHOD) => {
            let message = format!("{method} was answered with error -32601, and {} is advertised", path.join("."));
            ruling.fail(message, &[]);
        }
        _ => {}
    }
}

fn unadvertised(method: &str, path: &[&str]) -> Fact {
    fact!(
        "served-unadvertised",
        "the client answered {method} with a result, although it does not advertise {capability}; expected an error",
        method,
        capability = path.join(".")
    )
}

/// What is not advertised is "not available".
fn read_unadvertised(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| exchange.method == READ) && moment.talk.client_lacks(&READING) {
        decide_refused(answer, NO_METHOD, |method| unadvertised(method, &READING), ruling);
    }
}

/// As above, for writing. Whether the file was written all the same is to be seen on the disk alone.
fn write_unadvertised(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| exchange.method == WRITE) && moment.talk.client_lacks(&WRITING) {
        decide_refused(answer, NO_METHOD, |method| unadvertised(method, &WRITING), ruling);
    }
}

/// "Optional maximum number of lines to read." Line ends behind the last line with something in it are not counted, as it
/// is open whether they belong to it.
///
/// Correct but unusual: fewer lines than the limit, since the file has no more or the client counts other separators as well;
/// and a limit of 0. None of these fails.
fn read_limit(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(READ) else { return };
    let limit = exchange.params.get("limit").and_then(Value::as_u64).filter(|&limit| limit > 0);
    let (Some(limit), Some(content)) = (limit, result.get("content").and_then(Value::as_str)) else { return };
    if exchange.deliberate || moment.talk.client_lacks(&READING) {
        return;
    }
    let lines = content.trim_end_matches(['\n', '\r']).lines().count() as u64;
    match lines.cmp(&limit) {
        Ordering::Greater => ruling.fail(format!("{lines} lines were read, and the limit was {limit}"), &[exchange.n]),
        Ordering::Equal => ruling.pass(),
        // The file may have had no more.
        Ordering::Less => {}
    }
}
