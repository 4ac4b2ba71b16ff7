//! Area `jsonrpc`, second half: two parties that talk at the same time, and what error codes mean.

use serde_json::Value;

use super::common::NO_METHOD;
use super::ext::is_withdrawn;
use super::support::{Finish, is_usually_answered, waits_for_others};
use crate::judge::check::{Check, On};
use crate::judge::conversation::{Exchange, TurnCourse};
use crate::judge::moment::{Answer, Moment, Outcome};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;
use crate::wire::RpcId;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("jsonrpc.independent-id-spaces.agent", On::Response(twin_answered)),
    Check::agent("jsonrpc.independent-id-spaces.agent", On::End(twin_passed_over)),
    Check::agent("jsonrpc.full-duplex.agent", On::Response(full_duplex)),
    Check::agent("jsonrpc.error-code-meaning.agent", On::Response(error_code_meaning)),
    Check::agent("jsonrpc.method-not-found.agent", On::Response(method_not_found)),
    Check::agent("transport.flush.agent", On::Response(flush)),
    Check::agent("transport.only-lf-delimits.agent", On::Response(only_lf)),
    Check::agent("transport.only-lf-delimits.agent", On::End(only_lf_unanswered)),
    Check::client("jsonrpc.independent-id-spaces.client", On::Response(twin_answered)),
    Check::client("jsonrpc.independent-id-spaces.client", On::End(twin_passed_over)),
    Check::client("jsonrpc.full-duplex.client", On::Response(full_duplex)),
    Check::client("jsonrpc.error-code-meaning.client", On::Response(service_code_meaning)),
    Check::client("jsonrpc.method-not-found.client", On::Response(method_not_found)),
    Check::client("transport.flush.client", On::Response(flush)),
    Check::client("transport.only-lf-delimits.client", On::Response(only_lf)),
    Check::client("transport.only-lf-delimits.client", On::End(only_lf_unanswered)),
];

/// What comes so soon behind something else comes because of it.
const AT_ONCE_US: u64 = 1_000_000;

/// A request may have the id of a request of the other party: it is answered all the same. This half only counts answers.
fn twin_answered(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| moment.talk.course.twins.contains_key(&exchange.n)) {
        ruling.pass();
    }
}

/// As above: it was waited for until its limit, and a later request was answered meanwhile.
///
/// Correct but unusual: a party that never answers such requests, or that waits for its user or a model first. Only a party
/// that has answered a request of the same kind at once before fails.
fn twin_passed_over(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let quick = |open: &&Exchange| open.is_sound() && !waits_for_others(&open.method);
    // A party that answers no request of this kind at all does not mistake the id.
    let usual = |open: &&Exchange| talk.has_replied_before(moment.from, &open.method, open.n);
    for open in talk.open_of(moment.from.other()).filter(quick).filter(usual) {
        let Some(&twin) = talk.course.twins.get(&open.n) else { continue };
        if talk.timed_out.contains_key(&open.n) && talk.fence.is_some_and(|fence| fence > open.n) {
            let message = format!(
                "{} was not answered; its id {} was that of a request of the {} as well",
                open.method, open.id, moment.from
            );
            ruling.fail(message, &[open.n, twin]);
        }
    }
}

/// Whether the answer takes no work, so that only a party that does not listen makes the other one wait for it.
fn is_instant(method: &str) -> bool {
    method.starts_with('_')
}

/// While a turn runs both parties go on to read and to act. That it does not is shown by an answer that needs no work,
/// and comes long after its request, right when the turn is over.
///
/// Correct but unusual: a party that is slow with such requests in calm moments too, or never answers them; a busy machine;
/// in a recording, an extension method that waits for the end of the turn by design, so that only the error -32601 shows that
/// nothing had to be waited for.
fn full_duplex(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const LONG_US: u64 = 2_000_000;
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let waited = |us: u64| moment.talk.course.in_between((exchange.us, exchange.heard), us);
    // An answer that comes later still was waited for by something else than the turn.
    let held_back = |us: u64| waited(us) > LONG_US && moment.us.saturating_sub(us) < AT_ONCE_US;
    let turns = || {
        moment
            .talk
            .course
            .sessions
            .values()
            .filter_map(|course| course.turn.as_ref())
            .filter(|turn| turn.n < exchange.n)
    };
    let cancelled =
        Finish::of(moment, answer).is_some_and(|f| f.turn.cancelled.is_some() && f.reason() == Some("cancelled"));
    // A turn that waits for nobody may end just now, so that an answer in its course shows nothing.
    let held = |turn: &TurnCourse| {
        moment.from == Party::Client || moment.talk.open_of(Party::Agent).any(|open| open.turn == Some(turn.n))
    };
    if turns().any(|turn| turn.ended.is_none() && held(turn)) || cancelled {
        return ruling.pass();
    }
    let over = turns()
        .filter(|turn| turn.at_cancel.is_none())
        .find_map(|turn| turn.ended.filter(|(ended, _)| *ended > exchange.n));
    // A party that takes its time for such requests in calm moments too is not held up by the turn.
    let usual = || moment.talk.has_replied_before(moment.from, &exchange.method, exchange.n);
    if let Some((ended, us)) = over.filter(|(_, us)| is_instant(&exchange.method) && held_back(*us) && usual()) {
        let seconds = waited(us) / 1_000_000;
        let message = format!("{} was not answered for {seconds} s, until the turn was over", exchange.method);
        // The tester's own methods mean nothing to anybody; those of a recording may be about the turn.
        if moment.talk.whole || answer.outcome.error_code() == Some(NO_METHOD) {
            ruling.fail(message, &[exchange.n, ended]);
        } else {
            ruling.inconclusive(message, &[exchange.n, ended]);
        }
    }
}

/// Whether an error says in words that it is about a login.
fn speaks_of_login(error: &Value) -> bool {
    const WORDS: &[&str] =
        &["auth", "log", "sign", "credential", "token", "key", "account", "subscri", "session expired"];
    let text = error.to_string().to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// -32000 is "Authentication required", and has nothing to do with a mode or an option.
fn error_code_meaning(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (Some(exchange), Outcome::Error(error)) = (answer.exchange.filter(|e| !e.deliberate), answer.outcome) else {
        return;
    };
    let unrelated = matches!(
        exchange.method.as_str(),
        "initialize"
            | "session/set_mode"
            | "session/set_config_option"
            | "session/close"
            | "session/list"
            | "session/delete"
    );
    let logged_in = exchange.method == "initialize" || !moment.talk.sessions.is_empty();
    match answer.outcome.error_code() {
        Some(-32000) if unrelated && logged_in && !speaks_of_login(error) => {
            ruling.fail(
                format!(
                    "{} is answered with {}, and -32000 asks for a login",
                    exchange.method,
                    answer.outcome.describe()
                ),
                &[exchange.n],
            );
        }
        Some(-32002) if exchange.method == "initialize" => {
            ruling.fail("initialize is answered with -32002, and names nothing that could be missing", &[exchange.n]);
        }
        Some(-32000 | -32002 | -32800) => ruling.pass(),
        _ => {}
    }
}

/// As above, for a client: -32000 has nothing to do with files and terminals, unless the client says that it does.
fn service_code_meaning(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let (Outcome::Error(error), service) =
        (answer.outcome, ["fs/", "terminal/"].iter().any(|area| exchange.method.starts_with(area)))
    else {
        return;
    };
    match answer.outcome.error_code() {
        Some(-32000) if service && !speaks_of_login(error) => {
            let found = answer.outcome.describe();
            ruling.fail(
                format!("{} is answered with {found}, and -32000 asks for a login", exchange.method),
                &[exchange.n],
            );
        }
        Some(-32000 | -32002 | -32800) => ruling.pass(),
        _ => {}
    }
}

/// -32601: "The method does not exist / is not available."
fn method_not_found(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let edition = moment.talk.edition;
    let known = |exchange: &Exchange| {
        let method = exchange.method.as_str();
        edition.methods.knows(exchange.from, method)
            || edition.draft_methods.knows(exchange.from, method)
            || method.starts_with(['_', '$'])
            || is_withdrawn(method)
    };
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate && !known(exchange)) else { return };
    if let Some(code) = answer.outcome.error_code() {
        ruling
            .decide(code == -32601, || format!("the unknown method {} is answered with error {code}", exchange.method));
    }
}

/// A message is visible without more input. That it is not is shown by an answer that was waited for in vain, and comes
/// at once when the party's input is closed or it is told to end, which makes it flush what it held back.
/// The first answer shows nothing: a party that is slow to start may be ready at that very moment.
///
/// Correct but unusual: a party that stops its work when it has to exit, and answers open requests with an error.
/// Only a result and the error -32601 fail, which must have been ready before.
fn flush(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const LONG_US: u64 = 20_000_000;
    let talk = moment.talk;
    let quick = |exchange: &&Exchange| !exchange.deliberate && !waits_for_others(&exchange.method);
    let Some(exchange) = answer.exchange.filter(quick) else { return };
    let last_sent = talk.course.last_line.get(&moment.from.other()).map(|(n, _)| *n);
    let has_spoken = talk.course.last_line.contains_key(&moment.from);
    let was_ready = match answer.outcome {
        Outcome::Result(_) => true,
        Outcome::Error(_) => answer.outcome.error_code() == Some(NO_METHOD),
    };
    match (talk.course.closed_us, talk.timed_out.get(&exchange.n)) {
        (None, None) if last_sent == Some(exchange.n) => ruling.pass(),
        (Some(closed), Some(&verdict))
            if has_spoken
                && was_ready
                && moment.us.saturating_sub(closed) < AT_ONCE_US
                && closed.saturating_sub(exchange.us) > LONG_US =>
        {
            let message = format!(
                "the answer to {} came when the {} was being stopped, and not before",
                exchange.method, moment.from
            );
            ruling.fail(message, &[exchange.n, verdict]);
        }
        (_, Some(&verdict)) => {
            ruling.inconclusive(
                format!("the answer to {} came after its time limit", exchange.method),
                &[exchange.n, verdict],
            );
        }
        _ => {}
    }
}

/// "Messages are delimited by newlines (\n)", and by no other separator of lines that Unicode knows.
///
/// Correct but unusual: an agent that answers -32700 because it cannot parse what is in the message, or because it could not
/// read another line. Only an answer without an id fails, right after the message and without another unreadable line.
fn only_lf(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let separated = talk.course.separated.get(&moment.from.other());
    let Some(&separated) = separated.filter(|&n| !talk.deliberate.contains(n)) else { return };
    let unreadable = answer.outcome.error_code() == Some(-32700);
    let after = talk.course.last_line.get(&moment.from.other()).is_some_and(|(n, _)| *n == separated);
    match answer.exchange {
        Some(exchange) if exchange.n == separated && unreadable => {
            // Its id was read, so probably all of it was.
            let message = "a message with a line separator in a string was answered with -32700 and its id";
            ruling.inconclusive(message, &[separated]);
        }
        Some(exchange) if exchange.n == separated => ruling.pass(),
        None if talk.unreadable.contains_key(&moment.from.other()) => {}
        None if unreadable && after && answer.id.is_none_or(|id| *id == RpcId::Null) && talk.deliberate.is_empty() => {
            ruling.fail("a message with a line separator in a string could not be read", &[separated]);
        }
        _ => {}
    }
}

/// As above: the request was waited for until its limit, and a later one was answered meanwhile.
///
/// Correct but unusual: a party that never answers custom requests, or that waits for its user or a model.
fn only_lf_unanswered(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let last = talk.course.separated.get(&moment.from.other());
    let separated = |open: &&Exchange| last == Some(&open.n) && !open.deliberate && !waits_for_others(&open.method);
    let usual = |open: &&Exchange| is_usually_answered(talk, moment.from, &open.method);
    for open in talk.open_of(moment.from.other()).filter(separated).filter(usual) {
        if talk.timed_out.contains_key(&open.n) && talk.fence.is_some_and(|fence| fence > open.n) {
            ruling.fail(format!("{} with a line separator in a string was not answered", open.method), &[open.n]);
        }
    }
}
