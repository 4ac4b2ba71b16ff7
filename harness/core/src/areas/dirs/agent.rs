//! Area `dirs`: the additional roots of a session.

use serde_json::Value;

use crate::areas::common::{BAD_PARAMS, OPENING};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Exchange, Outcome, Payload, Session, Trial, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::{Feature, is_absolute};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("dirs.accepted", On::Response(accepted)).only(OPENING),
    Check::agent("dirs.accepted", On::End(refused)),
    Check::agent("dirs.accepted", On::End(other_list_refused)),
    Check::agent("dirs.omitted-equals-empty", On::Response(empty_accepted)).only(OPENING),
    Check::agent("dirs.omitted-equals-empty", On::End(empty_refused)),
    Check::agent("dirs.effective", On::Update(effective)),
    Check::agent("dirs.list-gated", On::Payload(list_gated)).only(&["session/list"]),
    Check::agent("dirs.list-complete", On::Payload(list_complete)).with_history().only(&["session/list"]),
];

const ROOTS: &str = "additionalDirectories";

const REOPENING: [&str; 2] = ["session/load", "session/resume"];

const CAPABILITY: Feature<'static> = Feature::Member(ROOTS);

/// Returns the request that opened a session, with its list of roots.
fn opening<'m>(ctx: &CheckContext<'_>, answer: &Answer<'m>) -> Option<(&'m Exchange, &'m Vec<Value>)> {
    let exchange = answer.exchange.filter(|exchange| !exchange.deliberate && ctx.conversation.agent_has(CAPABILITY))?;
    let opens = is_opening(exchange);
    Some((exchange, exchange.params.member(ROOTS).filter(|_| opens)?.as_array()?))
}

/// Agents that advertise the capability "allow Clients to include `additionalDirectories` on supported requests".
///
/// Correct but unusual: a directory is relative, does not exist, or may not be used, and the agent refuses it. A
/// recording does not contain that, so a refusal fails only in a case, whose directories exist: see
/// [`decide_contrast`].
fn accepted(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((exchange, _)) = opening(ctx, answer).filter(|(_, roots)| !roots.is_empty()) {
        decide_accepted(answer, exchange, ruling);
    }
}

/// As above, for absolute roots that are refused each time.
fn refused(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let absolute = |roots: &Vec<Value>| roots.iter().all(|root| root.as_str().is_some_and(is_absolute));
    decide_contrast(ctx, |roots| !roots.is_empty() && absolute(roots), ruling);
}

/// "omitting the field or providing an empty array activates no additional roots": both are allowed.
///
/// Correct but unusual: the request is refused for its `cwd` or its MCP servers. See [`decide_contrast`].
fn empty_accepted(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((exchange, _)) = opening(ctx, answer).filter(|(_, roots)| roots.is_empty()) {
        decide_accepted(answer, exchange, ruling);
    }
}

/// As above, for an empty list that is refused each time.
fn empty_refused(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    decide_contrast(ctx, Vec::is_empty, ruling);
}

/// The roots are the reason for a refusal if the agent refuses each request with such roots, and accepts the same
/// request each time without roots. The words of the error decide nothing.
fn decide_contrast(ctx: &CheckContext<'_>, is_meant: impl Fn(&Vec<Value>) -> bool, ruling: &mut Ruling<'_>) {
    if !ctx.conversation.agent_has(CAPABILITY) {
        return;
    }
    let roots = |trial: &Trial| trial.exchange.params.member(ROOTS).and_then(Value::as_array).cloned();
    let has = |trial: &Trial| roots(trial).is_some_and(|roots| is_meant(&roots));
    let is_refused = |trial: &Trial| is_opening(&trial.exchange) && trial.error == Some(BAD_PARAMS);
    let alike = |one: &Trial, other: &Trial| (has(other) || roots(other).is_none()) && one.is_like(other, ROOTS);
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "directories-refused",
            "the agent refused each {method} with these additionalDirectories, and none without; expected it to \
            accept them",
            method = trial.exchange.method;
            code = BAD_PARAMS
        ));
    }
}

/// The list of a session that is opened again "may differ from any previous or reported list".
///
/// Correct but unusual: a directory may not be used. So the agent accepted the list for another session, refuses it for
/// this one each time, and accepts other lists for it each time.
fn other_list_refused(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let trials = &ctx.conversation.trials;
    let roots = |trial: &Trial| trial.exchange.params.member(ROOTS).cloned();
    let reopens = |trial: &Trial| REOPENING.contains(&trial.exchange.method.as_str());
    let is_refused = |trial: &Trial| reopens(trial) && trial.error == Some(BAD_PARAMS);
    let is_used = |list: &Value| {
        let opens_with = |trial: &Trial| trial.exchange.method == "session/new" && roots(trial).as_ref() == Some(list);
        trials.of(Party::Client).any(|trial| opens_with(trial) && trial.error.is_none())
    };
    let mut lists: Vec<Value> = trials.of(Party::Client).filter(|trial| is_refused(trial)).filter_map(roots).collect();
    lists.dedup();
    for list in lists.iter().filter(|list| is_used(list) && ctx.conversation.agent_has(CAPABILITY)) {
        let has = |trial: &Trial| roots(trial).as_ref() == Some(list);
        let alike = |one: &Trial, other: &Trial| one.is_like(other, ROOTS);
        if let Some((trial, events)) = trials.contrast(has, is_refused, alike) {
            ruling.proved_by(&events).fail(fact!(
                "other-directories-refused",
                "the agent refused each {method} with additionalDirectories that it accepted for another session, and \
                accepted others; expected it to accept them",
                method = trial.exchange.method; code = BAD_PARAMS
            ));
        }
    }
}

fn is_opening(exchange: &Exchange) -> bool {
    exchange.method == "session/new" || REOPENING.contains(&exchange.method.as_str())
}

/// Decides about the answer to a request with a list of roots.
fn decide_accepted(answer: &Answer<'_>, exchange: &Exchange, ruling: &mut Ruling<'_>) {
    match answer.outcome.error_code() {
        None if matches!(answer.outcome, Outcome::Result(_)) => ruling.pass(),
        code => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "error-response",
            "the agent answered {method} with additionalDirectories with {answer}, which may have another reason",
            method = exchange.method, answer = answer.outcome.describe(); code = code
        )),
    }
}

/// The roots are part of "the session's effective root set": a tool that refuses a path in one because of its place
/// does not use the root. In a recording, the reason may be missing, such as a link to another place.
fn effective(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    const WORDS: [&str; 4] = ["outside", "not inside", "not within", "not in the workspace"];
    let session = update.known.filter(|session| session.turn.is_some() && ctx.conversation.whole);
    let tool = session.and_then(|session| session.tools.get(update.body.text("toolCallId")?));
    let (Some(session), Some(tool)) = (session, tool.filter(|_| ctx.conversation.agent_has(CAPABILITY))) else {
        return;
    };
    let Some(root) =
        session.roots.iter().find(|root| !tool.paths.is_empty() && tool.paths.iter().all(|path| lies_in(root, path)))
    else {
        return;
    };
    match update.body.text("status") {
        Some("completed") => ruling.pass(),
        Some("failed") if tool.is_allowed() => {
            let report = update.body.to_string().to_lowercase();
            if let Some(word) = WORDS.iter().find(|word| report.contains(*word)) {
                ruling.proved_by(&[tool.n]).fail(fact!(
                    "root-not-effective",
                    "the agent's tool failed in the root `{directory}` with the words `{words}`; expected access to it",
                    directory = root, words = word; pointer = "/params/update"
                ));
            }
        }
        _ => {}
    }
}

/// Whether a path is below a directory.
fn lies_in(directory: &str, path: &str) -> bool {
    path.strip_prefix(directory.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the roots in an entry of a listing; omitted and empty are the same.
fn reported(entry: &Value) -> Option<&Vec<Value>> {
    entry.member("additionalDirectories")?.as_array().filter(|roots| !roots.is_empty())
}

/// "Agents that also advertise `sessionCapabilities.additionalDirectories` may include" them in a listing.
///
/// Correct but unusual: an empty list or null, which means the same.
fn list_gated(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, entry) in payload.places("SessionInfo").filter(|_| ctx.conversation.agent_lacks(CAPABILITY)) {
        ruling.decide(reported(entry).is_none(), || {
            fact!(
                "not-advertised",
                "the agent listed `{session_id}` with additionalDirectories; expected this only if it advertises them",
                session_id = entry.member("sessionId"); pointer = payload.pointer(at) + "/additionalDirectories"
            )
        });
    }
}

/// It reports "the complete ordered additional-root list associated with the listed session", of absolute paths.
///
/// Correct but unusual: the agent resolves links, drops a duplicate root or one below another, lists a relative root
/// that the client gave, or answers while the session is being opened with other roots. All of that is inconclusive,
/// and in a recording any missing root, since it may not exist.
fn list_complete(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (_, entry) in payload.places("SessionInfo").filter(|_| ctx.conversation.agent_has(CAPABILITY)) {
        let Some(roots) = reported(entry) else { continue };
        let roots: Vec<&str> = roots.iter().filter_map(Value::as_str).collect();
        let id = entry.text("sessionId").unwrap_or_default();
        match (roots.iter().find(|root| !is_absolute(root)), ctx.conversation.session(id)) {
            // The client gave it, and the agent accepted it.
            (Some(root), Some(session)) if session.roots.iter().any(|given| given == *root) => {
                ruling.proved_by(&[session.known]).inconclusive(fact!(
                    "relative-path-of-client",
                    "the agent listed `{session_id}` with the relative root `{path}`, as the client gave it",
                    session_id = id,
                    path = root
                ));
            }
            // Another client may have given it before the recording began.
            (Some(root), None) if !ctx.conversation.whole => ruling.inconclusive(relative(id, root)),
            (Some(root), _) => ruling.fail(relative(id, root)),
            (None, Some(session)) => compare(ctx, id, &roots, session, ruling),
            (None, None) => {}
        }
    }
}

fn relative(id: &str, root: &str) -> Fact {
    fact!(
        "relative-path",
        "the agent listed `{session_id}` with the relative root `{path}`; expected an absolute path",
        session_id = id, path = root; pointer = "/result/sessions"
    )
}

fn compare(ctx: &CheckContext<'_>, id: &str, roots: &[&str], session: &Session, ruling: &mut Ruling<'_>) {
    let trim = |path: &str| path.trim_end_matches(['/', '\\']).to_owned();
    let found: Vec<String> = roots.iter().map(|root| trim(root)).collect();
    let given: Vec<String> = session.roots.iter().map(|root| trim(root)).collect();
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    let strange = found.iter().any(|root| !given.contains(root));
    let doubled = sorted(&given).windows(2).any(|pair| pair[0] == pair[1]) || given.contains(&trim(&session.cwd));
    let nested = given.iter().any(|root| given.iter().chain([&trim(&session.cwd)]).any(|other| lies_in(other, root)));
    let opening = session.loading.or(session.resuming).is_some();
    let missing = !ctx.conversation.whole && found.len() < given.len();
    if found == given {
        ruling.pass();
    } else if strange || doubled || nested || opening || missing {
        // A directory may have several names, and a list with one directory twice, or below another one, has no unique
        // form.
        ruling.proved_by(&[session.known]).inconclusive(fact!(
            "other-roots",
            "the agent listed `{session_id}` with other roots than the client gave, perhaps other names of them",
            session_id = id; expected = given, actual = found
        ));
    } else {
        ruling.proved_by(&[session.known]).fail(fact!(
            "wrong-roots",
            "the agent listed `{session_id}` with the roots {actual}; expected {expected}",
            session_id = id,
            actual = found,
            expected = given
        ));
    }
}
