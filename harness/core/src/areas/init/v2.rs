//! Area `init`: the agreement on version 2, and the names of its members.

use serde_json::Value;

use crate::areas::common::LOGIN;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::{Answer, Outcome, Payload};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::NEWEST_MAJOR;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("init.version.never-above-request", On::Response(never_above)).alone().only(&[INITIALIZE]),
    Check::agent("init.version.pick-highest-below", On::Response(highest_below)).alone().only(&[INITIALIZE]),
    Check::agent("init.version.unsupported-code", On::Response(unsupported_code)).alone().only(&[INITIALIZE]),
    Check::agent("init.version.unsupported-data", On::Response(unsupported_data)).alone().only(&[INITIALIZE]),
];

pub(super) const BOTH: &[[Check; 2]] =
    &[Check::both(of_both!("init.no-v1-capability-names"), On::Payload(no_v1_names))];

const INITIALIZE: &str = "initialize";

/// The error of an agent that has no version at or below the requested one.
const UNSUPPORTED: i64 = -32022;

/// The version that the first well-formed `initialize` of a connection asks for, and the event of the request.
fn asked(ctx: &CheckContext<'_>, answer: &Answer<'_>) -> Option<(usize, u64)> {
    let exchange = answer.exchange.filter(|exchange| exchange.method == INITIALIZE && !exchange.deliberate)?;
    let first = ctx.conversation.initialize.as_ref().is_some_and(|(n, _)| *n == exchange.n);
    let version = exchange.params.member("protocolVersion")?.as_u64()?;
    (first && version <= u64::from(u16::MAX)).then_some((exchange.n, version))
}

fn given(answer: &Answer<'_>) -> Option<u64> {
    answer.result_of(INITIALIZE)?.1.member("protocolVersion")?.as_u64()
}

/// "The highest protocol version supported by the agent that is at or below the version requested by the client."
///
/// Correct but unusual: an agent that serves version 1 as well and answers version 0 by the rules of version 1, with
/// its own latest version. So only an answer with version 2 fails.
fn never_above(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some((n, asked)), Some(given)) = (asked(ctx, answer), given(answer)) else { return };
    let fact = || {
        fact!(
            "version-above-request",
            "the agent answered a request for version {requested} with version {actual}; expected at most the \
            requested one",
            requested = asked, actual = given;
            pointer = "/result/protocolVersion"
        )
    };
    if given <= asked {
        ruling.pass();
    } else if given >= u64::from(ctx.conversation.edition.major) {
        ruling.proved_by(&[n]).fail(fact());
    } else {
        ruling.proved_by(&[n]).inconclusive(fact());
    }
}

/// As above: a version that does not exist is answered with one that does.
///
/// Correct but unusual: an agent that asks for a login, and one that supports a later version than this program knows.
fn highest_below(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((n, asked)) = asked(ctx, answer).filter(|(_, asked)| *asked > NEWEST_MAJOR) else { return };
    match (given(answer), answer.outcome.error_code()) {
        (Some(1..=NEWEST_MAJOR), _) => ruling.pass(),
        (Some(given), _) if given == asked => ruling.proved_by(&[n]).fail(fact!(
            "unknown-version",
            "the agent answered with version {actual}, which was requested and does not exist; expected its \
            latest version",
            actual = given;
            pointer = "/result/protocolVersion"
        )),
        (None, Some(code)) if code != LOGIN => ruling.proved_by(&[n]).fail(fact!(
            "version-refused",
            "the agent answered a request for version {requested} with {answer}; expected its latest version in \
            a result",
            requested = asked, answer = answer.outcome.describe();
            code = code
        )),
        _ => {}
    }
}

/// "If no such version exists, initialization fails with error code -32022." No version is at or below 0.
///
/// Correct but unusual: an agent that serves version 1 as well, whose rules ask for a result. That is inconclusive,
/// since a request for version 0 does not say by which rules it is answered.
fn unsupported_code(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((n, 0)) = asked(ctx, answer) else { return };
    let fact = || {
        fact!(
            "unsupported-version-accepted",
            "the agent answered a request for version 0 with {answer}; expected error {expected}",
            answer = answer.outcome.describe(), expected = UNSUPPORTED;
            code = answer.outcome.error_code(), pointer = "/result/protocolVersion"
        )
    };
    match (answer.outcome.error_code(), given(answer)) {
        (Some(UNSUPPORTED), _) => ruling.pass(),
        (None, Some(version)) if version == u64::from(ctx.conversation.edition.major) => {
            ruling.proved_by(&[n]).fail(fact())
        }
        // Version 1 asks for a result here, so another error breaks the rules of both.
        (Some(code), _) if code != LOGIN => ruling.proved_by(&[n]).fail(fact()),
        _ => ruling.proved_by(&[n]).inconclusive(fact()),
    }
}

/// The error names the requested version and those that the agent supports.
///
/// Correct but unusual: further members of `data`, and an empty list of an agent that needs a setting first.
fn unsupported_data(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some((n, asked)), Outcome::Error(error)) = (asked(ctx, answer), answer.outcome) else { return };
    if answer.outcome.error_code() != Some(UNSUPPORTED) {
        return;
    }
    let data = error.member("data").unwrap_or(&Value::Null);
    let problems = ctx.conversation.edition.stable.problems("UnsupportedProtocolVersionErrorData", data);
    let requested = data.member("requested").and_then(Value::as_u64);
    if problems.is_empty() && requested == Some(asked) {
        ruling.pass();
    } else {
        ruling.proved_by(&[n]).fail(fact!(
            "unsupported-version-data",
            "the agent sent error {code} with the data {actual}; expected the requested version {requested} and a \
            list of supported ones",
            code = UNSUPPORTED, actual = data, requested = asked;
            pointer = "/error/data"
        ));
    }
}

/// "capabilities" and "info" are the names of both parties.
///
/// Correct but unusual: a client that offers version 2 and sends the members of version 1 as well, so that an older
/// agent can read them. That is noted.
fn no_v1_names(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    const NAMES: [(&str, &str); 4] = [
        ("clientCapabilities", "capabilities"),
        ("agentCapabilities", "capabilities"),
        ("clientInfo", "info"),
        ("agentInfo", "info"),
    ];
    if payload.method != INITIALIZE {
        return;
    }
    let mut clean = true;
    for (name, wanted) in NAMES.into_iter().filter(|(name, _)| payload.value.member(name).is_some()) {
        let fact = fact!(
            "member-of-version-1",
            "the {party} sent the member `{name}` of version 1 in initialize; expected `{expected}`",
            party = ctx.from, name, expected = wanted; pointer = payload.pointer(&format!("/{name}"))
        );
        clean = false;
        if payload.value.member(wanted).is_some() {
            ruling.note(fact);
        } else {
            ruling.fail(fact);
        }
    }
    if clean {
        ruling.pass();
    }
}
