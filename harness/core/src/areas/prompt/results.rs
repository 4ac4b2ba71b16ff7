//! Area `prompt`: what the client returned for a tool call, on its way to the scripted model.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::{is_old, log_of_turn, words_in};
use super::state::Source;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Exchange, words_of};
use crate::fact;
use crate::finding::Ruling;
use crate::trace::{ModelCall, ModelRequest, ModelResult};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] =
    &[Check::agent("prompt.tool-results", On::Response(results_lost)).only(&["session/prompt"])];

/// "The Agent sends the tool results back to the language model as another request."
///
/// Correct but unusual: an agent that numbers, escapes, wraps or shortens a result, passes it in a message of the
/// user or in its instructions, asks another model for a summary, or reads files that its model did not ask for. So
/// this reads only short files and outputs of commands that the arguments of a single call name, after a prompt to
/// read or to run just that, compares words, and fails if no place of the next request has any of them, or if the
/// result is that of another file. A part of a file only has to be there if the arguments have no number.
fn results_lost(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(log) = log_of_turn(ctx, answer, ("text", 1), ruling).filter(|log| !log.is_uncertain) else { return };
    let Some(prompt) = log.prompts.last() else { return };
    let Some(session) = answer.exchange.and_then(Exchange::session) else { return };
    let intent: Value = serde_json::from_str(&prompt.intent).unwrap_or_default();
    let is_asked = |source: &&Source| match intent.text("intent") {
        Some("read-file" | "read-files") => true,
        Some("run-command") => source.terminal.is_some(),
        _ => false,
    };
    let sources: Vec<&Source> = ctx.areas.prompt.sources(session).iter().filter(is_asked).collect();
    let outputs = log.requests.iter().filter_map(|asked| asked.event.answer.as_ref());
    let calls: Vec<&ModelCall> = outputs.flat_map(|output| &output.calls).collect();
    for source in &sources {
        let namesakes = sources.iter().filter(|other| other.name == source.name).count();
        let Some(call) = sole_call(&calls, source).filter(|_| namesakes == 1) else { continue };
        let replied = log.requests.iter().rev().find_map(|asked| {
            let request = asked.event.request.as_ref()?;
            Some((asked.n, request, result_of(request, call, calls.len())?))
        });
        if let Some((n, request, result)) = replied {
            decide(ctx, (source, &sources), call, (n, request, result), prompt.n, ruling);
        }
    }
}

/// Compares the result of a call in a request with its source.
fn decide(
    ctx: &CheckContext<'_>,
    (source, sources): (&Source, &[&Source]),
    call: &ModelCall,
    (n, request, result): (usize, &ModelRequest, &ModelResult),
    prompt: usize,
    ruling: &mut Ruling<'_>,
) {
    let known = words_in(&[request]).filter(|_| !request.cut);
    let Some((known, found)) = known.zip(result.text.as_deref().map(words)) else { return };
    let wanted = source.lines(&known);
    let lost: Vec<&BTreeSet<String>> = wanted.iter().filter(|line| line.is_disjoint(&found)).collect();
    let Some(word) = lost.first().and_then(|line| line.first()) else {
        if !wanted.is_empty() {
            ruling.pass();
        }
        return;
    };
    let is_whole = lost.len() == wanted.len();
    let holds = |other: &&&Source| {
        let lines = other.lines(&known);
        other.name != source.name && !lines.is_empty() && lines.iter().all(|line| line.is_subset(&found))
    };
    if let Some(other) = sources.iter().find(holds).filter(|_| is_whole) {
        return ruling.proved_by(&[source.n, other.n, n]).fail_in_case(fact!(
            "result-of-other-call",
            "the agent passed the content of `{other}` to its model as the result of the call of {tool} for \
            `{source}`; expected the content of `{source}`",
            other = other.name,
            source = source.name,
            tool = call.name
        ));
    }
    let mut others = request.results.iter().filter(|other| other.call != result.call);
    let may_hold = |other: &ModelResult| {
        other.text.as_deref().map(words).is_none_or(|held| lost.iter().any(|line| !line.is_disjoint(&held)))
    };
    let is_elsewhere = !request.media.is_empty() || others.any(may_hold);
    let asked_otherwise = ctx.conversation.other_model_request.is_some_and(|n| n > prompt);
    let is_due = is_whole || source.terminal.is_none() && !has_number(call);
    if is_due && !is_elsewhere && !asked_otherwise && is_old(ctx, request, prompt) {
        ruling.proved_by(&[source.n, n]).fail_in_case(fact!(
            "result-without-content",
            "the client returned `{source}` for the call of {tool}, and the agent passed a result without `{word}` of \
            it to its model; expected its content",
            source = source.name,
            tool = call.name,
            word
        ));
    }
}

impl Source {
    /// Returns the distinctive words of each line, without those that the request has anyway.
    fn lines(&self, known: &BTreeSet<String>) -> Vec<BTreeSet<String>> {
        let lines = self.text.iter().flat_map(|text| text.lines()).map(words);
        let own = lines.map(|line| line.difference(known).cloned().collect::<BTreeSet<String>>());
        own.filter(|line| !line.is_empty()).collect()
    }
}

fn words(text: &str) -> BTreeSet<String> {
    words_of(text).collect()
}

/// Whether the arguments of a call have a number, which may ask for a part of a file.
fn has_number(call: &ModelCall) -> bool {
    let arguments: Option<Value> = call.arguments.text.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let members = arguments.as_ref().and_then(Value::as_object);
    members.is_none_or(|members| members.values().any(Value::is_number))
}

/// Returns the call whose arguments name what the client returned, if no other one does.
fn sole_call<'c>(calls: &[&'c ModelCall], source: &Source) -> Option<&'c ModelCall> {
    let names = |call: &&&ModelCall| call.arguments.text.as_deref().is_some_and(|text| text.contains(&source.name));
    let mut naming = calls.iter().filter(names);
    naming.next().copied().filter(|_| naming.next().is_none())
}

/// Returns the result of a call in a request: by its id, or as the only one if the turn has no other call.
fn result_of<'r>(request: &'r ModelRequest, call: &ModelCall, calls: usize) -> Option<&'r ModelResult> {
    let is_its = |result: &&ModelResult| !call.id.is_empty() && result.call == call.id;
    let mut fresh = request.results.iter().filter(|result| result.text.is_some());
    let sole = || fresh.next().filter(|_| calls == 1 && fresh.next().is_none());
    request.results.iter().rfind(is_its).or_else(sole)
}
