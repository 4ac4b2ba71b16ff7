//! The requests of an agent to its model, the same for every API.

use serde_json::{Map, Value};

use super::answer::ToolUse;
use crate::case::MARKER;
use crate::trace::{MARK, Precedence};

/// One request for an answer of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The number of the request, unique for this model. All ids in the answer derive from it: agents rely on unique
    /// ids, even across sessions.
    pub number: usize,
    /// The name of the requested model.
    pub model: String,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// The whole system prompt.
    pub system: String,
    /// The conversation so far.
    pub turns: Vec<ModelTurn>,
    /// The tools that the agent offers.
    pub tools: Vec<Tool>,
    /// The JSON Schema for the answer: agents use it for requests of their own, such as for a title.
    pub format: Option<Value>,
}

/// One contribution to the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelTurn {
    /// A text of the user, or of the agent in the user's place.
    User(String),
    /// An answer of the model; only its tool calls matter.
    Model(Vec<ToolUse>),
    /// The result of a call.
    Result(ToolResult),
}

/// The result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call, if the API has one.
    pub call: String,
    /// The result as text.
    pub text: String,
}

/// A tool that the agent offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name in calls.
    pub name: String,
    /// Its group, for an API that has groups.
    pub group: Option<String>,
    /// Its description for the model.
    pub description: String,
    /// The JSON Schema of its arguments; `None` for a tool that takes any text.
    pub schema: Option<Value>,
}

/// The intent of the agent's user, and the progress so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish<'a> {
    /// The name of the intent.
    pub intent: String,
    /// All of its members, with the name.
    pub arguments: Map<String, Value>,
    /// The turns after its prompt.
    pub since: &'a [ModelTurn],
}

impl Ask {
    /// Adds a call of the model; consecutive calls were made together.
    pub fn push_call(&mut self, call: ToolUse) {
        match self.turns.last_mut() {
            Some(ModelTurn::Model(calls)) => calls.push(call),
            _ => self.turns.push(ModelTurn::Model(vec![call])),
        }
    }

    /// Returns the last intent of the user.
    pub fn wish(&self) -> Option<Wish<'_>> {
        self.turns.iter().enumerate().rev().find_map(|(at, turn)| {
            let ModelTurn::User(text) = turn else { return None };
            let arguments = intent_in(text)?;
            let intent = arguments.get("intent")?.as_str()?.to_owned();
            Some(Wish { intent, arguments, since: &self.turns[at + 1..] })
        })
    }

    /// Returns the place of the mark of a case, the highest if it stands in several.
    pub fn marked(&self) -> Option<Precedence> {
        let of_user = |turn: &ModelTurn| matches!(turn, ModelTurn::User(text) if text.contains(MARK));
        if self.system.contains(MARK) {
            Some(Precedence::System)
        } else {
            self.turns.iter().any(of_user).then_some(Precedence::User)
        }
    }

    /// Returns the directory in which the agent works, if it names one to its model: in a text to the user's request if
    /// there is one, and otherwise in its instructions.
    pub fn directory(&self) -> Option<String> {
        let users = self.turns.iter().rev();
        let users = users.filter_map(|turn| if let ModelTurn::User(text) = turn { Some(text.as_str()) } else { None });
        users.chain([self.system.as_str()]).find_map(directory_in)
    }

    /// Returns the size in bytes, without the tools.
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
    /// Returns the number of rounds of tool calls for it.
    pub fn rounds(&self) -> usize {
        self.since.iter().filter(|turn| matches!(turn, ModelTurn::Model(calls) if !calls.is_empty())).count()
    }

    /// Returns the tool results, in the order in which the agent reports them.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.since.iter().filter_map(|turn| if let ModelTurn::Result(result) = turn { Some(result) } else { None })
    }

    /// Returns an argument that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// Returns an argument that is a list of texts.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.arguments.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).collect()
    }
}

/// Returns the absolute path that a text names as the directory in which the agent works, as in `Working directory: /a`
/// or `<cwd>/a</cwd>`.
fn directory_in(text: &str) -> Option<String> {
    const NAMES: [&str; 6] =
        ["working directory", "workingdirectory", "current directory", "cwd", "workspace", "project root"];
    const FARTHEST: usize = 60;
    text.lines().find_map(|line| {
        let lower = line.to_ascii_lowercase();
        let name = NAMES.iter().find_map(|name| Some(lower.find(name)? + name.len()))?;
        // The path stands soon after its name, and not within a word.
        let before = |at: usize| line[..at].chars().next_back();
        let starts = |at: &usize| before(*at).is_none_or(|c| c.is_whitespace() || "\"'`:=>(".contains(c));
        let is_path = |at: &usize| starts(at) && !line[at + 1..].starts_with('/');
        let begin = line[name..].match_indices('/').map(|(at, _)| name + at).find(is_path)?;
        let path = line[begin..].split(['"', '\'', '`', '<', ',', ')']).next().unwrap_or_default();
        let path = path.split(". ").next().unwrap_or_default().trim_end().trim_end_matches('.');
        (begin - name <= FARTHEST && path.len() > 1).then(|| path.to_owned())
    })
}

/// Returns the object after the last marker of a text, whatever follows it.
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
    fn last_intent_and_its_turns_count() {
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
    fn finds_the_directory_that_the_agent_names() {
        let table = [
            ("You help.\nWorking directory: /w/a b\nPlatform: linux", Some("/w/a b")),
            ("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>", Some("/w")),
            (r#"{"cwd":"/w/x","shell":"bash"}"#, Some("/w/x")),
            ("The current working directory is `/w`.", Some("/w")),
            ("Your workspace is /w. Today is Monday.", Some("/w")),
            ("Paths are relative to the working directory.", None),
            ("The workspace has and/or files; see https://example.com", None),
        ];
        for (text, directory) in table {
            let ask = Ask { system: text.to_owned(), ..Ask::default() };
            assert_eq!(ask.directory().as_deref(), directory, "{text}");
        }
        let ask = Ask { system: "cwd: /old".to_owned(), turns: vec![user("cwd: /new")], ..Ask::default() };
        assert_eq!(ask.directory().as_deref(), Some("/new"));
    }

    #[test]
    fn instructions_outweigh_turns_of_the_user() {
        let turns = vec![user("acp-mark: quince")];
        let ask = Ask { turns: turns.clone(), ..Ask::default() };
        assert_eq!(ask.marked(), Some(Precedence::User));
        let ask = Ask { system: "Be good. acp-mark: quince".to_owned(), turns, ..Ask::default() };
        assert_eq!(ask.marked(), Some(Precedence::System));
        assert_eq!(Ask::default().marked(), None);
    }

    #[test]
    fn ignores_texts_without_an_intent() {
        for text in ["hello", "acp-intent: 5", "acp-intent: {\"intent\"", "acp-intent: {\"path\":\"/a\"}"] {
            assert_eq!(Ask { turns: vec![user(text)], ..Ask::default() }.wish(), None, "{text}");
        }
    }
}
