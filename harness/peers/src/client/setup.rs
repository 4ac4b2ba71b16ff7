//! What a session is opened with: MCP servers and directories, as far as the agent takes them.

use std::{
    env,
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{McpServer, McpServerStdio};

use super::{Fault, output::log, state::Client};

/// Returns the servers that the agent may be given.
pub(super) fn mcp_servers(client: &Client) -> Vec<McpServer> {
    let takes = &client.agent().capabilities.mcp_capabilities;
    let any = client.commits(Fault::McpRegardless);
    let http = takes.http || any;
    let sse = takes.sse || any || takes.http && client.commits(Fault::SseWithHttp);
    let servers = client.options.mcp_servers.0.iter().cloned();
    servers
        .filter_map(|server| match server {
            McpServer::Http(server) if !http => left_out(&server.name, "the agent takes no http servers"),
            McpServer::Sse(server) if !sse => left_out(&server.name, "the agent takes no sse servers"),
            McpServer::Stdio(server) => located(server),
            server => Some(server),
        })
        .collect()
}

/// Returns the additional directories to send, of those that the user wants.
pub(super) fn directories(client: &Client, wanted: &[PathBuf]) -> Vec<PathBuf> {
    let takes = client.agent().capabilities.session_capabilities.additional_directories.is_some();
    if takes || client.commits(Fault::DirectoriesRegardless) {
        return wanted.to_vec();
    }
    if !wanted.is_empty() {
        log("additional directories left out: the agent takes none");
    }
    Vec::new()
}

/// Makes the command of a server absolute, as the user's shell would find it.
fn located(mut server: McpServerStdio) -> Option<McpServer> {
    let found = if server.command.is_absolute() { Some(server.command.clone()) } else { find(&server.command) };
    match found {
        Some(command) => {
            server.command = command;
            Some(McpServer::Stdio(server))
        }
        None => left_out(&server.name, "its command is not found"),
    }
}

fn find(command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return std::path::absolute(command).ok();
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_absolute() && path.is_file())
}

fn left_out(name: &str, why: &str) -> Option<McpServer> {
    log(&format!("MCP server `{name}` left out: {why}"));
    None
}
