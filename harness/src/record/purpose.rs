//! The title of a recorded case, its requirements, and what its subject does wrong.

use std::collections::BTreeSet;

use super::exchange::{RecordedExchange, RecordedTurn, Said};
use crate::judge::judge;
use crate::protocol::Edition;
use crate::requirement::{Area, Catalogue, Level, Status};
use crate::trace::{Trace, What};
use crate::verdict::Verdict;

/// The most requirements of one area; a case with many requirements has no clear purpose.
const MOST_OF_AN_AREA: usize = 2;

/// Returns the methods after the opening, in the order of their first use; texts that are not words are left out of the title.
fn methods(exchange: &RecordedExchange) -> Vec<&str> {
    let mut methods = Vec::new();
    for turn in &exchange.turns {
        let Some((method, _)) = turn.called() else { continue };
        let is_usual = ["initialize", "session/new", "session/update"].contains(&method);
        let is_word = method.chars().all(|c| c.is_ascii_alphanumeric() || "_/$.-".contains(c));
        if !is_usual && is_word && !is_own_notice(turn) && !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

/// Returns the title of the case, as far as its methods determine one.
pub(super) fn title(exchange: &RecordedExchange) -> String {
    match methods(exchange).as_slice() {
        [] => "The opening of a session, as it was recorded".to_owned(),
        [single] => format!("A session with {single}, as it was recorded"),
        [several @ .., last] => format!("A session with {} and {last}, as it was recorded", several.join(", ")),
    }
}

/// Returns the requirements that the messages of the trace prove. The messages alone prove nothing that only a step of a case
/// decided.
pub(super) fn passed(trace: &Trace, edition: &'static Edition) -> Vec<String> {
    let mut messages = trace.clone();
    messages.events.retain(|event| !matches!(event.what, What::Step(_)));
    let tallies = judge(&messages, edition).tallies;
    tallies.into_iter().filter(|(_, tally)| tally.verdict() == Verdict::Pass).map(|(id, _)| id).collect()
}

/// Returns the violations of the subject, each with the number of its first event.
pub(super) fn violations(
    trace: &Trace,
    exchange: &RecordedExchange,
    edition: &'static Edition,
) -> Vec<(usize, String)> {
    let binds = |id: &str| edition.catalogue.find(id).is_some_and(|known| known.party == exchange.subject);
    judge(trace, edition)
        .tallies
        .iter()
        .filter(|(id, _)| binds(id))
        .flat_map(|(id, tally)| tally.findings.iter().map(move |finding| (id, finding)))
        .filter(|(_, finding)| finding.verdict == Verdict::Fail && finding.same_as.is_none())
        .filter_map(|(id, finding)| Some((*finding.events.first()?, format!("{id}: {}", finding.text()))))
        .collect()
}

/// Returns the requirements of the case: those of the case in the trace, or else a few of each area in it.
pub(super) fn requirements<'r>(
    exchange: &RecordedExchange,
    wanted: &'r [String],
    kept: &'r [String],
    catalogue: &Catalogue,
) -> Vec<&'r str> {
    let of_subject = |id: &&str| {
        catalogue.find(id).is_some_and(|found| found.party == exchange.subject && found.status == Status::Checked)
    };
    let again: Vec<&str> =
        wanted.iter().filter(|id| kept.contains(id)).map(String::as_str).filter(of_subject).collect();
    if !again.is_empty() {
        return again;
    }
    let areas = areas(exchange);
    let mut chosen: Vec<&str> = Vec::new();
    for id in kept.iter().map(String::as_str).filter(of_subject) {
        let area = Area::of(id);
        let so_far = chosen.iter().filter(|known| Area::of(known) == area).count();
        let must = catalogue.find(id).is_some_and(|found| found.level == Level::Must);
        if must && areas.contains(area.name()) && so_far < MOST_OF_AN_AREA {
            chosen.push(id);
        }
    }
    if chosen.is_empty() {
        chosen.extend(kept.iter().map(String::as_str).filter(of_subject).take(MOST_OF_AN_AREA));
    }
    chosen
}

/// Returns the areas of the catalogue that the messages belong to.
fn areas(exchange: &RecordedExchange) -> BTreeSet<&'static str> {
    let mut areas: BTreeSet<&str> = exchange.turns.iter().filter_map(area).collect();
    if areas.is_empty() {
        areas.extend(["init", "session"]);
    }
    areas
}

fn area(turn: &RecordedTurn) -> Option<&'static str> {
    let (method, params) = turn.called().filter(|_| !is_own_notice(turn))?;
    Some(match method {
        "session/prompt" => "prompt",
        "session/cancel" => "cancel",
        "session/load" => "load",
        "session/resume" => "resume",
        "session/list" => "list",
        "session/close" => "close",
        "session/delete" => "delete",
        "session/set_mode" => "modes",
        "session/set_config_option" => "config",
        "session/request_permission" => "permission",
        "authenticate" | "logout" => "auth",
        "$/cancel_request" => "cancelreq",
        "session/update" => match params?.pointer("/update/sessionUpdate")?.as_str()? {
            "tool_call" | "tool_call_update" => "tool",
            "plan" => "plan",
            _ => return None,
        },
        _ if method.starts_with("fs/") => "fs",
        _ if method.starts_with("terminal/") => "terminal",
        _ if method.starts_with("elicitation/") => "elicit",
        _ if method.starts_with('_') => "ext",
        _ => return None,
    })
}

/// Whether this is an extension notification, which does not matter for the exchange.
fn is_own_notice(turn: &RecordedTurn) -> bool {
    matches!(&turn.said, Said::Notification { method, .. } if method.starts_with('_'))
}
