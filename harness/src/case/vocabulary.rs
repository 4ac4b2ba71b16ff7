//! The vocabulary of a case: the requirements, and the messages of the protocol.

use serde_json::Value;

use crate::edition::Editions;
use crate::protocol::{Edition, Kind, Method, Problem, ProblemKind};
use crate::requirement::Party;

/// The part of a message that a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadKind<'a> {
    /// The parameters of a method; `null` if the message has none.
    Params(&'a str),
    /// The result of a method.
    Result(&'a str),
    /// An error object.
    Error,
}

/// Everything that the cases of one edition may name.
#[derive(Debug)]
pub struct Vocabulary {
    /// The edition.
    pub edition: &'static Edition,
    /// Every method of the stable and the draft schema, for suggestions.
    pub methods: Vec<String>,
    /// Whether the payloads in a case are compared with the schemas.
    compares_payloads: bool,
}

impl Vocabulary {
    /// Returns the vocabulary of an edition, including the methods of drafts.
    pub fn of(edition: &'static Edition) -> Self {
        let tables = [&edition.methods, &edition.draft_methods];
        let mut methods: Vec<_> =
            tables.iter().flat_map(|table| table.iter()).map(|(_, _, method)| method.name.clone()).collect();
        methods.sort();
        methods.dedup();
        Self { edition, methods, compares_payloads: true }
    }

    /// Returns the same for cases that were compared with the schemas before, which takes half of the time to read
    /// them.
    pub fn without_schemas(self) -> Self {
        Self { compares_payloads: false, ..self }
    }

    /// Returns whether one of these requirements exists, or is decided, only in another edition of the same major.
    /// Then so does the case that names them.
    pub fn is_of_other_edition(&self, requirements: &[String]) -> bool {
        Editions::built_in().are_of_other(&self.edition.name, &self.edition.catalogue, requirements)
    }

    /// Returns the kind of a party's method, if it has it. Callers handle methods that begin with `_` or `$/`.
    pub fn kind_of(&self, sender: Party, method: &str) -> Option<Kind> {
        let Edition { methods, draft_methods, .. } = self.edition;
        methods.kind_of(sender, method).or_else(|| draft_methods.kind_of(sender, method))
    }

    /// Compares a payload that a party sends with its schema.
    pub fn misfits(&self, sender: Party, payload: PayloadKind<'_>, value: &Value) -> Vec<Problem> {
        let problems = self.problems(sender, payload, value).into_iter();
        problems.filter(|problem| !problem.is_null_capability(value)).collect()
    }

    /// Returns the values in a pattern for a party's payload that the schema excludes: words outside a closed set.
    pub fn unknown_values(&self, sender: Party, payload: PayloadKind<'_>, pattern: &Value) -> Vec<Problem> {
        let is_word = |at: &str| pattern.pointer(at).and_then(Value::as_str).is_some_and(|word| !word.contains('<'));
        let problems = self.problems(sender, payload, pattern).into_iter();
        problems.filter(|problem| problem.kind == ProblemKind::NotInSet && is_word(&problem.at)).collect()
    }

    /// Returns the differences of a payload that a party sends from its schema.
    fn problems(&self, sender: Party, payload: PayloadKind<'_>, value: &Value) -> Vec<Problem> {
        if !self.compares_payloads {
            return Vec::new();
        }
        let edition = self.edition;
        let caller = if matches!(payload, PayloadKind::Result(_)) { sender.other() } else { sender };
        let find = |name: &str, of: fn(&Method) -> Option<&str>| {
            [(&edition.methods, &edition.stable), (&edition.draft_methods, &edition.unstable)].into_iter().find_map(
                |(table, schema)| {
                    let mut kinds = [Kind::Request, Kind::Notification].into_iter();
                    let method = kinds.find_map(|kind| table.find(caller, kind, name))?;
                    Some((schema, of(method)?))
                },
            )
        };
        let found = match payload {
            PayloadKind::Params(method) => find(method, |method| Some(&method.params)),
            PayloadKind::Result(method) => find(method, |method| method.result.as_deref()),
            PayloadKind::Error => Some((&edition.stable, "Error")),
        };
        found.map_or_else(Vec::new, |(schema, definition)| {
            edition.unexcused(definition, value, schema.problems(definition, value))
        })
    }
}

/// Begins the line of a prompt with its intent as JSON, for subjects that obey without a model.
pub const MARKER: &str = crate::trace::INTENT_MARKER;

/// Every intent that a prompt can have.
pub const INTENTS: [&str; 30] = [
    "say",
    "think",
    "plan",
    "read-file",
    "read-files",
    "write-file",
    "edit-file",
    "run-command",
    "run-in-background",
    "ask-permission",
    "keep-busy",
    "ask-and-wait",
    "search",
    "set-mode",
    "commands",
    "info",
    "usage",
    "notice",
    "compact",
    "spawn-subagent",
    "content",
    "tool-kinds",
    "fail-tool",
    "refuse",
    "model-error",
    "max-tokens",
    "max-turn-requests",
    "ext",
    "call-mcp-tool",
    "elicit",
];

/// Every act of a client's user, with the arguments that it takes; those with `?` are optional.
pub const ACTS: [(&str, &[&str]); 21] = [
    ("prompt", &["text", "?attach"]),
    ("cancel", &[]),
    ("new-session", &[]),
    ("load", &["sessionId"]),
    ("resume", &["sessionId"]),
    ("close", &["sessionId"]),
    ("delete", &["sessionId"]),
    ("switch", &["sessionId"]),
    ("list", &["?dir"]),
    ("set-mode", &["modeId"]),
    ("set-option", &["configId", "value"]),
    ("command", &["name", "?input"]),
    ("authenticate", &["methodId"]),
    ("logout", &[]),
    ("cancel-request", &[]),
    ("cancel-tool", &[]),
    ("cancel-terminal", &[]),
    ("decide", &["optionId"]),
    ("answer", &["action"]),
    ("custom-request", &["method"]),
    ("quit", &[]),
];

/// Every message that a client may send to an MCP server, apart from answers.
pub const MCP_METHODS: [&str; 17] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
];
