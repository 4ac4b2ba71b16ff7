//! Applies a fault to the messages of the subject: lines in, lines out.
//!
//! The injector also gets the messages of the tester: it needs their ids and methods for the answers of the subject, and a
//! fault may change them before the subject gets them. The process must not get confused by answers to requests that the fault
//! invented, or whose id it changed: the first do not reach the process, and the second get its own id back. The injector has
//! no clock and no process; it releases a held message after another message or at the end of the stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::message::{fill, latin_1, put, take};
use super::model::{Change, Edit, Fault, Matcher, Selector};
use crate::wire::{Call, Content, Envelope, Frame, LineEnd, RpcId, read_line, write_json};

/// A fault in a subject, with a count of the changed messages.
#[derive(Debug, Clone)]
pub struct Planted {
    /// The fault.
    pub fault: Arc<Fault>,
    counts: Arc<[Count]>,
}

/// The counts of one edit.
#[derive(Debug, Default)]
struct Count {
    /// The number of messages that it selected.
    meant: AtomicUsize,
    /// The number of those messages that it changed.
    changed: AtomicUsize,
}

impl Planted {
    /// Plants the fault.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        let counts = fault.edits.iter().map(|_| Count::default()).collect();
        Self { fault: Arc::new(fault), counts }
    }

    /// Returns the number of changed messages so far, over all connections.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.counts.iter().map(|count| count.changed.load(Ordering::Relaxed)).sum()
    }

    /// Explains in a sentence, for each edit that changed no message so far, why not.
    #[must_use]
    pub fn idle(&self) -> Vec<String> {
        let several = self.counts.len() > 1;
        let tell = |(index, count): (usize, &Count)| {
            let name = if several { format!("its edit {}", index + 1) } else { "it".to_owned() };
            match count.meant.load(Ordering::Relaxed) {
                0 => format!("no message matched {name}"),
                _ => format!("the messages that match {name} already had the new values"),
            }
        };
        let idle = |(_, count): &(usize, &Count)| count.changed.load(Ordering::Relaxed) == 0;
        self.counts.iter().enumerate().filter(idle).map(tell).collect()
    }

    /// Creates the injector for one connection.
    #[must_use]
    pub fn injector(&self) -> Injector {
        let states = self.fault.edits.iter().map(|_| EditState::default()).collect();
        Injector {
            planted: self.clone(),
            asked: HashMap::new(),
            own: HashMap::new(),
            sessions: Vec::new(),
            initialize: None,
            states,
            foreign: HashMap::new(),
        }
    }
}

/// Applies the fault between a subject and its reader.
pub struct Injector {
    planted: Planted,
    /// The requests of the tester, with their method and their session.
    asked: HashMap<RpcId, (String, Option<String>)>,
    /// The requests of the subject, with their method and their session.
    own: HashMap<RpcId, (String, Option<String>)>,
    /// The sessions of the case, in the order in which they were opened.
    sessions: Vec<String>,
    /// The last `initialize` that the process received.
    initialize: Option<Value>,
    /// The state of each edit.
    states: Vec<EditState>,
    /// The ids of requests that the process did not send as such, with the id that it used.
    foreign: HashMap<RpcId, Option<Value>>,
}

/// The state of one edit.
#[derive(Default)]
struct EditState {
    /// How many messages fitted its `after`.
    before: usize,
    matched: usize,
    matched_until: usize,
    held: Vec<Frame>,
}

impl Injector {
    /// Restarts the count of matches for each edit, since a fault describes its effect in one case. The `initialize` of the process
    /// is the first message of each case.
    pub fn begin_case(&mut self) {
        self.sessions.clear();
        for state in &mut self.states {
            (state.before, state.matched, state.matched_until) = (0, 0, 0);
        }
        if let Some(initialize) = self.initialize.take() {
            let fault = Arc::clone(&self.planted.fault);
            self.meant(&fault.edits, true, &initialize);
            self.initialize = Some(initialize);
        }
    }

    /// Records a line that the tester sends, and returns the line that reaches the process.
    pub fn sent(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let Content::One { mut value, .. } = read_line(line) else { return Some(line.to_vec()) };
        let mut is_changed = false;
        if let Some((id, request)) = request(&value) {
            self.asked.insert(id, request);
        } else if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value)
            && let Some(own) = self.foreign.remove(&RpcId::new(id))
        {
            value["id"] = own?;
            is_changed = true;
        }
        let fault = Arc::clone(&self.planted.fault);
        self.note_session(&value);
        if value["method"] == "initialize" {
            self.initialize = Some(value.clone());
        }
        if let Some(index) = self.meant(&fault.edits, true, &value) {
            let change = &fault.edits[index].change;
            let count = &self.planted.counts[index];
            count.meant.fetch_add(1, Ordering::Relaxed);
            let is_edited = change_members(change, &mut value);
            if is_edited || change.drop {
                count.changed.fetch_add(1, Ordering::Relaxed);
            }
            is_changed |= is_edited;
            if change.drop {
                return None;
            }
        }
        if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value) {
            self.own.remove(&RpcId::new(id));
        }
        Some(if is_changed { write_json(&value).into_bytes() } else { line.to_vec() })
    }

    /// Takes a line of the subject, and returns the lines that replace it.
    pub fn received(&mut self, frame: Frame) -> Vec<Frame> {
        let fault = Arc::clone(&self.planted.fault);
        let Content::One { value, .. } = read_line(&frame.bytes) else { return vec![frame] };
        self.own.extend(request(&value));
        self.note_session(&value);
        let meant = self.meant(&fault.edits, false, &value);
        let mut lines = match meant {
            Some(index) => self.edit(index, &fault.edits[index].change, &value, frame),
            None => vec![frame],
        };
        for (index, edit) in fault.edits.iter().enumerate().filter(|(index, _)| Some(*index) != meant) {
            if self.releases(index, &edit.change, &value) {
                lines.append(&mut self.states[index].held);
            }
        }
        // An answered request is forgotten, since a session may run for days.
        if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value) {
            self.asked.remove(&RpcId::new(id));
        }
        lines
    }

    /// Returns the messages that were held back when the stream ended.
    pub fn finish(&mut self) -> Vec<Frame> {
        self.states.iter_mut().flat_map(|state| std::mem::take(&mut state.held)).collect()
    }

    /// Finds the first edit that selects this message; each edit counts its matches.
    fn meant(&mut self, edits: &[Edit], received: bool, message: &Value) -> Option<usize> {
        let mut meant = None;
        for (index, Edit { on, .. }) in edits.iter().enumerate() {
            let is_late = on.after.as_ref().is_none_or(|after| self.states[index].before >= after.nth.unwrap_or(1));
            if is_late && on.received == received && self.fits(on, message) {
                let matched = &mut self.states[index].matched;
                *matched += 1;
                if meant.is_none() && on.nth.is_none_or(|nth| nth == *matched) {
                    meant = Some(index);
                }
            }
            if on.after.as_ref().is_some_and(|after| after.received == received && self.fits(after, message)) {
                self.states[index].before += 1;
            }
        }
        meant
    }

    /// Takes note of a session that a message opens.
    fn note_session(&mut self, message: &Value) {
        let opened = ["/result/sessionId", "/params/sessionId"].iter().find_map(|at| message.pointer(at)?.as_str());
        if let Some(opened) = opened.filter(|opened| self.sessions.iter().all(|known| known != opened)) {
            self.sessions.push(opened.to_owned());
        }
    }

    /// Changes a message, and holds it back if the edit requires that.
    fn edit(&mut self, index: usize, change: &Change, message: &Value, frame: Frame) -> Vec<Frame> {
        self.planted.counts[index].meant.fetch_add(1, Ordering::Relaxed);
        let own = request_id(message);
        let lines = self.change(index, change, message.clone(), frame);
        self.note_foreign(own, &lines);
        let state = &mut self.states[index];
        let is_over = |until: &Matcher| until.nth.is_some_and(|nth| nth <= state.matched_until);
        if change.delay_until.as_ref().is_none_or(is_over) {
            return lines;
        }
        state.held.extend(lines);
        Vec::new()
    }

    /// Whether an edit holds others back until this message.
    fn releases(&mut self, index: usize, change: &Change, message: &Value) -> bool {
        let Some(until) = change.delay_until.as_ref().filter(|until| self.fits(until, message)) else { return false };
        let matched = &mut self.states[index].matched_until;
        *matched += 1;
        until.nth.is_none_or(|nth| nth == *matched)
    }

    /// Records requests in the output that the process did not send as such.
    fn note_foreign(&mut self, own: Option<Value>, lines: &[Frame]) {
        let ids: Vec<Value> = lines
            .iter()
            .filter_map(|frame| match read_line(&frame.bytes) {
                Content::One { value, .. } => request_id(&value),
                _ => None,
            })
            .collect();
        let mut lost = own.clone().filter(|own| !ids.contains(own));
        for id in ids.iter().filter(|id| Some(*id) != own.as_ref()) {
            self.foreign.insert(RpcId::new(id), lost.take());
        }
    }

    fn change(&self, index: usize, change: &Change, mut message: Value, frame: Frame) -> Vec<Frame> {
        let edited = change_members(change, &mut message);
        if edited || (!change.edits_members() && change.acts_on_lines()) {
            self.planted.counts[index].changed.fetch_add(1, Ordering::Relaxed);
        } else {
            return vec![frame];
        }
        let own = if edited { write_json(&message).into_bytes() } else { frame.bytes };
        let text = |template: &String| fill(template, &self.values(&message, &own));
        let middle = match &change.replace {
            Some(template) => lines(text(template).as_bytes()),
            None if change.latin_1 => vec![line(latin_1(&String::from_utf8_lossy(&own)))],
            None => vec![Frame { bytes: own.clone(), end: frame.end }],
        };
        let copies = if change.drop { 0 } else { 1 + usize::from(change.duplicate) };
        let mut all: Vec<Frame> = change.before.iter().flat_map(|template| lines(text(template).as_bytes())).collect();
        all.extend(std::iter::repeat_n(middle, copies).flatten());
        all.extend(change.after.iter().flat_map(|template| lines(text(template).as_bytes())));
        all
    }

    fn fits(&self, matcher: &Matcher, message: &Value) -> bool {
        let requests = if matcher.received { &self.own } else { &self.asked };
        let answered = |id: Option<&Value>, method: &str| {
            id.and_then(|id| requests.get(&RpcId::new(id))).is_some_and(|(asked, _)| asked == method)
        };
        let kind = match (&matcher.selector, Envelope::of(message)) {
            (Selector::Any, _) => true,
            (Selector::Method(method), Envelope::Call(call)) => call.method == method,
            (Selector::Update(variant), Envelope::Call(call)) => {
                call.method == "session/update"
                    && message.pointer("/params/update/sessionUpdate") == Some(&variant.as_str().into())
            }
            (Selector::ResultOf(method), Envelope::Response { id, result: Some(_), .. }) => answered(id, method),
            (Selector::ErrorOf(method), Envelope::Response { id, error: Some(_), .. }) => answered(id, method),
            _ => false,
        };
        let is_in = |nth: usize| {
            let named = ["/params/sessionId", "/result/sessionId"].iter().find_map(|at| message.pointer(at)?.as_str());
            let asked = || requests.get(&RpcId::new(message.get("id")?))?.1.as_deref();
            let session = named.or_else(asked);
            session.is_some() && session == self.sessions.get(nth - 1).map(String::as_str)
        };
        kind && matcher.session.is_none_or(is_in)
            && matcher.wanted.iter().all(|(at, value)| message.pointer(at).unwrap_or(&Value::Null) == value)
    }

    /// Returns the values of the placeholders of a text in addition to this message.
    fn values(&self, message: &Value, line: &[u8]) -> [(&'static str, String); 5] {
        let id = message.get("id");
        let named = ["/params/sessionId", "/result/sessionId"].iter().find_map(|at| message.pointer(at)?.as_str());
        let asked = || id.and_then(|id| self.asked.get(&RpcId::new(id))?.1.clone());
        [
            ("{id}", id.unwrap_or(&Value::Null).to_string()),
            ("{count}", self.planted.changed().to_string()),
            ("{session}", spelt(&named.map(str::to_owned).or_else(asked).unwrap_or_default())),
            ("{message}", String::from_utf8_lossy(line).into_owned()),
            ("{pretty}", format!("{message:#}")),
        ]
    }
}

/// Changes the members of a message, and returns whether that made a difference.
fn change_members(change: &Change, message: &mut Value) -> bool {
    let mut edited = false;
    for (from, to) in &change.rename {
        if let Some(value) = take(message, from) {
            edited |= put(message, to, value);
        }
    }
    for (at, value) in &change.set {
        edited |= put(message, at, value.clone());
    }
    for at in &change.remove {
        edited |= take(message, at).is_some();
    }
    edited
}

/// Returns the id of a request, with its method and its session.
fn request(message: &Value) -> Option<(RpcId, (String, Option<String>))> {
    let Envelope::Call(Call { id: Some(id), method, params }) = Envelope::of(message) else { return None };
    let session = params.and_then(|params| params.get("sessionId")?.as_str()).map(str::to_owned);
    Some((RpcId::new(id), (method.to_owned(), session)))
}

/// Returns a text as JSON spells it between the quotes.
fn spelt(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the id of a request.
fn request_id(message: &Value) -> Option<Value> {
    match Envelope::of(message) {
        Envelope::Call(call) => call.id.cloned(),
        _ => None,
    }
}

fn line(bytes: Vec<u8>) -> Frame {
    Frame { bytes, end: LineEnd::Lf }
}

/// Splits a text into lines.
fn lines(text: &[u8]) -> Vec<Frame> {
    text.split(|&byte| byte == b'\n').map(|bytes| line(bytes.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V1;
    use crate::fault::load_bytes;

    /// Sends the tester's line and the subject's lines through an injector, and returns its output and the count of changes.
    fn through(edit: &str, asked: &str, said: &[&str]) -> (Vec<String>, usize) {
        let text = format!("title: t\nkills: prompt.stop-reason\ncase: v1/agent/x\n{edit}");
        let (fault, problems) = load_bytes("cases/faults/x.yaml", text.as_bytes(), V1.edition(), &["v1/agent/x"]);
        let planted = Planted::new(fault.unwrap_or_else(|| panic!("{problems:?}")));
        let mut injector = planted.injector();
        injector.sent(asked.as_bytes());
        let mut out: Vec<Frame> =
            said.iter().flat_map(|text| injector.received(line(text.as_bytes().to_vec()))).collect();
        out.extend(injector.finish());
        (out.into_iter().map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned()).collect(), planted.changed())
    }

    const ASKED: &str = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1"}}"#;
    const UPDATE: &str = r#"{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"plan"}}}"#;
    const ANSWER: &str = r#"{"id":3,"result":{"stopReason":"end_turn"}}"#;
    const OTHER: &str = r#"{"id":4,"result":{"stopReason":"end_turn"}}"#;

    #[test]
    fn changes_only_answers_to_the_method() {
        let (out, fired) =
            through("match: {result-of: session/prompt}\ndo: {remove: [/result/stopReason]}", ASKED, &[OTHER, ANSWER]);
        assert_eq!((out, fired), (vec![OTHER.to_owned(), r#"{"id":3,"result":{}}"#.to_owned()], 1));
    }

    #[test]
    fn texts_contain_the_message_and_its_session() {
        let edit = "match: {result-of: session/prompt}\ndo: {before: 'x {id} {session} {count}', after: '{message}{message}', drop: true}";
        let (out, _) = through(edit, ASKED, &[ANSWER]);
        assert_eq!(out, ["x 3 s1 1".to_owned(), format!("{ANSWER}{ANSWER}")]);
        let (out, _) = through("match: {any: true}\ndo: {replace: '{pretty}'}", ASKED, &["{\"a\":1}"]);
        assert_eq!(out, ["{", "  \"a\": 1", "}"]);
    }

    #[test]
    fn unusual_session_id_is_spelt_as_in_json() {
        let update = r#"{"method":"session/update","params":{"sessionId":"a\\\"","update":{"sessionUpdate":"plan"}}}"#;
        let (out, _) = through("match: {update: plan}\ndo: {replace: '[\"{session}\"]'}", ASKED, &[update]);
        assert_eq!(out, [r#"["a\\\""]"#]);
    }

    #[test]
    fn nth_selects_one_match() {
        let edit =
            "match: {update: plan, where: {/params/sessionId: s1, /params/none: null}, nth: 2}\ndo: {drop: true}";
        let (out, fired) = through(edit, ASKED, &[UPDATE, UPDATE, UPDATE]);
        assert_eq!((out.len(), fired), (2, 1));
    }

    #[test]
    fn messages_can_be_meant_after_another_and_in_a_session() {
        let edit = "match: {update: plan, session: 2, after: {received: true, method: session/prompt}, nth: 2}\ndo: {drop: true}";
        let other = UPDATE.replace("s1", "s2");
        let (out, fired) = through(edit, ASKED, &[UPDATE, &other, UPDATE, &other, &other]);
        assert_eq!((out.len(), fired), (4, 1));
        let (_, fired) = through(&edit.replace("session/prompt", "session/cancel"), ASKED, &[UPDATE, &other, &other]);
        assert_eq!(fired, 0, "it was not cancelled");
        let answer = "match: {result-of: session/prompt, session: 1}\ndo: {drop: true}";
        assert_eq!(through(answer, ASKED, &[ANSWER]).1, 1);
        assert_eq!(through(&answer.replace("session: 1", "session: 2"), ASKED, &[&other, ANSWER]).1, 0);
    }

    #[test]
    fn holds_a_message_back_until_another_one_or_the_end() {
        let edit = "match: {update: plan}\ndo: {delay-until: {result-of: session/prompt}}";
        let (out, _) = through(edit, ASKED, &[UPDATE, ANSWER, OTHER, UPDATE]);
        assert_eq!(out, [ANSWER, UPDATE, OTHER, UPDATE]);
    }

    #[test]
    fn does_not_await_a_unique_message_that_has_come() {
        let edit = "match: {update: plan}\ndo: {delay-until: {result-of: session/prompt, nth: 1}}";
        let (out, _) = through(edit, ASKED, &[UPDATE, ANSWER, UPDATE, OTHER]);
        assert_eq!(out, [ANSWER, UPDATE, UPDATE, OTHER]);
    }

    #[test]
    fn first_matching_edit_changes_a_message_and_each_has_its_own_count() {
        let edits = "edits:
  - { match: {update: plan, nth: 1}, do: {set: {/first: true}} }
  - { match: {update: plan, nth: 2}, do: {set: {/second: true}} }
  - { match: {any: true}, do: {set: {/rest: true}} }";
        let (out, fired) = through(edits, ASKED, &[UPDATE, UPDATE, UPDATE]);
        let marked = |line: &String, mark: &str| line.contains(&format!("\"{mark}\":true"));
        let marks: Vec<_> = out.iter().map(|line| ["first", "second", "rest"].map(|mark| marked(line, mark))).collect();
        assert_eq!(marks, [[true, false, false], [false, true, false], [false, false, true]]);
        assert_eq!(fired, 3);
    }

    #[test]
    fn a_changed_message_still_ends_the_wait_of_another_edit() {
        let edits = "edits:
  - { match: {update: plan}, do: {delay-until: {result-of: session/prompt}} }
  - { match: {result-of: session/prompt}, do: {remove: [/result/stopReason]} }";
        let (out, _) = through(edits, ASKED, &[UPDATE, ANSWER]);
        assert_eq!(out, [r#"{"id":3,"result":{}}"#, UPDATE]);
    }

    #[test]
    fn reports_edits_that_changed_nothing() {
        let plant = |edits: &str| {
            let text = format!("title: t\nkills: prompt.stop-reason\ncase: c\n{edits}");
            Planted::new(load_bytes("x.yaml", text.as_bytes(), V1.edition(), &["c"]).0.expect("a fault"))
        };
        let planted = plant("match: {any: true}\ndo: {set: {/id: 3}}");
        planted.injector().received(line(ANSWER.as_bytes().to_vec()));
        assert_eq!(planted.idle(), ["the messages that match it already had the new values"]);
        let edits = "edits:
  - { match: {any: true}, do: {set: {/a: 1}} }
  - { match: {update: plan}, do: {drop: true} }";
        let planted = plant(edits);
        assert_eq!(planted.idle().len(), 2);
        planted.injector().received(line(ANSWER.as_bytes().to_vec()));
        assert_eq!(planted.idle(), ["no message matched its edit 2"]);
    }

    #[test]
    fn answers_return_to_the_process() {
        let (fault, _) = load_bytes(
            "x.yaml",
            b"title: t\nkills: prompt.stop-reason\ncase: c\nmatch: {any: true}\ndo: {set: {/id: true}, after: '{\"id\":9,\"method\":\"_x\"}'}",
            V1.edition(),
            &["c"],
        );
        let mut injector = Planted::new(fault.expect("a fault")).injector();
        let _ = injector.received(line(b"{\"id\":1,\"method\":\"fs/read_text_file\"}".to_vec()));
        let reaches = |text: &[u8], injector: &mut Injector| {
            injector.sent(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_eq!(reaches(b"{\"id\":true,\"result\":{}}", &mut injector).as_deref(), Some("{\"id\":1,\"result\":{}}"));
        assert_eq!(reaches(b"{\"id\":9,\"result\":{}}", &mut injector), None);
        assert_eq!(reaches(b"{\"id\":2,\"result\":{}}", &mut injector).as_deref(), Some("{\"id\":2,\"result\":{}}"));
    }

    #[test]
    fn changes_a_message_on_its_way_to_the_subject() {
        let edits = "edits:
  - { match: {received: true, result-of: fs/read_text_file}, do: {set: {/result/content: x}} }
  - { match: {received: true, method: session/prompt, nth: 2}, do: {drop: true} }";
        let text = format!("title: t\nkills: prompt.stop-reason\ncase: c\n{edits}");
        let (fault, problems) = load_bytes("x.yaml", text.as_bytes(), V1.edition(), &["c"]);
        let planted = Planted::new(fault.unwrap_or_else(|| panic!("{problems:?}")));
        let mut injector = planted.injector();
        let read = r#"{"id":1,"method":"fs/read_text_file"}"#;
        assert_eq!(injector.received(line(read.into())), [line(read.into())]);
        let mut reaches =
            |text: &str| injector.sent(text.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"));
        assert_eq!(reaches(r#"{"id":1,"result":{}}"#).as_deref(), Some(r#"{"id":1,"result":{"content":"x"}}"#));
        assert_eq!(reaches(r#"{"id":1,"result":{}}"#).as_deref(), Some(r#"{"id":1,"result":{}}"#), "it was answered");
        assert_eq!(reaches(ASKED).as_deref(), Some(ASKED));
        assert_eq!(reaches(ASKED), None);
        assert_eq!((planted.changed(), planted.idle()), (2, vec![]));
    }

    #[test]
    fn edits_without_a_difference_do_not_count() {
        let (out, fired) = through("match: {any: true}\ndo: {remove: [/result/x], set: {/id: 3}}", ASKED, &[ANSWER]);
        assert_eq!((out, fired), (vec![ANSWER.to_owned()], 0));
        let (out, fired) = through("match: {any: true}\ndo: {drop: true}", ASKED, &["no JSON"]);
        assert_eq!((out, fired), (vec!["no JSON".to_owned()], 0));
    }
}
