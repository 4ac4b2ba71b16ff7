//! A small MCP client: enough to reach a server, list its tools and call one.

mod http;
mod stdio;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::timeout;

use self::{
    http::{Http, Sse},
    stdio::Stdio,
};

const MCP_VERSION: &str = "2025-06-18";
/// Time for the handshake; a server that hangs must not hang `session/new`.
const START_LIMIT: Duration = Duration::from_secs(5);

/// An MCP server that the client configured.
pub(super) enum McpServer {
    Stdio {
        name: String,
        command: PathBuf,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
    Http {
        name: String,
        url: String,
        headers: Vec<(String, String)>,
    },
    /// A server on HTTP that answers in one stream of events, in version 1 only.
    Sse {
        name: String,
        url: String,
        headers: Vec<(String, String)>,
    },
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
            let (name, way) = match server {
                McpServer::Stdio { name, command, args, env } => {
                    (name, Way::Stdio(Stdio::start(command, args, env, cwd)?))
                }
                McpServer::Http { name, url, headers } => (name, Way::Http(Http::new(url, headers)?)),
                McpServer::Sse { name, url, headers } => (name, Way::Sse(Sse::open(url, headers).await?)),
            };
            let mut client = Self { name: name.clone(), tools: Vec::new(), way, last_id: 0 };
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
        let mut answer = match &mut self.way {
            Way::Stdio(stdio) => stdio.request(&message).await?,
            Way::Http(http) => http.request(&message).await?,
            Way::Sse(sse) => sse.request(&message).await?,
        };
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"].take()),
        }
    }

    async fn notify(&mut self, method: &str) -> Result<(), String> {
        let message = json!({"jsonrpc": "2.0", "method": method});
        match &mut self.way {
            Way::Stdio(stdio) => stdio.send(&message).await,
            Way::Http(http) => http.notify(&message).await,
            Way::Sse(sse) => sse.send(&message).await,
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
