//! The client's half of the areas `session`, `prompt`, `load` and `list`, as far as it is about the session that a message
//! names: whether the agent gave that id, in this spelling, and whether the session is open by then.

use serde_json::Value;

use super::support::is_respelt;
use crate::judge::check::{Check, On};
use crate::judge::conversation::{Conversation, Exchange, Opening, Session};
use crate::judge::moment::{CallSeen, Moment};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;

pub(super) const CHECKS: &[Check] = &[
    Check::client("session.known-id-only", On::Call(known_id_only)),
    Check::client("session.id-verbatim", On::Call(id_verbatim)),
    Check::client("session.await-new", On::Call(await_new)),
    Check::client("prompt.session-first", On::Call(session_first)),
    Check::client("load.no-prompt-before-response", On::Call(no_prompt_before_response)),
    Check::client("list.load-before-use", On::Call(load_before_use)),
];

const PROMPT: &str = "session/prompt";

/// How the session stands that a message names. A wrong id is one mistake, so each of these is for one requirement.
enum Named<'m> {
    /// It was created on this connection, or loaded or resumed with success.
    Open(&'m Session),
    /// The request that loads or resumes it is not answered.
    Reopening(usize),
    /// The agent named a session whose id is the same but for its spelling.
    Respelt(&'m str),
    /// Nobody gave the id, and the request that may give it is not answered.
    Early(&'m Exchange),
    /// A listing showed it, and nothing more.
    Listed,
    /// It may have become known by a way that this edition does not describe.
    Elsewhere,
    /// The request to load or resume it failed.
    Failed(usize),
    /// Nobody gave the id.
    Unknown,
}

impl<'m> Named<'m> {
    /// None when the message names no session, or when the beginning of the conversation was not seen.
    fn of(moment: &Moment<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let (talk, id) = (moment.talk, call.text("sessionId")?);
        talk.initialize.as_ref()?;
        let session = talk.session(id);
        let reopening = session.and_then(|session| session.loading.or(session.resuming));
        Some(match (session, reopening) {
            (Some(session), _) if session.is_introduced() => Self::Open(session),
            (_, Some(request)) => Self::Reopening(request),
            _ => Self::of_stranger(talk, id, session),
        })
    }

    fn of_stranger(talk: &'m Conversation, id: &str, session: Option<&Session>) -> Self {
        let mut pending = talk.open_of(Party::Client).filter(|open| open.method == "session/new");
        if let Some(known) = respelt(talk, id) {
            Self::Respelt(known)
        } else if talk.course.strangers.contains_key(id) || talk.may_open_otherwise() {
            Self::Elsewhere
        } else if talk.listed.contains(id) {
            Self::Listed
        } else if let Some(pending) = pending.next() {
            Self::Early(pending)
        } else {
            session.map_or(Self::Unknown, |session| Self::Failed(session.known))
        }
    }
}

/// The id of the agent's that this one is a misspelling of, if it is none of the agent's itself.
fn respelt<'m>(talk: &'m Conversation, id: &str) -> Option<&'m str> {
    let given = talk.sessions.iter().filter(|(_, session)| session.is_introduced()).map(|(id, _)| id);
    let mut known = given.chain(&talk.listed).filter(|known| is_respelt(known, id));
    known.next().filter(|_| !talk.listed.contains(id)).map(String::as_str)
}

/// Whether the message uses an open session, in contrast to those that open, close or remove one.
fn is_use(call: &CallSeen<'_>) -> bool {
    matches!(call.method, PROMPT | "session/cancel" | "session/set_mode" | "session/set_config_option")
}

/// Session ids come from `session/new`; other sessions are loaded or resumed before they are used.
///
/// Correct but unusual: the client gives up a session whose load has just failed, uses one that a draft method opened, or
/// one that the agent named in an early update. The recording may begin after the session was opened. None of these fails.
fn known_id_only(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(named) = Named::of(moment, call).filter(|_| is_use(call)) else { return };
    let message = |what: &str| format!("{} names the session `{}`, {what}", call.method, id(call));
    match named {
        Named::Open(session) if session.closed.is_none() => ruling.pass(),
        Named::Elsewhere => ruling.inconclusive(message("which was not opened by a method of this edition"), &[]),
        // Giving up a session may cross with the answer that there is none.
        Named::Failed(request) if call.method == "session/cancel" => {
            ruling.inconclusive(message("which could not be opened"), &[request]);
        }
        Named::Failed(request) => ruling.fail(message("which could not be opened"), &[request]),
        Named::Listed if call.method != PROMPT => ruling.fail(message("which was listed and not opened"), &[]),
        Named::Unknown => ruling.fail(message("which nobody opened on this connection"), &[]),
        _ => {}
    }
}

/// The id is "a unique identifier", and "Clients use this ID" as it is. Only one that could be spelt in another way shows
/// anything.
///
/// Correct but unusual: the agent itself gives two sessions ids that differ in case alone, or lists one in another spelling.
/// Each of them is known as it stands.
fn id_verbatim(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let telling = !id(call).chars().all(plain);
    match Named::of(moment, call) {
        Some(Named::Respelt(known)) => {
            ruling.fail(format!("{} names the session `{}`; the agent's is `{known}`", call.method, id(call)), &[]);
        }
        Some(Named::Open(_)) if telling => ruling.pass(),
        _ => {}
    }
}

/// The id of a new session is in the answer, so nothing can be said of the session before.
///
/// Correct but unusual: while `session/new` is open the client uses its other sessions, or one from a listing. Only an id
/// that nobody gave fails.
fn await_new(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    match Named::of(moment, call).filter(|_| is_use(call)) {
        Some(Named::Open(session)) if session.opening == Opening::New => ruling.pass(),
        Some(Named::Early(new)) => {
            let message = format!("{} names the session `{}` while session/new is not answered", call.method, id(call));
            ruling.fail(message, &[new.n]);
        }
        _ => {}
    }
}

/// "Before sending prompts, Clients MUST first complete the initialization phase and session setup."
///
/// Correct but unusual: the client loads an open session again and prompts meanwhile. It was set up before.
fn session_first(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.params.and_then(|params| params.get("sessionId"));
    if call.method == PROMPT && session.is_none_or(Value::is_null) {
        return without_session(moment, ruling);
    }
    match Named::of(moment, call).filter(|_| call.method == PROMPT) {
        Some(Named::Open(_)) => ruling.pass(),
        Some(Named::Reopening(request)) => {
            ruling.fail("the prompt came before the answer to the request that opens its session", &[request]);
        }
        Some(Named::Early(new)) => ruling.fail("the prompt came before the answer to session/new", &[new.n]),
        _ => {}
    }
}

/// As above, for a prompt that names no session: the client cannot have completed the setup while no session is open. Once
/// one is, only the shape of the prompt is wrong.
fn without_session(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    const OPENS: [&str; 3] = ["session/new", "session/load", "session/resume"];
    let talk = moment.talk;
    let open = talk.sessions.values().any(Session::is_introduced) || talk.may_open_otherwise();
    if talk.initialize.is_none() || open {
        return;
    }
    let pending = talk.open_of(Party::Client).find(|open| OPENS.contains(&open.method.as_str())).map(|open| open.n);
    ruling.fail("the prompt names no session, and none was open", pending.as_slice());
}

/// "The Client can then continue sending prompts": when the conversation was replayed and the request answered.
///
/// Correct but unusual: two views load the session, and one of them prompts as soon as its own request was answered.
fn no_prompt_before_response(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = moment.talk.session(id(call)).filter(|_| call.method == PROMPT) else { return };
    match (session.loading, session.reopened) {
        (Some(load), None) => {
            let message = "the prompt came before the answer to session/load";
            let unseen = moment.talk.holes.anywhere && !session.is_introduced();
            if unseen { ruling.inconclusive(message, &[load]) } else { ruling.fail(message, &[load]) }
        }
        (None, Some((Opening::Load, _))) => ruling.pass(),
        _ => {}
    }
}

/// `session/list` "is a discovery mechanism only": the client loads or resumes the chosen session before it is used.
///
/// Correct but unusual: the listing shows sessions that the client itself created on this connection, which need no load.
fn load_before_use(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let listed = moment.talk.listed.contains(id(call));
    match Named::of(moment, call).filter(|_| call.method == PROMPT) {
        Some(Named::Listed) => {
            ruling.fail(format!("the session `{}` was listed, and neither loaded nor resumed", id(call)), &[]);
        }
        Some(Named::Open(session)) if listed && session.opening != Opening::New => ruling.pass(),
        _ => {}
    }
}

fn id<'m>(call: &CallSeen<'m>) -> &'m str {
    call.text("sessionId").unwrap_or_default()
}
