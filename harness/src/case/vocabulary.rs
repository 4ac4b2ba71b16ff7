//! What a case may speak of: the requirements, and the messages of the protocol.

use serde_json::Value;

use crate::protocol::{Edition, Kind, Method};
use crate::requirement::{Catalogue, Party};

/// What is known about a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodKind {
    /// It is answered.
    Request,
    /// It is not answered.
    Notification,
    /// This party has no such method.
    Unknown,
}

/// Which part of which message a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The parameters of a method; `null` where the message has none.
    Params(&'a str),
    /// The result of a method.
    Result(&'a str),
    /// An error object.
    Error,
}

/// Why a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Where in the value, as a JSON pointer.
    pub at: String,
    /// What is wrong there.
    pub message: String,
}

/// Tells how a party's method is to be called.
pub type IsMethod<'a> = dyn Fn(Party, &str) -> MethodKind + Sync + 'a;

/// Compares a payload that a party sends with its schema.
pub type FindMisfits<'a> = dyn Fn(Party, Payload<'_>, &Value) -> Vec<Misfit> + Sync + 'a;

/// Everything that the cases of one edition may speak of.
pub struct Vocabulary<'a> {
    /// The requirements.
    pub catalogue: &'a Catalogue,
    /// Tells how a party's method is to be called. Methods that begin with `_` or `$/` are not asked for.
    pub is_method: &'a IsMethod<'a>,
    /// Every method, for suggestions.
    pub methods: Vec<String>,
    /// Compares what the tester sends with the schema.
    pub invalid: &'a FindMisfits<'a>,
}

impl Vocabulary<'static> {
    /// Protocol version 1, with the methods that are still drafts.
    #[must_use]
    pub fn v1() -> Self {
        let edition = Edition::v1();
        let tables = [&edition.methods, &edition.draft_methods];
        let mut methods: Vec<_> =
            tables.iter().flat_map(|table| table.iter()).map(|(_, _, method)| method.name.clone()).collect();
        methods.sort();
        methods.dedup();
        Self { catalogue: Catalogue::v1(), is_method: &kind_in_v1, methods, invalid: &misfits_in_v1 }
    }
}

fn kind_in_v1(sender: Party, method: &str) -> MethodKind {
    let edition = Edition::v1();
    match edition.methods.kind_of(sender, method).or_else(|| edition.draft_methods.kind_of(sender, method)) {
        Some(Kind::Request) => MethodKind::Request,
        Some(Kind::Notification) => MethodKind::Notification,
        None => MethodKind::Unknown,
    }
}

fn misfits_in_v1(sender: Party, payload: Payload<'_>, value: &Value) -> Vec<Misfit> {
    let edition = Edition::v1();
    let caller = if matches!(payload, Payload::Result(_)) { sender.other() } else { sender };
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
        Payload::Params(method) => find(method, |method| Some(&method.params)),
        Payload::Result(method) => find(method, |method| method.result.as_deref()),
        Payload::Error => Some((&edition.stable, "Error")),
    };
    let problems = found.map_or_else(Vec::new, |(schema, definition)| schema.problems(definition, value));
    let meant = problems.into_iter().filter(|problem| !problem.is_null_capability(value));
    meant.map(|problem| Misfit { at: problem.at, message: problem.message }).collect()
}

impl std::fmt::Debug for Vocabulary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").field("methods", &self.methods).finish_non_exhaustive()
    }
}

/// Begins the line of a prompt that carries its intent as JSON, for whoever obeys without a model.
pub const MARKER: &str = "acp-intent: ";

/// Every intent that a prompt can have.
pub const INTENTS: [&str; 28] = [
    "say",
    "think",
    "plan",
    "read-file",
    "read-files",
    "write-file",
    "edit-file",
    "run-command",
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

/// Every act of a client's user, with the arguments that it takes; those behind `?` may be left out.
pub const ACTS: [(&str, &[&str]); 19] = [
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
    ("decide", &["optionId"]),
    ("answer", &["action"]),
    ("custom-request", &["method"]),
    ("quit", &[]),
];

/// Every message that an MCP server may be told by its client, apart from answers.
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
