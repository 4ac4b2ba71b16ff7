//! Finds the agent's tool for a purpose by its schema and description, where its name is not a usual one.

use serde_json::Value;

use super::ask::Tool;
use super::fill::{self, Meaning};
use crate::profile::Role;

/// Whether the tool seems to serve the purpose.
pub(super) fn serves(tool: &Tool, role: Role) -> bool {
    let Some(schema) = &tool.schema else { return false };
    let takes = |meaning: Meaning| fill::member(schema, meaning).is_some();
    let names_one = |names: &[&str]| fill::named(schema, names).is_some_and(takes_text);
    let words = Words::of(tool);
    let is_about_a_file = takes(Meaning::Path) && fill::named(schema, COMMANDS).is_none();
    let changes = takes(Meaning::Content) || takes(Meaning::Old);
    match role {
        // Some tools call their action `command`; that is one of a list, or the path of a file comes with it.
        Role::Run => {
            let is_plain = !takes(Meaning::Path) && !takes(Meaning::Content) && !words.have(&["patch", "diff"]);
            names_one(COMMANDS) && is_plain && (words.are_few() || words.have(RUNS))
        }
        Role::Read => is_about_a_file && !changes && words.begin_with(READS) && !words.have(&["directory", "folder"]),
        Role::Write => is_about_a_file && names_one(CONTENTS) && !takes(Meaning::Old) && words.begin_with(WRITES),
        Role::Edit => is_about_a_file && takes(Meaning::Old) && takes(Meaning::New),
        Role::Search => {
            names_one(PATTERNS) && !changes && words.have(SEARCHES) && !words.have(&["web", "internet", "online"])
        }
        Role::Plan => fill::named(schema, &["todos", "plan", "steps", "tasks"]).is_some_and(is_list),
        Role::Ask => fill::named(schema, &["question", "questions"]).is_some(),
        Role::Mode | Role::Delegate => false,
    }
}

const COMMANDS: &[&str] = &["command", "cmd", "commandline", "shellcommand"];
const CONTENTS: &[&str] = &["content", "contents", "filetext", "filecontent"];
const PATTERNS: &[&str] = &["pattern", "query", "regex", "regexp"];
const RUNS: &[&str] = &["command", "commands", "shell", "bash", "terminal", "execute", "run"];
const READS: &[&str] = &["read", "reads", "view", "views", "open", "opens", "cat", "show", "shows"];
const WRITES: &[&str] = &["write", "writes", "create", "creates", "save", "saves", "overwrite", "overwrites"];
const SEARCHES: &[&str] = &["grep", "ripgrep", "contents", "content", "text"];

/// Whether the member takes any text: a command in words counts.
fn takes_text(member: &Value) -> bool {
    let is_free = ["enum", "const"].iter().all(|key| member.get(key).is_none());
    is_free && matches!(fill::kind(member).to_ascii_lowercase().as_str(), "string" | "array" | "")
}

fn is_list(member: &Value) -> bool {
    fill::kind(member).eq_ignore_ascii_case("array")
}

/// Whether the tool wants an absolute path in this member: its description or that of the member says so, and allows no
/// relative one.
pub(super) fn wants_absolute_path(tool: &Tool) -> bool {
    let Some((name, member)) = tool.schema.as_ref().and_then(|schema| fill::member(schema, Meaning::Path)) else {
        return false;
    };
    let of_member = member.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = [name.as_str(), of_member, &tool.description].map(wants_absolute);
    said.into_iter().flatten().next().unwrap_or(false)
}

/// Whether a text asks for an absolute path; `None` if it says nothing about that.
fn wants_absolute(text: &str) -> Option<bool> {
    let text = text.to_lowercase();
    let allows_relative = ["not relative", "not a relative", "no relative", "never relative", "instead of relative"]
        .iter()
        .fold(text.clone(), |text, denial| text.replace(denial, ""))
        .contains("relative");
    match (text.contains("absolute"), allows_relative) {
        (_, true) => Some(false),
        (true, false) => Some(true),
        (false, false) => None,
    }
}

/// The words of a tool: those of its name, and those of its description.
struct Words {
    name: Vec<String>,
    description: Vec<String>,
}

impl Words {
    fn of(tool: &Tool) -> Self {
        let mut name = String::new();
        let mut is_after_lower_case = false;
        for c in tool.name.chars() {
            if c.is_ascii_uppercase() && is_after_lower_case {
                name.push(' ');
            }
            is_after_lower_case = c.is_ascii_lowercase();
            name.push(c);
        }
        let split = |text: &str| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_ascii_lowercase).collect()
        };
        Self { name: split(&name), description: split(&tool.description) }
    }

    fn are_few(&self) -> bool {
        self.description.is_empty()
    }

    fn have(&self, wanted: &[&str]) -> bool {
        self.name.iter().chain(&self.description).any(|word| wanted.contains(&word.as_str()))
    }

    /// Whether the name has one of these words, or the description begins with one.
    fn begin_with(&self, wanted: &[&str]) -> bool {
        self.name.iter().chain(self.description.first()).any(|word| wanted.contains(&word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, members: Value) -> Tool {
        let schema = json!({ "type": "object", "properties": members });
        Tool { name: name.to_owned(), group: None, description: description.to_owned(), schema: Some(schema) }
    }

    #[test]
    fn tool_is_known_by_its_members_and_words() {
        let text = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": text });
        let table = [
            (tool("run_terminal_command", "", json!({ "command": text })), Some(Role::Run)),
            (
                tool("do_it", "Runs a shell command.", json!({ "cmd": list, "timeout": { "type": "number" } })),
                Some(Role::Run),
            ),
            (tool("remember", "Stores a note.", json!({ "command": text })), None),
            (tool("editor", "", json!({ "command": { "enum": ["view", "create"] }, "path": text })), None),
            (tool("apply", "Applies a patch.", json!({ "command": text })), None),
            (tool("fileViewer", "Views a file.", json!({ "path": text })), Some(Role::Read)),
            (tool("read_folder", "Reads a directory.", json!({ "path": text })), None),
            (tool("remove", "Deletes a file.", json!({ "path": text })), None),
            (tool("save_document", "", json!({ "path": text, "content": text })), Some(Role::Write)),
            (tool("x", "Edits a file.", json!({ "path": text, "oldText": text, "newText": text })), Some(Role::Edit)),
            (tool("look_for", "Finds text in files.", json!({ "pattern": text })), Some(Role::Search)),
            (tool("web_search", "Search the web for text.", json!({ "query": text })), None),
            (tool("steps", "", json!({ "todos": list })), Some(Role::Plan)),
            (tool("query_user", "", json!({ "question": text })), Some(Role::Ask)),
        ];
        let roles = [Role::Read, Role::Write, Role::Edit, Role::Run, Role::Search, Role::Plan, Role::Ask, Role::Mode];
        for (tool, role) in table {
            let found: Vec<Role> = roles.into_iter().filter(|role| serves(&tool, *role)).collect();
            assert_eq!(found, role.into_iter().collect::<Vec<_>>(), "{}", tool.name);
        }
    }

    #[test]
    fn absolute_path_is_wanted_if_no_relative_one_is_allowed() {
        let table = [
            ("path", "The absolute path of the file.", "", true),
            ("path", "The path (must be absolute, not relative).", "", true),
            ("path", "An absolute path, or one relative to the workspace.", "Takes an absolute path.", false),
            ("path", "", "Reads a file. The path must be an absolute path, not a relative path.", true),
            ("path", "The path of the file.", "Reads a file.", false),
            ("absolute_path", "The file.", "", true),
        ];
        for (name, of_member, of_tool, wanted) in table {
            let tool = tool("read", of_tool, json!({ name: { "type": "string", "description": of_member } }));
            assert_eq!(wants_absolute_path(&tool), wanted, "{name}: {of_member}; {of_tool}");
        }
    }
}
