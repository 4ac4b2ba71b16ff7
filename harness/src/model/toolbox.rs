//! Chooses the agent's tool for a purpose, and its arguments.

use serde_json::{Map, Value, json};

use super::ask::Tool;
use super::fill::plain;
use super::{fill, shell, suitable};
use crate::profile::{Hints, McpByCode, Role, places};

/// The wanted lines of a file; without numbers, all lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LineRange {
    /// The number of the first line.
    pub first: Option<u64>,
    /// How many lines.
    pub count: Option<u64>,
}

/// A task for a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Job {
    Read {
        path: String,
        lines: LineRange,
    },
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    /// With `brief`, the tool should stop the command soon, if it can.
    Run {
        line: String,
        brief: bool,
    },
    Search {
        text: String,
    },
    /// A subagent gets this prompt.
    Delegate {
        prompt: String,
    },
    /// Any other task, with the known arguments.
    Other {
        role: Role,
        wanted: Map<String, Value>,
    },
}

/// Returns the usual names of tools for a role, the preferred one first, in lower case and without separators.
const fn usual_names(role: Role) -> &'static [&'static str] {
    match role {
        Role::Read => {
            &["read", "readfile", "readtextfile", "viewfile", "view", "openfile", "fsread", "fileread", "cat"]
        }
        Role::Write => {
            &["write", "writefile", "createfile", "writetofile", "writetextfile", "filewrite", "fswrite", "create"]
        }
        Role::Edit => &[
            "edit",
            "editfile",
            "strreplace",
            "strreplacefile",
            "searchreplace",
            "replace",
            "replaceinfile",
            "fileedit",
        ],
        Role::Run => &[
            "bash",
            "shell",
            "shellcommand",
            "execcommand",
            "runshellcommand",
            "runcommand",
            "executecommand",
            "runterminalcmd",
            "runinterminal",
            "terminal",
            "exec",
            "execute",
        ],
        Role::Search => &["grep", "grepsearch", "searchfilecontent", "ripgrep", "searchfiles", "searchtext", "search"],
        Role::Plan => &["todowrite", "updateplan", "writetodos", "settodolist", "updatetodos", "todo", "plan"],
        Role::Ask => &["askuserquestion", "askuser", "question", "askfollowupquestion", "requestuserinput"],
        Role::Mode => &["exitplanmode", "planexit", "enterplanmode", "switchmode"],
        Role::Delegate => &["task", "agent", "spawnagent", "delegate", "delegatetask", "subagent", "runsubagent"],
    }
}

/// The seconds to watch a command before it continues in the background, for agents that let the model choose: a cancel
/// then arrives during a command. Codex accepts no more.
const LONGEST_COMMAND: u64 = 30;

/// The name of a tool that takes a patch for files.
const PATCH: &str = "applypatch";

impl Job {
    pub(super) const fn role(&self) -> Role {
        match self {
            Self::Read { .. } => Role::Read,
            Self::Write { .. } => Role::Write,
            Self::Edit { .. } => Role::Edit,
            Self::Run { .. } => Role::Run,
            Self::Search { .. } => Role::Search,
            Self::Delegate { .. } => Role::Delegate,
            Self::Other { role, .. } => *role,
        }
    }

    /// Returns a command for the same task, for an agent whose only tool is a shell.
    fn command(&self) -> Option<Self> {
        let line = match self {
            Self::Read { path, .. } => shell::read(path),
            Self::Write { path, content } => shell::write(path, content),
            Self::Search { text } => shell::search(text),
            Self::Edit { .. } | Self::Run { .. } | Self::Delegate { .. } | Self::Other { .. } => return None,
        };
        Some(Self::Run { line, brief: false })
    }

    /// Returns a patch for the task.
    fn patch(&self) -> Option<String> {
        let lines = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
        let change = match self {
            Self::Write { path, content } => format!("*** Add File: {path}\n{}", lines('+', content)),
            Self::Edit { path, old, new } => {
                format!("*** Update File: {path}\n@@\n{}{}", lines('-', old), lines('+', new))
            }
            _ => return None,
        };
        Some(format!("*** Begin Patch\n{change}*** End Patch\n"))
    }

    /// Returns the known arguments, by their usual meaning.
    fn wanted(&self) -> Vec<(fill::Meaning, Value)> {
        use fill::Meaning::{
            Brief, Command, Content, Count, First, Helper, New, Old, Path, Patience, Pattern, Prompt, Steps, Verb,
        };
        match self {
            Self::Read { path, lines } => {
                let numbers = [(First, lines.first), (Count, lines.count)];
                let numbers = numbers.into_iter().filter_map(|(meaning, number)| Some((meaning, json!(number?))));
                std::iter::once((Path, json!(path))).chain(numbers).collect()
            }
            Self::Write { path, content } => vec![(Path, json!(path)), (Content, json!(content))],
            Self::Edit { path, old, new } => vec![(Path, json!(path)), (Old, json!(old)), (New, json!(new))],
            Self::Run { line, brief: false } => vec![(Command, json!(line)), (Patience, json!(LONGEST_COMMAND))],
            Self::Run { line, brief: true } => vec![(Command, json!(line)), (Brief, json!(1))],
            Self::Search { text } => vec![(Pattern, json!(text))],
            Self::Delegate { prompt } => vec![(Prompt, json!(prompt)), (Helper, json!("general-purpose"))],
            Self::Other { wanted, .. } => {
                let steps = wanted.get("steps").map(|steps| [(Steps, steps.clone()), (Verb, json!("write"))]);
                steps.into_iter().flatten().collect()
            }
        }
    }
}

/// The tools that an agent offers its model, and what is known about them.
#[derive(Debug, Clone)]
pub(super) struct Toolbox<'t, 'h> {
    pub tools: &'t [Tool],
    pub hints: &'h Hints,
    /// The directory in which the agent works, if it names one to its model.
    pub directory: Option<String>,
}

/// A call of a tool for a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call<'t> {
    pub tool: &'t Tool,
    pub arguments: Value,
    /// The tool wants an absolute path, and gets a relative one.
    pub has_relative_path: bool,
}

impl<'t> Toolbox<'t, '_> {
    /// Chooses the tool for a job and its arguments, if there is one.
    pub(super) fn choose(&self, job: &Job) -> Option<Call<'t>> {
        if let Some(tool) = self.find(job.role()) {
            let (job, has_relative_path) = self.with_fitting_path(job, tool);
            // A shell resolves a relative path, and no directory has to be known for it.
            let other = has_relative_path.then(|| self.by_command(&job)).flatten();
            return other.or_else(|| Some(Call { tool, arguments: arguments(&job, tool), has_relative_path }));
        }
        if let Some((tool, patch)) = self.tools.iter().find(|tool| plain(&tool.name) == PATCH).zip(job.patch()) {
            return Some(Call { tool, arguments: patch_arguments(tool, patch), has_relative_path: false });
        }
        self.by_command(job)
    }

    fn by_command(&self, job: &Job) -> Option<Call<'t>> {
        let command = job.command()?;
        let tool = self.find(Role::Run)?;
        Some(Call { tool, arguments: arguments(&command, tool), has_relative_path: false })
    }

    /// Finds a tool: the one that the profile names, or one with a usual name, or one whose schema and description fit.
    fn find(&self, role: Role) -> Option<&'t Tool> {
        let named = |name: &str| self.tools.iter().find(|tool| plain(&tool.name) == name);
        match self.hints.tools.get(&role) {
            Some(name) => self.tools.iter().find(|tool| tool.name == *name),
            None => {
                let usual = usual_names(role).iter().find_map(|name| named(name));
                usual.or_else(|| self.tools.iter().find(|tool| suitable::serves(tool, role)))
            }
        }
    }

    /// Makes the path of a job absolute, if the tool wants that; returns whether it wants that and the directory is
    /// unknown.
    fn with_fitting_path(&self, job: &Job, tool: &Tool) -> (Job, bool) {
        let mut job = job.clone();
        let (Job::Read { path, .. } | Job::Write { path, .. } | Job::Edit { path, .. }) = &mut job else {
            return (job, false);
        };
        if path.starts_with('/') || !suitable::wants_absolute_path(tool) {
            return (job, false);
        }
        let Some(directory) = &self.directory else { return (job, true) };
        *path = format!("{}/{path}", directory.trim_end_matches('/'));
        (job, false)
    }
}

fn arguments(job: &Job, tool: &Tool) -> Value {
    let wanted = job.wanted();
    match &tool.schema {
        Some(schema) => fill::object(schema, &wanted),
        // A tool that takes free text gets the most important argument.
        None => wanted.into_iter().next().map_or_else(|| json!(""), |(_, value)| value),
    }
}

fn patch_arguments(tool: &Tool, patch: String) -> Value {
    match &tool.schema {
        Some(schema) => fill::object(schema, &[(fill::Meaning::Patch, json!(patch))]),
        None => json!(patch),
    }
}

/// Finds the agent's tool for a tool of an MCP server: its name contains that of the tool, and that of the server if
/// several match.
pub(super) fn of_mcp<'t>(server: &str, tool: &str, tools: &'t [Tool]) -> Option<&'t Tool> {
    let (server, wanted) = (plain(server), plain(tool));
    let whole = |tool: &Tool| plain(tool.group.as_deref().unwrap_or_default()) + &plain(&tool.name);
    let mut ending = tools.iter().filter(|tool| !wanted.is_empty() && whole(tool).ends_with(&wanted));
    let of_server = ending.clone().find(|tool| whole(tool).contains(&server));
    of_server.or_else(|| ending.next())
}

/// Returns the tool that runs code, and code that calls a tool of an MCP server.
pub(super) fn by_code<'t>(
    hint: &McpByCode,
    server: &str,
    tool: &str,
    arguments: &Value,
    tools: &'t [Tool],
) -> Option<(&'t Tool, Value)> {
    let runner = tools.iter().find(|tool| tool.name == hint.tool)?;
    let words = [("server", server.to_owned()), ("tool", tool.to_owned()), ("arguments", arguments.to_string())];
    let code = places::fill(&hint.code, &words.map(|(name, value)| (name.to_owned(), value)).into());
    let schema = runner.schema.as_ref()?;
    Some((runner, fill::object(schema, &[(fill::Meaning::Code, json!(code))])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(tools: &[(&str, Value)]) -> Vec<Tool> {
        let tool = |(name, schema): &(&str, Value)| Tool {
            name: (*name).to_owned(),
            group: None,
            description: String::new(),
            schema: Some(schema.clone()).filter(|schema| !schema.is_null()),
        };
        tools.iter().map(tool).collect()
    }

    fn text(name: &str) -> Value {
        json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] })
    }

    fn chosen<'t>(job: &Job, tools: &'t [Tool], hints: &Hints) -> Option<(&'t str, Value)> {
        let toolbox = Toolbox { tools, hints, directory: None };
        toolbox.choose(job).map(|call| (call.tool.name.as_str(), call.arguments))
    }

    #[test]
    fn preferred_name_wins_in_any_order() {
        let offered =
            tools(&[("run_shell_command", text("command")), ("cat", text("path")), ("Read", text("filePath"))]);
        let job = Job::Read { path: "/a".to_owned(), lines: LineRange::default() };
        assert_eq!(chosen(&job, &offered, &Hints::default()), Some(("Read", json!({ "filePath": "/a" }))));
        let hints = Hints { tools: [(Role::Read, "cat".to_owned())].into(), ..Hints::default() };
        assert_eq!(chosen(&job, &offered, &hints), Some(("cat", json!({ "path": "/a" }))));
    }

    #[test]
    fn absolute_path_is_made_if_the_tool_wants_one() {
        let path = json!({ "type": "string", "description": "The absolute path of the file." });
        let read = ("fetch_file", json!({ "properties": { "path": path } }));
        let mut offered = tools(&[read]);
        offered[0].description = "Reads a file.".to_owned();
        let hints = Hints::default();
        let job = |path: &str| Job::Read { path: path.to_owned(), lines: LineRange::default() };
        let call = |tools: &[Tool], directory: Option<&str>, path: &str| {
            let call = Toolbox { tools, hints: &hints, directory: directory.map(str::to_owned) }
                .choose(&job(path))
                .expect("a tool");
            (call.tool.name.clone(), call.arguments, call.has_relative_path)
        };
        let wanted = |path: &str, relative: bool| ("fetch_file".to_owned(), json!({ "path": path }), relative);
        assert_eq!(call(&offered, Some("/w"), "a.txt"), wanted("/w/a.txt", false));
        assert_eq!(call(&offered, Some("/w"), "/b.txt"), wanted("/b.txt", false));
        assert_eq!(call(&offered, None, "a.txt"), wanted("a.txt", true));
        offered.extend(tools(&[("run_terminal_command", text("command"))]));
        let by_command = ("run_terminal_command".to_owned(), json!({ "command": "cat a.txt" }), false);
        assert_eq!(call(&offered, None, "a.txt"), by_command, "a shell knows its directory");
    }

    #[test]
    fn reads_part_of_a_file_if_the_tool_can() {
        let job = Job::Read { path: "/a".to_owned(), lines: LineRange { first: Some(1), count: Some(2) } };
        let number = json!({ "type": "integer" });
        let schema = json!({ "properties": { "path": { "type": "string" }, "line": number, "limit": number } });
        let filled = json!({ "path": "/a", "line": 1, "limit": 2 });
        assert_eq!(chosen(&job, &tools(&[("read", schema)]), &Hints::default()), Some(("read", filled)));
        let whole = chosen(&job, &tools(&[("read", text("path"))]), &Hints::default()).map(|(_, filled)| filled);
        assert_eq!(whole, Some(json!({ "path": "/a" })));
    }

    #[test]
    fn patch_or_shell_replaces_a_missing_tool() {
        let write = Job::Write { path: "a b".to_owned(), content: "it's\n".to_owned() };
        let patcher = tools(&[("apply_patch", Value::Null)]);
        let patch = "*** Begin Patch\n*** Add File: a b\n+it's\n*** End Patch\n";
        assert_eq!(chosen(&write, &patcher, &Hints::default()), Some(("apply_patch", json!(patch))));
        let shell = tools(&[("exec_command", text("cmd"))]);
        let run = chosen(&write, &shell, &Hints::default());
        assert_eq!(run, Some(("exec_command", json!({ "cmd": "printf '%s' 'it'\\''s\n' > 'a b'" }))));
        assert_eq!(chosen(&write, &tools(&[("other", text("x"))]), &Hints::default()), None);
    }

    #[test]
    fn watches_a_command_as_long_as_the_tool_allows() {
        let wait = json!({ "type": "number", "description": "Wait before yielding output. Defaults to 10000 ms." });
        let schema = json!({ "type": "object", "properties": { "cmd": { "type": "string" }, "yield_time_ms": wait } });
        let offered = tools(&[("exec_command", schema)]);
        let run = chosen(&Job::Run { line: "sleep 20".to_owned(), brief: false }, &offered, &Hints::default());
        assert_eq!(run, Some(("exec_command", json!({ "cmd": "sleep 20", "yield_time_ms": 30_000 }))));
    }

    #[test]
    fn code_calls_an_mcp_tool_that_is_not_offered_directly() {
        let hint = McpByCode { tool: "run_code".to_owned(), code: "{server}.{tool}({arguments})".to_owned() };
        let call = |offered: &[Tool]| {
            by_code(&hint, "one", "echo", &json!({ "text": "{tool}" }), offered).map(|(_, filled)| filled)
        };
        let filled = json!({ "code": r#"one.echo({"text":"{tool}"})"# });
        assert_eq!(call(&tools(&[("run_code", text("code"))])), Some(filled));
        assert_eq!(call(&tools(&[("other", text("code"))])), None);
    }

    #[test]
    fn finds_an_mcp_tool_by_name_and_server() {
        let offered = tools(&[("mcp__one__echo", json!({})), ("mcp__two__echo", json!({})), ("two_add", json!({}))]);
        let name = |server, tool| of_mcp(server, tool, &offered).map(|tool| tool.name.as_str());
        assert_eq!(name("two", "echo"), Some("mcp__two__echo"));
        assert_eq!(name("three", "add"), Some("two_add"));
        assert_eq!(name("two", ""), None);
    }
}
