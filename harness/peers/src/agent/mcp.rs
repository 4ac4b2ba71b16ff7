//! A small MCP client on stdio: enough to start a server, list its tools and call one.

use std::{path::Path, process::Stdio, time::Duration};

use agent_client_protocol::v1::schema::McpServerStdio;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::group::Group;

const MCP_VERSION: &str = "2025-06-18";
/// Time for the handshake; a server that hangs must not hang `session/new`.
const START_LIMIT: Duration = Duration::from_secs(5);
/// Time for a server to end by itself once its stdin is closed.
const STOP_LIMIT: Duration = Duration::from_millis(200);

/// A running MCP server of one session.
pub(super) struct McpClient {
    pub name: String,
    tools: Vec<String>,
    group: Group,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl McpClient {
    /// Starts a server in the session's cwd and asks for its tools.
    pub(super) async fn start(server: &McpServerStdio, cwd: &Path) -> Result<Self, String> {
        let mut command = Command::new(&server.command);
        command.args(&server.args).envs(server.env.iter().map(|variable| (&variable.name, &variable.value)));
        if cwd.is_dir() {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut group = Group::start(&mut command).map_err(|error| error.to_string())?;
        let (Some(stdin), Some(stdout)) = (group.child.stdin.take(), group.child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        let lines = BufReader::new(stdout).lines();
        let mut client = Self { name: server.name.clone(), tools: Vec::new(), group, stdin, lines, last_id: 0 };
        let greeted = timeout(START_LIMIT, client.greet()).await;
        greeted.map_err(|_| "the handshake took too long".to_owned())??;
        Ok(client)
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

    /// Closes the server's stdin and ends what does not end by itself.
    pub(super) async fn stop(self) {
        let Self { mut group, stdin, .. } = self;
        drop(stdin);
        // The group is killed in either case; waiting lets the server end in order.
        let _ = timeout(STOP_LIMIT, group.child.wait()).await;
        group.kill();
        let _ = timeout(STOP_LIMIT, group.child.wait()).await;
    }

    async fn greet(&mut self) -> Result<(), String> {
        let info = json!({"name": "acp-reference-agent", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": info});
        self.request("initialize", params).await?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        self.tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        Ok(())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        loop {
            let line = self.lines.next_line().await.map_err(|error| error.to_string())?;
            let line = line.ok_or("the server ended")?;
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("method").is_some() {
                self.serve(&message).await?;
            } else if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    /// Answers what the server asks; only `ping` is known.
    async fn serve(&mut self, message: &Value) -> Result<(), String> {
        match (message.get("id"), message["method"].as_str()) {
            (Some(id), Some("ping")) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {}})).await,
            (Some(id), _) => {
                let error = json!({"code": -32601, "message": "Method not found"});
                self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await
            }
            (None, _) => Ok(()),
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(|error| error.to_string())?;
        self.stdin.flush().await.map_err(|error| error.to_string())
    }
}

fn result_text(result: &Value) -> String {
    let items = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = items.filter_map(|item| item["text"].as_str()).collect();
    texts.join("\n")
}
