//! The capabilities on which parts of the protocol depend: one table for each major. The schema names the capabilities;
//! only its texts name what depends on them.

use crate::requirement::Party;

/// A part of the protocol that may depend on a capability of the party that receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature<'n> {
    /// A method. In the table, a name that ends in a slash stands for all methods below it.
    Method(&'n str),
    /// A variant of `session/update`.
    Update(&'n str),
    /// A type of content in a prompt.
    Content(&'n str),
    /// A type of content in a tool call.
    ToolContent(&'n str),
    /// A transport of MCP servers.
    McpServer(&'n str),
    /// A member of a request that opens a session.
    Member(&'n str),
    /// A mode of the member `systemPrompt`.
    SystemPromptMode(&'n str),
    /// A mode of `elicitation/create`.
    Elicitation(&'n str),
    /// A type of config options.
    ConfigOption(&'n str),
    /// A type of login methods.
    Login(&'n str),
}

impl std::fmt::Display for Feature<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Method(name) => f.write_str(name),
            Self::Update(variant) => write!(f, "the update {variant}"),
            Self::Content(kind) => write!(f, "content of the type `{kind}`"),
            Self::ToolContent(kind) => write!(f, "content of the type `{kind}` in a tool call"),
            Self::McpServer(transport) => write!(f, "an MCP server of the type `{transport}`"),
            Self::Member(name) => write!(f, "the member `{name}`"),
            Self::SystemPromptMode(mode) => write!(f, "a systemPrompt of the mode `{mode}`"),
            Self::Elicitation(mode) => write!(f, "the mode {mode}"),
            Self::ConfigOption(kind) => write!(f, "an option of the type `{kind}`"),
            Self::Login(kind) => write!(f, "a login of the type `{kind}`"),
        }
    }
}

/// A row of the table: a feature, and the capability of the receiving party that allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The party that advertises it.
    pub party: Party,
    /// The feature.
    pub feature: Feature<'static>,
    /// The members of the capabilities of the party that lead to it.
    pub path: &'static [&'static str],
    /// Whether the feature was a draft before the newest revision. Programs may still use another name or place for its
    /// capability.
    pub was_draft: bool,
}

impl Capability {
    /// Returns the path as text.
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    const fn former_draft(self) -> Self {
        Self { was_draft: true, ..self }
    }

    fn allows(&self, feature: Feature<'_>) -> bool {
        match (self.feature, feature) {
            (Feature::Method(known), Feature::Method(name)) if known.ends_with('/') => name.starts_with(known),
            (known, feature) => known == feature,
        }
    }
}

/// Returns the capability of a party that allows the feature; the first row that fits counts.
pub(super) fn find(table: &'static [Capability], party: Party, feature: Feature<'_>) -> Option<&'static Capability> {
    table.iter().find(|row| row.party == party && row.allows(feature))
}

/// Whether a capability of this name was a draft before the newest revision, in either version.
pub fn is_former_draft(name: &str) -> bool {
    V1.iter().chain(V2).any(|row| row.was_draft && row.path.last() == Some(&name))
}

const fn agent(feature: Feature<'static>, path: &'static [&'static str]) -> Capability {
    Capability { party: Party::Agent, feature, path, was_draft: false }
}

const fn client(feature: Feature<'static>, path: &'static [&'static str]) -> Capability {
    Capability { party: Party::Client, feature, path, was_draft: false }
}

/// The capabilities of version 1.
pub(super) const V1: &[Capability] = &[
    agent(Feature::Method("session/load"), &["loadSession"]),
    agent(Feature::Method("session/resume"), &["sessionCapabilities", "resume"]),
    agent(Feature::Method("session/list"), &["sessionCapabilities", "list"]),
    agent(Feature::Method("session/delete"), &["sessionCapabilities", "delete"]),
    agent(Feature::Method("session/close"), &["sessionCapabilities", "close"]),
    agent(Feature::Method("logout"), &["auth", "logout"]),
    agent(Feature::Content("image"), &["promptCapabilities", "image"]),
    agent(Feature::Content("audio"), &["promptCapabilities", "audio"]),
    agent(Feature::Content("resource"), &["promptCapabilities", "embeddedContext"]),
    agent(Feature::McpServer("http"), &["mcpCapabilities", "http"]),
    agent(Feature::McpServer("sse"), &["mcpCapabilities", "sse"]),
    agent(Feature::Member("additionalDirectories"), &["sessionCapabilities", "additionalDirectories"]),
    agent(Feature::Member("systemPrompt"), &["sessionCapabilities", "systemPrompt"]).former_draft(),
    agent(Feature::SystemPromptMode("override"), &["sessionCapabilities", "systemPrompt", "mode", "override"])
        .former_draft(),
    client(Feature::Method("fs/read_text_file"), &["fs", "readTextFile"]),
    client(Feature::Method("fs/write_text_file"), &["fs", "writeTextFile"]),
    client(Feature::Method("terminal/"), &["terminal"]),
    client(Feature::Method("elicitation/create"), &["elicitation"]),
    client(Feature::Elicitation("form"), &["elicitation", "form"]),
    client(Feature::Elicitation("url"), &["elicitation", "url"]),
    client(Feature::ConfigOption("boolean"), &["session", "configOptions", "boolean"]),
    client(Feature::Login("terminal"), &["auth", "terminal"]),
    client(Feature::Update("notice"), &["session", "notices"]),
    client(Feature::Update("compaction_update"), &["session", "compaction"]),
    client(Feature::Update("compaction_summary_chunk"), &["session", "compaction"]),
    client(Feature::Update("plan_update"), &["plan"]).former_draft(),
    client(Feature::Update("plan_removed"), &["plan"]).former_draft(),
    client(Feature::Update("subagent_update"), &["subagents"]).former_draft(),
    client(Feature::Update("session_message"), &["subagents"]).former_draft(),
    client(Feature::Update("session_message_chunk"), &["subagents"]).former_draft(),
    client(Feature::ToolContent("session"), &["subagents"]).former_draft(),
];

/// The capabilities of version 2.
pub(super) const V2: &[Capability] = &[
    agent(Feature::Method("session/delete"), &["session", "delete"]),
    // The baseline of agents that support sessions.
    agent(Feature::Method("session/"), &["session"]),
    agent(Feature::Content("image"), &["session", "prompt", "image"]),
    agent(Feature::Content("audio"), &["session", "prompt", "audio"]),
    agent(Feature::Content("resource"), &["session", "prompt", "embeddedContext"]),
    agent(Feature::McpServer("stdio"), &["session", "mcp", "stdio"]),
    agent(Feature::McpServer("http"), &["session", "mcp", "http"]),
    agent(Feature::Member("additionalDirectories"), &["session", "additionalDirectories"]),
    agent(Feature::Member("systemPrompt"), &["session", "systemPrompt"]).former_draft(),
    agent(Feature::SystemPromptMode("override"), &["session", "systemPrompt", "mode", "override"]).former_draft(),
    client(Feature::Method("elicitation/create"), &["elicitation"]),
    client(Feature::Elicitation("form"), &["elicitation", "form"]),
    client(Feature::Elicitation("url"), &["elicitation", "url"]),
    client(Feature::Login("terminal"), &["auth", "terminal"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Collects the paths below a definition that lead to a capability, and those that lead to a group of them.
    fn collect(root: &Value, definition: &Value, path: &[String], found: &mut [BTreeSet<String>; 2]) {
        let members = definition["properties"].as_object().into_iter().flatten();
        let members: Vec<_> = members.filter(|(name, _)| *name != "_meta").collect();
        if !path.is_empty() {
            found[usize::from(!members.is_empty())].insert(path.join("."));
        }
        for (name, member) in members {
            let references = ["allOf", "anyOf"].iter().filter_map(|of| member[of].as_array()).flatten().chain([member]);
            let mut names = references.filter_map(|it| it["$ref"].as_str()?.strip_prefix("#/$defs/"));
            let below = names.next().map_or(&Value::Null, |name| &root["$defs"][name]);
            collect(root, below, &[path, std::slice::from_ref(name)].concat(), found);
        }
    }

    #[test]
    fn table_has_every_capability_of_the_schema_and_no_other() {
        let schemas = [
            (V1, include_str!("../../../../schemas/acp/2026-11-20/v1/schema.json")),
            (V2, include_str!("../../../../schemas/acp/2026-11-20/v2/schema.json")),
        ];
        for (table, schema) in schemas {
            let root: Value = serde_json::from_str(schema).expect("a schema");
            for (party, definition) in [(Party::Agent, "AgentCapabilities"), (Party::Client, "ClientCapabilities")] {
                let mut found = [BTreeSet::new(), BTreeSet::new()];
                collect(&root, &root["$defs"][definition], &[], &mut found);
                let [single, groups] = found;
                let rows = table.iter().filter(|row| row.party == party);
                let rows: BTreeSet<String> = rows.map(Capability::name).collect();
                // In version 2 it has no content yet, and logins need none.
                let missing: Vec<_> = single.iter().filter(|path| !rows.contains(*path) && *path != "auth").collect();
                let unknown: Vec<_> =
                    rows.iter().filter(|path| !single.contains(*path) && !groups.contains(*path)).collect();
                assert!(missing.is_empty() && unknown.is_empty(), "{definition}: {missing:?} {unknown:?}");
            }
        }
    }

    #[test]
    fn first_row_that_fits_counts() {
        let path = |method| find(V2, Party::Agent, Feature::Method(method)).map(Capability::name);
        assert_eq!(path("session/delete").as_deref(), Some("session.delete"));
        assert_eq!(path("session/prompt").as_deref(), Some("session"));
        assert_eq!(path("auth/login"), None);
    }
}
