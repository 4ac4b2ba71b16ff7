//! Requirements on the shape of single definitions, as a table: which problems of the schema belong to which requirement.
//!
//! The first row that owns a problem takes it, and what no row owns goes to `schema.valid`. So one wrong member accuses
//! one requirement, and a new shape rule is a new row.

use std::collections::BTreeSet;

use serde_json::Value;

use super::moment::Payload;
use super::ruling::Judgement;
use crate::protocol::{Problem, ProblemKind, Site};
use crate::requirement::Party;

/// When a row counts as exercised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Whenever the object is there.
    Object,
    /// When one of the members is there and not null.
    Member,
    /// Whenever the object is there; and the row owns nothing but that it is an object.
    Root,
}

struct Row {
    requirement: &'static str,
    definition: &'static str,
    /// The members that it is about, possibly with a path below them; empty for all of the object.
    members: &'static [&'static str],
    when: When,
}

const fn row(requirement: &'static str, definition: &'static str, members: &'static [&'static str], when: When) -> Row {
    Row { requirement, definition, members, when }
}

/// The catch-all for problems that no row owns.
const VALID: &str = "schema.valid.agent";

/// Members that are a known one in another spelling.
const MEMBERS: &str = "schema.camel-case.agent";

/// Where anything is wrong with a `_meta`.
const META: &str = "ext.meta-object.agent";

/// Members that receivers take as absent when they are null: method, place and the requirement to note it at.
const NULL_IS_ABSENT: [(&str, &str, &str); 2] =
    [("terminal/create", "/args", "terminal.create.params"), ("terminal/create", "/env", "terminal.create.params")];

/// Values that are a known one in another spelling.
const SPELLING: &str = "schema.snake-case-discriminators.agent";

const AGENT: &[Row] = &[
    row("init.version-integer.agent", "InitializeResponse", &["protocolVersion"], When::Object),
    row("init.agent-info-shape", "InitializeResponse", &["agentInfo"], When::Member),
    row("init.capability-types.agent", "InitializeResponse", &["agentCapabilities"], When::Member),
    row("auth.methods.shape", "AuthMethod", &["id", "name", "description"], When::Object),
    row("auth.authenticate.empty-result", "AuthenticateResponse", &[], When::Object),
    row("auth.logout.implemented", "LogoutResponse", &[], When::Object),
    row("session.new.returns-id", "NewSessionResponse", &["sessionId"], When::Object),
    row("list.implemented", "ListSessionsResponse", &["sessions"], When::Object),
    row("list.next-cursor-string", "ListSessionsResponse", &["nextCursor"], When::Member),
    row("list.entry-shape", "SessionInfo", &["sessionId", "cwd"], When::Object),
    row("list.updated-at", "SessionInfo", &["updatedAt"], When::Member),
    row("load.result-shape", "LoadSessionResponse", &[], When::Root),
    row("resume.result-object", "ResumeSessionResponse", &[], When::Root),
    row("close.empty-result", "CloseSessionResponse", &[], When::Root),
    row("delete.implemented", "DeleteSessionResponse", &[], When::Root),
    row("modes.set-result", "SetSessionModeResponse", &[], When::Root),
    row("prompt.stop-reason", "PromptResponse", &["stopReason"], When::Object),
    row("content.image-data.agent", "ImageContent", &["data", "mimeType"], When::Object),
    row("content.audio-data.agent", "AudioContent", &["data", "mimeType"], When::Object),
    row("content.resource-shape.agent", "EmbeddedResource", &["resource"], When::Object),
    row("content.resource-link-shape.agent", "ResourceLink", &["uri", "name"], When::Object),
    row("content.known-type.agent", "ContentBlock", &["type", "text"], When::Object),
    row("message-id.string", "ContentChunk", &["messageId"], When::Member),
    row("tool.content-wrapped", "ToolCallContent", &["type"], When::Object),
    row("tool.diff-fields", "Diff", &["path", "newText", "oldText"], When::Object),
    row("tool.kind", "ToolCall", &["kind"], When::Member),
    row("tool.kind", "ToolCallUpdate", &["kind"], When::Member),
    row("tool.status", "ToolCall", &["status"], When::Member),
    row("tool.status", "ToolCallUpdate", &["status"], When::Member),
    row("tool.title", "ToolCall", &["title"], When::Object),
    row("permission.option-fields", "PermissionOption", &["optionId", "name", "kind"], When::Object),
    row(
        "permission.fields",
        "RequestPermissionRequest",
        &["sessionId", "options", "toolCall", "toolCall/toolCallId"],
        When::Object,
    ),
    row("tool.update-partial", "ToolCallUpdate", &[], When::Object),
    row("usage.cost", "UsageUpdate", &["cost"], When::Member),
    row("usage.fields", "UsageUpdate", &["used", "size"], When::Object),
    row("plan.entries", "PlanEntry", &["content", "priority", "status"], When::Object),
    row("modes.update-field", "CurrentModeUpdate", &["currentModeId"], When::Object),
    row("modes.state", "SessionModeState", &[], When::Object),
    row("config.known-type", "SessionConfigOption", &["type"], When::Object),
    row("config.groups", "SessionConfigSelect", &["options"], When::Object),
    row("config.boolean-shape", "SessionConfigBoolean", &["currentValue"], When::Object),
    row("config.shape", "SessionConfigOption", &[], When::Object),
    row("commands.shape", "AvailableCommand", &[], When::Object),
    row("update.shape", "SessionNotification", &["sessionId", "update", "update/sessionUpdate"], When::Object),
    row("fs.read.params", "ReadTextFileRequest", &["sessionId", "path", "line", "limit"], When::Object),
    row("fs.write.params", "WriteTextFileRequest", &["sessionId", "path", "content"], When::Object),
    row(
        "terminal.create.params",
        "CreateTerminalRequest",
        &["sessionId", "command", "args", "env", "outputByteLimit"],
        When::Object,
    ),
    row("cancelreq.params.agent", "CancelRequestNotification", &["requestId"], When::Object),
    row("elicit.mode-explicit", "CreateElicitationRequest", &["mode"], When::Object),
    row("elicit.message", "CreateElicitationRequest", &["message"], When::Object),
    row("elicit.scope", "CreateElicitationRequest", &["sessionId", "requestId"], When::Member),
    row("elicit.form.schema-flat", "ElicitationFormMode", &["requestedSchema"], When::Object),
    row("elicit.url.fields", "ElicitationUrlMode", &["elicitationId", "url"], When::Object),
    // The lists and objects themselves, behind the rows that own what is inside them.
    row("modes.state", "NewSessionResponse", &["modes"], When::Member),
    row("modes.state", "LoadSessionResponse", &["modes"], When::Member),
    row("modes.state", "ResumeSessionResponse", &["modes"], When::Member),
    row("config.shape", "NewSessionResponse", &["configOptions"], When::Member),
    row("config.shape", "LoadSessionResponse", &["configOptions"], When::Member),
    row("config.shape", "ResumeSessionResponse", &["configOptions"], When::Member),
    row("config.shape", "ConfigOptionUpdate", &["configOptions"], When::Object),
    row("config.set-complete", "SetSessionConfigOptionResponse", &["configOptions"], When::Object),
    row("commands.shape", "AvailableCommandsUpdate", &["availableCommands"], When::Object),
];

/// The variants of `session/update` are told from their other problems, since the closed union has a rule of its own.
const VARIANT: &str = "update.known-variant";

/// The requirements that the table decides.
pub(super) fn requirements() -> impl Iterator<Item = &'static str> {
    AGENT.iter().map(|row| row.requirement).chain([VALID, MEMBERS, SPELLING, VARIANT, META])
}

/// Attributes every problem of the payload, and counts what was fine.
pub(super) fn judge(payload: &Payload<'_>, party: Party, event: usize, judgement: &mut Judgement) {
    if party == Party::Client {
        // The client's half of the table comes with the first client that is judged.
        return;
    }
    let mut owned = BTreeSet::new();
    spelling(payload, event, judgement, &mut owned);
    variants(payload, event, judgement, &mut owned);
    metas(payload, event, judgement, &mut owned);
    // What is no object at all is no place by itself, and belongs to the first row of its definition.
    let whole = Some(("", payload.value)).filter(|_| !payload.value.is_object());
    for row in AGENT {
        for (at, value) in payload.places(row.definition).chain(whole.filter(|_| row.definition == payload.definition))
        {
            let mine: Vec<usize> = (0..payload.problems.len())
                .filter(|index| !owned.contains(index) && row.owns(at, &payload.problems[*index]))
                .collect();
            let exercised =
                row.when != When::Member || row.members.iter().any(|m| value.get(m).is_some_and(|v| !v.is_null()));
            if mine.is_empty() && exercised {
                judgement.ruling(row.requirement, event).pass();
            }
            for index in mine {
                owned.insert(index);
                accuse(row.requirement, payload, &payload.problems[index], event, judgement);
            }
        }
    }
    let rest: Vec<&Problem> =
        payload.problems.iter().enumerate().filter(|(i, _)| !owned.contains(i)).map(|(_, p)| p).collect();
    if payload.problems.is_empty() {
        judgement.ruling(VALID, event).pass();
    }
    for problem in rest {
        accuse(VALID, payload, problem, event, judgement);
    }
}

/// Judges the names of members: a known one in another spelling accounts for the one that is missing.
fn spelling(payload: &Payload<'_>, event: usize, judgement: &mut Judgement, owned: &mut BTreeSet<usize>) {
    let strangers = payload.parts.members.iter().filter(|member| !payload.drafts.contains(&member.at));
    let mut misspelt = false;
    for (member, known) in
        strangers.filter_map(|m| if let Site::Misspelt(known) = m.known { Some((m, known)) } else { None })
    {
        misspelt = true;
        let parent = member.at.rsplit_once('/').map_or("", |(parent, _)| parent);
        let wanted = format!("{parent}/{known}");
        owned.extend((0..payload.problems.len()).filter(|&index| payload.problems[index].at == wanted));
        let message = format!("in {}, the member {} is spelt `{known}` in the protocol", payload.method, member.at);
        judgement.ruling(MEMBERS, event).fail(message, &[]);
    }
    let tempting = |name: &str| name.contains(char::is_uppercase);
    if !misspelt && payload.parts.members.iter().any(|m| m.known == Site::Defined && tempting(m.name)) {
        judgement.ruling(MEMBERS, event).pass();
    }
}

/// Judges the closed sets of strings: which variant an update is, and how discriminators are spelt.
fn variants(payload: &Payload<'_>, event: usize, judgement: &mut Judgement, owned: &mut BTreeSet<usize>) {
    for (index, problem) in payload.problems.iter().enumerate().filter(|(_, p)| p.kind == ProblemKind::NotInSet) {
        let found = payload.value.pointer(&problem.at).and_then(Value::as_str).unwrap_or_default();
        if problem.message.split('"').any(|known| known != found && known.len() > 2 && plain(known) == plain(found)) {
            owned.insert(index);
            accuse(SPELLING, payload, problem, event, judgement);
        } else if payload.method == "session/update" && problem.at == "/update/sessionUpdate" {
            owned.insert(index);
            accuse(VARIANT, payload, problem, event, judgement);
        }
    }
    let has_set = payload
        .parts
        .members
        .iter()
        .any(|m| matches!(m.name, "sessionUpdate" | "type" | "kind" | "status" | "stopReason"));
    if has_set && payload.problems.iter().all(|problem| problem.kind != ProblemKind::NotInSet) {
        judgement.ruling(SPELLING, event).pass();
    }
    let known = payload.value.pointer("/update/sessionUpdate").is_some_and(Value::is_string);
    let draft = payload.drafts.iter().any(|at| at == "/update/sessionUpdate");
    if payload.method == "session/update"
        && known
        && !draft
        && payload.problems.iter().all(|p| p.at != "/update/sessionUpdate")
    {
        judgement.ruling(VARIANT, event).pass();
    }
    if draft {
        judgement.ruling(VARIANT, event).note(format!(
            "the update kind {} is known to the unstable schema only",
            payload.value.pointer("/update/sessionUpdate").unwrap_or_default()
        ));
    }
}

/// Judges `_meta`, which every object may have, and takes out of judgement what receivers take as absent.
fn metas(payload: &Payload<'_>, event: usize, judgement: &mut Judgement, owned: &mut BTreeSet<usize>) {
    for (index, problem) in payload.problems.iter().enumerate() {
        let absent = NULL_IS_ABSENT.iter().find(|(method, at, _)| payload.method == *method && problem.at == *at);
        let null = payload.value.pointer(&problem.at) == Some(&Value::Null);
        if problem.at.ends_with("/_meta") && owned.insert(index) {
            accuse(META, payload, problem, event, judgement);
        } else if let Some((_, at, requirement)) = absent.filter(|_| null && owned.insert(index)) {
            judgement.ruling(requirement, event).note(format!("{at} is null, which receivers take for an empty list"));
        }
    }
    let metas = payload.parts.members.iter().filter(|member| member.name == "_meta");
    if metas.clone().next().is_some() && metas.clone().all(|meta| meta.value.is_object() || meta.value.is_null()) {
        judgement.ruling(META, event).pass();
    }
}

fn accuse(requirement: &str, payload: &Payload<'_>, problem: &Problem, event: usize, judgement: &mut Judgement) {
    let what = if payload.is_result { "result of" } else { "params of" };
    let message = format!("{what} {}, at {}: {}", payload.method, place(&problem.at), problem.message);
    judgement.ruling(requirement, event).fail(message, &[]);
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "its root" } else { pointer }
}

fn plain(text: &str) -> String {
    text.replace(['_', '-', ' '], "").to_lowercase()
}

impl Row {
    fn owns(&self, at: &str, problem: &Problem) -> bool {
        let Some(below) = problem.at.strip_prefix(at) else { return false };
        if at.is_empty() && below.is_empty() {
            return true;
        }
        if self.when == When::Root {
            return below.is_empty();
        }
        if self.members.is_empty() {
            return below.is_empty() || below.starts_with('/');
        }
        self.members.iter().any(|member| {
            let deep = member.contains('/') || matches!(problem.kind, ProblemKind::Missing | ProblemKind::WrongType);
            let rest = below.strip_prefix('/').and_then(|below| below.strip_prefix(member));
            match (self.definition, rest) {
                // Only these objects themselves belong to their row; what is inside them has rows of its own.
                ("SessionNotification" | "RequestPermissionRequest" | "ListSessionsResponse", Some(rest)) => {
                    rest.is_empty() && deep
                }
                (_, Some(rest)) => rest.is_empty() || rest.starts_with('/'),
                (_, None) => false,
            }
        })
    }
}
