//! The rows about the client's payloads.
//!
//! Correct but unusual: members that are null where the schema or the receivers allow it (`NULL_IS_ABSENT`), empty
//! lists, members of the unstable schema, and any `_meta`. Only the schema decides, and it allows all of these.

use super::row::{Row, When, row};

pub(super) const ROWS: &[Row] = &[
    row("init.version-present", "InitializeRequest", &["protocolVersion"], When::There),
    row("init.version-integer.client", "InitializeRequest", &["protocolVersion"], When::Member),
    row("init.client-info-shape", "InitializeRequest", &["clientInfo"], When::Member),
    row("init.capability-types.client", "ClientCapabilities", &[], When::Object),
    row("init.capabilities-sent", "InitializeRequest", &["clientCapabilities"], When::Member),
    // Each MCP server comes before the list of servers, and the lists in a server before the server.
    row("mcp.env-shape", "EnvVariable", &["name", "value"], When::Object),
    row("mcp.stdio.fields", "McpServerStdio", &["name", "command", "args", "env"], When::There),
    row("mcp.env-shape", "McpServerStdio", &["env"], When::Member),
    row("mcp.stdio.fields", "McpServerStdio", &["name", "command", "args"], When::Object),
    row("mcp.http.fields", "McpServerHttp", &["name", "url", "headers"], When::Object),
    row("mcp.http.fields", "McpServerSse", &["name", "url", "headers"], When::Object),
    row("session.new.params", "NewSessionRequest", &["cwd", "mcpServers"], When::Object),
    row("load.params", "LoadSessionRequest", &["sessionId", "cwd", "mcpServers"], When::Object),
    row("resume.params", "ResumeSessionRequest", &["sessionId", "cwd", "mcpServers"], When::Object),
    // The contents of a prompt come before the prompt.
    row("content.image-data.client", "ImageContent", &["data", "mimeType"], When::Object),
    row("content.audio-data.client", "AudioContent", &["data", "mimeType"], When::Object),
    row("content.resource-shape.client", "EmbeddedResource", &["resource"], When::Object),
    row("content.resource-link-shape.client", "ResourceLink", &["uri", "name"], When::Object),
    row("content.known-type.client", "ContentBlock", &["type", "text"], When::Object),
    // The text and type of a block come before the prompt that contains it.
    row("system-prompt.shape", "SystemPrompt", &["mode", "content"], When::Object),
    row("system-prompt.shape", "NewSessionRequest", &["systemPrompt"], When::Member),
    row("system-prompt.shape", "LoadSessionRequest", &["systemPrompt"], When::Member),
    row("system-prompt.shape", "ResumeSessionRequest", &["systemPrompt"], When::Member),
    row("prompt.params", "PromptRequest", &["sessionId", "prompt"], When::Object),
    row("config.set-request-shape", "SetSessionConfigOptionRequest", &[], When::Object),
    row("cancel.notification", "CancelNotification", &["sessionId"], When::Object),
    row("cancelreq.params.client", "CancelRequestNotification", &["requestId"], When::Object),
    row("permission.outcome-shape", "RequestPermissionResponse", &[], When::Object),
    row("fs.read.implemented", "ReadTextFileResponse", &["content"], When::Object),
    row("fs.write.result-shape", "WriteTextFileResponse", &[], When::Root),
    row("terminal.create.returns-id", "CreateTerminalResponse", &["terminalId"], When::Object),
    row("terminal.output.fields", "TerminalOutputResponse", &["output", "truncated"], When::Object),
    row("terminal.wait.flat-result", "WaitForTerminalExitResponse", &["exitCode", "signal"], When::Member),
    row("terminal.kill.result-object", "KillTerminalResponse", &[], When::Root),
    row("terminal.release.result-object", "ReleaseTerminalResponse", &[], When::Root),
    row("elicit.content-shape", "ElicitationAcceptAction", &["content"], When::Member),
    row("elicit.action", "CreateElicitationResponse", &["action"], When::Object),
];
