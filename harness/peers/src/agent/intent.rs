//! The intent of a prompt: its intent line, a slash command, or an echo.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::{mcp::Variable, update::Block};

const MARK: &str = "acp-intent:";

/// One instruction to the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "intent", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Intent {
    Say {
        text: Option<String>,
    },
    Think {
        text: Option<String>,
    },
    Plan,
    Content,
    ReadFile(ReadFile),
    ReadFiles {
        paths: Vec<PathBuf>,
    },
    WriteFile(WriteFile),
    RunCommand(RunCommand),
    AskPermission,
    AskAndWait,
    KeepBusy {
        ms: Option<u64>,
        chunks: Option<u64>,
    },
    Search {
        text: String,
    },
    SetMode {
        mode_id: String,
    },
    Commands,
    Info {
        title: Option<String>,
    },
    Usage,
    Notice {
        title: Option<String>,
    },
    Compact,
    /// Delegates work to a subagent, which takes this time; in version 2 it may go on after the turn.
    SpawnSubagent {
        ms: Option<u64>,
        #[serde(default)]
        background: bool,
    },
    ToolKinds,
    FailTool,
    /// Fails as if the model did. In version 1 the second model replaces the first, and its failure ends the turn with
    /// an error; version 2 has a stop reason for it.
    ModelError,
    /// Runs a command that goes on after the turn; only version 2 can report it.
    RunInBackground(RunCommand),
    Refuse,
    MaxTokens,
    MaxTurnRequests,
    Ext,
    Elicit(Elicit),
    CallMcpTool(CallMcpTool),
}

/// A tool of an MCP server to call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct CallMcpTool {
    pub server: String,
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
}

/// A file to read, or part of it; `line` is 1-based.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ReadFile {
    pub path: PathBuf,
    pub line: Option<u32>,
    pub limit: Option<u32>,
}

/// A file to write as a whole.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct WriteFile {
    pub path: PathBuf,
    pub content: String,
    #[serde(default = "yes")]
    pub ask: bool,
}

/// A command to run, in the client's terminal if it has one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunCommand {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    pub cwd: Option<PathBuf>,
    #[serde(default, deserialize_with = "environment")]
    pub env: BTreeMap<String, String>,
    pub byte_limit: Option<u64>,
    #[serde(default)]
    pub kill: bool,
    #[serde(default = "yes")]
    pub ask: bool,
}

/// A question to the user: for a name, or for a visit to a page.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct Elicit {
    /// The way to ask; by default, one that the client supports.
    pub mode: Option<ElicitMode>,
    /// The names to choose from; any name if empty.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Whether the user may choose several names.
    #[serde(default)]
    pub several: bool,
    /// The name of a secret to ask for; a form would show it to the client.
    pub secret: Option<String>,
    /// The number of pages to visit, all requested at the same time.
    #[serde(default = "once")]
    pub visits: usize,
}

/// The two modes of an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ElicitMode {
    Form,
    Url,
}

fn once() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// Reads variables from an object, or from the list that the protocol uses.
fn environment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match Vec::<Variable>::deserialize(&value) {
        Ok(variables) => Ok(variables.into_iter().map(|variable| (variable.name, variable.value)).collect()),
        Err(_) => serde_json::from_value(value).map_err(D::Error::custom),
    }
}

impl Intent {
    /// Finds the intent of the prompt; the error explains an unreadable intent line.
    pub(super) fn of_prompt(prompt: &[Block]) -> Result<Self, String> {
        let mut texts = prompt.iter().filter_map(Block::as_text);
        let lines = texts.clone().flat_map(str::lines);
        if let Some(json) = lines.filter_map(|line| line.trim().strip_prefix(MARK)).next_back() {
            return serde_json::from_str(json).map_err(|error| format!("intent not understood: {error}"));
        }
        Ok(texts.next().and_then(slash_command).unwrap_or(Self::Say { text: None }))
    }
}

fn slash_command(text: &str) -> Option<Intent> {
    let text = text.strip_prefix('/')?;
    let (name, input) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match name {
        "say" => Some(Intent::Say { text: Some(input.trim().to_owned()) }),
        "plan" => Some(Intent::Plan),
        "usage" => Some(Intent::Usage),
        _ => None,
    }
}

/// Returns the prompt as one text without its intent lines; other content is described in brackets.
pub(super) fn prompt_text(prompt: &[Block]) -> String {
    prompt.iter().map(block_text).collect()
}

fn block_text(block: &Block) -> String {
    let member = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match block.kind() {
        "text" => {
            let lines = block.as_text().unwrap_or_default().split_inclusive('\n');
            lines.filter(|line| !line.trim().starts_with(MARK)).collect()
        }
        kind @ ("image" | "audio") => format!("[{kind} {}]", member(&block.0, "mimeType")),
        "resource_link" => format!("[link {}]", member(&block.0, "name")),
        "resource" if block.0["resource"]["blob"].is_string() => {
            format!("[blob {}]", member(&block.0["resource"], "uri"))
        }
        _ => member(&block.0["resource"], "text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Vec<Block> {
        vec![Block::text(text)]
    }

    #[test]
    fn takes_the_last_intent_line() {
        let prompt = prompt("hello\nacp-intent: {\"intent\":\"plan\"}\nacp-intent: {\"intent\":\"usage\"}\n");
        assert_eq!(Intent::of_prompt(&prompt), Ok(Intent::Usage));
        assert_eq!(prompt_text(&prompt), "hello\n");
    }

    #[test]
    fn echoes_without_an_intent() {
        let prompt = prompt("just é text");
        assert_eq!(Intent::of_prompt(&prompt), Ok(Intent::Say { text: None }));
        assert_eq!(prompt_text(&prompt), "just é text");
    }

    #[test]
    fn reads_members_in_camel_case() {
        let found = Intent::of_prompt(&prompt("acp-intent: {\"intent\":\"set-mode\",\"modeId\":\"code\"}"));
        assert_eq!(found, Ok(Intent::SetMode { mode_id: "code".to_owned() }));
    }

    #[test]
    fn runs_announced_slash_commands() {
        assert_eq!(Intent::of_prompt(&prompt("/plan now")), Ok(Intent::Plan));
    }
}
