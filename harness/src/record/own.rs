//! Decides which answers of the tester need not be written, because the tester gives them by default.
//!
//! A transcript that answers one request of a method answers them all, so this is decided for each method as a whole; the
//! methods of terminals belong together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::exchange::{AnsweredRequest, RecordedExchange, Said, members_but_id};
use super::names::Names;
use crate::case::{PayloadKind, Vocabulary};
use crate::protocol::{Edition, Feature};
use crate::requirement::Party;

/// The error code of an unknown method.
const NO_METHOD: i64 = -32601;

/// The error code of a missing file.
const NOT_FOUND: i64 = -32002;

/// The setup with which the tester gives the same answers by default.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// The methods whose answers must be written.
    pub(super) by_hand: BTreeSet<String>,
    /// The files that were read, by their path relative to the working directory.
    pub(super) workspace: BTreeMap<String, String>,
    /// The answers to permission requests, if they were always the same and not the default.
    pub(super) permission: Option<&'static str>,
}

impl Own {
    /// Determines the answers that the tester gives by default.
    pub(super) fn of(exchange: &RecordedExchange, names: &Names, edition: &'static Edition) -> Self {
        let mut own = Self::default();
        let tester = exchange.subject.other();
        let mut by_method: BTreeMap<&str, Vec<AnsweredRequest<'_>>> = BTreeMap::new();
        for answered in exchange.answered(tester) {
            by_method.entry(answered.method).or_default().push(answered);
        }
        for (method, answers) in &by_method {
            let alike = match tester {
                _ if !are_usual(tester, method, answers, edition) => false,
                Party::Client => own.of_a_client(exchange, names, method, answers, edition),
                Party::Agent => of_an_agent(exchange, method, answers, edition),
            };
            if !alike {
                own.by_hand.insert((*method).to_owned());
            }
        }
        if own.by_hand.iter().any(|method| method.starts_with("terminal/")) {
            let all = by_method.keys().filter(|method| method.starts_with("terminal/"));
            own.by_hand.extend(all.map(|method| (*method).to_owned()));
        }
        if own.by_hand.contains("fs/read_text_file") {
            own.workspace.clear();
        }
        if tester == Party::Agent {
            own.lay_out(exchange, names);
        }
        own
    }

    /// Collects the files that a client read, as far as their content is known.
    fn lay_out(&mut self, exchange: &RecordedExchange, names: &Names) {
        let mut read: Vec<_> =
            exchange.answered(Party::Client).filter(|one| one.method == "fs/read_text_file").collect();
        // A file that was read as a whole is better than a part.
        read.sort_by_key(|one| (one.number("limit").is_some(), one.number("line").is_some(), one.at));
        for one in read {
            let content = one.outcome.as_ref().ok().and_then(|result| result.get("content")?.as_str());
            let path = one.text("path");
            if let (Some(content), Some(path)) = (content, path)
                && let Some(below) = names.below_cwd(path)
                && written_before(exchange, one.at, path).is_none()
            {
                let above = one.number("line").map_or(0, |line| line.saturating_sub(1));
                let text = || "\n".repeat(usize::try_from(above).unwrap_or_default()) + content;
                self.workspace.entry(below.to_owned()).or_insert_with(text);
            }
        }
    }

    fn of_a_client(
        &mut self,
        exchange: &RecordedExchange,
        names: &Names,
        method: &str,
        answers: &[AnsweredRequest<'_>],
        edition: &Edition,
    ) -> bool {
        let capabilities = exchange.request(0).and_then(|(_, params)| params?.get("clientCapabilities"));
        if edition.adapter.lacks(Party::Client, capabilities, Feature::Method(method)) {
            return answers.iter().all(is_refused);
        }
        match method {
            "session/request_permission" => self.permissions(exchange, answers),
            "fs/read_text_file" => answers.iter().all(|answer| self.is_read(exchange, names, answer)),
            "fs/write_text_file" => answers.iter().all(|answer| {
                answer.outcome.is_ok() && answer.text("path").is_some_and(|path| names.below_cwd(path).is_some())
            }),
            _ if method.starts_with("terminal/") => answers.iter().all(|answer| answer.outcome.is_ok()),
            _ => !edition.methods.knows(Party::Agent, method) && answers.iter().all(is_refused),
        }
    }

    /// Whether a file of the working directory was read as a whole, or did not exist; such a file is collected.
    fn is_read(&mut self, exchange: &RecordedExchange, names: &Names, answer: &AnsweredRequest<'_>) -> bool {
        let whole = ["line", "limit"].iter().all(|name| answer.params.is_none_or(|params| params.get(name).is_none()));
        let path = answer.text("path").filter(|_| whole);
        let Some((path, relative)) = path.and_then(|path| Some((path, names.below_cwd(path)?))) else { return false };
        let written = written_before(exchange, answer.at, path);
        match answer.outcome {
            Ok(result) => {
                let Some(content) = result.get("content").and_then(Value::as_str) else { return false };
                written.map_or_else(
                    || self.workspace.entry(relative.to_owned()).or_insert_with(|| content.to_owned()) == content,
                    |written| written == content,
                )
            }
            Err(error) => written.is_none() && error.get("code") == Some(&NOT_FOUND.into()),
        }
    }

    fn permissions(&mut self, exchange: &RecordedExchange, answers: &[AnsweredRequest<'_>]) -> bool {
        let decisions: BTreeSet<_> = answers.iter().map(|answer| decision(exchange, answer)).collect();
        match decisions.iter().next().copied().flatten() {
            Some(decision) if decisions.len() == 1 => {
                self.permission = Some(decision).filter(|decision| *decision != "allow");
                true
            }
            _ => false,
        }
    }
}

/// Returns the content that was last written to a file through the client.
fn written_before<'e>(exchange: &'e RecordedExchange, at: usize, path: &str) -> Option<&'e str> {
    exchange.turns[..at].iter().rev().find_map(|turn| match &turn.said {
        Said::Request { method, params: Some(params), .. } if method == "fs/write_text_file" => {
            (params.get("path")?.as_str()? == path).then(|| params.get("content")?.as_str()).flatten()
        }
        _ => None,
    })
}

/// Whether the tester's answers followed the protocol and contain nothing special.
fn are_usual(tester: Party, method: &str, answers: &[AnsweredRequest<'_>], edition: &'static Edition) -> bool {
    let vocabulary = Vocabulary::of(edition);
    let results = answers.iter().filter_map(|answer| answer.outcome.as_ref().ok());
    results.into_iter().all(|result| {
        result.get("_meta").is_none() && vocabulary.misfits(tester, PayloadKind::Result(method), result).is_empty()
    })
}

/// Returns the policy with which the tester would give this answer to a permission request.
fn decision(exchange: &RecordedExchange, answer: &AnsweredRequest<'_>) -> Option<&'static str> {
    let outcome = answer.outcome.as_ref().ok()?.get("outcome")?;
    if outcome.get("outcome")? == "cancelled" {
        let meanwhile = &exchange.turns[answer.request..answer.at];
        let cancelled = meanwhile
            .iter()
            .any(|turn| matches!(&turn.said, Said::Notification { method, .. } if method == "session/cancel"));
        return Some(if cancelled { "hold" } else { "cancel" });
    }
    let options = answer.params?.get("options")?.as_array()?;
    let first = |kinds: [&str; 2]| kinds.iter().find_map(|kind| options.iter().find(|option| option["kind"] == **kind));
    let chosen = |kinds| first(kinds).is_some_and(|option| option.get("optionId") == outcome.get("optionId"));
    if chosen(["allow_once", "allow_always"]) {
        Some("allow")
    } else {
        chosen(["reject_once", "reject_always"]).then_some("reject")
    }
}

fn of_an_agent(exchange: &RecordedExchange, method: &str, answers: &[AnsweredRequest<'_>], edition: &Edition) -> bool {
    let capabilities = exchange.answer_of(0).and_then(|(_, outcome)| outcome.as_ref().ok()?.get("agentCapabilities"));
    if edition.adapter.lacks(Party::Agent, capabilities, Feature::Method(method)) {
        return answers.iter().all(is_refused);
    }
    let session = exchange.first_session();
    let results = |good: &dyn Fn(&Value) -> bool| answers.iter().all(|answer| answer.outcome.as_ref().is_ok_and(good));
    match method {
        "initialize" => true,
        "session/new" => results(&|result| members_but_id(result) == session),
        "session/load" | "session/resume" => results(&|result| *result == Value::Object(session.clone())),
        "session/list" => results(&|result| *result == json!({ "sessions": [] })),
        "session/set_mode" | "session/close" | "session/delete" | "authenticate" | "logout" => {
            results(&|result| *result == json!({}))
        }
        "session/prompt" => {
            let first = answers.iter().map(|answer| answer.at).min().unwrap_or_default();
            let nothing_more =
                exchange.turns[first..].iter().all(|turn| matches!(turn.said, Said::Answer { .. } | Said::Fence));
            nothing_more && results(&|result| result.get("stopReason") == Some(&json!("end_turn")))
        }
        _ => !edition.methods.knows(Party::Client, method) && answers.iter().all(is_refused),
    }
}

fn is_refused(answer: &AnsweredRequest<'_>) -> bool {
    answer.outcome.as_ref().is_err_and(|error| error.get("code") == Some(&NO_METHOD.into()))
}
