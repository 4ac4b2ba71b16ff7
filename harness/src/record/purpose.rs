//! What a recorded case is for: its title, and the requirements that it names.

use std::collections::BTreeSet;

use super::exchange::{RecordedExchange, RecordedTurn, Said};
use crate::requirement::{Catalogue, Level, Status};

/// How many requirements of one area are named; a case that is for everything is for nothing.
const MOST_OF_AN_AREA: usize = 2;

/// The methods behind the opening, in the order of their first use; one that is no word has no place in a title.
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

/// What the case shows, as far as it can be told from its methods.
pub(super) fn title(exchange: &RecordedExchange) -> String {
    match methods(exchange).as_slice() {
        [] => "The opening of a session, as it was recorded".to_owned(),
        [single] => format!("A session with {single}, as it was recorded"),
        [several @ .., last] => format!("A session with {} and {last}, as it was recorded", several.join(", ")),
    }
}

/// What the case is for: what the case was for that the trace is of, or else a few rules of each area that it has.
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
        let area = id.split('.').next().unwrap_or(id);
        let so_far = chosen.iter().filter(|known| known.split('.').next() == Some(area)).count();
        let must = catalogue.find(id).is_some_and(|found| found.level == Level::Must);
        if must && areas.contains(area) && so_far < MOST_OF_AN_AREA {
            chosen.push(id);
        }
    }
    if chosen.is_empty() {
        chosen.extend(kept.iter().map(String::as_str).filter(of_subject).take(MOST_OF_AN_AREA));
    }
    chosen
}

/// The areas of the catalogue that the messages belong to.
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

/// A notification of somebody's own, which tells nothing of the exchange.
fn is_own_notice(turn: &RecordedTurn) -> bool {
    matches!(&turn.said, Said::Notification { method, .. } if method.starts_with('_'))
}
