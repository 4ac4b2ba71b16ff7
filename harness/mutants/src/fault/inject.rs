//! Applies the edits of a fault to the messages of a program: lines in, lines out.
//!
//! The injector also gets the messages of the other side: it needs their ids and methods for the answers of the
//! program, and an edit may change them before the program gets them. The program must not get confused by answers to
//! requests that the fault invented, or whose id it changed: the first do not reach the program, and the second get its
//! own id back. The injector has no clock; it releases a held message after another message or at the end of the
//! stream.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use acp_conformance::wire::{Call, Content, Envelope, RpcId, read_line, write_json};
use serde_json::Value;

use super::edit::{fill, latin_1, put, take};
use super::file::{ChangeFile, EditFile, MatchFile};

/// The lines that an injector makes of one line.
#[derive(Debug, Default)]
pub struct Passed {
    /// The lines for the program.
    pub to_program: Vec<Vec<u8>>,
    /// The lines for the other side.
    pub to_other: Vec<Vec<u8>>,
    /// Whether the program ends after these lines.
    pub ends: bool,
}

/// Applies edits to the lines of one connection.
#[derive(Default)]
pub struct Injector {
    edits: Vec<EditState>,
    /// The requests of the other side, with their method and their session.
    asked: HashMap<RpcId, (String, Option<String>)>,
    /// The requests of the program, with their method and their session.
    own: HashMap<RpcId, (String, Option<String>)>,
    /// The sessions, in the order in which they were opened.
    sessions: Vec<String>,
    /// The ids of requests that the program did not send as such, with the id that it used.
    foreign: HashMap<RpcId, Option<Value>>,
    /// The file that gets a line with the number of an edit when that first changes a message.
    effects: Option<PathBuf>,
    /// The values that edits remember.
    kept: BTreeMap<String, Value>,
    /// The number of changed messages.
    changed: usize,
}

/// One edit and its state.
#[derive(Default)]
struct EditState {
    edit: EditFile,
    /// The number of messages that fitted its `after`.
    before: usize,
    /// Whether a message has fitted its `until`, and none its `after` since then.
    is_over: bool,
    matched: usize,
    matched_until: usize,
    /// Whether it has changed a message.
    shows: bool,
    held: Vec<Vec<u8>>,
}

impl Injector {
    /// Creates the injector of a connection.
    pub fn new(edits: &[EditFile], effects: Option<PathBuf>) -> Self {
        let edits = edits.iter().map(|edit| EditState { edit: edit.clone(), ..EditState::default() }).collect();
        Self { edits, effects, ..Self::default() }
    }

    /// Takes a line of the other side.
    pub fn inward(&mut self, line: Vec<u8>) -> Passed {
        let mut passed = Passed::default();
        let Content::One { mut value, .. } = read_line(&line) else {
            return Passed { to_program: vec![line], ..passed };
        };
        let (mut is_changed, mut is_dropped) = (false, false);
        if let Some((id, request)) = request(&value) {
            self.asked.insert(id, request);
        } else if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value)
            && let Some(own) = self.foreign.remove(&RpcId::new(id))
        {
            (is_changed, is_dropped) = (own.is_some(), own.is_none());
            if let Some(own) = own {
                value["id"] = own;
            }
        }
        self.note_session(&value);
        if let Some(index) = self.selected(true, &value) {
            let change = self.edits[index].edit.change.clone();
            let is_edited = self.change_members(&change, &mut value);
            if is_edited || change.acts_on_lines() {
                self.count(index);
            }
            is_changed |= is_edited;
            is_dropped |= change.drop.is_some() || change.end.is_some();
            passed.ends = change.end.is_some();
            let reply: Vec<_> = change.reply.iter().flat_map(|text| self.text(text, &value, &line)).collect();
            self.note_foreign(None, &reply);
            passed.to_other = reply;
        }
        if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value) {
            self.own.remove(&RpcId::new(id));
        }
        if !is_dropped {
            passed.to_program.push(if is_changed { write_json(&value).into_bytes() } else { line });
        }
        passed
    }

    /// Takes a line of the program.
    pub fn outward(&mut self, line: Vec<u8>) -> Passed {
        let mut passed = Passed::default();
        let Content::One { value, .. } = read_line(&line) else { return Passed { to_other: vec![line], ..passed } };
        self.own.extend(request(&value));
        self.note_session(&value);
        let selected = self.selected(false, &value);
        if let Some(index) = selected {
            let ChangeFile { reply, end, .. } = self.edits[index].edit.change.clone();
            passed.to_program.extend(reply.iter().flat_map(|text| self.text(text, &value, &line)));
            passed.to_other = self.edit(index, &value, line);
            passed.ends = end.is_some();
        } else {
            passed.to_other.push(line);
        }
        for index in (0..self.edits.len()).filter(|index| Some(*index) != selected) {
            if self.releases(index, &value) {
                passed.to_other.append(&mut self.edits[index].held);
            }
        }
        // An answered request is forgotten, since a session may run for days.
        if let Envelope::Response { id: Some(id), .. } = Envelope::of(&value) {
            self.asked.remove(&RpcId::new(id));
        }
        passed
    }

    /// Returns the messages that were held back when the stream ended.
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        self.edits.iter_mut().flat_map(|state| std::mem::take(&mut state.held)).collect()
    }

    /// Finds the first edit that selects this message; each edit counts its matches.
    fn selected(&mut self, received: bool, message: &Value) -> Option<usize> {
        let mut selected = None;
        for index in 0..self.edits.len() {
            let EditState { edit: EditFile { on, .. }, before, is_over, .. } = &self.edits[index];
            let after = on.after.as_deref();
            let is_late = after.map_or(!is_over, |after| *before >= after.nth.unwrap_or(1));
            let is_match = is_late && on.received.is_some() == received && self.fits(on, message);
            let comes = |other: &MatchFile| other.received.is_some() == received && self.fits(other, message);
            let (comes_before, ends) = (after.is_some_and(comes), on.until.as_deref().is_some_and(comes));
            let state = &mut self.edits[index];
            if ends {
                (state.before, state.is_over) = (0, true);
            }
            state.matched += usize::from(is_match);
            state.before += usize::from(comes_before);
            if is_match && selected.is_none() && state.edit.on.nth.is_none_or(|nth| nth == state.matched) {
                selected = Some(index);
            }
        }
        selected
    }

    /// Takes note of a session that a message opens.
    fn note_session(&mut self, message: &Value) {
        let opened = named_session(message);
        if let Some(opened) = opened.filter(|opened| self.sessions.iter().all(|known| known != opened)) {
            self.sessions.push(opened.to_owned());
        }
    }

    /// Counts a changed message.
    fn count(&mut self, index: usize) {
        self.changed += 1;
        if std::mem::replace(&mut self.edits[index].shows, true) {
            return;
        }
        if let Some(path) = &self.effects {
            // The test that reads the file notices a missing line.
            let file = OpenOptions::new().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(format!("{index}\n").as_bytes()));
        }
    }

    /// Changes a message, and holds it back if the edit requires that.
    fn edit(&mut self, index: usize, message: &Value, line: Vec<u8>) -> Vec<Vec<u8>> {
        let own = request_id(message);
        let lines = self.change(index, message.clone(), line);
        self.note_foreign(own, &lines);
        let state = &mut self.edits[index];
        let is_over = |until: &MatchFile| until.nth.is_some_and(|nth| nth <= state.matched_until);
        if state.edit.change.delay_until.as_ref().is_none_or(is_over) {
            return lines;
        }
        state.held.extend(lines);
        Vec::new()
    }

    /// Whether an edit holds others back until this message.
    fn releases(&mut self, index: usize, message: &Value) -> bool {
        let until = self.edits[index].edit.change.delay_until.as_ref();
        let Some(nth) = until.filter(|until| self.fits(until, message)).map(|until| until.nth) else { return false };
        let matched = &mut self.edits[index].matched_until;
        *matched += 1;
        nth.is_none_or(|nth| nth == *matched)
    }

    /// Records requests in the output that the program did not send as such.
    fn note_foreign(&mut self, own: Option<Value>, lines: &[Vec<u8>]) {
        let id_of = |line: &Vec<u8>| match read_line(line) {
            Content::One { value, .. } => request_id(&value),
            _ => None,
        };
        let ids: Vec<Value> = lines.iter().filter_map(id_of).collect();
        let mut lost = own.clone().filter(|own| !ids.contains(own));
        for id in ids.iter().filter(|id| Some(*id) != own.as_ref()) {
            self.foreign.insert(RpcId::new(id), lost.take());
        }
    }

    fn change(&mut self, index: usize, mut message: Value, line: Vec<u8>) -> Vec<Vec<u8>> {
        let change = self.edits[index].edit.change.clone();
        let is_edited = self.change_members(&change, &mut message);
        if !is_edited && (change.edits_members() || !change.acts_on_lines()) {
            return vec![line];
        }
        self.count(index);
        let own = if is_edited { write_json(&message).into_bytes() } else { line };
        let text = |template: &String| self.text(template, &message, &own);
        let middle = match &change.replace {
            Some(template) => text(template),
            None if change.latin_1.is_some() => vec![latin_1(&String::from_utf8_lossy(&own))],
            None => vec![own.clone()],
        };
        let copies = if change.drop.is_some() { 0 } else { 1 + usize::from(change.duplicate.is_some()) };
        let mut all: Vec<Vec<u8>> = change.before.iter().flat_map(text).collect();
        all.extend(std::iter::repeat_n(middle, copies).flatten());
        all.extend(change.after.iter().flat_map(text));
        all
    }

    fn fits(&self, on: &MatchFile, message: &Value) -> bool {
        let requests = if on.received.is_some() { &self.own } else { &self.asked };
        let answers = |id: Option<&Value>, method: &Option<String>| {
            let asked = id.and_then(|id| requests.get(&RpcId::new(id)));
            method.as_ref().is_some_and(|method| asked.is_some_and(|(asked, _)| asked == method))
        };
        let is_kind = match Envelope::of(message) {
            Envelope::Call(call) => {
                let update = message.pointer("/params/update/sessionUpdate").and_then(Value::as_str);
                on.method.as_deref() == Some(call.method)
                    || call.method == "session/update" && update.is_some() && on.update.as_deref() == update
            }
            Envelope::Response { id, result: Some(_), .. } => answers(id, &on.result_of),
            Envelope::Response { id, error: Some(_), .. } => answers(id, &on.error_of),
            _ => false,
        };
        let asked = || requests.get(&RpcId::new(message.get("id")?))?.1.as_deref();
        let session = named_session(message).or_else(asked);
        let is_in = |nth: usize| session.is_some() && session == self.sessions.get(nth - 1).map(String::as_str);
        let is_open = |method: &String| {
            self.asked.values().chain(self.own.values()).any(|(open, of)| open == method && of.as_deref() == session)
        };
        let member = |at: &String| message.pointer(at).unwrap_or(&Value::Null);
        let is_excluded = |(at, values): (&String, &Value)| match values {
            Value::Array(values) => values.contains(member(at)),
            value => member(at) == value,
        };
        (is_kind || on.any.is_some())
            && on.session.is_none_or(is_in)
            && on.wanted.iter().all(|(at, value)| member(at) == value)
            && on.one_of.iter().all(|(at, values)| values.contains(member(at)))
            && !on.unless.iter().any(is_excluded)
            && on.open.as_ref().is_none_or(is_open)
            && !on.not_open.as_ref().is_some_and(is_open)
    }

    /// Returns the lines of a text with its placeholders filled.
    fn text(&self, template: &str, message: &Value, line: &[u8]) -> Vec<Vec<u8>> {
        let text = fill(template, &self.values(message, line));
        text.split('\n').map(|line| line.as_bytes().to_vec()).collect()
    }

    /// Changes the members of a message, and returns whether that made a difference.
    fn change_members(&mut self, change: &ChangeFile, message: &mut Value) -> bool {
        for (name, at) in &change.keep {
            self.kept.extend(message.pointer(at).map(|value| (name.clone(), value.clone())));
        }
        let mut edited = false;
        for (from, to) in &change.rename {
            if let Some(value) = take(message, from) {
                edited |= put(message, to, value);
            }
        }
        for (at, value) in &change.set {
            let name = value.as_str().and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
            // Nothing is set before the value is known.
            let value = name.map_or(Some(value), |name| self.kept.get(name)).cloned();
            edited |= value.is_some_and(|value| put(message, at, value));
        }
        for (at, text) in &change.append {
            if let Some(Value::String(member)) = message.pointer_mut(at) {
                member.push_str(text);
                edited = true;
            }
        }
        for at in &change.remove {
            edited |= take(message, at).is_some();
        }
        edited
    }

    /// Returns the values of the placeholders of a text in addition to this message.
    fn values(&self, message: &Value, line: &[u8]) -> [(&'static str, String); 6] {
        let id = message.get("id");
        let asked = || id.and_then(|id| self.asked.get(&RpcId::new(id))?.1.as_deref());
        let session = Value::from(named_session(message).or_else(asked).unwrap_or_default()).to_string();
        [
            ("{id}", id.unwrap_or(&Value::Null).to_string()),
            ("{count}", self.changed.to_string()),
            ("{session}", session[1..session.len() - 1].to_owned()),
            ("{params}", message.get("params").unwrap_or(&Value::Null).to_string()),
            ("{message}", String::from_utf8_lossy(line).into_owned()),
            ("{pretty}", format!("{message:#}")),
        ]
    }
}

fn named_session(message: &Value) -> Option<&str> {
    ["/params/sessionId", "/result/sessionId"].iter().find_map(|at| message.pointer(at)?.as_str())
}

/// Returns the id of a request, with its method and its session.
fn request(message: &Value) -> Option<(RpcId, (String, Option<String>))> {
    let Envelope::Call(Call { id: Some(id), method, params }) = Envelope::of(message) else { return None };
    let session = params.and_then(|params| params.get("sessionId")?.as_str()).map(str::to_owned);
    Some((RpcId::new(id), (method.to_owned(), session)))
}

fn request_id(message: &Value) -> Option<Value> {
    match Envelope::of(message) {
        Envelope::Call(call) => call.id.cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn injector(edits: &str) -> Injector {
        let text = format!("title: t\nkills: prompt.stop-reason\ncase: v1/agent/x\n{edits}");
        Injector::new(&Fault::parse("x.yaml", text.as_bytes()).expect("a fault").edits, None)
    }

    /// Sends the tester's line and the program's lines through an injector, and returns its output and the count of
    /// changes.
    fn through(edits: &str, asked: &str, said: &[&str]) -> (Vec<String>, usize) {
        let mut injector = injector(edits);
        injector.inward(asked.into());
        let mut out: Vec<Vec<u8>> = said.iter().flat_map(|text| injector.outward((*text).into()).to_other).collect();
        out.extend(injector.finish());
        (out.into_iter().map(|line| String::from_utf8_lossy(&line).into_owned()).collect(), injector.changed)
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
    fn reports_the_first_effect_of_each_edit() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("effects");
        let edits = "edits:
  - { match: {update: plan}, do: {set: {/method: session/update}} }
  - { match: {any: true}, do: {set: {/a: 1}} }";
        let mut injector = Injector { effects: Some(path.clone()), ..injector(edits) };
        [UPDATE, ANSWER, OTHER].iter().for_each(|line| drop(injector.outward((*line).into())));
        assert_eq!(std::fs::read_to_string(path).expect("a file"), "1\n", "the update has the new value already");
    }

    #[test]
    fn answers_return_to_the_process() {
        let mut injector =
            injector("match: {any: true}\ndo: {set: {/id: true}, after: '{\"id\":9,\"method\":\"_x\"}'}");
        let _ = injector.outward(b"{\"id\":1,\"method\":\"fs/read_text_file\"}".to_vec());
        let reaches = |text: &[u8], injector: &mut Injector| {
            injector.inward(text.to_vec()).to_program.pop().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
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
        let mut injector = injector(edits);
        let read = r#"{"id":1,"method":"fs/read_text_file"}"#;
        assert_eq!(injector.outward(read.into()).to_other, [read.as_bytes()]);
        let mut reaches = |text: &str| {
            injector.inward(text.into()).to_program.pop().map(|bytes| String::from_utf8(bytes).expect("text"))
        };
        assert_eq!(reaches(r#"{"id":1,"result":{}}"#).as_deref(), Some(r#"{"id":1,"result":{"content":"x"}}"#));
        assert_eq!(reaches(r#"{"id":1,"result":{}}"#).as_deref(), Some(r#"{"id":1,"result":{}}"#), "it was answered");
        assert_eq!(reaches(ASKED).as_deref(), Some(ASKED));
        assert_eq!(reaches(ASKED), None);
        assert_eq!(injector.changed, 2);
    }

    #[test]
    fn remembers_values_replies_and_ends_within_bounds() {
        let edits = "edits:
  - { match: {result-of: session/new}, do: {keep: {id: /result/sessionId}, set: {/result/sessionId: same}} }
  - { match: {received: true, any: true, where: {/params/sessionId: same}, not-open: session/prompt},
      do: {set: {/params/sessionId: '{id}'}} }
  - { match: {update: plan, after: {received: true, method: session/cancel}, until: {any: true, unless: {/id: [null]}}},
      do: {drop: true, reply: '[{params}]'} }
  - { match: {received: true, method: $/cancel_request, open: session/load}, do: {end: true, reply: 'x'} }";
        let mut injector = injector(edits);
        let text = |lines: Vec<Vec<u8>>| {
            lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect::<String>()
        };
        injector.inward(br#"{"id":1,"method":"session/new"}"#.to_vec());
        let opened = injector.outward(br#"{"id":1,"result":{"sessionId":"s1"}}"#.to_vec()).to_other;
        assert_eq!(text(opened), r#"{"id":1,"result":{"sessionId":"same"}}"#);
        let cancel = r#"{"method":"session/cancel","params":{"sessionId":"same"}}"#;
        assert_eq!(text(injector.inward(cancel.into()).to_program), cancel.replace("same", "s1"));
        let dropped = injector.outward(UPDATE.into());
        assert!(dropped.to_other.is_empty() && text(dropped.to_program).starts_with("[{\"sessionId\":\"s1\""));
        injector.outward(ANSWER.into());
        assert_eq!(injector.outward(UPDATE.into()).to_other.len(), 1);
        let cancel = r#"{"method":"$/cancel_request","params":{"sessionId":"s1"}}"#;
        assert!(!injector.inward(cancel.into()).ends, "nothing is open");
        injector.inward(br#"{"id":2,"method":"session/load","params":{"sessionId":"s1"}}"#.to_vec());
        let ended = injector.inward(cancel.into());
        assert_eq!((ended.ends, ended.to_program.len(), text(ended.to_other)), (true, 0, "x".to_owned()));
    }

    #[test]
    fn edits_without_a_difference_do_not_count() {
        let (out, fired) = through("match: {any: true}\ndo: {remove: [/result/x], set: {/id: 3}}", ASKED, &[ANSWER]);
        assert_eq!((out, fired), (vec![ANSWER.to_owned()], 0));
        let (out, fired) = through("match: {any: true}\ndo: {drop: true}", ASKED, &["no JSON"]);
        assert_eq!((out, fired), (vec!["no JSON".to_owned()], 0));
    }
}
