//! What an agent asks of its model, the same for every API.

use serde_json::{Map, Value};

use super::answer::ToolUse;
use crate::case::MARKER;

/// One request for an answer of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The number of the request, which no other request to the same model has. All ids in the answer are made of it:
    /// agents rely on it that a model never gives one twice, in whatever session.
    pub number: usize,
    /// The name of the model that is asked for.
    pub model: String,
    /// Whether the answer is to come in pieces.
    pub stream: bool,
    /// What the agent tells the model about its work, all of it.
    pub system: String,
    /// The conversation so far.
    pub turns: Vec<ModelTurn>,
    /// What the agent lets the model use.
    pub tools: Vec<Tool>,
    /// The JSON Schema that the answer is to fit: so agents ask what they want to know themselves, such as a title.
    pub format: Option<Value>,
}

/// One contribution to the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelTurn {
    /// What the user said, or what the agent said in the user's place.
    User(String),
    /// What the model said; only its calls of tools matter.
    Model(Vec<ToolUse>),
    /// What came of a call.
    Result(ToolResult),
}

/// What came of a call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call, where the API has one.
    pub call: String,
    /// The result as text.
    pub text: String,
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name, by which it is called.
    pub name: String,
    /// The group that it is in, for an API that has groups.
    pub group: Option<String>,
    /// The JSON Schema of its arguments; `None` for a tool that takes any text.
    pub schema: Option<Value>,
}

/// What the user of the agent wants, and what was done about it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish<'a> {
    /// The name of the intent.
    pub intent: String,
    /// All of it, with the name.
    pub arguments: Map<String, Value>,
    /// What followed the prompt that has it.
    pub since: &'a [ModelTurn],
}

impl Ask {
    /// Adds a call of the model; calls that follow each other were made at once.
    pub fn push_call(&mut self, call: ToolUse) {
        match self.turns.last_mut() {
            Some(ModelTurn::Model(calls)) => calls.push(call),
            _ => self.turns.push(ModelTurn::Model(vec![call])),
        }
    }

    /// The last wish of the user.
    #[must_use]
    pub fn wish(&self) -> Option<Wish<'_>> {
        self.turns.iter().enumerate().rev().find_map(|(at, turn)| {
            let ModelTurn::User(text) = turn else { return None };
            let arguments = intent_in(text)?;
            let intent = arguments.get("intent")?.as_str()?.to_owned();
            Some(Wish { intent, arguments, since: &self.turns[at + 1..] })
        })
    }

    /// How long it is, in bytes; tools do not count.
    #[must_use]
    pub fn size(&self) -> usize {
        let turns = self.turns.iter().map(|turn| match turn {
            ModelTurn::User(text) => text.len(),
            ModelTurn::Model(calls) => calls.iter().map(|call| call.arguments_text().len()).sum(),
            ModelTurn::Result(result) => result.text.len(),
        });
        self.system.len() + turns.sum::<usize>()
    }
}

impl Wish<'_> {
    /// How many times the model called tools for it.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.since.iter().filter(|turn| matches!(turn, ModelTurn::Model(calls) if !calls.is_empty())).count()
    }

    /// What the tools answered, in the order in which the agent tells it.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.since.iter().filter_map(|turn| if let ModelTurn::Result(result) = turn { Some(result) } else { None })
    }

    /// An argument that is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// An argument that is a list of texts.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.arguments.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).collect()
    }
}

/// The object behind the last marker of a text, whatever stands behind that.
fn intent_in(text: &str) -> Option<Map<String, Value>> {
    let (_, rest) = text.rsplit_once(MARKER)?;
    let value = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
    if let Value::Object(intent) = value { Some(intent) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ModelTurn {
        ModelTurn::User(text.to_owned())
    }

    #[test]
    fn the_last_intent_counts_and_what_followed_it() {
        let result = ModelTurn::Result(ToolResult { text: "gone".to_owned(), ..ToolResult::default() });
        let ask = Ask {
            turns: vec![
                user("acp-intent: {\"intent\":\"say\"}"),
                user("<context>\nRead.\nacp-intent: {\"intent\":\"read-file\",\"path\":\"/a\"}\n</context>"),
                ModelTurn::Model(vec![ToolUse { id: "1".to_owned(), ..ToolUse::default() }]),
                result,
                user("a reminder of the agent"),
            ],
            ..Ask::default()
        };
        let wish = ask.wish().expect("a wish");
        assert_eq!((wish.intent.as_str(), wish.text("path"), wish.rounds()), ("read-file", Some("/a"), 1));
        assert_eq!(wish.results().map(|result| result.text.as_str()).collect::<Vec<_>>(), ["gone"]);
    }

    #[test]
    fn what_is_no_intent_is_passed_over() {
        for text in ["hello", "acp-intent: 5", "acp-intent: {\"intent\"", "acp-intent: {\"path\":\"/a\"}"] {
            assert_eq!(Ask { turns: vec![user(text)], ..Ask::default() }.wish(), None, "{text}");
        }
    }
}
