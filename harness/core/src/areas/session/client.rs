//! The client's half of the area `session`: the sessions in its messages, and the working directory.
//!
//! A wrong session id is one mistake. So `session/prompt` is here as well: one classification decides which requirement
//! of the areas `session`, `prompt`, `load` and `list` it violates.

use serde_json::Value;

use crate::areas::common::OPENING;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{CallSeen, Exchange, Opening, Session};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{is_absolute, is_respelt};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("session.known-id-only", On::Call(known_id_only)).only(USES),
    Check::client("session.id-verbatim", On::Call(id_verbatim)),
    Check::client("session.await-new", On::Call(await_new)).only(USES),
    Check::client("prompt.session-first", On::Call(session_first)).only(&[PROMPT]),
    Check::client("session.cwd-absolute", On::Call(cwd_absolute)).alone().only(OPENING),
    Check::client("load.no-prompt-before-response", On::Call(no_prompt_before_response)).only(&[PROMPT]),
    Check::client("list.load-before-use", On::Call(load_before_use)).only(&[PROMPT]),
];

const PROMPT: &str = "session/prompt";

/// The messages that use an open session, in contrast to those that open, close or remove one.
const USES: &[&str] = &[PROMPT, "session/cancel", "session/set_mode", "session/set_config_option"];

/// The state of the session that a message names. A wrong id is one mistake, so each state belongs to one requirement.
enum Named<'m> {
    /// It was created on this connection, or loaded or resumed with success.
    Open(&'m Session),
    /// The request that loads or resumes it has no answer yet.
    Reopening(usize),
    /// The agent named a session whose id is the same but for its spelling.
    Respelt(&'m str),
    /// No response contained the id, and the request that may return it is not answered.
    Early(&'m Exchange),
    /// It is the session of a subagent, for which other requirements decide.
    Child,
    /// It is only known from a listing.
    Listed,
    /// The client may know it in a way that this edition does not describe.
    Elsewhere,
    /// The request to load or resume it failed.
    Failed(usize),
    /// No response contained the id.
    Unknown,
}

impl<'m> Named<'m> {
    /// Returns the state; `None` if the message names no session, or if the beginning of the conversation is missing.
    fn of(ctx: &CheckContext<'m>, call: &CallSeen<'m>) -> Option<Self> {
        let (conversation, id) = (ctx.conversation, call.text("sessionId")?);
        conversation.initialize.as_ref()?;
        let session = conversation.session(id);
        let reopening = session.and_then(|session| session.loading.or(session.resuming));
        Some(match (session, reopening) {
            (Some(session), _) if session.is_introduced() => Self::Open(session),
            (_, Some(request)) => Self::Reopening(request),
            _ => Self::of_unknown(ctx, id, session),
        })
    }

    fn of_unknown(ctx: &CheckContext<'m>, id: &str, session: Option<&Session>) -> Self {
        let conversation = ctx.conversation;
        let mut pending = conversation.open_of(Party::Client).filter(|open| open.method == "session/new");
        if let Some(known) = respelt(ctx, id) {
            Self::Respelt(known)
        } else if conversation.children.contains_key(id) {
            Self::Child
        } else if conversation.unknown_sessions.contains_key(id)
            || conversation.announced_sessions.contains(id)
            || conversation.may_open_otherwise()
        {
            Self::Elsewhere
        } else if ctx.areas.list.listed.contains(id) {
            Self::Listed
        } else if let Some(pending) = pending.next() {
            Self::Early(pending)
        } else {
            session.map_or(Self::Unknown, |session| Self::Failed(session.known))
        }
    }
}

/// Returns the agent's id that this one misspells, if the agent did not use this one itself.
fn respelt<'m>(ctx: &CheckContext<'m>, id: &str) -> Option<&'m str> {
    let given = ctx.conversation.sessions.iter().filter(|(_, session)| session.is_introduced()).map(|(id, _)| id);
    let mut known = given.chain(&ctx.areas.list.listed).filter(|known| is_respelt(known, id));
    known.next().filter(|_| !ctx.areas.list.listed.contains(id)).map(String::as_str)
}

/// Session ids come from `session/new`; other sessions are loaded or resumed before they are used.
///
/// Correct but unusual: the client gives up a session whose load has just failed, uses one that a draft method opened,
/// or one that the agent named in an early update. The recording may begin after the session was opened. These do not
/// fail.
fn known_id_only(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(named) = Named::of(ctx, call).filter(|_| USES.contains(&call.method)) else { return };
    let not_opened = || {
        fact!(
            "session-not-opened",
            "the client sent {method} for the session `{session_id}`, which could not be opened",
            method = call.method,
            session_id = id(call);
            pointer = "/params/sessionId"
        )
    };
    match named {
        Named::Open(session) if session.closed.is_none() => ruling.pass(),
        Named::Elsewhere => ruling.inconclusive(fact!(
            "session-from-elsewhere",
            "the client sent {method} for the session `{session_id}`, which no method of this edition opened",
            method = call.method,
            session_id = id(call)
        )),
        // A cancel for the session may cross with the answer that it does not exist.
        Named::Failed(request) if call.method == "session/cancel" => {
            ruling.proved_by(&[request]).inconclusive(not_opened());
        }
        Named::Failed(request) => ruling.proved_by(&[request]).fail(not_opened()),
        Named::Listed if call.method != PROMPT => ruling.fail(fact!(
            "listed-not-opened",
            "the client sent {method} for the listed session `{session_id}`; expected session/load or \
            session/resume first",
            method = call.method, session_id = id(call);
            pointer = "/params/sessionId"
        )),
        Named::Unknown => ruling.fail(fact!(
            "unknown-session",
            "the client sent {method} for the session `{session_id}`, which the agent did not open on this \
            connection",
            method = call.method, session_id = id(call);
            pointer = "/params/sessionId"
        )),
        _ => {}
    }
}

/// The id is "a unique identifier", and "Clients use this ID" as it is. Only an id that could be spelt differently
/// proves something.
///
/// Correct but unusual: the agent itself gives two sessions ids that differ only in case, or lists one in another
/// spelling. Each spelling counts as an id.
fn id_verbatim(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let known = !id(call).chars().all(plain);
    match Named::of(ctx, call) {
        Some(Named::Respelt(known)) => ruling.fail(fact!(
            "respelt-session-id",
            "the client sent {method} with the session id `{actual}`; expected the agent's spelling `{expected}`",
            method = call.method, actual = id(call), expected = known;
            pointer = "/params/sessionId"
        )),
        Some(Named::Open(_)) if known => ruling.pass(),
        _ => {}
    }
}

/// The id of a new session is in the answer, so no message can name the session before.
///
/// Correct but unusual: while `session/new` is open the client uses its other sessions, or one from a listing. Only an
/// id that no response gave fails.
fn await_new(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    match Named::of(ctx, call).filter(|_| USES.contains(&call.method)) {
        Some(Named::Open(session)) if session.opening == Opening::New => ruling.pass(),
        Some(Named::Early(new)) => ruling.proved_by(&[new.n]).fail(fact!(
            "session-id-before-response",
            "the client sent {method} for the session `{session_id}` before the response to session/new",
            method = call.method, session_id = id(call);
            pointer = "/params/sessionId"
        )),
        _ => {}
    }
}

/// "Before sending prompts, Clients MUST first complete the initialization phase and session setup."
///
/// Correct but unusual: the client loads an open session again and prompts meanwhile. It was set up before.
fn session_first(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.params.and_then(|params| params.member("sessionId"));
    if call.method == PROMPT && session.is_none_or(Value::is_null) {
        return without_session(ctx, ruling);
    }
    match Named::of(ctx, call).filter(|_| call.method == PROMPT) {
        Some(Named::Open(_)) => ruling.pass(),
        Some(Named::Reopening(request)) => ruling.proved_by(&[request]).fail(fact!(
            "prompt-before-response",
            "the client sent session/prompt before the response to the request that opens its session";
            session_id = id(call)
        )),
        Some(Named::Early(new)) => ruling.proved_by(&[new.n]).fail(fact!(
            "prompt-before-new",
            "the client sent session/prompt before the response to session/new";
            session_id = id(call)
        )),
        _ => {}
    }
}

/// As above, for a prompt that names no session: without an open session, the client cannot have completed the setup.
/// Otherwise only the shape of the prompt is wrong.
fn without_session(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    const OPENS: [&str; 3] = ["session/new", "session/load", "session/resume"];
    let conversation = ctx.conversation;
    let open = conversation.sessions.values().any(Session::is_introduced) || conversation.may_open_otherwise();
    if conversation.initialize.is_none() || open {
        return;
    }
    let pending =
        conversation.open_of(Party::Client).find(|open| OPENS.contains(&open.method.as_str())).map(|open| open.n);
    ruling.proved_by(pending.as_slice()).fail(fact!(
        "no-session",
        "the client sent session/prompt without a session id, and no session was open";
        pointer = "/params/sessionId"
    ));
}

/// "The Client can then continue sending prompts", after the replay and the answer to the request.
///
/// Correct but unusual: two views load the session, and one of them prompts as soon as its own request was answered.
fn no_prompt_before_response(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = ctx.conversation.session(id(call)).filter(|_| call.method == PROMPT) else { return };
    match (session.loading, session.reopened) {
        (Some(load), None) => {
            let fact = fact!(
                "prompt-before-load",
                "the client sent session/prompt before the response to session/load";
                session_id = id(call)
            );
            let unseen = ctx.conversation.holes.anywhere && !session.is_introduced();
            ruling.proved_by(&[load]).fail_unless(unseen, fact);
        }
        (None, Some((Opening::Load, _))) => ruling.pass(),
        _ => {}
    }
}

/// `session/list` "is a discovery mechanism only": the client loads or resumes the chosen session before it is used.
///
/// Correct but unusual: the listing shows sessions that the client itself created on this connection, which need no
/// load.
fn load_before_use(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let listed = ctx.areas.list.listed.contains(id(call));
    match Named::of(ctx, call).filter(|_| call.method == PROMPT) {
        Some(Named::Listed) => ruling.fail(fact!(
            "listed-not-opened",
            "the client sent session/prompt for the listed session `{session_id}`; expected session/load or \
            session/resume first",
            session_id = id(call);
            pointer = "/params/sessionId"
        )),
        Some(Named::Open(session)) if listed && session.opening != Opening::New => ruling.pass(),
        _ => {}
    }
}

fn id<'m>(call: &CallSeen<'m>) -> &'m str {
    call.text("sessionId").unwrap_or_default()
}

/// Returns the params, if the request opens a session.
pub(in crate::areas) fn opening<'m>(call: &CallSeen<'m>) -> Option<&'m Value> {
    call.params.filter(|_| matches!(call.method, "session/new" | "session/load" | "session/resume"))
}

/// Returns the params, if the request opens a session that existed before.
pub(in crate::areas) fn reopening<'m>(call: &CallSeen<'m>) -> Option<&'m Value> {
    opening(call).filter(|_| call.method != "session/new")
}

/// The working directory "MUST be an absolute path".
///
/// Correct but unusual: the root, a path of Windows or of a network share, or one with `..` in it. All are absolute.
fn cwd_absolute(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(cwd) = opening(call).and_then(|params| params.text("cwd")) {
        ruling.decide(is_absolute(cwd), || {
            fact!(
                "relative-path",
                "the client sent {method} with the relative cwd `{path}`; expected an absolute path",
                method = call.method, path = cwd;
                pointer = "/params/cwd"
            )
        });
    }
}
