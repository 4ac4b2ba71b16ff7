//! A small MCP client: enough to reach a server, list its tools and call one.

mod http;
mod stdio;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::{
    http::{Http, Sse},
    stdio::Stdio,
};

const MCP_VERSION: &str = "2025-06-18";
/// Time for the handshake; a server that hangs must not hang `session/new`.
const START_LIMIT: Duration = Duration::from_secs(5);

/// An MCP server that the client configured: a command, or a URL with headers. All versions write it alike.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct McpServer {
    pub name: String,
    r#type: Option<String>,
    command: Option<PathBuf>,
    args: Vec<String>,
    env: Vec<Variable>,
    url: String,
    headers: Vec<Variable>,
}

/// An environment variable or a header.
#[derive(Debug, Deserialize)]
pub(super) struct Variable {
    pub name: String,
    pub value: String,
}

impl McpServer {
    /// Returns whether the agent has the transport in version 2.
    pub(super) fn is_known_in_v2(&self) -> bool {
        self.command.is_some() || self.r#type.as_deref() == Some("http")
    }

    /// Returns whether its command is not an absolute path.
    pub(super) fn is_relative(&self) -> bool {
        self.command.as_deref().is_some_and(Path::is_relative)
    }
}

/// An MCP server of one session after its handshake.
pub(super) struct McpClient {
    pub name: String,
    tools: Vec<String>,
    way: Way,
    last_id: u64,
}

/// The transport to a server.
enum Way {
    Stdio(Stdio),
    Http(Http),
    Sse(Sse),
}

impl McpClient {
    /// Connects to a server, from the session's cwd, and lists its tools.
    pub(super) async fn start(server: &McpServer, cwd: &Path) -> Result<Self, String> {
        let started = timeout(START_LIMIT, async {
            let McpServer { url, headers, .. } = server;
            let way = match (&server.command, server.r#type.as_deref()) {
                (Some(command), _) => Way::Stdio(Stdio::start(command, &server.args, &server.env, cwd)?),
                (None, Some("http")) => Way::Http(Http::new(url, headers)?),
                (None, Some("sse")) => Way::Sse(Sse::open(url, headers).await?),
                _ => return Err("its transport is unknown".to_owned()),
            };
            let mut client = Self { name: server.name.clone(), tools: Vec::new(), way, last_id: 0 };
            client.greet().await?;
            Ok(client)
        });
        started.await.map_err(|_| "the handshake took too long".to_owned())?
    }

    /// Calls a tool and returns the text of its result.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        if !self.tools.iter().any(|name| name == tool) {
            return Err(format!("the server has no tool {tool}"));
        }
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        let text = result_text(&result);
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }

    /// Ends the connection, and the process if the server is one.
    pub(super) async fn stop(self) {
        if let Way::Stdio(stdio) = self.way {
            stdio.stop().await;
        }
    }

    async fn greet(&mut self) -> Result<(), String> {
        let info = json!({"name": "acp-reference-agent", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": info});
        self.request("initialize", params).await?;
        self.notify("notifications/initialized").await?;
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        self.tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        Ok(())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.way.send(&message).await?;
        let mut answer = loop {
            let received = self.way.receive().await?;
            if received.get("method").is_some() {
                if let Some(answer) = served(&received) {
                    self.way.send(&answer).await?;
                }
            } else if received["id"] == message["id"] {
                break received;
            }
        };
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"].take()),
        }
    }

    async fn notify(&mut self, method: &str) -> Result<(), String> {
        self.way.send(&json!({"jsonrpc": "2.0", "method": method})).await
    }
}

impl Way {
    async fn send(&mut self, message: &Value) -> Result<(), String> {
        match self {
            Self::Stdio(stdio) => stdio.send(message).await,
            Self::Http(http) => http.send(message).await,
            Self::Sse(sse) => sse.send(message).await,
        }
    }

    async fn receive(&mut self) -> Result<Value, String> {
        match self {
            Self::Stdio(stdio) => stdio.receive().await,
            Self::Http(http) => http.receive().await,
            Self::Sse(sse) => sse.events.next_message().await,
        }
    }
}

/// Builds the answer to a request of a server; only `ping` is implemented.
fn served(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    Some(match message["method"].as_str() {
        Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
    })
}

fn result_text(result: &Value) -> String {
    let items = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = items.filter_map(|item| item["text"].as_str()).collect();
    texts.join("\n")
}
