//! Faults of terminals.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{calls, ends_turn},
};

/// Returns the terminal of a request.
fn terminal(message: &Value) -> Option<&str> {
    message.pointer("/params/terminalId")?.as_str()
}

/// Gives a shell the command and its arguments as one text.
pub(super) fn join_args(message: &mut Value) {
    if calls(message, "terminal/create") {
        let params = &mut message["params"];
        let args = params["args"].as_array().into_iter().flatten();
        let words: Vec<&str> = std::iter::once(&params["command"]).chain(args).filter_map(Value::as_str).collect();
        let line = words.join(" ");
        params["command"] = "sh".into();
        params["args"] = json!(["-c", line]);
    }
}

/// Composes a letter and its accent in the arguments of a command.
pub(super) fn compose_args(message: &mut Value) {
    for arg in message.pointer_mut("/params/args").and_then(Value::as_array_mut).into_iter().flatten() {
        *arg = arg.as_str().unwrap_or_default().replace("e\u{301}", "\u{e9}").into();
    }
}

/// Removes the byte limit from a `terminal/create`.
fn forget_limit(message: &mut Value) {
    if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) {
        params.shift_remove("outputByteLimit");
    }
}

/// Messages that wait for the answer to a request of the layer itself, each with the id of that request.
#[derive(Default)]
struct Held(Vec<(Value, Value)>);

impl Held {
    /// Holds a message until the client answers this request about a terminal.
    fn hold(&mut self, message: Value, method: &str, params: Value, onward: &mut Onward) {
        self.0.push((onward.ask_inward(method, params), message));
    }

    /// Returns the message that waited for an answer.
    fn release(&mut self, answer: &Value) -> Option<Value> {
        let at = self.0.iter().position(|(id, _)| *id == answer["id"])?;
        Some(self.0.remove(at).1)
    }
}

/// Answers `terminal/create` when the command has exited.
#[derive(Default)]
pub(super) struct CreateWaits {
    held: Held,
}

impl Layer for CreateWaits {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let request = onward.answers("terminal/create").filter(|_| message.get("result").is_some());
        match request {
            Some(request) => {
                let (session, terminal) = (&request["params"]["sessionId"], &message["result"]["terminalId"]);
                let params = json!({"sessionId": session, "terminalId": terminal});
                self.held.hold(message, "terminal/wait_for_exit", params, onward);
            }
            None => onward.outward(message),
        }
    }

    fn answered(&mut self, answer: Value, onward: &mut Onward) {
        self.held.release(&answer).into_iter().for_each(|created| onward.outward(created));
    }
}

/// Answers `terminal/output` when the command has exited.
#[derive(Default)]
pub(super) struct OutputWaits {
    held: Held,
}

impl Layer for OutputWaits {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "terminal/output") {
            let params = message["params"].clone();
            return self.held.hold(message, "terminal/wait_for_exit", params, onward);
        }
        if ends_turn(&message) {
            self.held.0.drain(..).for_each(|(_, request)| onward.inward(request));
        }
        onward.inward(message);
    }

    fn answered(&mut self, answer: Value, onward: &mut Onward) {
        self.held.release(&answer).into_iter().for_each(|request| onward.inward(request));
    }
}

/// Never answers a wait for a command that has already exited.
#[derive(Default)]
pub(super) struct WaitHangs {
    held: Held,
}

impl Layer for WaitHangs {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "terminal/wait_for_exit") {
            let params = message["params"].clone();
            self.held.hold(message, "terminal/output", params, onward);
        } else {
            onward.inward(message);
        }
    }

    fn answered(&mut self, answer: Value, onward: &mut Onward) {
        let wait = self.held.release(&answer).filter(|_| answer.pointer("/result/exitStatus").is_none());
        wait.into_iter().for_each(|wait| onward.inward(wait));
    }
}

/// Changes the outputs that the agent gets.
pub(super) struct Outputs {
    change: fn(&mut Value, &mut String),
    /// The texts that a change stores, by terminal.
    sent: HashMap<String, String>,
}

impl Outputs {
    /// Changes each result of `terminal/output`; the text is kept for the next one of the same terminal.
    pub(super) fn new(change: fn(&mut Value, &mut String)) -> Self {
        Self { change, sent: HashMap::new() }
    }
}

impl Layer for Outputs {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if let Some(request) = onward.answers("terminal/output")
            && let Some(result) = message.get_mut("result")
        {
            let sent = self.sent.entry(terminal(&request).unwrap_or_default().to_owned()).or_default();
            (self.change)(result, sent);
        }
        onward.outward(message);
    }
}

/// Removes the output that an earlier answer contained.
pub(super) fn remove_sent(result: &mut Value, sent: &mut String) {
    let all = result["output"].as_str().unwrap_or_default().to_owned();
    result["output"] = all.strip_prefix(sent.as_str()).unwrap_or_default().into();
    *sent = all;
}

/// Removes the last line of a command that has exited.
pub(super) fn lose_last_line(result: &mut Value, _: &mut String) {
    let output = result["output"].as_str().unwrap_or_default();
    if result.get("exitStatus").is_some() {
        let end = output.trim_end_matches('\n').rfind('\n').map_or(0, |end| end + 1);
        result["output"] = output[..end].into();
    }
}

/// Hides the byte limits from the client, and cuts the output in another way.
pub(super) struct Cut {
    cut: fn(&str, usize) -> Option<String>,
    /// The limits in open requests for terminals, by the id of the request.
    asked: HashMap<String, usize>,
    /// The limits of terminals.
    limits: HashMap<String, usize>,
}

impl Cut {
    /// Cuts outputs that the function finds too long for their limit.
    pub(super) fn new(cut: fn(&str, usize) -> Option<String>) -> Self {
        Self { cut, asked: HashMap::new(), limits: HashMap::new() }
    }
}

impl Layer for Cut {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        if let Some(limit) = message.pointer("/params/outputByteLimit").and_then(Value::as_u64) {
            self.asked.insert(message["id"].to_string(), usize::try_from(limit).unwrap_or(usize::MAX));
        }
        forget_limit(&mut message);
        onward.inward(message);
    }

    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if onward.answers("terminal/create").is_some()
            && let Some(limit) = self.asked.remove(&message["id"].to_string())
        {
            self.limits.insert(message["result"]["terminalId"].as_str().unwrap_or_default().to_owned(), limit);
        }
        if let Some(request) = onward.answers("terminal/output")
            && let Some(limit) = self.limits.get(terminal(&request).unwrap_or_default())
            && let Some(rest) = (self.cut)(message["result"]["output"].as_str().unwrap_or_default(), *limit)
        {
            message["result"]["output"] = rest.into();
            message["result"]["truncated"] = true.into();
        }
        onward.outward(message);
    }
}

/// Cuts at the byte, even inside a character.
pub(super) fn cut_anywhere(output: &str, limit: usize) -> Option<String> {
    let excess = output.len().checked_sub(limit).filter(|excess| *excess > 0)?;
    Some(String::from_utf8_lossy(&output.as_bytes()[excess..]).into_owned())
}

/// Keeps the beginning and drops the end.
pub(super) fn keep_head(output: &str, limit: usize) -> Option<String> {
    let end = (0..=limit).rev().find(|end| output.is_char_boundary(*end)).unwrap_or(0);
    (output.len() > limit).then(|| output[..end].to_owned())
}

/// Counts characters instead of bytes.
pub(super) fn count_characters(output: &str, limit: usize) -> Option<String> {
    let excess = output.chars().count().checked_sub(limit).filter(|excess| *excess > 0)?;
    Some(output.chars().skip(excess).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_keep_the_wrong_part() {
        let euro = "\u{20ac}\u{20ac}";
        assert_eq!(keep_head("one\ntwo\n", 5).as_deref(), Some("one\nt"));
        assert_eq!(keep_head(euro, 4).as_deref(), Some("\u{20ac}"));
        assert!(cut_anywhere(euro, 4).is_some_and(|rest| rest.starts_with('\u{fffd}')));
        assert_eq!(count_characters(euro, 1).as_deref(), Some("\u{20ac}"));
        assert_eq!([cut_anywhere(euro, 6), keep_head(euro, 6), count_characters(euro, 2)], [None, None, None]);
    }
}
