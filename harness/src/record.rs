//! Turns the trace of a case into a case file: the exchange as a transcript, with names and patterns instead of values
//! that differ from run to run.
//!
//! The text is for people to edit and keep. All messages of the tester stand in it as they were sent. Its lines for the
//! subject expect only values that are likely to repeat: words of the protocol, ids that come back, files of the
//! working directory.

mod exchange;
mod names;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::exchange::{Exchange, Said, Turn};
use self::names::Names;
use self::yaml::{flow, scalar};
use crate::case::{MARKER, PayloadKind, Template, UserSetup, Vocabulary};
use crate::judge::judge;
use crate::protocol::{Edition, Kind};
use crate::requirement::Party;
use crate::trace::{Trace, What};
use crate::verdict::Verdict;

/// Returns the text of a case file that repeats the exchange of a case's trace; `origin` says whose it is. A comment
/// marks each line that violates a requirement. `None` if no case can repeat the exchange: it has several connections,
/// a broken line of the subject, or does not begin with `initialize` and its result.
pub fn record(trace: &Trace, origin: &str, edition: &'static Edition) -> Option<String> {
    let exchange = Exchange::read(trace)?;
    let mut names = Names::new(exchange.params("session/new").and_then(|params| params.get("cwd")?.as_str()));
    let user = if exchange.subject == Party::Client { user(&exchange, &names) } else { Value::Null };
    let workspace = if exchange.subject == Party::Client { workspace(&exchange, &names) } else { Value::Null };
    let broken = violations(trace, &exchange, edition);
    let mut writer =
        Writer { exchange: &exchange, names: &mut names, remarks: Vec::new(), vocabulary: Vocabulary::of(edition) };
    let lines = writer.transcript(&broken);
    let mut text = format!("# Recorded from {origin}. Edit it until it has only what matters.\n");
    writer.remarks.dedup();
    writer.remarks.iter().for_each(|remark| text.push_str(&format!("# {remark}\n")));
    text.push_str(&format!("title: {}\n", scalar(trace.header.title.as_deref().unwrap_or("A recorded exchange"))));
    text.push_str(&format!("subject: {}\n", exchange.subject));
    let requirements = requirements(trace, &broken, edition);
    text.push_str(&format!("requirements: [{}]\n", requirements.join(", ")));
    for (key, value) in [("user", user), ("workspace", workspace)] {
        if value.as_object().is_some_and(|members| !members.is_empty()) {
            text.push_str(&format!("{key}: {}\n", flow(&value)));
        }
    }
    text.push_str("transcript:\n");
    lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    Some(text)
}

/// A requirement that the subject violates: the number of the first event that shows it, the id, and the text of the
/// finding.
type Violation = (usize, String, String);

fn violations(trace: &Trace, exchange: &Exchange, edition: &'static Edition) -> Vec<Violation> {
    let binds = |id: &str| edition.catalogue.find(id).is_some_and(|known| known.party == exchange.subject);
    let judgement = judge(trace, edition);
    let tallies = judgement.tallies.iter().filter(|(id, _)| binds(id));
    let findings = tallies.flat_map(|(id, tally)| tally.findings.iter().map(move |finding| (id, finding)));
    findings
        .filter(|(_, finding)| finding.verdict == Verdict::Fail && finding.same_as.is_none())
        .filter_map(|(id, finding)| Some((*finding.events.first()?, id.clone(), finding.text())))
        .collect()
}

/// Returns the requirements that the subject violates, and those of the case that its messages decide without a step.
fn requirements(trace: &Trace, broken: &[Violation], edition: &'static Edition) -> Vec<String> {
    let mut messages = trace.clone();
    messages.events.retain(|event| !matches!(event.what, What::Step(_)));
    let judgement = judge(&messages, edition);
    let passed = |id: &&String| judgement.verdict(id) == Verdict::Pass;
    let chosen = trace.header.requirements.iter().filter(passed).chain(broken.iter().map(|(_, id, _)| id));
    let mut chosen: Vec<String> = chosen.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    if chosen.is_empty() {
        // A case needs one.
        let binds = |id: &&String| edition.catalogue.find(id).map(|known| known.party) == trace.header.subject;
        chosen.extend(judgement.tallies.keys().filter(binds).find(passed).cloned());
    }
    chosen
}

/// Returns what the user of a client did without a step: the first prompt, decisions about permissions, and settings.
fn user(exchange: &Exchange, names: &Names) -> Value {
    let mut user = Map::new();
    let prompt =
        exchange.params("session/prompt").and_then(|params| params.get("prompt")?.as_array()?.first()?.get("text"));
    let prompt = prompt.filter(|prompt| prompt.as_str() != Some(UserSetup::default().prompt.as_str()));
    user.extend(prompt.map(|prompt| ("prompt".to_owned(), prompt.clone())));
    let decisions: Vec<&str> = exchange.answers().filter_map(|(request, outcome)| decision(request, outcome)).collect();
    let decision = ["hold", "reject"].into_iter().find(|decision| decisions.contains(decision));
    user.extend(decision.map(|decision| ("permission".to_owned(), decision.into())));
    for (key, member) in [("mcp-servers", "mcpServers"), ("directories", "additionalDirectories")] {
        let set =
            exchange.params("session/new").and_then(|params| params.get(member)).filter(|list| **list != json!([]));
        user.extend(set.map(|list| (key.to_owned(), names.said(list))));
    }
    Value::Object(user)
}

/// Returns the decision of a user who was asked; a withdrawn request has none.
fn decision(request: &Turn, outcome: &Result<Value, Value>) -> Option<&'static str> {
    let (method, params) = request.called()?;
    let text = |pointer: &str| outcome.as_ref().ok()?.pointer(pointer)?.as_str();
    let chosen = match method {
        "session/request_permission" => text("/outcome/optionId").map(|chosen| {
            let options = params.and_then(|params| params.get("options")?.as_array());
            let option = options.into_iter().flatten().find(|option| option["optionId"] == chosen);
            option.and_then(|option| option["kind"].as_str()).unwrap_or_default()
        }),
        "elicitation/create" => text("/action").filter(|action| *action != "cancel"),
        _ => return None,
    };
    Some(match chosen {
        Some("decline" | "reject_once" | "reject_always") => "reject",
        Some(_) => "allow",
        None => "hold",
    })
}

/// Returns the files of the working directory that a client read before they were written, by their relative paths. A
/// file that was read as a whole is better than a part.
fn workspace(exchange: &Exchange, names: &Names) -> Value {
    let mut files: BTreeMap<&str, (bool, String)> = BTreeMap::new();
    let mut written = Vec::new();
    for (request, outcome) in exchange.answers() {
        let Some((method, Some(params))) = request.called() else { continue };
        let Some(path) = params.get("path").and_then(|path| names.below_cwd(path.as_str()?)) else { continue };
        let content = outcome.as_ref().ok().and_then(|result| result.get("content")?.as_str());
        if method == "fs/write_text_file" {
            written.push(path);
        } else if let ("fs/read_text_file", Some(content), false) = (method, content, written.contains(&path)) {
            let above = params.get("line").and_then(Value::as_u64).map_or(0, |line| line.saturating_sub(1));
            let is_whole = above == 0 && params.get("limit").is_none();
            if is_whole || !files.contains_key(path) {
                let text = "\n".repeat(usize::try_from(above).unwrap_or_default()) + content;
                if files.get(path).is_none_or(|(was_whole, _)| !was_whole) {
                    files.insert(path, (is_whole, text));
                }
            }
        }
    }
    Value::Object(files.into_iter().map(|(path, (_, text))| (path.to_owned(), text.into())).collect())
}

struct Writer<'w> {
    exchange: &'w Exchange,
    names: &'w mut Names,
    /// Notes for the reader of the case.
    remarks: Vec<String>,
    vocabulary: Vocabulary,
}

impl Writer<'_> {
    fn transcript(&mut self, broken: &[Violation]) -> Vec<String> {
        let turns = &self.exchange.turns;
        let last = turns.iter().rposition(|turn| turn.said != Said::Fence).unwrap_or_default();
        let mut lines: Vec<String> = Vec::new();
        for (at, turn) in turns.iter().enumerate().take(last + 1) {
            let Some(line) = self.turn(at, turn) else { continue };
            // Other lines of its kind match any number of messages already.
            if lines.iter().rev().take_while(|known| known.contains("*: ")).any(|known| *known == line) {
                continue;
            }
            let of_turn = broken.iter().filter(|(event, ..)| *event == turn.n);
            lines.extend(of_turn.map(|(_, id, text)| format!("# violates {id}: {}", one_line(text))));
            lines.push(line);
        }
        lines
    }

    fn turn(&mut self, at: usize, turn: &Turn) -> Option<String> {
        let is_subject = turn.from == self.exchange.subject;
        match &turn.said {
            Said::Fence => Some("- fence: {}".to_owned()),
            Said::Raw(bytes) => Some(raw(bytes)),
            Said::Act(text) => self.act(text),
            Said::Answer { to, outcome } => {
                let (method, _) = self.exchange.turns[*to].called()?;
                let mut line = Map::from_iter([("id".to_owned(), self.names.label(*to, method).into())]);
                let (key, value) = match (outcome, is_subject) {
                    (Ok(result), true) => ("result", self.names.pattern(result)),
                    (Ok(result), false) => ("result", self.names.said(result)),
                    (Err(error), true) => ("error", json!({ "code": error.get("code").unwrap_or(&json!("<any>")) })),
                    (Err(error), false) => ("error", self.names.said(error)),
                };
                line.insert(key.to_owned(), value);
                let fits = |result: &Value| self.fits(turn.from, PayloadKind::Result(method), result);
                if !is_subject && (turn.deliberate || !outcome.as_ref().map_or(true, fits)) {
                    line.insert("illegal".to_owned(), true.into());
                }
                Some(format!("- {}: {}", turn.from, flow(&Value::Object(line))))
            }
            Said::Request { id, method, .. } => {
                let label = self.names.label(at, method);
                let mut line = Map::from_iter([("id".to_owned(), label.into())]);
                if !is_subject && (!id.is_u64() || self.exchange.cancels(id)) {
                    line.insert("wire-id".to_owned(), self.names.said(id));
                }
                self.call(turn, "", line)
            }
            Said::Notification { method, params } => {
                let mark = if is_subject { self.mark(at, method, params.as_ref()) } else { "" };
                self.call(turn, mark, Map::new())
            }
        }
    }

    /// Writes a request or a notification; `line` has everything but the method and the params.
    fn call(&mut self, turn: &Turn, mark: &str, mut line: Map<String, Value>) -> Option<String> {
        let is_subject = turn.from == self.exchange.subject;
        let (method, params) = turn.called()?;
        line.insert("method".to_owned(), method.into());
        let params = params.and_then(|params| {
            Some(match method {
                _ if mark == "*" => self.kind_of_update(method, params)?,
                _ if is_subject => self.names.pattern(params),
                "session/prompt" => self.names.said(&by_intent(params)),
                _ => self.names.said(params),
            })
        });
        line.extend(params.map(|params| ("params".to_owned(), params)));
        if !is_subject && (turn.deliberate || !self.is_legal(turn)) {
            line.insert("illegal".to_owned(), true.into());
        }
        Some(format!("- {}{mark}: {}", turn.from, flow(&Value::Object(line))))
    }

    /// Returns the mark for a notification. An update about the content of the turn is optional, and so is one that the
    /// tester reacts to; any number of the others may come.
    fn mark(&self, at: usize, method: &str, params: Option<&Value>) -> &'static str {
        if method.starts_with('_') {
            return "*";
        }
        if method != "session/update" {
            return "";
        }
        let kind = params.and_then(|params| params.pointer("/update/sessionUpdate")?.as_str()).unwrap_or_default();
        let is_content = matches!(kind, "tool_call" | "tool_call_update" | "plan" | "current_mode_update");
        let next = self.exchange.turns.get(at + 1);
        let is_cue = next.is_some_and(|next| next.from != self.exchange.subject && next.called().is_some());
        if is_content || is_cue { "?" } else { "*" }
    }

    /// Returns the pattern of an update with only its session and its kind; `None` for extension methods.
    fn kind_of_update(&mut self, method: &str, params: &Value) -> Option<Value> {
        let kind = params.pointer("/update/sessionUpdate").filter(|_| method == "session/update")?;
        let mut pattern = self.names.pattern(&json!({ "sessionId": params.get("sessionId") }));
        pattern["update"] = json!({ "sessionUpdate": kind });
        Some(pattern)
    }

    /// Returns a step of the recorded case as written there.
    fn act(&mut self, text: &str) -> Option<String> {
        let step = text.trim_start_matches("- ");
        let is_one_line = !step.contains('\n') && ["user: ", "agent-process: "].iter().any(|key| step.starts_with(key));
        if is_one_line && Template::parse(step).names().all(|name| self.names.has(name)) {
            return Some(format!("- {step}"));
        }
        self.remarks.push(format!("A step of the recorded case could not be taken over: {}", one_line(text)));
        None
    }

    /// Whether a case could send this without violating the protocol.
    fn is_legal(&self, turn: &Turn) -> bool {
        let Some((method, params)) = turn.called() else { return true };
        let is_request = matches!(turn.said, Said::Request { .. });
        let kind = if is_request { Kind::Request } else { Kind::Notification };
        let is_own = method.starts_with('_') || method.starts_with("$/");
        let params = params.unwrap_or(&Value::Null);
        is_own
            || self.vocabulary.kind_of(turn.from, method) == Some(kind)
                && self.fits(turn.from, PayloadKind::Params(method), params)
    }

    /// Whether a payload fits the schema.
    fn fits(&self, by: Party, payload: PayloadKind<'_>, value: &Value) -> bool {
        self.vocabulary.misfits(by, payload, value).is_empty()
    }
}

/// Returns a text for a comment, without control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a prompt as the intents in it, which any agent can follow.
fn by_intent(params: &Value) -> Value {
    let intent = |block: &Value| {
        let (_, intent) = block.get("text")?.as_str()?.rsplit_once(MARKER)?;
        serde_json::from_str::<Value>(intent).ok()
    };
    let mut params = params.clone();
    if let Some(Value::Array(blocks)) = params.get_mut("prompt") {
        blocks.iter_mut().for_each(|block| *block = intent(block).unwrap_or_else(|| block.take()));
        if let [single] = blocks.as_mut_slice()
            && single.get("intent").is_some()
        {
            params["prompt"] = single.take();
        }
    }
    params
}

/// Writes bytes of the tester that are not a message.
fn raw(bytes: &[u8]) -> String {
    use base64::Engine;
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("- raw: {{ text: {} }}", scalar(text)),
        Err(_) => format!("- raw: {{ base64: {} }}", scalar(&base64::engine::general_purpose::STANDARD.encode(bytes))),
    }
}
