//! Lowers messages: the tester's, and the expected ones of the subject.

use serde_json::{Value, json};

use crate::case::check::Checker;
use crate::case::file::LineFile;
use crate::case::model::{Body, Incoming, IncomingBody, Outgoing, Presence};
use crate::case::pattern::{FORMS, KINDS, Pattern, PatternError};
use crate::case::scope::narrow;
use crate::case::template::Bindings;
use crate::case::vocabulary::{INTENTS, PayloadKind};
use crate::diagnostic::{Diagnostic, did_you_mean, nearest};
use crate::document::Spot;
use crate::protocol::{Kind, Problem};
use crate::requirement::Party;

/// The remedy for an invalid message of the tester, unless it is a mistake.
const ON_PURPOSE: &str = "mark the line `illegal: true` if the tester is to break the protocol here";

fn says_nothing(spot: &Spot<'_>) -> Diagnostic {
    let problem = spot.error("case::no-message", "the line says nothing");
    problem.help("a message has exactly one of `method`, `result` and `error`")
}

/// The content of a line; an `id` alone means any answer.
enum Said {
    Call { label: Option<String>, method: String, params: Option<Value> },
    Result { label: String, result: Value },
    Error { label: String, error: Value },
    Answer { label: String },
}

impl Checker<'_> {
    /// Lowers a message of the tester.
    pub fn outgoing(&mut self, spot: &Spot<'_>, line: LineFile) -> Option<Outgoing> {
        let tester = self.subject.other();
        let foreign = [
            ("exact", line.exact.is_some()),
            ("decides", !line.decides.items.is_empty()),
            ("within", line.within.is_some()),
        ];
        self.misplaced(spot, &foreign, "is for a line of the subject; this one is the tester's");
        let (illegal, split, wire_id) = (line.illegal.unwrap_or(false), line.split, line.wire_id.clone());
        let said = self.said(spot, line)?;
        if wire_id.is_some() && !matches!(said, Said::Call { label: Some(_), .. }) {
            self.misplaced(spot, &[("wire-id", true)], "is for a request; other lines take the id of their request");
        }
        let body = match said {
            Said::Call { label, method, params } => {
                let given = if illegal { None } else { Some(label.is_some()) };
                self.problems.extend(self.call(&spot.down("method"), tester, &method, given, illegal));
                self.said_value(spot, "params", params.as_ref(), &method);
                self.said_value(spot, "wire-id", wire_id.as_ref(), "");
                if !illegal && !is_extension(&method) {
                    self.params_misfits(spot, &method, params.as_ref());
                }
                match label {
                    Some(label) => {
                        self.ask(spot, &label, tester, &method);
                        Body::Request { label, method, params, wire_id }
                    }
                    None => Body::Notification { method, params },
                }
            }
            Said::Result { label, result } => {
                let method = self.answered(spot, &label, tester, !illegal);
                self.said_value(spot, "result", Some(&result), "");
                if let Some(method) = method {
                    if !illegal && !is_extension(&method) {
                        self.misfits(&spot.down("result"), PayloadKind::Result(&method), &result, ON_PURPOSE);
                    }
                    self.by_hand.insert(method);
                }
                Body::Result { label, result }
            }
            Said::Error { label, error } => {
                let method = self.answered(spot, &label, tester, !illegal);
                self.said_value(spot, "error", Some(&error), "");
                if !illegal {
                    self.misfits(&spot.down("error"), PayloadKind::Error, &error, ON_PURPOSE);
                }
                self.by_hand.extend(method);
                Body::Error { label, error }
            }
            Said::Answer { .. } => {
                self.problems.push(says_nothing(spot));
                return None;
            }
        };
        Some(Outgoing { body, illegal, split })
    }

    /// Lowers an expected message of the subject; under `never` it binds no names and need not have an id.
    pub fn incoming(&mut self, spot: &Spot<'_>, line: LineFile, presence: Presence, never: bool) -> Option<Incoming> {
        let subject = self.subject;
        let foreign =
            [("wire-id", line.wire_id.is_some()), ("split", line.split.is_some()), ("illegal", line.illegal.is_some())];
        self.misplaced(spot, &foreign, "is for a line of the tester; this one is the subject's");
        let exact = line.exact.unwrap_or(false);
        let body = match self.said(spot, line)? {
            Said::Call { label, method, params } => {
                let given = if never { None } else { Some(label.is_some()) };
                self.problems.extend(self.call(&spot.down("method"), subject, &method, given, false));
                if let Some(label) = &label {
                    self.ask(spot, label, subject, &method);
                    // The case's answer to an optional request, or a second request with the same id, may follow.
                    self.scope.bind(&format!("{label}-id"));
                }
                if let Some(params) = params.as_ref().filter(|_| !never) {
                    self.unknown_values(&spot.down("params"), PayloadKind::Params(&method), params);
                }
                let params = params.and_then(|params| self.pattern(&spot.down("params"), &params, !never));
                IncomingBody::Call { label, method, params }
            }
            Said::Result { label, result } => {
                let method = self.answered(spot, &label, subject, presence == Presence::Must);
                if let Some(method) = method.filter(|_| !never) {
                    self.unknown_values(&spot.down("result"), PayloadKind::Result(&method), &result);
                }
                let result = self.pattern(&spot.down("result"), &result, !never)?;
                IncomingBody::Result { label, result }
            }
            Said::Answer { label } => {
                self.answered(spot, &label, subject, presence == Presence::Must);
                IncomingBody::Answer { label }
            }
            Said::Error { label, error } => {
                self.answered(spot, &label, subject, presence == Presence::Must);
                let error = self.pattern(&spot.down("error"), &error, !never)?;
                IncomingBody::Error { label, error }
            }
        };
        Some(Incoming { body, exact, from_here: false })
    }

    /// Warns of values that the subject never sends if it follows the schema.
    fn unknown_values(&mut self, spot: &Spot<'_>, payload: PayloadKind<'_>, pattern: &Value) {
        for misfit in self.vocabulary.unknown_values(self.subject, payload, pattern) {
            let problem = spot.deep(&misfit.at).error("case::unknown-value", misfit.message);
            self.problems.push(problem.warning());
        }
    }

    fn misplaced(&mut self, spot: &Spot<'_>, keys: &[(&str, bool)], why: &str) {
        for (key, given) in keys {
            if *given {
                let problem = spot.down(key).key_error("case::misplaced-key", format!("`{key}` cannot stand here"));
                self.problems.push(problem.help(format!("`{key}` {why}")));
            }
        }
    }

    /// Splits a line: a message has exactly one of method, result and error.
    fn said(&mut self, spot: &Spot<'_>, line: LineFile) -> Option<Said> {
        let given =
            [("method", line.method.is_some()), ("result", line.result.is_some()), ("error", line.error.is_some())];
        let given: Vec<_> = given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
        if let [first, second, ..] = given.as_slice() {
            let problem = spot
                .down(second)
                .key_error("case::two-messages", format!("`{second}` cannot be combined with `{first}`"));
            let first = spot.down(first);
            let problem = problem.also(first.source(), first.key_span(), "already says what this is");
            self.problems.push(problem.help("a message has exactly one of `method`, `result` and `error`"));
            return None;
        }
        let label = line.id.map(|label| label.0);
        if let (Some(params), None) = (&line.params, &line.method) {
            let help = if params.is_object() { "add `method:`, or call it `result`" } else { "add `method:`" };
            let problem = spot.down("params").key_error("case::misplaced-key", "`params` belongs to a method");
            self.problems.push(problem.help(help));
            return None;
        }
        if let Some(method) = line.method {
            return Some(Said::Call { label, method, params: line.params });
        }
        let whole = line.params.is_none() && spot.value().is_some_and(|line| line.get("id").is_some());
        if let (Some(label), None, true) = (&label, given.first(), whole) {
            return Some(Said::Answer { label: label.clone() });
        }
        let Some(key) = given.first() else {
            self.problems.push(says_nothing(spot));
            return None;
        };
        let Some(label) = label else {
            let problem = spot.down(key).key_error("case::missing-id", format!("the {key} answers no request"));
            self.problems.push(problem.help("add `id:` with the label of the request"));
            return None;
        };
        match (line.result, line.error) {
            (Some(result), _) => Some(Said::Result { label, result }),
            (None, error) => Some(Said::Error { label, error: error.unwrap_or_default() }),
        }
    }

    /// Checks that a party has a method, and that its id is present or absent as required.
    ///
    /// `has_id` is `None` if both are allowed; an illegal line may call any method.
    pub fn call(
        &self,
        spot: &Spot<'_>,
        sender: Party,
        method: &str,
        has_id: Option<bool>,
        illegal: bool,
    ) -> Option<Diagnostic> {
        if is_extension(method) || illegal && has_id.is_none() {
            return None;
        }
        let kind_of = |party| self.vocabulary.kind_of(party, method);
        match (kind_of(sender), has_id) {
            (None, _) if kind_of(sender.other()).is_some() => {
                let message = format!("`{method}` is sent by the {}, not by the {sender}", sender.other());
                let help =
                    format!("this is a line of the {sender}; the other side's begins with `{}:`", sender.other());
                Some(key_or_value(spot, method, "case::wrong-sender", message).help(help))
            }
            (None, _) => {
                let candidates: Vec<_> = self.vocabulary.methods.iter().map(String::as_str).collect();
                let sent: Vec<_> =
                    candidates.into_iter().filter(|m| self.vocabulary.kind_of(sender, m).is_some()).collect();
                let help = did_you_mean(method, &format!("the methods of the {sender} are"), &sent);
                let problem = key_or_value(spot, method, "case::unknown-method", format!("unknown method `{method}`"));
                Some(problem.label("not a method of ACP v1").maybe_help(help))
            }
            (Some(Kind::Request), Some(false)) => {
                let problem =
                    key_or_value(spot, method, "case::missing-id", format!("`{method}` is a request, which has an id"));
                Some(problem.help("add `id:` with a label, by which the answer can be named"))
            }
            (Some(Kind::Notification), Some(true)) => {
                let message = format!("`{method}` is a notification, which has no id");
                let help = if illegal {
                    "only a request can be answered"
                } else {
                    "leave out `id:`; a tester that breaks the rule on purpose is marked `illegal: true`"
                };
                Some(key_or_value(spot, method, "case::needless-id", message).help(help))
            }
            _ => None,
        }
    }

    /// Records a request with its label.
    fn ask(&mut self, spot: &Spot<'_>, label: &str, by: Party, method: &str) {
        self.problems.extend(self.scope.ask(&spot.down("id"), label, by, method).err().map(|problem| *problem));
    }

    /// Finds the method that a line of `by` answers, and records the answer if it is certain to come.
    fn answered(&mut self, spot: &Spot<'_>, label: &str, by: Party, sure: bool) -> Option<String> {
        let id = spot.down("id");
        let method = match self.scope.answer(&id, label, by) {
            Ok(asked) => asked.method.clone(),
            Err(problem) => {
                self.problems.push(*problem);
                return None;
            }
        };
        if sure {
            self.problems.extend(self.scope.close(&id, label).err().map(|problem| *problem));
        }
        Some(method)
    }

    /// Compiles a pattern, and checks the names in it.
    pub fn pattern(&mut self, spot: &Spot<'_>, value: &Value, binds: bool) -> Option<Pattern> {
        self.no_intent(spot, value);
        match Pattern::compile(value) {
            Ok(pattern) => {
                self.problems.extend(self.scope.check_uses(spot, &pattern.names(), binds));
                Some(pattern)
            }
            Err(errors) => {
                self.problems.extend(errors.into_iter().map(|error| not_a_pattern(spot, error)));
                None
            }
        }
    }

    /// Checks the names and the intent in a value of the tester.
    fn said_value(&mut self, spot: &Spot<'_>, key: &str, value: Option<&Value>, method: &str) {
        let Some(value) = value else { return };
        let here = spot.down(key);
        self.names_in(&here, value);
        if method != "session/prompt" {
            self.no_intent(&here, value);
            return;
        }
        let prompt = here.down("prompt");
        match value.get("prompt") {
            Some(single @ Value::Object(_)) => self.intent(&prompt, single),
            Some(Value::Array(blocks)) => {
                let intents = blocks.iter().enumerate().filter(|(_, block)| block.get("intent").is_some());
                for (i, block) in intents {
                    self.intent(&prompt.down(i), block);
                }
            }
            _ => {}
        }
    }

    fn intent(&mut self, spot: &Spot<'_>, prompt: &Value) {
        let problem = match prompt.get("intent") {
            Some(Value::String(intent)) if INTENTS.contains(&intent.as_str()) => return,
            Some(Value::String(intent)) => {
                let problem = spot.down("intent").error("case::unknown-intent", format!("unknown intent `{intent}`"));
                problem.maybe_help(did_you_mean(intent, "the intents are", &INTENTS))
            }
            Some(_) => {
                spot.down("intent").error("case::unknown-intent", "an intent is a word").help("for example `say`")
            }
            None => spot
                .error("case::unknown-intent", "the prompt has no intent")
                .help("write `prompt: {intent: say, …}`, or a list of content blocks"),
        };
        self.problems.push(problem);
    }

    /// Reports a prompt by intent that would not be expanded.
    fn no_intent(&mut self, spot: &Spot<'_>, value: &Value) {
        if value.pointer("/prompt/intent").is_some() {
            let problem =
                spot.down("prompt").down("intent").key_error("case::misplaced-intent", "no intent can stand here");
            self.problems.push(problem.help("an intent is for the `prompt` of a session/prompt of the tester"));
        }
    }

    fn params_misfits(&mut self, spot: &Spot<'_>, method: &str, params: Option<&Value>) {
        let payload = PayloadKind::Params(method);
        if let Some(params) = params {
            self.misfits(&spot.down("params"), payload, params, ON_PURPOSE);
        } else if !self.vocabulary.misfits(self.subject.other(), payload, &Value::Null).is_empty() {
            let problem = spot.down("method").error("case::invalid-message", format!("`{method}` has no `params`"));
            self.problems.push(problem.help("add `params: {…}`").help(ON_PURPOSE));
        }
    }

    /// Compares a payload of the tester with the schema, and records the differences.
    pub fn misfits(&mut self, spot: &Spot<'_>, payload: PayloadKind<'_>, value: &Value, help: &str) {
        let mut value = value.clone();
        if let (PayloadKind::Params("session/prompt"), Some(prompt)) = (payload, value.get_mut("prompt")) {
            expand(prompt);
        }
        for misfit in self.misfits_of(self.subject.other(), payload, &value) {
            let problem = spot.deep(&misfit.at).error("case::invalid-message", misfit.message);
            self.problems.push(problem.help(help));
        }
    }

    /// Returns the first differences of a payload from the schema, with samples instead of names.
    pub fn misfits_of(&self, sender: Party, payload: PayloadKind<'_>, value: &Value) -> Vec<Problem> {
        /// More than this for one message does not help.
        const MOST: usize = 4;
        // A name can have any value, so it is enough if one of the samples fits.
        let samples = [json!("/sample"), json!(1), json!({}), json!([]), json!(true)];
        let mut first: Option<Vec<Problem>> = None;
        for sample in samples {
            let misfits = self.vocabulary.misfits(sender, payload, &self.sampled(value, &sample));
            if misfits.is_empty() {
                return misfits;
            }
            first.get_or_insert(misfits);
        }
        first.into_iter().flatten().take(MOST).collect()
    }

    fn sampled(&self, value: &Value, sample: &Value) -> Value {
        let mut bindings = Bindings::new();
        bindings.set("cwd", json!("/sample"));
        bindings.set("home", json!("/sample"));
        bindings.set(format!("{}-capabilities", self.subject.other()), self.capabilities.clone());
        bindings.set(format!("{}-capabilities", self.subject), json!({}));
        for name in bindings.unbound(value) {
            bindings.set(name, sample.clone());
        }
        bindings.interpolate(value)
    }
}

fn not_a_pattern(spot: &Spot<'_>, error: PatternError) -> Diagnostic {
    let help = match error.word.as_str() {
        "one-of" => Some("for example `<one-of end_turn|cancelled>`".to_owned()),
        "contains" => Some("for example `<contains alpha>`".to_owned()),
        "not" => Some("for example `<not cancelled>`".to_owned()),
        word => {
            let forms = ["<one-of a|b>", "<contains text>", "<not value>"].map(str::to_owned);
            let words: Vec<_> = KINDS.iter().map(|kind| format!("<{kind}>")).chain(forms).collect();
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let near = FORMS.iter().find(|form| nearest(word.split(' ').next().unwrap_or(word), [**form]).is_some());
            match near {
                Some(form) => Some(format!("did you mean `<{form} …>`?")),
                None => did_you_mean(&format!("<{word}>"), "the patterns are", &words),
            }
        }
    };
    narrow(&spot.deep(&error.pointer), &error.word, "case::unknown-pattern", error.message)
        .maybe_help(help)
        .help("a literal `<` is written `<lt>`")
}

/// Replaces an intent by a block of text.
fn expand(prompt: &mut Value) {
    let block = json!({"type": "text", "text": "sample"});
    match prompt {
        Value::Object(_) => *prompt = json!([block]),
        Value::Array(blocks) => {
            for intent in blocks.iter_mut().filter(|block| block.get("intent").is_some()) {
                *intent = block.clone();
            }
        }
        _ => {}
    }
}

/// Whether a method is not in the schema.
fn is_extension(method: &str) -> bool {
    method.starts_with('_') || method.starts_with("$/")
}

/// Creates an error at a method, which is the value of a line or the name of a fixed answer.
fn key_or_value(spot: &Spot<'_>, method: &str, code: &'static str, message: String) -> Diagnostic {
    match spot.value() {
        Some(Value::String(_)) => spot.error(code, message),
        _ => {
            debug_assert!(spot.pointer.ends_with(&method.replace('~', "~0").replace('/', "~1")), "{}", spot.pointer);
            spot.key_error(code, message)
        }
    }
}
