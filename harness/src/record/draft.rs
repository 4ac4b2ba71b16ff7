//! Writes the case: the keys above the transcript, and the transcript line by line.

use serde_json::{Map, Value, json};

use super::exchange::{RecordError, RecordedExchange, RecordedTurn, Said};
use super::names::Names;
use super::own::Own;
use super::purpose::{passed, requirements, title, violations};
use super::setup;
use super::yaml::{flow, scalar};
use crate::case::{MARKER, MethodKind, PayloadKind, Template, Vocabulary};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::Trace;

/// Facts about a trace that are not in it.
#[derive(Debug, Clone, Copy)]
pub struct Aim<'r> {
    /// The origin of the trace, for the comment.
    pub origin: &'r str,
    /// The party under test, if the trace does not name it.
    pub subject: Option<Party>,
    /// The edition of the protocol that it uses.
    pub edition: &'static Edition,
}

/// Returns the text of a case file that repeats the exchange of the trace. A comment marks each line that violates a
/// requirement.
///
/// # Errors
///
/// Each reason why no case can repeat the trace.
pub fn record(trace: &Trace, aim: &Aim<'_>) -> Result<String, RecordError> {
    let exchange = RecordedExchange::read(trace, aim.subject)?;
    let new = exchange.turns.iter().find_map(|turn| match &turn.said {
        Said::Request { method, params, .. } if method == "session/new" => params.as_ref()?.get("cwd")?.as_str(),
        _ => None,
    });
    let names = Names::new(new, trace.header.case.is_some());
    let own = Own::of(&exchange, &names, aim.edition);
    let mut writer = Writer {
        exchange: &exchange,
        own: &own,
        names,
        lines: Vec::new(),
        remarks: Vec::new(),
        vocabulary: Vocabulary::of(aim.edition),
    };
    writer.transcript(&violations(trace, &exchange, aim.edition));
    let above = setup::keys(&exchange, &writer.names, &own, aim.edition);
    let mut text = format!("# Recorded from {}. Edit it until it says what matters.\n", aim.origin);
    writer.remarks.dedup();
    writer.remarks.iter().for_each(|remark| text.push_str(&format!("# {remark}\n")));
    text.push_str(&format!("title: {}\n", title(&exchange)));
    text.push_str(&format!("subject: {}\n", exchange.subject));
    let passed = passed(trace, aim.edition);
    let requirements = requirements(&exchange, &trace.header.requirements, &passed, &aim.edition.catalogue);
    text.push_str(&format!("requirements: [{}]\n", requirements.join(", ")));
    above.iter().for_each(|(key, value)| text.push_str(&format!("{key}: {}\n", flow(value))));
    text.push_str("transcript:\n");
    writer.lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    Ok(text)
}

/// Begins the comment above a line that violates a requirement.
pub(crate) const VIOLATES: &str = "# violates";

/// The warning in a case with prompts of a person.
pub(crate) const VERBATIM: &str = "The prompts are verbatim: remove private text before you share the case.";

struct Writer<'w> {
    exchange: &'w RecordedExchange,
    own: &'w Own,
    names: Names,
    lines: Vec<String>,
    /// Notes for the reader of the case.
    remarks: Vec<String>,
    vocabulary: Vocabulary,
}

impl Writer<'_> {
    fn transcript(&mut self, broken: &[(usize, String)]) {
        let opening = self.opening();
        let exchange = self.exchange;
        let marks = |turn: &RecordedTurn| {
            let of_turn = broken.iter().filter(|(event, _)| *event == turn.n);
            of_turn.map(|(_, text)| format!("{VIOLATES} {}", one_line(text))).collect::<Vec<_>>()
        };
        let included: Vec<String> = exchange.turns.iter().take(opening).flat_map(marks).collect();
        self.lines.splice(0..0, included);
        let last = self.exchange.turns.iter().rposition(|turn| !matches!(turn.said, Said::Fence)).unwrap_or_default();
        let played = exchange.turns.get(opening..=last).unwrap_or_default();
        for (at, turn) in (opening..).zip(played) {
            if let Some(line) = self.turn(at, turn) {
                self.lines.extend(marks(turn));
                self.put(line);
            }
        }
        let acts = played.iter().any(|turn| matches!(turn.said, Said::Act(_)));
        let asks = |turn: &RecordedTurn| turn.from == Party::Client && turn.called().is_some();
        if exchange.subject == Party::Client && !acts && played.iter().any(asks) {
            self.remark("What the user of the client did is not in the trace: say it by `user:` steps.");
        }
    }

    /// Adds a line, unless it repeats a line that already matches any number of messages.
    fn put(&mut self, line: String) {
        let again = self.lines.iter().rev().take_while(|known| known.contains("*: ")).any(|known| *known == line);
        if !again {
            self.lines.push(line);
        }
    }

    fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Writes the usual opening as an include, and returns the number of turns that it replaces.
    fn opening(&mut self) -> usize {
        let subject = self.exchange.subject;
        let mut includes = vec![("initialize", 2)];
        includes.push(("session", 4));
        if subject == Party::Client {
            includes[0].1 = 1;
            includes.push(("turn", 5));
        }
        let fits = |at: usize| self.is_usual(at);
        let usual = (0..5).take_while(|at| fits(*at)).count();
        let Some((name, turns)) = includes.into_iter().rev().find(|(_, turns)| *turns <= usual) else { return 0 };
        self.lines.push(format!("- include: {name}"));
        let exchange = self.exchange;
        for (at, turn) in exchange.turns.iter().enumerate().take(turns) {
            if let Some((method, params)) = exchange.request(at) {
                self.names.label(at, method);
                if let (Some(params), "session/prompt") = (params, method) {
                    self.names.pattern(params);
                }
            } else if let (Said::Answer { outcome: Ok(result), .. }, Party::Agent) = (&turn.said, subject) {
                self.names.pattern(result);
            }
        }
        turns
    }

    /// Whether the turn at this place is the same as in the includes.
    fn is_usual(&self, at: usize) -> bool {
        let Some(turn) = self.exchange.turns.get(at) else { return false };
        let agent = self.exchange.subject == Party::Agent;
        match (at, &turn.said) {
            (0, Said::Request { params: Some(params), .. }) => {
                let there = |name: &str| params.get(name).is_some_and(Value::is_object);
                let whole = there("clientCapabilities") && there("clientInfo");
                params.get("protocolVersion") == Some(&json!(1)) && (!agent || whole)
            }
            (1, Said::Answer { to: 0, outcome: Ok(result) }) => result.get("protocolVersion") == Some(&json!(1)),
            (2, Said::Request { method, params: Some(params), .. }) => {
                let plain = json!({ "cwd": "<cwd>", "mcpServers": [] });
                method == "session/new" && (!agent || self.names.said(params) == plain)
            }
            (3, Said::Answer { to: 2, outcome: Ok(_) }) => agent || !self.own.by_hand.contains("session/new"),
            (4, Said::Request { method, .. }) => !agent && method == "session/prompt",
            _ => false,
        }
    }

    fn turn(&mut self, at: usize, turn: &RecordedTurn) -> Option<String> {
        let is_subject = turn.from == self.exchange.subject;
        match &turn.said {
            Said::Fence => Some("- fence: {}".to_owned()),
            Said::Raw(bytes) => Some(raw(bytes)),
            Said::Act(text) => self.act(text),
            Said::Stray => {
                self.remark(format!("Event #{} is left out: it answers no request.", turn.n));
                None
            }
            Said::Answer { to, outcome } => self.answer(turn, *to, outcome, is_subject),
            Said::Request { method, params, .. } if !is_subject && is_unheard_of(turn, &self.vocabulary) => {
                let id = format!("recorded-{}", turn.n);
                let params = params.as_ref().map_or_else(|| json!({}), |params| self.names.said(params));
                let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
                Some(format!("- raw: {}", flow(&json!({ "text": message, "legal": true }))))
            }
            Said::Request { id, method, .. } => {
                let label = self.names.label(at, method);
                let mut line =
                    Map::from_iter([("id".to_owned(), label.into()), ("method".to_owned(), method.as_str().into())]);
                if !is_subject && (!id.is_u64() || self.is_named_by_number(id)) {
                    line.insert("wire-id".to_owned(), self.names.said(id));
                }
                self.call(turn, "", line)
            }
            Said::Notification { method, params } => {
                let mark = if is_subject { self.mark(at, method, params.as_ref()) } else { "" };
                self.call(turn, mark, Map::from_iter([("method".to_owned(), method.as_str().into())]))
            }
        }
    }

    /// Writes a request or a notification; `line` has everything but the params.
    fn call(&mut self, turn: &RecordedTurn, mark: &str, mut line: Map<String, Value>) -> Option<String> {
        let is_subject = turn.from == self.exchange.subject;
        let (method, params) = turn.called()?;
        let params = match params {
            Some(params) if mark == "*" => self.kind_of_update(method, params),
            Some(params) if is_subject => Some(self.names.pattern(params)),
            Some(params) if method == "session/prompt" => {
                let by_intent = by_intent(params);
                if by_intent == *params {
                    self.remark(VERBATIM);
                }
                Some(self.names.said(&by_intent))
            }
            params => params.map(|params| self.names.said(params)),
        };
        line.extend(params.map(|params| ("params".to_owned(), params)));
        if !is_subject && (turn.deliberate || !is_legal(turn.from, turn, &self.vocabulary)) {
            line.insert("illegal".to_owned(), true.into());
        }
        Some(format!("- {}{mark}: {}", turn.from, flow(&Value::Object(line))))
    }

    fn answer(
        &mut self,
        turn: &RecordedTurn,
        to: usize,
        outcome: &Result<Value, Value>,
        is_subject: bool,
    ) -> Option<String> {
        let (method, _) = self.exchange.request(to)?;
        let usual = !is_subject && !turn.deliberate && !self.own.by_hand.contains(method);
        if usual || is_subject && is_unheard_of(&self.exchange.turns[to], &self.vocabulary) {
            return None;
        }
        let label = self.names.label(to, method);
        let mut line = Map::from_iter([("id".to_owned(), label.into())]);
        match (outcome, is_subject) {
            (Ok(result), true) => line.insert("result".to_owned(), self.names.pattern(result)),
            (Ok(result), false) => line.insert("result".to_owned(), self.names.said(result)),
            (Err(error), true) => {
                line.insert("error".to_owned(), json!({ "code": error.get("code").unwrap_or(&json!("<any>")) }))
            }
            (Err(error), false) => line.insert("error".to_owned(), self.names.said(error)),
        };
        let misfit = !is_subject
            && outcome
                .as_ref()
                .is_ok_and(|result| !fits(turn.from, PayloadKind::Result(method), result, &self.vocabulary));
        if turn.deliberate || misfit {
            line.insert("illegal".to_owned(), true.into());
        }
        Some(format!("- {}: {}", turn.from, flow(&Value::Object(line))))
    }

    /// Returns the mark for an update. An update about the content of the turn is optional, and so is one that the tester
    /// reacts to; any number of the others may come.
    fn mark(&self, at: usize, method: &str, params: Option<&Value>) -> &'static str {
        if method.starts_with('_') {
            return "*";
        }
        if method != "session/update" {
            return "";
        }
        let variant = params.and_then(|params| params.pointer("/update/sessionUpdate")?.as_str());
        let telling = variant.is_some_and(|variant| {
            matches!(variant, "tool_call" | "tool_call_update" | "plan" | "current_mode_update")
        });
        let next = self.exchange.turns.get(at + 1);
        let answered_by_request =
            next.is_some_and(|next| next.from != self.exchange.subject && next.called().is_some());
        if telling || answered_by_request && self.exchange.is_in_turn(at) { "?" } else { "*" }
    }

    /// Returns the pattern of an update with only its session and its kind; `None` for extension methods.
    fn kind_of_update(&mut self, method: &str, params: &Value) -> Option<Value> {
        let variant = params.pointer("/update/sessionUpdate").filter(|_| method == "session/update")?;
        let mut kind = self.names.pattern(&json!({ "sessionId": params.get("sessionId") }));
        kind["update"] = json!({ "sessionUpdate": variant });
        Some(kind)
    }

    /// Returns a step of the recorded case as written there.
    fn act(&mut self, text: &str) -> Option<String> {
        let step = text.trim_start_matches("- ");
        let is_one_line = !step.contains('\n') && ["user: ", "agent-process: "].iter().any(|key| step.starts_with(key));
        if is_one_line && Template::parse(step).names().all(|name| self.names.has(name)) {
            return Some(format!("- {step}"));
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.remark(format!("A step of the recorded case could not be taken over: {text}"));
        None
    }

    /// Whether a later line refers to a request of the tester by its id, which the runner would otherwise choose.
    fn is_named_by_number(&self, id: &Value) -> bool {
        let tester = self.exchange.subject.other();
        self.exchange.turns.iter().any(|turn| match &turn.said {
            Said::Notification { method, params: Some(params) } => {
                turn.from == tester && method == "$/cancel_request" && params.get("requestId") == Some(id)
            }
            _ => false,
        })
    }
}

/// Whether the request is not part of the protocol, so that a case can send it only as bytes.
fn is_unheard_of(turn: &RecordedTurn, vocabulary: &Vocabulary) -> bool {
    let Said::Request { method, .. } = &turn.said else { return false };
    let is_own = method.starts_with('_') || method.starts_with("$/");
    !is_own && !turn.deliberate && vocabulary.kind_of(turn.from, method) == MethodKind::Unknown
}

/// Whether a case could send this without violating the protocol.
fn is_legal(by: Party, turn: &RecordedTurn, vocabulary: &Vocabulary) -> bool {
    let Some((method, params)) = turn.called() else { return true };
    let is_request = matches!(turn.said, Said::Request { .. });
    let kind = if is_request { MethodKind::Request } else { MethodKind::Notification };
    let is_own = method.starts_with('_') || method.starts_with("$/");
    let params = params.unwrap_or(&Value::Null);
    is_own || vocabulary.kind_of(by, method) == kind && fits(by, PayloadKind::Params(method), params, vocabulary)
}

/// Returns a text for a comment, without control characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Whether a payload fits the schema.
fn fits(by: Party, payload: PayloadKind<'_>, value: &Value, vocabulary: &Vocabulary) -> bool {
    vocabulary.misfits(by, payload, value).is_empty()
}

/// Returns a prompt as the intents in it, which any agent can follow.
fn by_intent(params: &Value) -> Value {
    let intent = |block: &Value| {
        let (_, intent) = block.get("text")?.as_str()?.rsplit_once(MARKER)?;
        serde_json::from_str::<Value>(intent).ok()
    };
    let mut params = params.clone();
    if let Some(Value::Array(blocks)) = params.get_mut("prompt") {
        let single = match blocks.as_slice() {
            [block] => intent(block),
            _ => None,
        };
        for block in blocks.iter_mut() {
            if let Some(intent) = intent(block) {
                *block = intent;
            }
        }
        if let Some(single) = single {
            params["prompt"] = single;
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
