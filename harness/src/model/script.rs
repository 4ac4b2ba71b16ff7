//! Decides what the model does next for the intent of a prompt.
//!
//! An intent is carried out in rounds: the model calls a tool, the agent reports the result, and the model continues.
//! The conversation shows the current round, so the model keeps no state between requests.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ASKED_FILE;
use super::answer::{AnswerPart, Finish, ModelAnswer, Reply, ToolUse};
use super::ask::{Ask, Wish};
use super::fill;
use super::toolbox::{self, Call, Job, LineRange, Toolbox};
use crate::case::MARKER;
use crate::profile::{Hints, Role};
use crate::trace::OTHERS;

/// The pause between two pieces of a slow answer.
const SLOW: Duration = Duration::from_millis(20);

/// The number of pieces of a slow answer.
const SLOW_PIECES: usize = 1000;

/// The longest quotation of a result, in characters.
const LONGEST_QUOTATION: usize = 4000;

/// The most tool calls of the model for an intent without end.
const MOST_ROUNDS: usize = 100;

/// The most names of tools in a sentence.
const MOST_NAMES: usize = 20;

/// The action of the model for a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// Its reply.
    pub reply: Reply,
    /// The same in a few words, with only the names of the intent and of the tools.
    pub did: String,
}

/// Returns the model's answer to a request.
pub fn answer(ask: &Ask, hints: &Hints) -> Move {
    if let Some(schema) = &ask.format {
        return says("filled in a schema", fill::object(schema, &[]).to_string());
    }
    if hints.auxiliary.iter().any(|text| ask.system.contains(text)) {
        return says("not the user's request", "Greeting".to_owned());
    }
    let Some(mut wish) = ask.wish() else {
        return says("no intent", "There is nothing to do.".to_owned());
    };
    let asked = wish.intent.clone();
    if let Some(stand_in) = hints.intents.get(&asked) {
        stand_in.clone_into(&mut wish.arguments);
        wish.intent = wish.text("intent").unwrap_or_default().to_owned();
    }
    let mut next = Script { ask, hints, wish }.next();
    next.did = format!("{asked}: {}", next.did);
    next
}

/// The text that the model says where a case does not care.
pub const SAID: &str = "Hello.";

struct Script<'a> {
    ask: &'a Ask,
    hints: &'a Hints,
    wish: Wish<'a>,
}

impl Script<'_> {
    fn next(&self) -> Move {
        match self.wish.intent.as_str() {
            "say" => says("said", self.words("text", SAID)),
            "think" => thinks(),
            "keep-busy" => counts(),
            "refuse" => ends(Finish::Refusal, "I do not do that.", "refused"),
            "max-tokens" => ends(Finish::Length, "This answer continues and", "cut off at the limit"),
            "model-error" => fails(self.wish.arguments.get("status").and_then(Value::as_u64)),
            "max-turn-requests" => self.goes_on(),
            "plan" => self.plans(),
            "call-mcp-tool" => self.calls_mcp(),
            _ => self.uses(&self.jobs()),
        }
    }

    /// Returns the jobs for tools in one round.
    fn jobs(&self) -> Vec<Job> {
        let word = |name: &str, otherwise: &str| self.words(name, otherwise);
        match self.wish.intent.as_str() {
            "read-file" => vec![Job::Read { path: word("path", "notes.txt"), lines: self.lines() }],
            "read-files" => self.wish.texts("paths").into_iter().map(whole_file).collect(),
            "fail-tool" => vec![whole_file(&word("path", "/nonexistent/acp-conformance.txt"))],
            "write-file" => vec![Job::Write { path: word("path", "new.txt"), content: word("content", "hello\n") }],
            "edit-file" => {
                vec![Job::Edit { path: word("path", "notes.txt"), old: word("old", ""), new: word("new", "") }]
            }
            "run-command" => vec![self.command()],
            "ask-permission" | "ask-and-wait" => vec![Job::Run { line: format!("touch {ASKED_FILE}"), brief: false }],
            "search" => vec![Job::Search { text: word("text", "") }],
            "set-mode" => vec![Job::Other { role: Role::Mode, wanted: self.wish.arguments.clone() }],
            "spawn-subagent" => vec![self.delegation()],
            "elicit" => vec![Job::Other { role: Role::Ask, wanted: Map::new() }],
            _ => Vec::new(),
        }
    }

    fn lines(&self) -> LineRange {
        let number = |name: &str| self.wish.arguments.get(name).and_then(Value::as_u64);
        LineRange { first: number("line"), count: number("limit") }
    }

    /// Returns the task of a subagent, which asks this model too: it replies, or is busy until it is stopped.
    fn delegation(&self) -> Job {
        let intent = match self.wish.arguments.contains_key("ms") {
            true => json!({ "intent": "keep-busy" }),
            false => json!({ "intent": "say", "text": "cherry" }),
        };
        Job::Delegate { prompt: format!("Look for cherry.\n{MARKER}{intent}") }
    }

    fn command(&self) -> Job {
        let words = self.wish.text("command").into_iter().chain(self.wish.texts("args"));
        let brief = self.wish.arguments.get("kill").and_then(Value::as_bool).unwrap_or(false);
        Job::Run { line: super::shell::line(words), brief }
    }

    /// Does the jobs in the first round, and quotes their results in the next.
    fn uses(&self, jobs: &[Job]) -> Move {
        if jobs.is_empty() {
            return says("nothing that a model can do", "I cannot do that.".to_owned());
        }
        if self.wish.rounds() > 0 {
            return self.closes();
        }
        self.calls_for(jobs)
    }

    /// Calls a tool for each of the jobs, all at the same time.
    fn calls_for(&self, jobs: &[Job]) -> Move {
        let mut calls = Vec::new();
        for job in jobs {
            match self.choose(job) {
                Some(call) => calls.push(call),
                None => return self.lacks(job.role()),
            }
        }
        self.calls(calls)
    }

    fn choose(&self, job: &Job) -> Option<Call<'_>> {
        Toolbox { tools: &self.ask.tools, hints: self.hints, directory: self.ask.directory() }.choose(job)
    }

    fn calls(&self, calls: Vec<Call<'_>>) -> Move {
        let names: Vec<&str> = calls.iter().map(|call| call.tool.name.as_str()).collect();
        let mut did = format!("called {}", names.join(", "));
        if calls.iter().any(|call| call.has_relative_path) {
            did.push_str(" with a relative path; it wants an absolute one, and the agent named no directory");
        }
        let calls = calls.into_iter().enumerate().map(|(i, Call { tool, arguments, .. })| {
            let id = format!("call_{}_{i}", self.ask.number);
            AnswerPart::Call(ToolUse { id, name: tool.name.clone(), group: tool.group.clone(), arguments })
        });
        let answer = ModelAnswer { parts: calls.collect(), finish: Finish::Calls, pace: Duration::ZERO };
        Move { reply: Reply::Answer(answer), did }
    }

    /// Returns the closing text, which quotes the results of the tools.
    fn closes(&self) -> Move {
        let results: Vec<&str> = self.wish.results().map(|result| result.text.as_str()).collect();
        let quoted: String = results.join("\n").chars().take(LONGEST_QUOTATION).collect();
        says("quoted the result", format!("The result is:\n{quoted}"))
    }

    fn goes_on(&self) -> Move {
        if self.wish.rounds() >= MOST_ROUNDS {
            return self.closes();
        }
        // The file differs each time, since some agents stop a model that repeats itself.
        self.calls_for(&[whole_file(&format!("notes-{}.txt", self.wish.rounds() + 1))])
    }

    fn plans(&self) -> Move {
        // In the second round a step is done, so that the plan changes visibly.
        let states = match self.wish.rounds() {
            0 => ["in_progress", "pending", "pending"],
            1 => ["completed", "in_progress", "pending"],
            _ => return self.closes(),
        };
        let steps = ["Find the place", "Add the greeting", "Try it"];
        let steps: Vec<Value> = steps
            .iter()
            .zip(states)
            .enumerate()
            .map(|(i, (step, state))| json!({ "step": step, "state": state, "number": i + 1 }))
            .collect();
        let wanted = Map::from_iter([("steps".to_owned(), Value::from(steps))]);
        self.calls_for(&[Job::Other { role: Role::Plan, wanted }])
    }

    fn calls_mcp(&self) -> Move {
        if self.wish.rounds() > 0 {
            return self.closes();
        }
        let (server, tool) = (self.words("server", ""), self.words("tool", ""));
        let arguments = self.wish.arguments.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let tools = &self.ask.tools;
        let by_code = || toolbox::by_code(self.hints.mcp.as_ref()?, &server, &tool, &arguments, tools);
        let offered = toolbox::of_mcp(&server, &tool, tools).map(|tool| (tool, arguments.clone()));
        match offered.or_else(by_code) {
            Some((tool, arguments)) => self.calls(vec![Call { tool, arguments, has_relative_path: false }]),
            None => self.says_what_it_has("no such tool of an MCP server is offered", "I do not have that tool"),
        }
    }

    fn lacks(&self, role: Role) -> Move {
        let did = format!("no tool to {} is offered", role.name());
        self.says_what_it_has(&did, "I do not have a tool for that")
    }

    /// Says that a tool is missing, with the names of the others: perhaps the profile has to name one.
    fn says_what_it_has(&self, did: &str, said: &str) -> Move {
        let names: Vec<&str> = self.ask.tools.iter().map(|tool| tool.name.as_str()).collect();
        let others = names.len().saturating_sub(MOST_NAMES);
        let mut list = names[..names.len() - others].join(", ");
        if others > 0 {
            list.push_str(&format!(", {others} more"));
        }
        match names.is_empty() {
            true => says(&format!("{did}, and no other either"), format!("{said}, nor any other.")),
            false => says(&format!("{did}{OTHERS}{list}"), format!("{said}. I have {list}.")),
        }
    }

    fn words(&self, name: &str, otherwise: &str) -> String {
        self.wish.text(name).unwrap_or(otherwise).to_owned()
    }
}

fn whole_file(path: &str) -> Job {
    Job::Read { path: path.to_owned(), lines: LineRange::default() }
}

fn says(did: &str, text: String) -> Move {
    Move { reply: Reply::Answer(ModelAnswer::text(pieces(&text))), did: did.to_owned() }
}

fn thinks() -> Move {
    let thought = pieces("Two and two are to be added, which makes four.");
    let parts = vec![AnswerPart::Thought(thought), AnswerPart::Text(pieces("Two plus two is four."))];
    let answer = ModelAnswer { parts, finish: Finish::Stop, pace: Duration::ZERO };
    Move { reply: Reply::Answer(answer), did: "thought".to_owned() }
}

fn counts() -> Move {
    let numbers = (1..=SLOW_PIECES).map(|number| format!("{number}\n")).collect();
    let answer = ModelAnswer { pace: SLOW, ..ModelAnswer::text(numbers) };
    Move { reply: Reply::Answer(answer), did: "counted slowly".to_owned() }
}

fn ends(finish: Finish, text: &str, did: &str) -> Move {
    let answer = ModelAnswer { finish, ..ModelAnswer::text(pieces(text)) };
    Move { reply: Reply::Answer(answer), did: did.to_owned() }
}

fn fails(status: Option<u64>) -> Move {
    let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| (400..600).contains(status));
    // Agents retry after most errors, but not after one that rejects the request.
    let status = status.unwrap_or(400);
    let reply = Reply::Failure { status, message: "The scripted model fails as requested.".to_owned() };
    Move { reply, did: format!("failed with {status}") }
}

/// Splits a text into pieces of one word each, with the blanks before it.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut inside = false;
    for c in text.chars() {
        if pieces.is_empty() || (c.is_whitespace() && inside) {
            pieces.push(String::new());
        }
        inside = !c.is_whitespace();
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ask::{ModelTurn, Tool, ToolResult};

    fn result(text: &str) -> ModelTurn {
        ModelTurn::Result(ToolResult { text: text.to_owned(), ..ToolResult::default() })
    }

    fn ask(intent: Value, tools: &[(&str, Value)]) -> Ask {
        let text = format!("Please.\nacp-intent: {intent}");
        let tools = tools.iter().map(|(name, schema)| Tool {
            name: (*name).to_owned(),
            group: None,
            description: String::new(),
            schema: Some(schema.clone()),
        });
        Ask { turns: vec![ModelTurn::User(text)], tools: tools.collect(), ..Ask::default() }
    }

    fn object(properties: Value) -> Value {
        let required: Vec<&String> = properties.as_object().expect("an object").keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    fn calls(next: &Move) -> Vec<(&str, &Value)> {
        let Reply::Answer(answer) = &next.reply else { panic!("{next:?}") };
        answer.calls().map(|call| (call.name.as_str(), &call.arguments)).collect()
    }

    fn said(next: &Move) -> String {
        let Reply::Answer(answer) = &next.reply else { panic!("{next:?}") };
        answer.said()
    }

    #[test]
    fn calls_a_tool_and_quotes_its_result() {
        let read = object(json!({ "file_path": { "type": "string" } }));
        let mut ask = ask(json!({ "intent": "read-file", "path": "/w/a.txt" }), &[("Bash", json!({})), ("Read", read)]);
        let first = answer(&ask, &Hints::default());
        assert_eq!(calls(&first), [("Read", &json!({ "file_path": "/w/a.txt" }))]);
        assert_eq!(first.did, "read-file: called Read");
        let Reply::Answer(ModelAnswer { parts, .. }) = first.reply else { panic!() };
        let made =
            parts.into_iter().filter_map(|part| if let AnswerPart::Call(call) = part { Some(call) } else { None });
        ask.turns.extend([ModelTurn::Model(made.collect()), result("alpha"), ModelTurn::User("a reminder".to_owned())]);
        let second = answer(&ask, &Hints::default());
        assert_eq!((calls(&second).len(), said(&second).as_str()), (0, "The result is:\nalpha"));
    }

    #[test]
    fn equal_calls_of_two_sessions_have_different_ids() {
        let read = object(json!({ "path": { "type": "string" } }));
        let one = ask(json!({ "intent": "read-files", "paths": ["a", "b"] }), &[("read", read)]);
        let ids = |ask: &Ask| match answer(ask, &Hints::default()).reply {
            Reply::Answer(answer) => answer.calls().map(|call| call.id.clone()).collect::<Vec<_>>(),
            Reply::Failure { message, .. } => panic!("{message}"),
        };
        let two = Ask { number: 1, ..one.clone() };
        let all: std::collections::BTreeSet<String> = [ids(&one), ids(&two)].concat().into_iter().collect();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn answers_with_text_without_a_suitable_tool() {
        let next = answer(&ask(json!({ "intent": "write-file" }), &[]), &Hints::default());
        assert_eq!(next.did, "write-file: no tool to write is offered, and no other either");
        let others = [("a", json!({})), ("b", json!({}))];
        let next = answer(&ask(json!({ "intent": "search", "text": "x" }), &others), &Hints::default());
        assert_eq!(next.did, "search: no tool to search is offered; the others are a, b");
        assert!(said(&next).ends_with("I have a, b."));
        let next = answer(&ask(json!({ "intent": "commands" }), &[]), &Hints::default());
        assert_eq!(next.did, "commands: nothing that a model can do");
    }

    #[test]
    fn profile_can_replace_an_intent() {
        let write = object(json!({ "path": { "type": "string" }, "content": { "type": "string" } }));
        let stand_in = json!({ "intent": "write-file", "path": "asked.txt", "content": "x" });
        let Value::Object(stand_in) = stand_in else { panic!() };
        let hints = Hints { intents: [("ask-permission".to_owned(), stand_in)].into(), ..Hints::default() };
        let next = answer(&ask(json!({ "intent": "ask-permission" }), &[("write_file", write)]), &hints);
        assert_eq!(calls(&next), [("write_file", &json!({ "path": "asked.txt", "content": "x" }))]);
    }

    #[test]
    fn answers_to_the_agents_own_requests_fit_their_schema() {
        let format = Some(object(json!({ "title": { "type": "string" } })));
        let next = answer(&Ask { format, ..ask(json!({ "intent": "keep-busy" }), &[]) }, &Hints::default());
        assert_eq!(said(&next), r#"{"title":"conformance"}"#);
    }

    #[test]
    fn answers_briefly_without_an_intent() {
        let mut ask = ask(json!({ "intent": "keep-busy" }), &[]);
        "You make titles.".clone_into(&mut ask.system);
        let hints = Hints { auxiliary: vec!["make titles".to_owned()], ..Hints::default() };
        assert_eq!(answer(&ask, &hints).did, "not the user's request");
        assert_eq!(answer(&ask, &Hints::default()).did, "keep-busy: counted slowly");
    }

    #[test]
    fn pieces_join_to_the_text() {
        for text in ["", "a", "The result is:\n  two  lines\n", " ä b"] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("Two plus two."), ["Two", " plus", " two."]);
    }
}
